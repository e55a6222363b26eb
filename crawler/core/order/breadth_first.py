"""Breadth-first: by depth within the site; within a depth by cash, then by discovery [NW01, APC03].

A site's entries and the pages one click away from them are one level. The reason: any page that two other sites link to is an entry, too,
and it is no nearer to a seed than the pages that the home page links to. Fetching entries first would lose a twentieth of the PageRank in
the first tenth of a crawl of the demo web, and would be no closer to the depth of [NW01], clicks from a seed.

Of the ready hosts, those whose site has the most linking sites per fetched page go first, as in host_rank.py, but compared by powers of
two; hosts of equal power go in the order in which their next URLs were found. So a host keeps its place until its number of pages has
doubled, and the crawl does not switch hosts after every page, which would make the caches of each site useless.
"""

from __future__ import annotations

from thresher.crawler.core.host_queue import HostQueue
from thresher.crawler.core.order.cash import HIGHEST
from thresher.crawler.core.ports import QueueStore

_SEQ_BITS = 64
_FRACTION_BITS = 20


class BreadthFirst:
    """The default order."""

    name = "breadth_first"
    cash_steps = 2
    counts_sites = True

    def __init__(self, store: QueueStore) -> None:
        self._store = store

    def rank(self, site_depth: int, worth: int) -> int:
        return rank_of(site_depth, worth)

    def precedence(self, host: HostQueue) -> int:
        assert host.head is not None
        site = self._store.site(host.key[:8])
        n_linking = site.n_linking if site is not None else 0
        power = ((n_linking + 1 << _FRACTION_BITS) // (host.record.n_pages + 1)).bit_length()
        return host.head.seq - (power << _SEQ_BITS)


def rank_of(site_depth: int, worth: int) -> int:
    """Return the place of a new URL in its host's queue; smaller is sooner."""
    return (site_depth or 1) * (HIGHEST + 1) + HIGHEST - worth
