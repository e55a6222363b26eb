"""The interface for settling one kind of request. Each purpose has a journey: its visit (crawler/journeys.py), and its settlement here.

pages.py · robots_answers.py · filter_requests.py · sitemaps.py · requisites.py · revisits.py
"""

from __future__ import annotations

from typing import Protocol

from thresher.crawler.core.model import Failed, Outcome
from thresher.crawler.core.ports import Entry
from thresher.crawler.gates.link_gate import Skip
from thresher.crawler.visit import Visit


class Journey(Protocol):
    """The second half of a journey. Called within the visit's commit; nothing awaits."""

    def on_answer(self, visit: Visit, outcome: Outcome, now: float) -> None:
        """Handle the outcome of the request: end the lease, and write what follows."""
        ...

    def on_refusal(self, visit: Visit, skip: Skip, now: float) -> None:
        """Handle a refusal before any request, by a gate, robots.txt or a filter; the lease has ended and the skip is counted."""
        ...

    def on_unreachable(self, entry: Entry, failure: Failed, now: float) -> None:
        """Handle that the host has no address and no try is left; there is no lease."""
        ...
