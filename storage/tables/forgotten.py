"""Takedowns by the operator: a row for each URL or host with who, when and why, which also prevents that it is fetched again.

forgotten   key of the URL 16, or of the host queue 16 → ForgottenRecord

The key of a URL and that of a host queue both begin with the site's hash; the record says which kind it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from thresher.storage.records import Codec
from thresher.storage.rows import Rows
from thresher.storage.schema import FORGOTTEN


class Blank(msgspec.Struct, array_like=True, frozen=True):
    """The records of one visit to blank in the archive."""

    visit: int
    serial: int
    offset: int
    n_bytes: int


class ForgottenRecord(msgspec.Struct, array_like=True):
    """One takedown. Rows are never deleted, so that it can be audited."""

    text: str  # a URL, or the name of a host queue
    is_host: bool
    at: float
    by: str
    why: str
    is_done: bool = False  # False: it has begun, and was interrupted by a kill or a full disk
    n_urls: int = 0  # known URLs that it covers
    n_pages: int = 0  # records of pages that were deleted
    n_captures: int = 0  # visits whose records were blanked in the archive
    blanks: list[Blank] = []  # places of these records, until it is done


_FORGOTTEN: Final = Codec(ForgottenRecord)


class Forgotten:
    """The takedowns of a crawl. There are few: all are read when a crawl starts."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def all(self) -> Iterator[tuple[bytes, ForgottenRecord]]:
        """Yield (key, record), in the order of the keys."""
        for key, value in self._rows.scan(FORGOTTEN):
            yield key, _FORGOTTEN.decode(value)

    def get(self, key: bytes) -> ForgottenRecord | None:
        value = self._rows.get(FORGOTTEN, key)
        return None if value is None else _FORGOTTEN.decode(value)

    def put(self, key: bytes, record: ForgottenRecord) -> None:
        self._rows.put(FORGOTTEN, key, _FORGOTTEN.encode(record))
