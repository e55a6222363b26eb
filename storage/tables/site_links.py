"""Which sites link to which: counted while the crawl runs, if its order needs it (crawler/core/order).

A table that was empty when it was opened knows which pairs are certainly new (bloom.py), and reads nothing for them.
"""

from __future__ import annotations

from thresher.storage.rows import Rows
from thresher.storage.schema import SITE_LINKS
from thresher.storage.tables.bloom import BloomFilter
from thresher.storage.tables.queues import Queues

_REMEMBERED = 32_768  # pairs


class SiteLinks:
    """A row for each pair, 16 bytes; a site's record counts the sites that link to it. Recent pairs are cached: at most 4 MB."""

    def __init__(self, rows: Rows, queues: Queues) -> None:
        self._rows = rows
        self._queues = queues
        self._lately: dict[bytes, set[bytes]] = {}  # source → targets
        self._n_lately = 0
        self._met = None if rows.scan(SITE_LINKS, limit=1) else BloomFilter()

    def add(self, source: bytes, targets: set[bytes]) -> list[bytes]:
        """Record that pages of one site link to pages of other sites (8 bytes each, perhaps itself). A site without a record does not
        count.

        Returns:
            The sites whose rank may have changed: their number of linking sites has grown by about half since they were last returned.
        """
        added: list[bytes] = []
        known = self._lately.get(source)
        if known is None:
            known = self._lately[source] = {source}
        pairs: dict[bytes, bytes] = {}
        for target in targets - known:
            record = self._queues.site(target)
            if record is None:
                continue
            known.add(target)
            self._n_lately += 1
            if self._is_new(pair := target + source):
                pairs[pair] = b""
                record.n_linking += 1
                self._queues.save_site(target, record)
                if _is_step(record.n_linking + 1):
                    added.append(target)
        self._write(pairs)
        if self._n_lately > _REMEMBERED:
            self._lately, self._n_lately = {}, 0
        return added

    def is_first(self, source: bytes, target: bytes) -> bool:
        """Record that a site links to another, which may belong to another agent; return whether this is new."""
        pair = target + source
        if not self._is_new(pair):
            return False
        self._write({pair: b""})
        return True

    def _is_new(self, pair: bytes) -> bool:
        return (self._met is not None and pair not in self._met) or self._rows.get(SITE_LINKS, pair) is None

    def _write(self, pairs: dict[bytes, bytes]) -> None:
        if pairs:
            self._rows.put_many(SITE_LINKS, pairs)
            if self._met is not None:
                self._met.add_all(pairs)


def _is_step(n: int) -> bool:
    """Return whether n passes a power of √2 that n - 1 did not reach."""
    return (n * n).bit_length() > ((n - 1) ** 2).bit_length()
