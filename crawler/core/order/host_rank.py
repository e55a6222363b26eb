"""Host rank: of the hosts that are ready, one of a site that many other sites link to and that has given few pages yet.

The in-degree in the graph of sites, counted exactly while the crawl runs, is what IRLbot budgets sites by [LLWL08, STAR]: pages that
endorse each other on one site add nothing to it. Here it is divided by the pages fetched so far, as a site's later pages are worth less
than its first. Within a host by cash, then by discovery. It finds good pages as soon as the default does, at the price of depth.
"""

from __future__ import annotations

from thresher.crawler.core.host_queue import HostQueue
from thresher.crawler.core.order.cash import HIGHEST
from thresher.crawler.core.ports import QueueStore

_SEQ_BITS = 64
_FRACTION_BITS = 20


class HostRank:
    """By linking sites and pages, as of when the host got ready."""

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
    """Return how many sites link to the host's for each page that it has given and the next one, times 2^20."""
    site = store.site(host.key[:8])
    return (site.n_linking << _FRACTION_BITS) // (host.record.n_pages + 1) if site else 0
