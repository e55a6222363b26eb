"""Breadth-first: by depth within the site, within a depth the URL with the most cash, then the one found first [NW01, APC03].

Hosts that are ready go in the order in which their heads were found.
"""

from __future__ import annotations

from crawler.core.host_queue import HostQueue
from crawler.core.order.cash import HIGHEST


class BreadthFirst:
    """The default."""

    name = "breadth_first"
    uses_cash = True
    counts_sites = False

    def rank(self, site_depth: int, worth: int) -> int:
        return site_depth * (HIGHEST + 1) + HIGHEST - worth

    def precedence(self, host: HostQueue) -> int:
        assert host.head is not None
        return host.head.seq
