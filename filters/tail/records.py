"""The small records of a host's tail. The store keeps each under its key; this module does not depend on how.

    tail host    queue                          → HostTail
    tail class   queue, holder                  → TailClass
    tail member  queue, holder, cohort, order   → the URL and whether it inherits its class     (a scan by cohort is the order of drawing)

A **class** contains the URLs of one host that one opinion of a filter holds: those of a pattern, a place, a rule or a mirror. `holder` is
its name, as everywhere else.

A **cohort** is the part of a class that was known before the first of it was drawn. URLs found later join the next cohort, so that the
draws from a cohort stay a random sample of it. URLs are drawn from the newest cohort only when it is as large as what is left in the older
ones (for audits), or a sixteenth of it (when the host has nothing else): so a class has O(log size) cohorts. URLs are drawn from a smaller
cohort if it is the only reason why the tail cannot be closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import msgspec

from thresher.filters.evidence.bounds import Stratum, price
from thresher.filters.evidence.decay import Recent
from thresher.filters.evidence.posterior import STRENGTH

KINSHIP = " > "  # in the name of a class: the class of the pages, then the shape of what only they have named


@dataclass(frozen=True)
class TailPolicy:
    """How many requests may be spent on held URLs. Chosen by `python -m benchmarks.quality.deferral`."""

    tail_yield: float = 0.02  # share of good URLs below which a tail may be closed; 0: fetch all, 1: nothing
    error: float = 0.01  # probability that a host is ever closed wrongly
    share: float = 0.1  # barren fetches allowed per useful fetch of the host: once for small classes, once more for the bound
    audit_share: float = 0.02  # share of a class that is drawn at once
    worthwhile: float = 0.03  # expected yield from which a class is worth its fetches
    window: float = 60.0  # fetches over which a class's yield is measured
    batch: int = 2  # URLs that are promoted at a time
    cap: int = 10_000  # URLs of a cohort that are stored, those drawn first; the others are only counted

    @property
    def price(self) -> int:
        """Barren draws that a bound for one class alone would take. A class that is smaller is fetched whole."""
        return price(self.tail_yield, self.error)


class Cohort(msgspec.Struct, array_like=True):
    """URLs of one class that were known when the first of them was drawn."""

    known: int = 0  # URLs that ever joined it
    drawn: int = 0
    hits: int = 0  # of them good
    gone: int = 0  # left without being drawn: released or refused
    dropped: int = 0  # beyond the cap: counted, not stored
    audited: int = 0  # promoted as audits
    pending: int = 0  # promoted, not settled
    is_frozen: bool = False  # something was promoted: URLs found later join the next cohort
    is_closed: bool = False
    test: int = 0  # number of the host's test to which `stratum` belongs
    stratum: Stratum | None = None

    @property
    def left(self) -> int:
        """URLs that were not fetched. Promoted ones count, since their outcome is not known yet."""
        return self.known - self.drawn - self.gone

    @property
    def waiting(self) -> int:
        """URLs that may be promoted: the stored ones."""
        return 0 if self.is_closed else self.left - self.pending - self.dropped


class TailClass(msgspec.Struct, array_like=True):
    """One class of a host."""

    holder: str
    cohorts: list[Cohort] = msgspec.field(default_factory=list)
    recent: Recent = msgspec.field(default_factory=Recent)  # yield of its URLs, those fetched before it was held among them
    is_freed: bool = False  # its draws have shown that what its pages name is good: nothing is held in it any more

    @property
    def is_inherited(self) -> bool:
        """Whether nothing is known of its URLs but which pages have named them (crawler/settlement/tail.py: `lineage`)."""
        return KINSHIP in self.holder

    @property
    def known(self) -> int:
        """URLs that were ever held in it."""
        return sum(cohort.known for cohort in self.cohorts)

    @property
    def left(self) -> int:
        """URLs that were not fetched, those of closed cohorts too."""
        return sum(cohort.left for cohort in self.cohorts)

    @property
    def waiting(self) -> int:
        """URLs that may be promoted."""
        return sum(cohort.waiting for cohort in self.cohorts)


def new_class(holder: str, known: Recent) -> TailClass:
    """Return a class without URLs.

    Args:
        known: What was fetched of it before it was held. These were the first URLs that the site named, not a random sample, and they were
            barren, or it would not be held: so they count as no more fetches than what is known of the host's other classes.
    """
    return TailClass(holder, recent=known.as_prior(STRENGTH))


class HostTail(msgspec.Struct, array_like=True):
    """The fetches of a host, counted, and the test that its classes share."""

    useful: int = 0  # fetches that gave something new, from the tail or not
    barren_whole: int = 0  # barren fetches of classes that are fetched whole and are not worth it
    barren_shared: int = 0  # barren fetches of classes that share a bound
    test: int = 1
    n_closed: int = 0  # URLs that were closed
    n_settled: int = 0  # draws that have ended
    test_from: int = 0  # of them before the test began


class Cost(Enum):
    """The account that a barren draw is charged to."""

    NONE = 0  # no account: its class is worth its fetches, or it is an audit
    WHOLE = 1  # the account of small classes
    SHARED = 2  # the account of the bound


class Draw(msgspec.Struct, frozen=True, array_like=True):
    """What is remembered of a promoted URL until it is settled."""

    holder: str
    cohort: int
    bet: bool = False  # it was bet on: its outcome is evidence for closing
    cost: Cost = Cost.NONE  # the account charged if it is barren
    is_audit: bool = False
