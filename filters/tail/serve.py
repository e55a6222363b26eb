"""Which class of a host is served next, and when its tail is closed.

When a host has nothing else due, a batch of its best class is promoted: *between* classes by expected yield (posterior.py), *within* a
class in the order of the keyed hash, so that what is fetched is evidence. While a class is worth while its draws are no bets: the bound
is about what is left when nothing is.

Then it is to be proved that the rest is not worth its price. Classes that are smaller than the price of a bound of their own are fetched
whole; the larger ones share one bound (bounds.py), and of these the one is drawn from whose sample is the smallest share of it, since
that is where the worst case hides its good URLs. What a draw finds changes the order at once.

**Tests.** A host's test ends when it closes. It begins anew, with less of the error to spend, if good draws have cost the gambler her
capital. Its draws lie in several blocks of time (filters/evidence/blocks.py): what a host shows in one stretch closes nothing.

**Cost.** Small classes that are not worth while may cost `share` of the host's useful fetches in barren ones, and the price of one bound.
When that is spent they join the bound of the larger ones: many small classes are one large one, and an endless space cannot live on ever
new ones. The bound's draws may cost as much once more. Then the tail waits: it is held and named, and goes on when more useful pages are
found. With `tail_yield` 0 nothing counts as cost, and all that is finite is fetched.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from typing import NamedTuple

from thresher.filters.evidence.audits import audits_due
from thresher.filters.evidence.blocks import ENOUGH, span
from thresher.filters.evidence.bounds import Stratum, closes, error_of, log_wealth_if_even
from thresher.filters.evidence.decay import Recent
from thresher.filters.evidence.posterior import expected, pooled
from thresher.filters.tail.records import Cohort, Cost, Draw, HostTail, TailClass, TailPolicy

_LOST_CAPITAL = -3.0  # log wealth below which a new test is cheaper than to win this one
_AUDITED = 1.0  # share of what waits in older cohorts that the newest must be to be audited: it doubles what is known
_SERVED = 1 / 16  # and to be served, when the host has nothing else and so names little that is new


class End(Enum):
    """Why nothing of a tail is promoted."""

    EMPTY = "nothing waits"
    CLOSED = "what waits is not worth its price"
    SPENT = "the tail has cost its share"
    ASKS = "what waits is not worth its price, if the host is itself"


class Promotion(NamedTuple):
    """Draw so many URLs of a cohort, those with the smallest order."""

    draw: Draw
    n: int


class HostCrawl(NamedTuple):
    """What decides whether a host may serve its tail now."""

    has_due: bool  # anything else that is due: fresh URLs, retries, probes
    backs_off: bool
    is_budgeted: bool  # max_pages, max_bytes or max_time hold for the whole crawl
    others_fresh: bool  # any host that is not parked, of any agent, has fresh URLs


def may_serve(crawl: HostCrawl) -> bool:
    """Return whether a host may serve its tail: under a budget of the whole crawl not while any host has fresh URLs."""
    return not crawl.has_due and not crawl.backs_off and not (crawl.is_budgeted and crawl.others_fresh)


def promote(host: HostTail, classes: Collection[TailClass], policy: TailPolicy, *, may_close: bool = True) -> Promotion | End:
    """Choose what a host serves that has nothing else due, or close its tail if the bound says so; both are noted in the records.

    classes: all of the host, by holder, which decides between equals; those that were fetched whole too, as long as the host's test lasts
    may_close: the host is known to be itself, so that what its draws came to is evidence
    """
    waiting = [of for of in classes if of.waiting]
    if not waiting:
        return End.CLOSED if any(of.left for of in classes) else End.EMPTY
    if policy.tail_yield >= 1:
        return _close(host, waiting)
    prior = pooled([of.recent for of in waiting])
    yields = {of.holder: expected(of.recent, prior) for of in waiting}
    best = max(waiting, key=lambda of: yields[of.holder])
    if yields[best.holder] >= policy.worthwhile or policy.tail_yield <= 0:
        return _batch(best, policy, bet=False, cost=Cost.NONE)
    allowance = policy.price + policy.share * host.useful
    is_whole = host.barren_whole < allowance  # small classes are fetched whole still
    shared = [of for of in waiting if not is_whole or of.known - _closed(of) >= policy.price]
    if shared and _is_proved(host, shared, classes, policy):
        if not may_close:
            return End.ASKS
        _close(host, shared)
        return promote(host, classes, policy, may_close=may_close)
    small = [of for of in waiting if of not in shared]
    if host.barren_shared >= allowance:
        if not small:
            return End.SPENT
        best = max(small, key=lambda of: yields[of.holder])
    if best in small:
        return _batch(best, policy, bet=True, cost=Cost.WHOLE)
    least = min(shared, key=lambda of: (_sampled(of.cohorts[_least_sampled(of)]), of.holder))
    return _batch(least, policy, bet=True, cost=Cost.SHARED)


def settle(host: HostTail, of: TailClass, draw: Draw, is_good: bool, *, policy: TailPolicy) -> None:
    """Learn from a promoted URL's fetch. Outcomes may come in any order, each once; a draw without an outcome (a retry) is no draw yet."""
    cohort = of.cohorts[draw.cohort]
    stratum = _stratum(cohort, host.test)
    cohort.pending -= 1
    cohort.drawn += 1
    cohort.hits += is_good
    host.n_settled += 1
    stratum.draw(is_good, bet=draw.bet)
    of.recent.learn(is_good, window=policy.window)
    host.barren_whole += draw.cost is Cost.WHOLE and not is_good
    host.barren_shared += draw.cost is Cost.SHARED and not is_good
    host.useful += is_good


