"""Which of the URLs that worthless pages name may belong to a space without end.

An index of pictures has no new words, and yet what it names are documents. So what a worthless page names
may be endless only if that page has the URL's own pattern (the next day, the next month), or if only worthless pages have named it, too.
One step from a good page to an index and on to its entries is finite: a month of a calendar that a good page names costs its days, and no
more.

Several parameters, or words in a query, combine without end: of such URLs it does not matter which worthless page names them.
"""

from __future__ import annotations

from collections.abc import Callable

from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.ports import Memory
from thresher.filters.depth_cutoff.records import POOR, barren_key, poor_key

PatternOf = Callable[[str, str], str]  # a URL, its origin → its pattern


def names_of(batch: LinkBatch, memory: Memory, pattern: PatternOf) -> list[bytes]:
    """Return for each link of a worthless page on its own site 8 bytes of its key, then POOR if it may belong to a space without end."""
    site, is_poor = batch.source.key[:8], _is_poor_barren(memory, batch.source.key)
    own = [i for i, key in enumerate(batch.keys) if key[:8] == site]
    return [batch.keys[i][8:] + (POOR if is_poor or _is_kin(batch, i, pattern) else b"") for i in own]


def may_be_endless(batch: LinkBatch, i: int, memory: Memory, pattern: PatternOf) -> bool:
    """Return whether the link i of a batch, which a worthless page names, may belong to a space without end."""
    key = batch.source.key
    if batch.keys[0] == key:  # a known URL, judged again
        return memory.get(poor_key(key)) == POOR
    return _is_poor_barren(memory, key) or _is_kin(batch, i, pattern)


def _is_poor_barren(memory: Memory, key: bytes) -> bool:
    """Return whether a page showed nothing new, and only worthless pages had named it."""
    return memory.get(barren_key(key)) == POOR


def _is_kin(batch: LinkBatch, i: int, pattern: PatternOf) -> bool:
    """Return whether the page that names the link i of a batch has its pattern; a redirect stands for the page before it."""
    return batch.is_redirect or pattern(batch.texts[i], batch.hosts[i]) == pattern(batch.source.text, batch.source.host)
