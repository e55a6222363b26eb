"""Where each visit's records are in the archive, and earlier captures by payload and by URL."""

from __future__ import annotations

from thresher.storage.packing import pack_u64
from thresher.storage.records import CAPTURE, PLACE, ArchivePlace, Capture
from thresher.storage.rows import Rows
from thresher.storage.schema import CAPTURED, CAPTURES


class Captures:
    """Used if a crawl writes an archive; otherwise its tables are empty."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def place(self, visit: int) -> ArchivePlace | None:
        """Return the place of a visit's records; None if it has none."""
        value = self._rows.get(CAPTURES, pack_u64(visit))
        return None if value is None else PLACE.decode(value)

    def earlier(self, key: bytes) -> Capture | None:
        """Return an earlier capture; None if there is none.

        Args:
            key: The SHA-1 of its payload, or the key of its URL.
        """
        value = self._rows.get(CAPTURED, key)
        return None if value is None else CAPTURE.decode(value)

    def remember(self, key: bytes, capture: Capture) -> None:
        self._rows.put(CAPTURED, key, CAPTURE.encode(capture))
