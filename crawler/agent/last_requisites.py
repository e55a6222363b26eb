"""When `limits.max_pages` is reached, the crawl still fetches the requisites (images, style sheets, scripts) of the pages it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from thresher.crawler.core.frontier import Frontier, Lease
from thresher.crawler.core.model import Purpose
from thresher.crawler.settlement.requisites import Requisites

MAX_PAGES: Final = "limits.max_pages"


class LastRequisites:
    """Decides, at a limit, whether requisites are still requested."""

    def __init__(self, requisites: Requisites, frontier: Frontier, in_flight: Mapping[bytes, Lease], clock: Callable[[], float]) -> None:
        self._requisites = requisites
        self._frontier = frontier
        self._in_flight = in_flight
        self._clock = clock

    def are_lacking(self, limit: str) -> bool:
        """Return whether the limit is one of pages, and requisites wait or are in flight."""
        return limit == MAX_PAGES and self._requisites.n_waiting > 0

    def but(self, limit: str, over_limit: Callable[[int], str]) -> str:
        """Return why not even a requisite may be requested; "" if one may.

        While pages are in flight that may be the last ones, no requisite is requested.

        Args:
            over_limit: Returns the limit that is reached with so many requests in flight; "" if none is.
        """
        if not self.are_lacking(limit):
            return limit
        if over_limit(0):
            self._frontier.close_pages(self._clock())
            return ""
        n_pages = sum(lease.entry.url.purpose is not Purpose.REQUISITE for lease in self._in_flight.values())
        return over_limit(n_pages)

    def ending(self, limit: str, why: str) -> str:
        """Return a message why the crawl ends at the limit although requisites wait."""
        return f"{limit} reached; of what its pages need {self._requisites.n_waiting:,} wait, and {why}"
