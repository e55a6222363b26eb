"""What an order decides.

Within a host, URLs wait by (rank, discovery); among hosts that are ready, the one with the smallest precedence goes first. Politeness comes
before any order. A rank follows from `site_depth` and `worth`, both of which stand in the `seen` row, so that a row can be found again;
`worth` is the level of a URL's cash (cash.py), always 0 under an order that does not use cash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from thresher.crawler.core.host_queue import HostQueue


class Order(Protocol):
    """An order of the crawl. Pure but for what it reads from the store; asked once a row is written and once a host is ready."""

    name: str
    cash_steps: int  # levels of cash to a doubling; 0: pages give none to their links
    counts_sites: bool  # count how many other sites link to each site

    def rank(self, site_depth: int, worth: int) -> int:
        """Return the place of a new URL in its host's queue, 0 or more; smaller is sooner."""
        ...

    def precedence(self, host: HostQueue) -> int:
        """Return the place of a host, with `head` chosen, among those that are ready; smaller is sooner."""
        ...
