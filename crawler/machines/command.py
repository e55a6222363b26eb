"""`thresher crawl` and `thresher resume` on several machines: everything that these commands do there, from the head."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from thresher.config.settings import Settings
from thresher.crawler.core.errors import ThresherError, UsageError
from thresher.crawler.core.ownership import divided
from thresher.crawler.machines import directory_file, merging
from thresher.crawler.machines.far_shards import NewSettings, NewShard
from thresher.crawler.machines.losing import give_up, watch
from thresher.crawler.machines.merging import MergedDisk
from thresher.crawler.machines.moving import fits, redistribute
from thresher.crawler.machines.ray_engine import Run, ShardMakers, connect, has_left, is_gone, members, require_machines, shared_out
from thresher.crawler.machines.snapshotting import snapshots
from thresher.crawler.process.supervisor import Display, Supervisor
from thresher.crawler.start.rounds import for_this_round
from thresher.crawler.status import Status, merged
from thresher.storage.export.reading import reading_shard
from thresher.storage.lock import lock_holder
from thresher.storage.partitions import Partitions, ranges_of, read_partitions, shard_path, write_partitions
from thresher.storage.snapshots.manifest import TakenSnapshot
from thresher.storage.store import Store
from thresher.storage.tables.bare_seeds import BareSeeds


def create_shards(directory: Path, settings: Settings, bare: Collection[str]) -> None:
    """Make the stores of the agents of all machines; the first agent's is made last, and only with it the crawl exists."""
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
    """Supervise the crawl on all its machines to its end; return the exit code. A machine that is away for `snapshots.lost_after` is given
    up.
    """
    while True:
        code, supervisor, gone = _run(directory.resolve(), display, settings, settle=False)
        if not gone or supervisor.was_signalled:
            return code, supervisor
        agents = ", ".join(map(str, _give_up(directory, gone)))
        display.note(f"machine {gone} is given up: agents {agents} go on elsewhere from its last snapshot")


def becoming(directory: Path, settings: Settings) -> str:
    """Return a text about how many agents each machine shall have, "" if it has as many already.

    Raises:
        UsageError: If a machine with shards of the crawl is not in the cluster, or the disk of one is back and not merged.
    """
    table = _table(directory)
    connect()
    require_machines(directory, table)
    found = members()
    makers = ShardMakers(directory.resolve(), [member.name for member in found])
    try:
        merging.require_merged(directory, table, [member.name for member in found], makers)
    finally:
        makers.close()
    wanted = shared_out(found, settings.agents)
    if fits(table, wanted):
        return ""
    return ", ".join(f"{n} on {machine}" for machine, n in Counter(wanted).items())


def settle(directory: Path, display: Display, settings: Settings) -> tuple[int, Supervisor]:
    """Let all messages between agents arrive, without fetching; return the exit code."""
    return _run(directory.resolve(), display, settings, settle=True)[:2]


def move(directory: Path, settings: Settings) -> None:
    """Give the machines as many agents as the configuration asks for. No agent may run, and no message may be under way."""
    with reading_shard(directory) as view:
        secret, bare, encoded = view.secret, sorted(BareSeeds.of(view).urls), msgspec.json.encode(settings)
    wanted = shared_out(members(), settings.agents)
    makers = ShardMakers(directory.resolve(), [*_table(directory).machines, *wanted])
    try:
        redistribute(directory, wanted, makers, lambda agent, planned: NewShard(agent, encoded, secret, bare, planned))
    finally:
        makers.close()


def _run(directory: Path, display: Display, settings: Settings, *, settle: bool) -> tuple[int, Supervisor, str]:
    """Supervise one run; return (exit code, supervisor, machine that must be given up or "")."""
    table = _table(directory)
    connect()
    require_machines(directory, table)
    with reading_shard(directory) as view:
        secret, bare = view.secret, sorted(BareSeeds.of(view).urls)
    if not settle:
        each = Counter(table.machines[agent] for agent in sorted(set(table.table())))
        display.note(f"agents start: {', '.join(f'{n} on {machine}' for machine, n in each.items())}")
    without_agent, lost = _configure(directory, table, settings, bare)
    if not settle:
        if lost:
            display.note(f"{'; '.join(lost)}. Until it is back, exports of the archive are refused; a new file goes on")
        settings = for_this_round(settings, directory)
    return asyncio.run(_supervise(directory, table, secret, display, settings, settle=settle, without_agent=without_agent))


