"""`thresher crawl` and `thresher resume` on several machines: everything that they do there, from the head."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

import msgspec

from thresher.config.settings import Settings
from thresher.crawler.core.errors import ThresherError, UsageError
from thresher.crawler.core.ownership import divided
from thresher.crawler.machines import directory_file
from thresher.crawler.machines.far_shards import NewSettings, NewShard
from thresher.crawler.machines.ray_engine import Run, ShardMakers, connect, members, require_machines, shared_out
from thresher.crawler.process.supervisor import Display, Supervisor
from thresher.storage.export.reading import reading_shard
from thresher.storage.partitions import Partitions, ranges_of, read_partitions, shard_path, write_partitions
from thresher.storage.store import Store
from thresher.storage.tables.bare_seeds import BareSeeds


def create_shards(directory: Path, settings: Settings, bare: Collection[str]) -> None:
    """Make the stores of the agents of all machines, the first agent's last: until it is there, there is no crawl."""
    connect()
    machines = shared_out(members(), settings.agents)
    if len(machines) == 1:
        raise UsageError("engine: ray: one agent on one machine needs no cluster. Leave `engine` out, or ask for more `agents`")
    table = Partitions(len(machines), ranges_of(divided(len(machines))), machines=machines)
    secret, encoded = secrets.token_bytes(32), msgspec.json.encode(settings)
    far = {agent: NewShard(agent, encoded, secret, sorted(bare), table) for agent, name in enumerate(machines) if name != machines[0]}
    makers = ShardMakers(directory.resolve(), [machines[agent] for agent in far])
    try:
        for agent, new in far.items():
            makers.ask(machines[agent], "create", new)
        directory_file.create(directory)
        write_partitions(directory, table)
        for agent in reversed([agent for agent in range(len(machines)) if agent not in far]):
            Store.create(shard_path(directory, agent), settings, time.time(), secret=secret, bare=BareSeeds(bare).encoded()).close()
    except BaseException:
        for agent, new in far.items():
            with suppress(ThresherError):
                makers.ask(machines[agent], "discard", new)
        raise
    finally:
        makers.close()


def run(directory: Path, display: Display, settings: Settings) -> tuple[int, Supervisor]:
    """Supervise the crawl on all its machines to its end; return the exit code."""
    table = read_partitions(directory)
    assert table is not None
    connect()
    require_machines(directory, table)
    with reading_shard(directory) as view:
        secret, bare = view.secret, sorted(BareSeeds.of(view).urls)
    _configure(directory, table, settings, bare)
    return asyncio.run(_supervise(directory.resolve(), table, secret, display, settings))


def _configure(directory: Path, table: Partitions, settings: Settings, bare: list[str]) -> None:
    """Let every shard elsewhere have the head's configuration: a resume may have changed it, or been killed halfway."""
    elsewhere = [(agent, machine) for agent, machine in enumerate(table.machines) if machine != table.machines[0]]
    makers = ShardMakers(directory.resolve(), [machine for _, machine in elsewhere])
    try:
        for agent, machine in elsewhere:
            makers.ask(machine, "configure", NewSettings(agent, msgspec.json.encode(settings), bare))
    finally:
        makers.close()


async def _supervise(directory: Path, table: Partitions, secret: bytes, display: Display, settings: Settings) -> tuple[int, Supervisor]:
    async with Run(directory, table, secret, settle=False).begun(table, display.note, _interrupt(display.note)) as places:
        supervisor = Supervisor(directory, display, n_agents=table.shards, settings=settings, places=places)
        return await supervisor.run(), supervisor


def _interrupt(note: Callable[[str], None]) -> Callable[[], None]:
    """Return what ends this run once another has begun."""

    def interrupt() -> None:
        note("another run of this crawl has begun: this one ends")
        os.kill(os.getpid(), signal.SIGINT)

    return interrupt
