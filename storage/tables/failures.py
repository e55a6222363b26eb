"""Why a URL has no page: its last failure."""

from __future__ import annotations

from thresher.storage.records import FAILURE, FailureRecord
from thresher.storage.rows import Rows
from thresher.storage.schema import FAILURES


class Failures:
    """One row per URL whose last request gave no page."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, key: bytes, record: FailureRecord) -> None:
        self._rows.put(FAILURES, key, FAILURE.encode(record))

    def forget(self, key: bytes) -> None:
        """Delete the failure of a URL that is fetched once more."""
        if self._rows.get(FAILURES, key) is not None:
            self._rows.delete(FAILURES, key)

    def get(self, key: bytes) -> FailureRecord | None:
        value = self._rows.get(FAILURES, key)
        return None if value is None else FAILURE.decode(value)