def void(host: HostTail, classes: Collection[TailClass]) -> None:
    """Begin a new test, with less of the error to spend: what was drawn until now is no evidence, and has cost nothing."""
    _begin_test(host)
    host.barren_whole = host.barren_shared = 0
    for of in classes:
        of.recent = Recent()


def audits(of: TailClass, policy: TailPolicy) -> Promotion | None:
    """Return the draws of a class that are due at once, whatever else its host has; they are noted in the record."""
    due = audits_due(of.known, sum(cohort.audited for cohort in of.cohorts), policy.audit_share)
    drawable = _drawable(of, gathered=_AUDITED)
    if not due or not drawable:
        return None
    found = _take(of, Draw(of.holder, drawable[-1], bet=True, is_audit=True), due)
    of.cohorts[drawable[-1]].audited += found.n
    return found


def _is_proved(host: HostTail, shared: Sequence[TailClass], classes: Collection[TailClass], policy: TailPolicy) -> bool:
    """Return whether what is left of these classes is proved not worth its price; begin a new test if this one cannot prove it."""
    holders = {of.holder for of in shared}
    strata = [_stratum(cohort, host.test) for of in shared for cohort in of.cohorts if not cohort.is_closed]
    rest = (cohort for of in classes if of.holder not in holders for cohort in of.cohorts)
    others = [cohort.stratum for cohort in rest if cohort.stratum is not None and cohort.test == host.test and cohort.stratum.bets]
    if closes(strata, policy.tail_yield, error_of(policy.error, host.test), others=others):
        return span(host.test_from, host.n_settled) >= ENOUGH
    n_good = max(1, round(policy.tail_yield * sum(stratum.left for stratum in strata)))
    if log_wealth_if_even(strata, n_good, policy.tail_yield, others=others) < _LOST_CAPITAL:
        _begin_test(host)
    return False


def _close(host: HostTail, classes: Collection[TailClass]) -> End:
    for of in classes:
        for cohort in of.cohorts:
            if not cohort.is_closed:
                host.n_closed += cohort.left - cohort.pending
                cohort.is_closed = True
    _begin_test(host)
    return End.CLOSED


def _begin_test(host: HostTail) -> None:
    host.test += 1
    host.test_from = host.n_settled


def _batch(of: TailClass, policy: TailPolicy, *, bet: bool, cost: Cost) -> Promotion:
    number = _least_sampled(of)
    return _take(of, Draw(of.holder, number, bet=bet, cost=cost), policy.batch)


def _take(of: TailClass, draw: Draw, n: int) -> Promotion:
    cohort = of.cohorts[draw.cohort]
    taken = min(n, cohort.waiting)
    cohort.pending += taken
    cohort.is_frozen = True
    return Promotion(draw, taken)


def _drawable(of: TailClass, *, gathered: float) -> list[int]:
    """Return the cohorts that may be drawn from: the newest, if it gathers still, only if it is this share of what waits in the others."""
    found = [i for i, cohort in enumerate(of.cohorts) if cohort.waiting]
    newest = of.cohorts[-1] if of.cohorts else Cohort()
    if len(found) > 1 and not newest.is_frozen and newest.waiting < gathered * sum(cohort.waiting for cohort in of.cohorts[:-1]):
        found.pop()
    return found


def _least_sampled(of: TailClass) -> int:
    """Return the cohort of which the present test has seen the smallest share."""
    return min(_drawable(of, gathered=_SERVED), key=lambda number: _sampled(of.cohorts[number]))


def _sampled(cohort: Cohort) -> float:
    """Return the share of a cohort that the present test has seen."""
    stratum = cohort.stratum
    return stratum.drawn / max(1, stratum.size) if stratum is not None else 0.0


def _closed(of: TailClass) -> int:
    return sum(cohort.known for cohort in of.cohorts if cohort.is_closed)


def _stratum(cohort: Cohort, test: int) -> Stratum:
    """Return what the test of this number knows of a cohort; what earlier ones knew is no evidence for it."""
    if cohort.stratum is None or cohort.test != test:
        cohort.stratum, cohort.test = Stratum(cohort.left), test
    return cohort.stratum
