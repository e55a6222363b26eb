"""Host rank: of the hosts that are ready, one of the site that most other sites link to; then the head found first.

The in-degree in the graph of sites, counted exactly while the crawl runs, is what IRLbot budgets sites by [LLWL08, STAR]: pages that
endorse each other on one site add nothing to it. Within a host breadth-first.
"""

from __future__ import annotations

from crawler.core.host_queue import HostQueue
from crawler.core.ports import QueueStore

_SEQ_BITS = 64


class HostRank:
    """By linking sites, as of when the host got ready."""

    name = "host_rank"
    uses_cash = False
    counts_sites = True

    def __init__(self, store: QueueStore) -> None:
        self._store = store

    def rank(self, site_depth: int, worth: int) -> int:
        return site_depth

    def precedence(self, host: HostQueue) -> int:
        assert host.head is not None
        site = self._store.site(host.key[:8])
        return host.head.seq - ((site.n_linking if site else 0) << _SEQ_BITS)
