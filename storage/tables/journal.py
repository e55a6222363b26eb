"""What filters measured and panels judged, by visit: replayed into empty memories it teaches them the same again."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from thresher.storage.packing import pack_u64, unpack_u64
from thresher.storage.records import JOURNAL_ENTRIES, Codec, JournalEntry
from thresher.storage.rows import Rows
from thresher.storage.schema import JOURNAL

TAIL = "tail"  # replaces a filter's name in entries about held URLs
_AT_ONCE = 1000
_LAYOUT = Codec(list[msgspec.Struct])


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

    def since(self, visit: int, limit: int = _AT_ONCE) -> list[tuple[int, list[JournalEntry]]]:
        """Return up to `limit` (visit, entries) from `visit` on, in order."""
        rows = self._rows.scan(JOURNAL, start=pack_u64(visit), limit=limit)
        return [(unpack_u64(key), JOURNAL_ENTRIES.decode(value)) for key, value in rows]
