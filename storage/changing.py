"""Changes the shards of a crawl that stands still, each on the machine whose disk has it, for a command on the head.

A change is a function that runs on the machine that has the shard; its argument and its answer travel as JSON. Each change may be repeated:
after a kill, or once a machine answers again, the same command continues it. The lock of each shard ensures that no crawl runs meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from thresher.storage import ways
from thresher.storage.partitions import read_partitions, shard_path

if TYPE_CHECKING:
    from thresher.storage.ways import FarConnection

A = TypeVar("A")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Change(Generic[A, R]):
    """A change of one shard."""

    name: str  # names the change in messages to other machines: crawler/machines/far_changes.py
    do: Callable[[Path, A], R]  # called with the shard's path
    takes: type[A]
    gives: type[R]

    def done_by(self, shard: Path, packed: bytes) -> R:
        """Make the change, for another machine that has sent the argument."""
        return self.do(shard, msgspec.json.decode(packed, type=self.takes))


def agents(directory: Path) -> range:
    """Return the agents, former ones too, that have a shard of a crawl."""
    table = read_partitions(directory)
    return range(1 if table is None else table.shards)


def change(directory: Path, what: Change[A, R], arguments: Mapping[int, A]) -> dict[int, R]:
    """Change the shards of some agents, one after the other, in the order of `arguments`; return what each has answered.

    Raises:
        StoreError: If a shard cannot be used, as while a crawl runs.
        UsageError: If a machine with one of these shards is not in the cluster.
    """
    table, way = read_partitions(directory), list["FarConnection"]()
    found: dict[int, R] = {}
    try:
        for agent, argument in arguments.items():
            if table is None or not table.machines or table.machines[agent] == table.machines[0]:
                found[agent] = what.do(shard_path(directory, agent), argument)
                continue
            if not way:
                way.append(ways.connection(directory, table))
            found[agent] = msgspec.json.decode(way[0].change(agent, what.name, msgspec.json.encode(argument)), type=what.gives)
    finally:
        for one in way:
            one.close()
    return found
