"""The link graph: the known URLs that each stored page links to, by number, sorted and distinct. 1 to 2 bytes a link.

A target need not be fetched: a URL that still waits, or was refused, has a number too. A row does not say which links lead to another site,
since `seen` has the sites of both ends: storage/graph.py marks them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from thresher.storage.packing import pack_links, pack_u64, unpack_few_links, unpack_links
from thresher.storage.rows import Rows
from thresher.storage.schema import LINKS

_FEW: Final = 1000  # bytes of a row up to which the loop is faster than numpy


class Links:
    """Links by visit."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, seqs: Iterable[int]) -> None:
        """Store the targets of the current visit; numbers below 1 belong to URLs without a row, and are left out."""
        known = sorted(set(seqs))
        if known := known[bisect_left(known, 1) :]:
            self._rows.put(LINKS, pack_u64(self._rows.visit), pack_links(known))

    def read(self, visit: int) -> list[int]:
        """Return the numbers of a visit's targets, ascending."""
        value = self._rows.get(LINKS, pack_u64(visit))
        if value is None:
            return []
        return unpack_few_links(value) if len(value) < _FEW else unpack_links([value])[1].tolist()
