"""The link graph: the known URLs that each stored page links to, by number, in page order. About 2 bytes a link."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, pairwise

from storage.packing import pack_u64
from storage.rows import Rows
from storage.schema import LINKS, SEQS


class Links:
    """Rows by visit, as pages have them."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, seqs: Iterable[int]) -> None:
        """Store the targets of the visit being settled; numbers below 1 are of URLs without a row and are left out."""
        known = [seq for seq in seqs if seq > 0]
        if known:
            self._rows.put(LINKS, pack_u64(self._rows.visit), SEQS.encode([known[0], *(b - a for a, b in pairwise(known))]))

    def read(self, visit: int) -> list[int]:
        """Return the numbers of a visit's targets."""
        value = self._rows.get(LINKS, pack_u64(visit))
        return [] if value is None else list(accumulate(SEQS.decode(value)))
