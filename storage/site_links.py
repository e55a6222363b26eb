"""Which sites link to which: counted while the crawl runs, under an order that asks for it (crawler/core/order/host_rank.py)."""

from __future__ import annotations

from crawler.core.ports import SiteRecord
from storage.rows import Rows
from storage.schema import SITE, SITE_LINKS, SITES

_REMEMBERED = 100_000


class SiteLinks:
    """A row for each pair, 16 bytes; a site's record counts those that link to it. Pairs met lately are remembered: 10 MB."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._lately: set[bytes] = set()

    def add(self, source: bytes, target: bytes) -> None:
        """Note that a page of one site links to a page of another; each is 8 bytes. A target that has no record is not counted."""
        pair = target + source
        if pair in self._lately:
            return
        value = self._rows.get(SITES, target)
        if value is None:
            return
        if len(self._lately) >= _REMEMBERED:
            self._lately.clear()
        self._lately.add(pair)
        if self._rows.get(SITE_LINKS, pair) is not None:
            return
        self._rows.put(SITE_LINKS, pair, b"")
        record: SiteRecord = SITE.decode(value)
        record.n_linking += 1
        self._rows.put(SITES, target, SITE.encode(record))
