"""What filters measured and panels judged, by visit: replayed into empty memories it teaches them the same again.

If partitions move to another shard, the entries stay where they were written. So that each journal is whole by itself, a move writes what
the filters knew of the sites into the journal of the new shard, and into that of the old one that they have left.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from thresher.storage.packing import pack_u64, unpack_u64
from thresher.storage.records import JOURNAL_ENTRIES, Codec, JournalEntry
from thresher.storage.rows import Rows
from thresher.storage.schema import JOURNAL

TAIL = "tail"  # replaces a filter's name in entries about held URLs
ARRIVED: Final = 13  # gates of the entries of moves, as in `Gate` of filters/base.py
DEPARTED: Final = 14
_AT_ONCE = 1000
_LAYOUT = Codec(list[msgspec.Struct])
_TAG: Final = 2  # bytes of a filter's tag, before the site
_RANGE: Final = struct.Struct(">HH")
_RECORDS = "memory"  # replaces a filter's name in entries of moves
_rows_of = msgspec.msgpack.Decoder(list[tuple[bytes, bytes]]).decode


class Move(NamedTuple):
    """Partitions that came from another shard, or went to one. rows: of `memory`, that came with them"""

    first: int
    last: int
    rows: list[tuple[bytes, bytes]]


def arrived(move: Move) -> JournalEntry:
    """Return the entry of partitions that came from another shard."""
    return JournalEntry(ARRIVED, _RANGE.pack(move.first, move.last), [(_RECORDS, msgspec.msgpack.encode(move.rows))])


def departed(first: int, last: int) -> JournalEntry:
    """Return the entry of partitions that went to another shard."""
    return JournalEntry(DEPARTED, _RANGE.pack(first, last), [])


def move_of(entry: JournalEntry) -> Move:
    """Read what `arrived` or `departed` wrote."""
    first, last = _RANGE.unpack(entry.judgement)
    return Move(first, last, [row for _, rows in entry.measures for row in _rows_of(rows)])


class Journal:
    """Append-only, in the order in which visits settled."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, records: Sequence[msgspec.Struct]) -> None:
        """Write the records of the current visit, with the layout of `JournalEntry`; once per visit."""
        self._rows.put(JOURNAL, pack_u64(self._rows.visit), _LAYOUT.encode(list(records)))

    def read(self, visit: int) -> list[JournalEntry]:
        """Return a visit's entries."""
        value = self._rows.get(JOURNAL, pack_u64(visit))
        return [] if value is None else JOURNAL_ENTRIES.decode(value)

    def forget(self, site: bytes) -> None:
        """Delete a site's records from the entries of moves."""
        at = 0
        while rows := self.since(at):
            for visit, entries in rows:
                moves = [move_of(entry) for entry in entries if entry.gate == ARRIVED]
                left = [move._replace(rows=[row for row in move.rows if row[0][_TAG : _TAG + len(site)] != site]) for move in moves]
                if left != moves:  # an arrival is alone in its visit
                    self._rows.put(JOURNAL, pack_u64(visit), _LAYOUT.encode([arrived(move) for move in left]))
            at = rows[-1][0] + 1

    def since(self, visit: int, limit: int = _AT_ONCE) -> list[tuple[int, list[JournalEntry]]]:
        """Return up to `limit` (visit, entries) from `visit` on, in order."""
        rows = self._rows.scan(JOURNAL, start=pack_u64(visit), limit=limit)
        return [(unpack_u64(key), JOURNAL_ENTRIES.decode(value)) for key, value in rows]
