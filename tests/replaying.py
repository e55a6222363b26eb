"""Replays a shard's journal into empty memories: filters must learn from it what the store says that they remember."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from thresher.crawler.core.ownership import Ownership, partition
from thresher.filters.evidence.undo import NAME as UNDO
from thresher.filters.journal import JournalRecord
from thresher.filters.panel import Panel
from thresher.filters.registry import specs
from thresher.storage.packing import MEMORY_HEADER, unpack_memory, unpack_u64
from thresher.storage.partition_rows import is_of_no_site
from thresher.storage.partitions import Partitions
from thresher.storage.records import JournalEntry
from thresher.storage.schema import JOURNAL
from thresher.storage.store import Store
from thresher.storage.tables.journal import ARRIVED, DEPARTED, move_of
from thresher.storage.tables.memory import filter_tag
from thresher.storage.view import View


def misremembered(view: View, directory: Path, table: Partitions | None = None, agent: int = 0) -> list[str]:
    """Return the filters whose stored memory is not what a replay of the journal gives (F81).

    Args:
        view: A shard.
        directory: Where the empty store is made.
        table: The owners of partitions today, if there are several agents.
        agent: The number of the shard.
    """
    entries = [entry for key, _ in view.rows(JOURNAL) for entry in view.tables.journal.read(unpack_u64(key))]
    names = [spec.name for spec in specs(view.settings, view.settings.seeds)]
    with Store.create(directory, view.settings, 0.0) as empty:
        memories = _Memories(empty)
        for owners, part in _lives(entries, table, agent):
            _teach(view, memories, owners, part)
        taught = {name: dict(memories.of(name).scan(b"")) for name in names}
    wrong = [name for name, rows in taught.items() if rows != dict(view.tables.memory(name).scan(b""))]
    return [f"shard {agent}: {name} remembers what its journal of {len(entries):,} entries does not teach" for name in wrong]


class _Memories:
    """The memories of an empty store."""

    def __init__(self, empty: Store) -> None:
        self.of = cache(empty.tables.memory)

    def move(self, entry: JournalEntry, names: list[str]) -> None:
        """Do what a move of partitions did."""
        move, memories = move_of(entry), {filter_tag(name): self.of(name) for name in names}
        for row, value in move.rows:
            tag, key = row[:2], row[2:]
            if tag in memories:
                memories[tag].put(key, value[MEMORY_HEADER:], unpack_memory(value)[0])
        if entry.gate == DEPARTED:
            for tag, memory in memories.items():
                for key in [
                    key for key, _ in memory.scan(b"") if move.first <= partition(key) <= move.last and not is_of_no_site(tag + key)
                ]:
                    memory.delete(key)


def _teach(view: View, memories: _Memories, owners: Ownership | None, entries: list[JournalEntry]) -> None:
    """Teach what one life of the shard's agent learned, after the move before it."""
    filters = specs(view.settings, view.settings.seeds, owners)
    if entries and entries[0].gate in (ARRIVED, DEPARTED):
        memories.move(entries.pop(0), [UNDO, *(spec.name for spec in filters)])
    panel = Panel(filters, memories.of, audit_share=view.settings.filters.audit_share)
    panel.replay(JournalRecord(entry.gate, entry.judgement, entry.measures) for entry in entries)
    panel.save()


def _lives(entries: list[JournalEntry], table: Partitions | None, agent: int) -> Iterator[tuple[Ownership | None, list[JournalEntry]]]:
    """Cut the journal before each move; yield (owners of partitions, entries). From today's table backwards: what came was not there."""
    cuts = [at for at, entry in enumerate(entries) if entry.gate in (ARRIVED, DEPARTED)]
    if table is None:
        assert not cuts, "partitions have moved, and there is no table"
        yield None, entries
        return
    owners = [bytearray(table.table())]
    for at in reversed(cuts):
        move, before = move_of(entries[at]), owners[-1].copy()
        before[move.first : move.last + 1] = bytes([agent + 1 if entries[at].gate == ARRIVED else agent]) * (move.last + 1 - move.first)
        owners.append(before)
    for n, first, end in zip(reversed(range(len(owners))), [0, *cuts], [*cuts, len(entries)], strict=True):
        alone = n == len(cuts) and set(owners[n]) == {agent}  # no other agent has ever been: this one shares nothing
        yield None if alone else Ownership(bytes(owners[n]), agent), entries[first:end]
