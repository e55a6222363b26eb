"""Breadth-first: by depth within the site; within a depth by cash, then by discovery [NW01, APC03].

Hosts that are ready go by the depth of their heads; within a depth those of sites that many others link to and that have given few pages
yet go first (host_rank.py). Where hosts wait for the crawler rather than the crawler for hosts, that finds good pages sooner.
"""

from __future__ import annotations

from crawler.core.host_queue import HostQueue
from crawler.core.order.cash import HIGHEST
from crawler.core.order.host_rank import SEQ_BITS, links_per_page
from crawler.core.ports import QueueStore

_LINK_BITS = 64


class BreadthFirst:
    """The default."""

    name = "breadth_first"
    uses_cash = True
    counts_sites = True

    def __init__(self, store: QueueStore) -> None:
        self._store = store

    def rank(self, site_depth: int, worth: int) -> int:
        return site_depth * (HIGHEST + 1) + HIGHEST - worth

    def precedence(self, host: HostQueue) -> int:
        assert host.head is not None
        by_links = (host.head.url.site_depth << _LINK_BITS) - links_per_page(host, self._store)
        return (by_links << SEQ_BITS) + host.head.seq
