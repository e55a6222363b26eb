"""Pages that were being worked on when a process died, and how often."""

from __future__ import annotations

from thresher.storage.records import SUSPECT, SuspectRecord
from thresher.storage.rows import Rows
from thresher.storage.schema import SUSPECTS


class SuspectTable:
    """How many processes died while they worked on a page. Nearly always empty."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def crashes(self, key: bytes) -> int:
        """Return how many processes died while this page was worked on."""
        value = self._rows.get(SUSPECTS, key)
        return 0 if value is None else SUSPECT.decode(value).crashes

    def add_crash(self, key: bytes) -> int:
        """Count one more crash; return their number."""
        n = self.crashes(key) + 1
        self._rows.put(SUSPECTS, key, SUSPECT.encode(SuspectRecord(n)))
        return n

    def any(self) -> bool:
        return bool(self._rows.scan(SUSPECTS, limit=1))

    def all(self) -> list[tuple[bytes, SuspectRecord]]:
        return [(key, SUSPECT.decode(value)) for key, value in self._rows.scan(SUSPECTS)]
