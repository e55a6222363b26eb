"""The first place of a URL in its host's queue: among linked URLs, by the crawl's order, or behind them, among URLs of sitemaps."""

from __future__ import annotations

from thresher.crawler.core.model import CrawlURL, Purpose
from thresher.crawler.core.order.base import Order
from thresher.crawler.core.ports import Lane


def place(order: Order, url: CrawlURL, worth: int = 0) -> tuple[Lane, int]:
    """Return the lane and rank of a URL that waits for its first request."""
    if url.purpose is Purpose.ANNOUNCED:
        return Lane.ANNOUNCED, url.site_depth
    return Lane.FRESH, order.rank(url.site_depth, worth)
