"""Merges the results of a disk that has come back after its machine was given up (losing.py). No agent runs meanwhile.

    returned    the shards on that disk that are another machine's by the head's table
    merge       each agent that has sites of such a shard reads it from that disk, and takes what only it has (crawler/agent/merging.py)
    taken       that machine records, beside the shards, that all of them is merged: until then no `resume` goes on with it

The returned shards are not changed. Every step may be repeated: whenever a process or a machine dies, the same command goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from thresher.crawler.agent.merging import Merged, OtherAnswer
from thresher.crawler.core.errors import UsageError
from thresher.crawler.machines.far_merges import Merge, Returned, Taken
from thresher.crawler.machines.moving import Asks
from thresher.storage.partitions import Partitions, shard_path


class MergedDisk(msgspec.Struct, frozen=True):
    """What became of all answers of a returned disk. shards: their numbers"""

    shards: list[int]
    counts: dict[str, int]
    others: list[OtherAnswer]


def merge(directory: Path, table: Partitions, machine: str, asks: Asks) -> MergedDisk:
    """Merge the returned shards of a machine into those of the agents that have their sites now.

    Raises:
        UsageError: If partitions are on their way, or nothing has returned there.
    """
    if table.moving:
        raise UsageError(f"{directory}: its partitions are being moved. `thresher resume {directory}` ends that first")
    shards = _others_shards(table, machine, "returned", asks)
    if not shards:
        raise UsageError(f"{machine}: expected shards in {directory} there that are another machine's now, found none: nothing to merge")
    counts, others = Counter[str](), list[OtherAnswer]()
    for shard in shards:
        for agent in sorted(set(table.table()), key=lambda one: (table.machines[one] != machine, one)):  # before it is opened for others
            to = table.machines[agent]
            order = Merge(shard, agent, table.owners, is_here=to == machine)
            part = msgspec.json.decode(asks.ask(to, "merge", order, source="" if to == machine else machine), type=Merged)
            counts.update(part.counts)
            others += part.others
    asks.ask(machine, "taken", Taken(shards))
    return MergedDisk(shards, dict(counts), others)


def require_merged(directory: Path, table: Partitions, machines: Iterable[str], asks: Asks) -> None:
    """Check that the crawl has what returned disks have: a shard that moves there would take the place of the returned one.

    Args:
        machines: Those that take part in the cluster.

    Raises:
        UsageError: If one has a returned shard that is not merged.
    """
    if table.moving:
        return  # that ends first; the next resume looks
    for machine in machines:
        if shards := _others_shards(table, machine, "unmerged", asks):
            names = ", ".join(str(shard_path(directory, shard)) for shard in shards)
            raise UsageError(
                f"{directory}: the disk of machine {machine} is back with results that the crawl does not have. Merge them: "
                f"`thresher cluster merge {directory} {machine}`, or delete {names} there"
            )


def _others_shards(table: Partitions, machine: str, what: str, asks: Asks) -> list[int]:
    """Ask a machine for the shards of this crawl on its disk that are another machine's by the head's table."""
    mine = [agent for agent, name in enumerate(table.machines) if name == machine]
    found = msgspec.json.decode(asks.ask(machine, what, Returned(mine)), type=list[int])
    return [agent for agent in found if agent < table.shards]
