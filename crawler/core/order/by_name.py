"""Returns the order that a configuration names."""

from __future__ import annotations

from thresher.crawler.core.order.base import Order
from thresher.crawler.core.order.breadth_first import BreadthFirst
from thresher.crawler.core.order.fifo import Fifo
from thresher.crawler.core.order.host_rank import HostRank
from thresher.crawler.core.order.larger_sites_first import LargerSitesFirst
from thresher.crawler.core.order.opic import Opic
from thresher.crawler.core.ports import QueueStore

NAMES = ("breadth_first", "opic", "host_rank", "larger_sites_first", "fifo")  # as config/settings.py lists them


def order_by_name(name: str, store: QueueStore) -> Order:
    """Return an order.

    Args:
        store: The store, from which it reads the records of sites.
    """
    match name:
        case "opic":
            return Opic()
        case "host_rank":
            return HostRank(store)
        case "larger_sites_first":
            return LargerSitesFirst()
        case "fifo":
            return Fifo()
        case _:
            return BreadthFirst(store)
