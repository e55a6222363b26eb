"""Gives a crawl other machines, or another number of agents on them: copies shards, moves partitions. The head orders each step.

    placed      a shard stays on its machine as long as that shall have so many agents; else it goes to a machine that shall have more
    bring       a whole shard with its results; once all is on the new machine's disk, the table names it, then the old machine deletes it
    move        as few partitions as possible: a copy of the source's state is sent to the target's machine, which takes its partitions from
    it

No agent runs, and no message is under way. Every step may be repeated, and the table says how far the move has come: whenever a process or
a machine dies, the next `resume` goes on. The state of a shard that gives partitions away is sent once to each machine that takes some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from thresher.crawler.core.ownership import divided
from thresher.crawler.machines.far_merges import Taken
from thresher.crawler.machines.far_moves import CopyShard, Quarantined, Ranges
from thresher.crawler.machines.far_shards import NewShard
from thresher.storage.carrying import File
from thresher.storage.moving import moves
from thresher.storage.partitions import Partitions, ranges_of, read_partitions, write_partitions

T = TypeVar("T")


class Asks(Protocol):
    """Calls machines about their shards, and waits for the answer."""

    def ask(self, machine: str, what: str, argument: object, *, source: str = "") -> msgspec.Raw:
        """Call a machine.

        Args:
            source: The machine from whose disk data are needed; "" for none.

        Raises:
            StoreError: If a shard cannot be used.
            UsageError: If the machine does not answer.
        """
        ...


def fits(table: Partitions, wanted: Sequence[str]) -> bool:
    """Return whether all agents are on the wanted machines, and no move is under way.

    Args:
        wanted: The machine of each agent, the head's first.
    """
    return not table.moving and placed(table.machines, wanted) == table.machines and divided(len(wanted), table.table()) == table.table()


def placed(machines: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the machine that shall have each shard. The first shards are those of agents; shards without an agent stay where they are, if
    possible.
    """
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
    """Move shards and partitions so that all agents are on the wanted machines.

    Args:
        new: Returns the description of a new shard.
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
    """Copy the shards to their new machines; return the table that names these."""
    table = _table(directory)
    for agent, (before, after) in enumerate(zip(table.machines, placed(table.machines, wanted), strict=False)):
        if before != after:
            asks.ask(after, "bring", CopyShard(agent, _files(asks, before, agent)), source=before)
            asks.ask(before, "taken", Taken([agent]))  # if the command dies before the shard is dropped, nothing of it waits to be merged
            table.machines[agent] = after
            write_partitions(directory, table)
            asks.ask(before, "drop", agent)
    return table


def _files(asks: Asks, machine: str, agent: int) -> list[File]:
    return msgspec.json.decode(asks.ask(machine, "files", agent), type=list[File])


def _move(directory: Path, planned: Partitions, asks: Asks) -> None:
    """Move the partitions, shard by shard, and record it in the table."""
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
    """Move the quarantined rows of a shard that loses its agent to the head's first shard."""
    rows = msgspec.json.decode(asks.ask(machine, "quarantined", Quarantined(agent)), type=list[tuple[bytes, bytes]])
    if rows:
        asks.ask(head, "adopt", Quarantined(0, rows))
        asks.ask(machine, "give up", Quarantined(agent, rows))
