"""Rebuilds tails (the URLs that filters hold, host by host) from the journal alone: the real tails, over tables in memory.

If partitions have moved between agents, the notes of a site lie in the journals of several shards; they are read in the order of their
time. URLs that `thresher forget` took down are not in the journal: the tail of their host differs from the one in the store.

Memory: some 400 bytes a URL that waits. Time: 10 µs a held URL.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from typing import Protocol, cast

from thresher.crawler.settlement.tail import Tails, policy_of
from thresher.filters.base import Gate
from thresher.filters.evidence.decay import Recent
from thresher.filters.tail.history import (
    Closed,
    HeldStep,
    Left,
    Note,
    Passed,
    Reopened,
    RuledStep,
    Served,
    SettledStep,
    Unasked,
    Useful,
    Voided,
    read_note,
)
from thresher.storage.rows import Rows
from thresher.storage.shards import ShardsView
from thresher.storage.tables import Tables
from thresher.storage.tables.counters import Counters
from thresher.storage.tables.tail import TailTables


def notes(store: Stored, first_visit: int = 0) -> Iterator[Note]:
    """Yield the journal's notes on tails, in order of time.

    Time: 3 µs a visit.

    Args:
        store: The store.
        first_visit: Number of the visit to begin with; only for a crawl of one shard.
    """
    if not isinstance(store, ShardsView):
        return _notes(store.tables, first_visit)
    return merge(*(_notes(shard.tables, 0) for shard in store.shards), key=lambda note: note.at)


def replayed(told: Iterable[Note]) -> MemoryRows:
    """Return the tables of tails after all notes.

    Raises:
        ValueError: If the tails behave otherwise than they did in the crawl.
    """
    rows = MemoryRows()
    teller = _Teller(rows)
    for note in told:
        for step in note.steps:
            teller.tell(step)
        if teller.tails is not None:
            teller.tails.save()
    return rows


class Stored(Protocol):
    """A store, open for writing or only for reading."""

    @property
    def tables(self) -> Tables: ...


class _Counts(Counter[str]):
    """Counters of the tails alone."""

    def add(self, name: str, n: int = 1) -> None:
        self[name] += n


class MemoryRows:
    """Tables of rows, and counters, in memory."""

    visit = 0

    def __init__(self) -> None:
        self._tables: defaultdict[str, dict[bytes, bytes]] = defaultdict(dict)
        self._sorted: defaultdict[str, list[bytes]] = defaultdict(list)
        self.counters = _Counts()

    def get(self, table: str, key: bytes) -> bytes | None:
        return self._tables[table].get(key)

    def put(self, table: str, key: bytes, value: bytes) -> None:
        if key not in self._tables[table]:
            insort(self._sorted[table], key)
        self._tables[table][key] = value

    def delete(self, table: str, key: bytes) -> None:
        if self._tables[table].pop(key, None) is not None:
            keys = self._sorted[table]
            keys.pop(bisect_left(keys, key))

    def scan(self, table: str, prefix: bytes = b"", start: bytes = b"", limit: int | None = None) -> list[tuple[bytes, bytes]]:
        keys, found = self._sorted[table], list[tuple[bytes, bytes]]()
        for i in range(bisect_left(keys, max(prefix, start)), len(keys)):
            if not keys[i].startswith(prefix) or len(found) == limit:
                break
            found.append((keys[i], self._tables[table][keys[i]]))
        return found

    def rows(self, table: str) -> Mapping[bytes, bytes]:
        """Return a whole table."""
        return self._tables[table]


class _Teller:
    """Calls the tails for each note, as the crawl did."""

    def __init__(self, rows: MemoryRows) -> None:
        self._tables = TailTables(cast("Rows", rows))
        self._counters = cast("Counters", rows.counters)
        self._recent = Recent()
        self.tails: Tails | None = None

    def tell(self, step: object) -> None:
        if isinstance(step, RuledStep):
            policy = policy_of(step.tail_yield, step.share, step.audit_share)
            if self.tails is not None:
                self.tails.save()
            self.tails = Tails(self._tables, self._counters, lambda _queue: policy, known=lambda _holder: self._recent)
            return
        if self.tails is None:
            raise ValueError("the journal's first note of tails names no rules: its beginning is missing")
        self._ask(self.tails, step)

    def _ask(self, tails: Tails, step: object) -> None:
        match step:
            case HeldStep():
                self._hold(tails, step)
            case Served():
                _expect(tails.next(step.queue, may_close=step.may_close), step.keys, step.queue)
            case SettledStep():
                tails.settle(step.key, is_good=step.is_good, is_alike=step.is_alike)
            case Unasked():
                tails.on_no_request(step.key)
            case Passed():
                tails.passes_on(step.key, step.to)
            case Left():
                tails.leave(step.key)
            case Useful():
                tails.useful(step.queue)
            case Voided():
                tails.void(step.queue)
            case Reopened():
                tails.reopen()
            case Closed():
                pass  # part of the note `Served`

    def _hold(self, tails: Tails, step: HeldStep) -> None:
        self._recent = step.recent or Recent()
        audited: list[bytes] = []
        for key in step.keys:
            audited += tails.hold(step.queue, key, step.holder, is_inherited=step.is_inherited, n_useful=step.n_useful)
        _expect(audited, step.audited, step.queue)


def _expect(found: list[bytes], recorded: list[bytes], queue: bytes) -> None:
    if found != recorded:
        drawn, was = ", ".join(map(bytes.hex, found)), ", ".join(map(bytes.hex, recorded))
        raise ValueError(f"tail of queue {queue.hex()}: {drawn or 'nothing'} would be drawn, the journal has {was or 'nothing'}")


def _notes(tables: Tables, first_visit: int) -> Iterator[Note]:
    at = first_visit
    while rows := tables.journal.since(at):
        for _, entries in rows:
            for entry in entries:
                if entry.gate == Gate.TAIL:
                    yield read_note(entry.measures[0][1])
        at = rows[-1][0] + 1
