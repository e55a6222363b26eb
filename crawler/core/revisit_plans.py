"""The records of `schedule: continuous` about pages, their hosts and the patterns of their URLs; stored through `PlanStore`.

Memory: 200 bytes a page, 200 a pattern, 1 KB a host, on disk, and 70 bytes a page for finding siblings.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import msgspec

from thresher.crawler.core.change_rate import ChangeEvidence
from thresher.crawler.core.co_change import CoChange
from thresher.crawler.core.visit_load import VisitLoad


class PagePlan(msgspec.Struct, array_like=True):
    """When a page is visited next, and why. Times in seconds since the epoch."""

    visited_at: float  # time of the last answer that showed whether it has changed
    due: float = 0.0
    interval_s: float = 0.0
    rate: float = 0.0  # changes a second, as estimated
    why: str = "first"  # result of the last visit
    news: float = 0.0  # number of new pages that recent visits found, averaged
    n_failed: int = 0  # visits in a row without a valid answer, or since it is gone
    seq: int = 0  # sequence number of its request
    bin: int | None = None  # half octave in which its host counts it, with `weight`
    weight: float = 1.0
    evidence: ChangeEvidence = msgspec.field(default_factory=ChangeEvidence)
    often: float = 0.0  # share of its recent visits that saw a change
    siblings: tuple[str, int, int] | None = None  # why it was moved forward: (pattern, siblings that changed, siblings that were visited)


class HostPlan(msgspec.Struct, array_like=True):
    """How many visits all pages of a host queue need, and how many the host allows."""

    shares: dict[int, tuple[int, float]] = {}  # half octave of the rate → (pages, sum of their weights)
    gap_s: float = 0.0  # seconds from one revisit to the next
    last_at: float = 0.0
    multiplier: float = 0.0
    n_stale: int = 0  # visits since the multiplier was computed
    worked_out_at: float = 0.0  # gap_s at that time
    n_families: int = 0
    extra: float = 0.0  # share of recent visits that were made earlier because siblings had changed
    load: VisitLoad = msgspec.field(default_factory=VisitLoad)

    @property
    def n_pages(self) -> int:
        """The number of pages with a planned visit."""
        return sum(n for n, _ in self.shares.values())

    @property
    def round_s(self) -> float:
        """The time in which all of the host's pages can be visited once."""
        return self.n_pages * self.gap_s

    def count(self, plan: PagePlan, to: int | None, weight: float = 1.0) -> None:
        """Count a page under another rate.

        Args:
            to: Half octave of its rate; None: it is no longer counted.
        """
        if plan.bin is not None:
            n, total = self.shares[plan.bin]
            self.shares[plan.bin] = (n - 1, total - plan.weight)
            if n == 1:
                del self.shares[plan.bin]
        plan.bin, plan.weight = to, weight
        if to is not None:
            n, total = self.shares.get(to, (0, 0.0))
            self.shares[to] = (n + 1, total + weight)
        self.n_stale += 1

    def drop(self, plan: PagePlan) -> None:
        """Stop counting a page."""
        self.count(plan, None)
        self.load.move(plan.due, 0.0)


class FamilyPlan(msgspec.Struct, array_like=True):
    """What visits have shown about all pages of a pattern."""

    at: float = 0.0  # time of the last record
    evidence: ChangeEvidence = msgspec.field(default_factory=ChangeEvidence)
    together: CoChange = msgspec.field(default_factory=CoChange)


class PlanStore(Protocol):
    """Stores the records. Reads see every earlier write."""

    def page(self, key: bytes) -> PagePlan | None: ...
    def save_page(self, key: bytes, plan: PagePlan) -> None: ...
    def host(self, queue: bytes) -> HostPlan: ...
    def save_host(self, queue: bytes, plan: HostPlan) -> None: ...
    def family(self, queue: bytes, pattern: str) -> FamilyPlan | None: ...
    def save_family(self, queue: bytes, pattern: str, plan: FamilyPlan) -> None: ...
    def enlist(self, queue: bytes, place: bytes) -> None:
        """Add a page to its siblings."""
        ...

    def strike(self, queue: bytes, place: bytes) -> None: ...
    def places(self, queue: bytes, start: bytes, limit: int) -> list[bytes]:
        """Return some places of a host that are >= `start`, in order."""
        ...


class ScheduledPage(NamedTuple):
    """A page, as the schedule uses it."""

    key: bytes
    queue: bytes
    text: str
