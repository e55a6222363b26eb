"""The small records of a host's tail. The store keeps each by its key; nothing here knows how.

    tail host    queue                          → HostTail
    tail class   queue, holder                  → TailClass
    tail member  queue, holder, cohort, order   → the URL and whether it inherits its class     (a scan by cohort is the order of drawing)

A **class** is what one opinion of a filter holds of one host: a pattern, a place, a rule, a mirror; `holder` names it as everywhere else.
A **cohort** is the part of a class that was known before the first of it was drawn. What comes later gathers in the next cohort, so that a
cohort's draws stay a random sample of it. The newest is drawn from only when it is as large as what waits
in the older ones (for audits), or a sixteenth of it (when the host has nothing else): a class has O(log size) of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import msgspec

from thresher.filters.evidence.bounds import Stratum, price
from thresher.filters.evidence.decay import Recent


@dataclass(frozen=True)
class TailPolicy:
    """What may be spent on what is postponed. Chosen by `python -m benchmarks.quality.deferral`."""

    tail_yield: float = 0.02  # share of what is left that may be good when it is left alone; 0: fetch all, 1: nothing
    error: float = 0.01  # probability that a host is ever closed wrongly
    share: float = 0.1  # barren fetches for each useful one of the host: of small classes, and again of the bound
    audit_share: float = 0.02  # of a class, drawn at once
    worthwhile: float = 0.03  # a class that is expected to yield this pays for itself
    window: float = 60.0  # fetches that a class's yield remembers
    batch: int = 2  # URLs promoted at once
    cap: int = 10_000  # URLs of one cohort that are stored, those drawn first; the others are counted

    @property
    def price(self) -> int:
        """Barren draws that a class's own bound would cost: a class that is smaller is fetched whole."""
        return price(self.tail_yield, self.error)


class Cohort(msgspec.Struct, array_like=True):
    """URLs of one class that were known when the first of them was drawn."""

    known: int = 0  # ever
    drawn: int = 0
    hits: int = 0  # of them good
    gone: int = 0  # left without being drawn: freed, refused
    dropped: int = 0  # beyond the cap: counted, not stored
    audited: int = 0  # promoted as audits
    pending: int = 0  # promoted, not settled
    is_frozen: bool = False  # something was promoted: what comes later gathers in the next cohort
    is_closed: bool = False
    test: int = 0  # of the host, that `stratum` belongs to
    stratum: Stratum | None = None

    @property
    def left(self) -> int:
        """URLs that were not fetched; promoted ones among them, since nothing is known of them yet."""
        return self.known - self.drawn - self.gone

    @property
    def waiting(self) -> int:
        """URLs that may be promoted: those that are stored."""
        return 0 if self.is_closed else self.left - self.pending - self.dropped


class TailClass(msgspec.Struct, array_like=True):
    """One class of a host."""

    holder: str
    cohorts: list[Cohort] = msgspec.field(default_factory=list)
    recent: Recent = msgspec.field(default_factory=Recent)  # what its URLs came to, those before it was postponed among them

    @property
    def known(self) -> int:
        """URLs that were ever postponed in it."""
        return sum(cohort.known for cohort in self.cohorts)

    @property
    def left(self) -> int:
        """URLs that were not fetched, closed ones too."""
        return sum(cohort.left for cohort in self.cohorts)

    @property
    def waiting(self) -> int:
        """URLs that may be promoted."""
        return sum(cohort.waiting for cohort in self.cohorts)


class HostTail(msgspec.Struct, array_like=True):
    """What a host's fetches came to, and the test that its classes share."""

    useful: int = 0  # fetches that gave something new, of the tail or not
    barren_whole: int = 0  # fetches that gave nothing of classes that are fetched whole and were not worth while
    barren_shared: int = 0  # and of those that share a bound
    test: int = 1
    n_closed: int = 0  # URLs that were left alone
    n_settled: int = 0  # draws that have ended
    test_from: int = 0  # of them before the test began


class Cost(Enum):
    """What a barren draw counts against."""

    NONE = 0  # its class is worth while, or it is an audit
    WHOLE = 1  # what small classes may cost
    SHARED = 2  # what the bound may cost


class Draw(msgspec.Struct, frozen=True, array_like=True):
    """What a promoted URL carries until it is settled."""

    holder: str
    cohort: int
    bet: bool = False  # its outcome is evidence for closing
    cost: Cost = Cost.NONE  # if it is barren
    is_audit: bool = False
