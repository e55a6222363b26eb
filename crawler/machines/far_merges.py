"""The steps of a machine while a returned disk is merged into the crawl (merging.py orders them)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from thresher.crawler.agent.merging import Merged, merged
from thresher.crawler.core.errors import StoreLockedError
from thresher.storage.durable import replace_file
from thresher.storage.export.reading import reading_shard
from thresher.storage.far import FarView
from thresher.storage.lock import lock_holder
from thresher.storage.partitions import Partitions, Ranges, is_shard, shard_path
from thresher.storage.schema import STATE
from thresher.storage.store import Store
from thresher.storage.ways import Ask

TAKEN: Final = "taken.json"  # beside the shards of a machine
AskOf = Callable[[int], Ask]  # agent → a function that sends questions about its shard to the step's source machine


class Returned(msgspec.Struct, frozen=True):
    """Ask a machine for the shards on its disk that are another's. mine: the agents whose shards it has by the head's table"""

    mine: list[int]


class Taken(msgspec.Struct, frozen=True):
    """Record that the crawl has what these shards on the machine's disk have."""

    agents: list[int]


class Merge(msgspec.Struct, frozen=True):
    """Merge a returned shard into the one of an agent here. is_here: the returned shard is on this machine's disk, too"""

    shard: int
    agent: int
    owners: Ranges
    is_here: bool


def do(directory: Path, what: str, argument: bytes, ask_of: AskOf | None) -> Any:
    """Do a step that the head asks for. Every step may be repeated."""
    match what:
        case "returned":
            return _returned(directory, msgspec.json.decode(argument, type=Returned))
        case "unmerged":
            return _unmerged(directory, msgspec.json.decode(argument, type=Returned))
        case "taken":
            return _note_taken(directory, msgspec.json.decode(argument, type=Taken).agents)
    return _merge(directory, msgspec.json.decode(argument, type=Merge), ask_of)


def _returned(directory: Path, order: Returned) -> list[int]:
    """Return the agents of shards on this disk that are another machine's by the head's table.

    Raises:
        StoreLockedError: If one of them is in use.
    """
    found = _foreign(directory, order)
    for agent in found:
        if holder := lock_holder(shard_path(directory, agent)):
            raise StoreLockedError(f"{shard_path(directory, agent)}: process {holder} of an earlier run still uses it. End it first")
    return found


def _foreign(directory: Path, order: Returned) -> list[int]:
    names = [path.name for path in directory.glob("agent-*") if is_shard(path.name) and (path / STATE / "data.mdb").is_file()]
    return sorted(agent for agent in (int(name.partition("-")[2]) for name in names) if agent not in order.mine)


def _unmerged(directory: Path, order: Returned) -> list[int]:
    """Return the agents of shards on this disk that are another machine's, and have changed since the crawl took what they have."""
    taken = _taken(directory)
    return [agent for agent in _foreign(directory, order) if taken.get(agent) != _last_commit(directory, agent)]


def _note_taken(directory: Path, agents: list[int]) -> None:
    """Record, outside of the shards, that the crawl has what they have as of their last commit."""
    taken = _taken(directory) | {agent: _last_commit(directory, agent) for agent in agents}
    replace_file(directory / TAKEN, msgspec.json.encode(taken) + b"\n")


def _taken(directory: Path) -> dict[int, float]:
    """Return the time of the last commit that the crawl has of each shard that was taken; a damaged record is none."""
    with suppress(OSError, ValueError):
        return msgspec.json.decode((directory / TAKEN).read_bytes(), type=dict[int, float])
    return {}


def _last_commit(directory: Path, agent: int) -> float:
    with reading_shard(shard_path(directory, agent)) as view:
        return view.clock


def _merge(directory: Path, order: Merge, ask_of: AskOf | None) -> Merged:
    """Merge a returned shard into the one of an agent on this disk.

    Args:
        ask_of: Reads the shards of the returned disk, if that is another machine's.
    """
    place, now = shard_path(directory, order.shard), time.time()
    owners = Partitions(order.agent + 1, order.owners).table()
    with ExitStack() as opened:
        if order.is_here:
            source = opened.enter_context(reading_shard(place))
        else:
            assert ask_of is not None, "a returned shard is somewhere"
            source = FarView(place, ask_of(order.shard))
        store = opened.enter_context(Store.open(shard_path(directory, order.agent), None, now))
        return asyncio.run(merged(directory, store, source, shard=order.shard, owners=owners, me=order.agent))
