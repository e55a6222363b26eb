"""The protocol of an order.

Within a host, URLs wait by (rank, discovery); among hosts that are ready, the one with the smallest precedence goes first. Politeness comes
before any order. A rank is computed from `site_depth` and `worth`, which are both stored in the `seen` row, so that the row in the queue
can be found again. `worth` is the level of a URL's cash (cash.py); it is always 0 under an order that does not use cash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from thresher.crawler.core.host_queue import HostQueue


class Order(Protocol):
    """An order of the crawl. Pure except for reads from the store. Called when a row is written, and when a host becomes ready."""

    name: str
    cash_steps: int  # levels of cash per doubling; 0: pages give no cash
    counts_sites: bool  # whether the crawl counts how many other sites link to each site

    def rank(self, site_depth: int, worth: int) -> int:
        """Return the place of a new URL in its host's queue, 0 or more; smaller is sooner."""
        ...

    def precedence(self, host: HostQueue) -> int:
        """Return the place of a host, with `head` chosen, among those that are ready; smaller is sooner."""
        ...
