"""Host rank: of the ready hosts, first one whose site has many linking sites and few fetched pages.

IRLbot sets the budget of a site by its in-degree in the graph of sites, counted exactly while the crawl runs [LLWL08, STAR]: links within
one site add nothing to it. Here the in-degree is divided by the number of pages fetched so far, since a site's later pages are worth less
than its first. Within a host: by cash, then by discovery. It finds good pages as early as the default does, but follows breadth-first order
less.
"""

from __future__ import annotations

from thresher.crawler.core.host_queue import HostQueue
from thresher.crawler.core.order.cash import HIGHEST
from thresher.crawler.core.ports import QueueStore

_SEQ_BITS = 64
_FRACTION_BITS = 20


class HostRank:
    """By linking sites and pages, as of the time when the host became ready."""

    name = "host_rank"
    cash_steps = 2
    counts_sites = True

    def __init__(self, store: QueueStore) -> None:
        self._store = store

    def rank(self, site_depth: int, worth: int) -> int:
        return HIGHEST - worth

    def precedence(self, host: HostQueue) -> int:
        assert host.head is not None
        return host.head.seq - (_links_per_page(host, self._store) << _SEQ_BITS)


def _links_per_page(host: HostQueue, store: QueueStore) -> int:
    """Return the number of sites that link to the host's site, divided by its pages (the next one included), times 2^20."""
    site = store.site(host.key[:8])
    return (site.n_linking << _FRACTION_BITS) // (host.record.n_pages + 1) if site else 0
