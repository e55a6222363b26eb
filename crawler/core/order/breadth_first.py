"""Breadth-first: by depth within the site; within a depth by cash, then by discovery [NW01, APC03].

A site's entries and the pages a click from them are one level: an entry is also any page that two other sites link to, and that is no
nearer to a seed than what the home page links to. To take such pages before a site's menu costs a twentieth of the PageRank that a tenth
of the demo web gives, and is no more faithful to the depth of [NW01], clicks from a seed.

Of the hosts that are ready, those of sites to which many others link for each page that they gave go first, as in host_rank.py, but by
powers of two: hosts of one power go in the order in which their heads were found. So a host keeps its place while its pages double, and
the crawl does not go round all hosts page by page, which what is remembered of each site does not like.
"""

from __future__ import annotations

from thresher.crawler.core.host_queue import HostQueue
from thresher.crawler.core.order.cash import HIGHEST
from thresher.crawler.core.ports import QueueStore

_SEQ_BITS = 64
_FRACTION_BITS = 20


class BreadthFirst:
    """The default."""

    name = "breadth_first"
    cash_steps = 2
    counts_sites = True

    def __init__(self, store: QueueStore) -> None:
        self._store = store

    def rank(self, site_depth: int, worth: int) -> int:
        return (site_depth or 1) * (HIGHEST + 1) + HIGHEST - worth

    def precedence(self, host: HostQueue) -> int:
        assert host.head is not None
        site = self._store.site(host.key[:8])
        n_linking = site.n_linking if site is not None else 0
        power = ((n_linking + 1 << _FRACTION_BITS) // (host.record.n_pages + 1)).bit_length()
        return host.head.seq - (power << _SEQ_BITS)
