"""Requisites of pages (images, style sheets, scripts), and what became of each.

requisites       key of a URL 16 → RequisiteRecord
requisite_hosts  host queue 16   → number of requested ones of the host 8
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from thresher.storage.packing import pack_u64, unpack_u64
from thresher.storage.records import REQUISITE, RequisiteRecord
from thresher.storage.rows import Rows
from thresher.storage.schema import REQUESTS, REQUISITE_HOSTS, REQUISITES
from thresher.storage.tables.requests import Requester

REQUESTER: Final = Requester("requisites")  # name in `requests`; no filter has it
_AT_ONCE = 10_000


class RequisiteTables:
    """Rows of requisites. A URL may also be known as a page, independently."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def get(self, key: bytes) -> RequisiteRecord | None:
        value = self._rows.get(REQUISITES, key)
        return None if value is None else REQUISITE.decode(value)

    def of_keys(self, keys: Sequence[bytes]) -> list[RequisiteRecord | None]:
        """Return the records of URLs; None for those that are not known as requisites."""
        return [None if value is None else REQUISITE.decode(value) for value in self._rows.get_many(REQUISITES, keys)]

    def save(self, key: bytes, record: RequisiteRecord) -> None:
        self._rows.put(REQUISITES, key, REQUISITE.encode(record))

    def n_of_host(self, queue: bytes) -> int:
        """Return the number of requested requisites of a host."""
        value = self._rows.get(REQUISITE_HOSTS, queue)
        return 0 if value is None else unpack_u64(value)

    def count_host(self, queue: bytes) -> None:
        """Count one more requisite of a host."""
        self._rows.put(REQUISITE_HOSTS, queue, pack_u64(self.n_of_host(queue) + 1))

    def n_waiting(self) -> int:
        """Return the number of requisites that wait to be fetched. Time: O(waiting requests)."""
        n, start = 0, b""
        while rows := self._rows.scan(REQUESTS, start=start, limit=_AT_ONCE):
            n += sum(who == REQUESTER.stored.encode() for _, who in rows)
            start = rows[-1][0] + b"\0"
        return n
