"""Page records by visit; the newest visit of a URL is in its row of `seen`."""

from __future__ import annotations

from thresher.storage.packing import pack_u64, unpack_u64
from thresher.storage.records import PAGE, PageRecord
from thresher.storage.rows import Rows
from thresher.storage.schema import PAGES
from thresher.storage.tables.bodies import Bodies, digest

_AT_ONCE = 1000
_N_ROWS = "rows:pages"


class Pages:
    """The records of pages: append-only."""

    def __init__(self, rows: Rows, bodies: Bodies) -> None:
        self._rows = rows
        self._bodies = bodies

    def put(self, record: PageRecord, body: bytes | None, sha256: bytes = b"") -> None:
        """Store the record of the current visit, and its body unless that is None.

        Args:
            sha256: Of the body; b"": computed here.
        """
        record.has_body = body is not None
        if body is not None:
            record.sha256 = sha256 or digest(body)
            self._bodies.put(body)
        self._rows.put(PAGES, pack_u64(self._rows.visit), PAGE.encode(record))
        self._rows.counters.add(_N_ROWS)

    def read(self, visit: int) -> PageRecord | None:
        """Return the record of a visit; None if it has none."""
        value = self._rows.get(PAGES, pack_u64(visit))
        return None if value is None else PAGE.decode(value)

    def since(self, visit: int, limit: int = _AT_ONCE) -> list[tuple[int, PageRecord]]:
        """Return up to `limit` (visit, record) from `visit` on, in order."""
        return [(unpack_u64(key), PAGE.decode(value)) for key, value in self._rows.scan(PAGES, start=pack_u64(visit), limit=limit)]

    def __len__(self) -> int:
        return self._rows.counters.get(_N_ROWS)
