"""What `schedule: continuous` keeps of pages, of their hosts and of the patterns of their URLs; where it is kept is behind `PlanStore`.

Memory: 200 bytes a page, 200 a pattern, 1 KB a host, on disk, and 70 bytes a page by which siblings are found.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import msgspec

from thresher.crawler.core.change_rate import Evidence
from thresher.crawler.core.co_change import CoChange
from thresher.crawler.core.visit_load import VisitLoad


class PagePlan(msgspec.Struct, array_like=True):
    """When a page is visited next, and why. Times in seconds since the epoch."""

    visited_at: float  # last answer that showed whether it has changed
    due: float = 0.0
    interval_s: float = 0.0
    rate: float = 0.0  # changes a second, as estimated
    why: str = "first"  # what the last visit showed
    news: float = 0.0  # new pages that a visit of late found
    n_failed: int = 0  # visits in a row without an answer that counts, or since it is gone
    seq: int = 0  # of its request
    bin: int | None = None  # where its host counts it, with `weight`
    weight: float = 1.0
    evidence: Evidence = msgspec.field(default_factory=Evidence)
    often: float = 0.0  # share of its visits, of late, that saw a change
    siblings: tuple[str, int, int] | None = None  # for which it was brought forward: pattern, that changed, that were looked at


class HostPlan(msgspec.Struct, array_like=True):
    """What all pages of a host queue need, and what it gives."""

    shares: dict[int, tuple[int, float]] = {}  # half octave of the rate → pages, sum of their weights
    gap_s: float = 0.0  # from one revisit to the next
    last_at: float = 0.0
    multiplier: float = 0.0
    n_stale: int = 0  # visits since it was worked out
    worked_out_at: float = 0.0  # gap_s then
    n_families: int = 0
    extra: float = 0.0  # share of the visits, of late, that are made beside the planned ones as siblings had changed
    load: VisitLoad = msgspec.field(default_factory=VisitLoad)

    @property
    def n_pages(self) -> int:
        """How many pages have a time."""
        return sum(n for n, _ in self.shares.values())

    @property
    def round_s(self) -> float:
        """In what time the host can visit all of its pages once."""
        return self.n_pages * self.gap_s

    def count(self, plan: PagePlan, to: int | None, weight: float = 1.0) -> None:
        """Move a page among those that are counted.

        Args:
            to: Half octave of its rate, None: it is not counted any more.
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
        """Count a page no more."""
        self.count(plan, None)
        self.load.move(plan.due, 0.0)


class FamilyPlan(msgspec.Struct, array_like=True):
    """What visits of all pages of a pattern have shown."""

    at: float = 0.0  # when they were noted last
    evidence: Evidence = msgspec.field(default_factory=Evidence)
    together: CoChange = msgspec.field(default_factory=CoChange)


class PlanStore(Protocol):
    """Where records are kept. Reads see every write made before."""

    def page(self, key: bytes) -> PagePlan | None: ...
    def save_page(self, key: bytes, plan: PagePlan) -> None: ...
    def host(self, queue: bytes) -> HostPlan: ...
    def save_host(self, queue: bytes, plan: HostPlan) -> None: ...
    def family(self, queue: bytes, pattern: str) -> FamilyPlan | None: ...
    def save_family(self, queue: bytes, pattern: str, plan: FamilyPlan) -> None: ...
    def enlist(self, queue: bytes, place: bytes) -> None:
        """Let a page be found among its siblings."""
        ...

    def strike(self, queue: bytes, place: bytes) -> None: ...
    def places(self, queue: bytes, start: bytes, limit: int) -> list[bytes]:
        """Return some places of a host that are >= `start`, in order."""
        ...


class ScheduledPage(NamedTuple):
    """A page as the schedule knows it."""

    key: bytes
    queue: bytes
    text: str
