"""Gives a crawl other machines, or another number of agents on them: shards are brought over, partitions move. The head orders each step.

    placed      a shard stays on its machine while that is to have as many agents; else it is brought to one that is to have more
    bring       whole shards, results and all; the table names the new machine once all is on its disk, then the old one deletes it
    move        partitions, as few as can be: a copy of the source's state comes to the machine of the target, which takes over what is its

No agent runs, and no message is under way. Every step may be repeated, and the table says how far it came: whenever a process or a machine
dies, the next `resume` goes on. Between two machines goes the state of a shard that gives partitions away, once for each that takes some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from thresher.crawler.core.ownership import divided
from thresher.crawler.machines.far_moves import Bring, Quarantined, Ranges
from thresher.crawler.machines.far_shards import NewShard
from thresher.storage.carrying import File
from thresher.storage.moving import moves
from thresher.storage.partitions import Partitions, ranges_of, read_partitions, write_partitions

T = TypeVar("T")


class Asks(Protocol):
    """Asks machines about their shards, and waits."""

    def ask(self, machine: str, what: str, argument: object, *, source: str = "") -> msgspec.Raw:
        """Ask a machine; raises StoreError, and UsageError for one that is away.

        Args:
            source: The machine from whose disk something is to be brought.
        """
        ...


def fits(table: Partitions, wanted: Sequence[str]) -> bool:
    """Return whether a crawl has its agents where they are wanted, and nothing is on its way.

    Args:
        wanted: The machine of each agent, the head's first.
    """
    return not table.moving and placed(table.machines, wanted) == table.machines and divided(len(wanted), table.table()) == table.table()


def placed(machines: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the machine that is to have each shard; agents are the first of them, and shards without one stay where they can."""
    left = Counter(wanted)
    found: list[str] = []
    for agent in range(max(len(machines), len(wanted))):
        machine = machines[agent] if agent < len(machines) else ""
        if agent >= len(wanted):
            found.append(machine if machine in wanted else wanted[agent % len(wanted)])
        elif left[machine] > 0:
            left[machine] -= 1
            found.append(machine)
        else:
            found.append("")
    rest = left.elements()
    return [machine or next(rest) for machine in found]


def redistribute(directory: Path, wanted: Sequence[str], asks: Asks, new: Callable[[int, Partitions], NewShard]) -> None:
    """Let the agents be where they are wanted.

    Args:
        new: Returns what a shard is made of.
    """
    if (table := _table(directory)).moving:
        _move(directory, table, asks)
    table = _bring(directory, wanted, asks)
    machines = placed(table.machines, wanted)
    after = divided(len(wanted), table.table())
    if after == table.table() and machines == table.machines:
        return
    planned = Partitions(len(machines), table.owners, ranges_of(after), machines)
    for agent in range(table.shards, planned.shards):
        asks.ask(machines[agent], "create", new(agent, planned))
    write_partitions(directory, planned)
    _move(directory, planned, asks)


def _table(directory: Path) -> Partitions:
    table = read_partitions(directory)
    assert table is not None, "a crawl of several machines has a table"
    return table


def _bring(directory: Path, wanted: Sequence[str], asks: Asks) -> Partitions:
    """Bring the shards to where they are to be; return the table that says so."""
    table = _table(directory)
    for agent, (before, after) in enumerate(zip(table.machines, placed(table.machines, wanted), strict=False)):
        if before != after:
            asks.ask(after, "bring", Bring(agent, _files(asks, before, agent)), source=before)
            table.machines[agent] = after
            write_partitions(directory, table)
            asks.ask(before, "drop", agent)
    return table


def _files(asks: Asks, machine: str, agent: int) -> list[File]:
    return msgspec.json.decode(asks.ask(machine, "files", agent), type=list[File])


def _move(directory: Path, planned: Partitions, asks: Asks) -> None:
    """Move the partitions, shard by shard, and write down that they have moved."""
    before, after = planned.table(), Partitions(planned.shards, planned.moving).table()
    pairs: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for first, last, source, target in moves(before, after):
        pairs.setdefault((source, target), []).append((first, last))
    machines = planned.machines
    for (source, target), ranges in pairs.items():
        there, here = machines[source], machines[target]
        order = Ranges(source, target, ranges, _files(asks, there, source) if there != here else None)
        asks.ask(here, "arrive", order, source=there if there != here else "")
        asks.ask(there, "depart", order)
        asks.ask(here, "end", order)
    for agent in sorted(set(range(planned.shards)) - set(after)):
        _move_quarantined(asks, machines[agent], agent, machines[0])
    write_partitions(directory, Partitions(planned.shards, planned.moving, machines=machines))


def _move_quarantined(asks: Asks, machine: str, agent: int, head: str) -> None:
    """Let the head's first shard have what is quarantined in one that is to have no agent any more."""
    rows = msgspec.json.decode(asks.ask(machine, "quarantined", Quarantined(agent)), type=list[tuple[bytes, bytes]])
    if rows:
        asks.ask(head, "adopt", Quarantined(0, rows))
        asks.ask(machine, "give up", Quarantined(agent, rows))