def _table(directory: Path) -> Partitions:
    table = read_partitions(directory)
    assert table is not None, "a crawl of several machines has a table"
    return table


def _configure(directory: Path, table: Partitions, settings: Settings, bare: list[str]) -> tuple[Status, list[str]]:
    """Give every shard on another machine the head's configuration: a resume may have changed it, or been killed halfway. Return (the
    counts of shards that no longer have an agent, which files of archives are gone).
    """
    lost: list[str] = []
    makers = ShardMakers(directory, table.machines)
    try:
        for agent, machine in enumerate(table.machines):
            if machine != table.machines[0]:
                makers.ask(machine, "configure", NewSettings(agent, msgspec.json.encode(settings), bare))
            lost += [f"machine {machine}: {one}" for one in msgspec.json.decode(makers.ask(machine, "lacking", agent), type=list[str])]
        retired = sorted(set(range(table.shards)) - set(table.table()))
        counted = [msgspec.json.decode(makers.ask(table.machines[agent], "counted", agent), type=Status) for agent in retired]
        return merged(counted), lost
    finally:
        makers.close()


async def _supervise(
    directory: Path,
    table: Partitions,
    secret: bytes,
    display: Display,
    settings: Settings,
    *,
    settle: bool,
    without_agent: Status,
) -> tuple[int, Supervisor, str]:
    async with Run(directory, table, secret, settings, settle=settle).begun(table, display.note, _interrupt(display.note)) as places:
        supervisor = Supervisor(
            directory,
            display,
            n_agents=max(table.table()) + 1,
            settings=settings,
            settle=settle,
            places=places,
            without_agent=without_agent,
        )
        watching = asyncio.ensure_future(watch(places, supervisor, settings, has_left))
        code = await supervisor.run()
        watching.cancel()
        found = await asyncio.gather(watching, return_exceptions=True)
        return code, supervisor, found[0] if isinstance(found[0], str) else ""


def _interrupt(note: Callable[[str], None]) -> Callable[[], None]:
    """Return a function that ends this run; called when another run has begun."""

    def interrupt() -> None:
        note("another run of this crawl has begun: this one ends")
        os.kill(os.getpid(), signal.SIGINT)

    return interrupt


def lost(directory: Path, machine: str) -> list[int]:
    """Give up a machine whose disk is lost; return the agents whose shards were restored elsewhere."""
    _require_still(directory)
    connect()
    return _give_up(directory, machine)


def merge(directory: Path, machine: str) -> MergedDisk:
    """Merge what a machine that was given up has on its disk, now that it is back."""
    _require_still(directory)
    connect()
    table = _table(directory)
    require_machines(directory, table)
    if has_left(machine):
        raise UsageError(f"{machine}: expected a machine of the cluster. Start it there: `thresher cluster start --address HEAD`")
    makers = ShardMakers(directory.resolve(), [*table.machines, machine])
    try:
        return merging.merge(directory, table, machine, makers)
    finally:
        makers.close()


def snapshot(directory: Path, where: str, keep: int) -> Iterator[tuple[str, TakenSnapshot]]:
    """Take a snapshot of every machine's shards; yield (machine, its snapshot)."""
    connect()
    table = _table(directory)
    require_machines(directory, table)
    with reading_shard(directory) as view:
        settings = view.settings.snapshots
    makers = ShardMakers(directory.resolve(), table.machines)
    try:
        yield from snapshots(directory, table, settings, where, keep, makers)
    finally:
        makers.close()


def _require_still(directory: Path) -> None:
    """Check that a crawl of several machines is not running.

    Raises:
        UsageError: If it is, or if it is a crawl of one machine.
    """
    if holder := lock_holder(directory):
        raise UsageError(f"{directory}: process {holder} crawls. Stop it first (kill -INT {holder})")
    table = read_partitions(directory)
    if table is None or not table.machines:
        raise UsageError(f"{directory}: expected a crawl of several machines, found one of this machine alone")


def _give_up(directory: Path, machine: str) -> list[int]:
    table = _table(directory)
    if not is_gone(machine):
        raise UsageError(f"{machine}: takes part in the cluster, so its disk is there. If it is lost, stop that machine first")
    others = [name for name in table.machines if name != machine]
    require_machines(directory, table, but=machine)
    with reading_shard(directory) as view:
        settings = view.settings
    makers = ShardMakers(directory.resolve(), others)
    try:
        return give_up(directory, table, machine, settings, makers)
    finally:
        makers.close()
