"""The steps of a machine while a returned disk is merged into the crawl (merging.py orders them)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from thresher.crawler.agent.merging import Merged, merged
from thresher.crawler.core.errors import StoreLockedError
from thresher.storage.export.reading import reading_shard
from thresher.storage.far import FarView
from thresher.storage.lock import lock_holder
from thresher.storage.partitions import Partitions, Ranges, is_shard, shard_path
from thresher.storage.schema import STATE
from thresher.storage.store import Store
from thresher.storage.ways import Ask

AskOf = Callable[[int], Ask]  # agent → a function that sends questions about its shard to the step's source machine


class Returned(msgspec.Struct, frozen=True):
    """Ask a machine for the shards on its disk that are another's. mine: the agents whose shards it has by the head's table"""

    mine: list[int]


class Merge(msgspec.Struct, frozen=True):
    """Merge a returned shard into the one of an agent here. is_here: the returned shard is on this machine's disk, too"""

    shard: int
    agent: int
    owners: Ranges
    is_here: bool


def do(directory: Path, what: str, argument: bytes, ask_of: AskOf | None) -> Any:
    """Do a step that the head asks for. Every step may be repeated."""
    if what == "returned":
        return _returned(directory, msgspec.json.decode(argument, type=Returned))
    return _merge(directory, msgspec.json.decode(argument, type=Merge), ask_of)


def _returned(directory: Path, order: Returned) -> list[int]:
    """Return the agents of shards on this disk that are another machine's by the head's table.

    Raises:
        StoreLockedError: If one of them is in use.
    """
    names = [path.name for path in directory.glob("agent-*") if is_shard(path.name) and (path / STATE / "data.mdb").is_file()]
    found = sorted(agent for agent in (int(name.partition("-")[2]) for name in names) if agent not in order.mine)
    for agent in found:
        if holder := lock_holder(shard_path(directory, agent)):
            raise StoreLockedError(f"{shard_path(directory, agent)}: process {holder} of an earlier run still uses it. End it first")
    return found


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
