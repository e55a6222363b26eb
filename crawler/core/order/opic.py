"""OPIC: first the URL with the most cash, on any host [APC03]; of equal ones the one found first."""

from __future__ import annotations

from thresher.crawler.core.host_queue import HostQueue
from thresher.crawler.core.order.cash import HIGHEST
from thresher.crawler.core.ports import Lane

_SEQ_BITS = 64


class Opic:
    """Greedy by the level of cash (cash.py)."""

    name = "opic"
    cash_steps = 2
    counts_sites = False

    def rank(self, site_depth: int, worth: int) -> int:
        return HIGHEST - worth

    def precedence(self, host: HostQueue) -> int:
        head = host.head
        assert head is not None
        return ((head.rank if head.lane is Lane.FRESH else 0) << _SEQ_BITS) + head.seq
