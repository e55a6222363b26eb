"""Decides which class of a host is served next, and when its tail is closed.

When a host has nothing else to fetch, a batch of its best class is promoted: *between* classes by expected yield (posterior.py), *within* a
class in the order of the keyed hash, so that each fetch is evidence. While a class is worth its fetches, its draws are not bet on: the
bound is needed only for classes that are not.

A page that is new but resembles a kept one counts half in this order: a list in another order waits behind pages that nothing
resembles. It is a document all the same, so for the bound and the costs it counts whole.

A class that is only inherited (URLs of a shape that pages of one class have named) rests on no fetch of its own. So one of its URLs is
drawn whenever it has doubled, and it is freed if three draws in ten or more are good by their lower bound: an index may be a copy, or show
nothing, and yet lead to documents.

For the rest it must be proved that it is not worth its fetches. Each class that is smaller than the price of a bound of its own is fetched
whole. The larger ones share one bound (bounds.py), and the next draw is from the class of which the smallest share is sampled, since the
worst case puts its good URLs there. A newest cohort too small to be drawn from is drawn from after all when the draws would be enough if
they were spread evenly: else its few URLs, of which nothing is known, could hold all that is good. Each outcome changes the order at once.

**Tests.** A host's test ends when it closes. A new one begins, with less of the error to spend, when good draws have used up the gambler's
capital. Its draws must lie in several blocks of time (filters/evidence/blocks.py): one short phase of a host closes nothing.

**Cost.** Small classes that are not worth their fetches may cost `share` of the host's useful fetches in barren ones, plus the price of one
bound. When that is spent, they join the bound of the larger ones: together they count as one large class, so an endless space cannot go on
by making new small ones. The draws for the bound may cost as much again. After that the tail stays held and is reported; it goes on when
the host gives more useful pages. With `tail_yield` 0 nothing counts as cost, and every finite class is fetched whole.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from math import log
from typing import NamedTuple

from thresher.filters.evidence.audits import audits_due
from thresher.filters.evidence.blocks import ENOUGH, span
from thresher.filters.evidence.bounds import Stratum, closes, error_of, log_wealth_if_even
from thresher.filters.evidence.decay import Recent
from thresher.filters.evidence.posterior import STRENGTH, expected, lower_share, pooled
from thresher.filters.tail.records import KINSHIP, Cohort, Cost, Draw, HostTail, TailClass, TailPolicy

_TRIED_FROM = 20  # waiting URLs of a class that is worth a trial
_TRIALS = 4  # draws of a trial, at most
_WORTH_IF_ALIKE = 0.5  # of a new page that resembles a kept one, in the order of the classes
_LOOKED_AT = 4  # an inherited class is drawn from when it has twice so many URLs, and whenever it has doubled again
_RIGHT = 0.3  # lower bound of its draws' yield from which it was held wrongly
_SEVERAL = 2  # good draws needed for that
_LOST_CAPITAL = -3.0  # log wealth below which a new test is cheaper than winning this one
_AUDITED = 1.0  # size of the newest cohort, as a share of the older ones', from which it is audited
_MOST_IN_VAIN = 2  # draws in vain for each useful fetch of a host before which walls stand again and again
_SERVED = 1 / 16  # the same, from which it is served when the host has nothing else and finds few new links


class TailEnd(Enum):
    """Why nothing of a tail is promoted."""

    EMPTY = "nothing waits"
    CLOSED = "what waits is not worth its price"
    SPENT = "the tail has cost its share"
    ASKS = "what waits is not worth its price, if the host is itself"


class _Proof(Enum):
    """What the draws prove about the rest."""

    OPEN = "not enough was drawn"
    UNEVEN = "enough was drawn, but what was found last and never drawn from could hold all that is good"
    HOLDS = "it is not worth its fetches"


class Promotion(NamedTuple):
    """The order to draw `n` URLs of a cohort, in the order of drawing."""

    draw: Draw
    n: int


class HostCrawl(NamedTuple):
    """The state that decides whether a host may serve its tail now."""

    has_due: bool  # the host has anything else to fetch: fresh URLs, retries, probes
    backs_off: bool
    is_budgeted: bool  # max_pages, max_bytes or max_time hold for the whole crawl
    others_fresh: bool  # any host that is not parked, of any agent, has fresh URLs


def may_serve(crawl: HostCrawl) -> bool:
    """Return whether a host may serve its tail. If the whole crawl has a budget, it may not while any host has fresh URLs."""
    return not crawl.has_due and not crawl.backs_off and not (crawl.is_budgeted and crawl.others_fresh)


def promote(host: HostTail, classes: Collection[TailClass], policy: TailPolicy, *, may_close: bool = True) -> Promotion | TailEnd:
    """Choose what a host with nothing else to fetch serves of its tail, or close the tail if the bound allows it; both change the records.

    Args:
        classes: All of the host, by holder; equals are served in the order of the holders. Classes that were fetched whole must be there
            too while the host's test lasts.
        may_close: Whether no wall is suspected, so that the outcomes of the draws are evidence.
    """
    waiting = [of for of in classes if of.waiting]
    if not waiting:
        return TailEnd.CLOSED if any(of.left for of in classes) else TailEnd.EMPTY
    if policy.tail_yield >= 1:
        return _close(host, waiting)
    prior = pooled([of.recent for of in waiting])
    kin = _freed_kin(classes)
    yields = {of.holder: expected(_with(kin.get(of.holder), of), prior) for of in waiting}
    best = max(waiting, key=lambda of: yields[of.holder])
    allowance = policy.price + policy.share * host.useful
    is_whole = host.barren_whole < allowance  # small classes are still fetched whole
    if yields[best.holder] >= policy.worthwhile or policy.tail_yield <= 0:
        if is_whole and (untried := _untried(waiting, yields[best.holder])) is not None:
            return _batch(untried, policy, bet=False, cost=Cost.WHOLE)
        return _batch(best, policy, bet=False, cost=Cost.NONE)
    shared = [of for of in waiting if not is_whole or of.known - _closed(of) >= policy.price]
    proof = _proof(host, shared, classes, policy) if shared else _Proof.OPEN
    if proof is _Proof.HOLDS:
        if not may_close:
            return TailEnd.ASKS
        _close(host, shared)
        return promote(host, classes, policy, may_close=may_close)
    small = [of for of in waiting if of not in shared]
    if host.barren_shared >= allowance:
        if not small:
            return TailEnd.SPENT
        best = max(small, key=lambda of: yields[of.holder])
    if best in small:
        return _batch(best, policy, bet=True, cost=Cost.WHOLE)
    gathered = 0.0 if proof is _Proof.UNEVEN else _SERVED
    least = min(shared, key=lambda of: (_sampled(of.cohorts[_least_sampled(of, gathered)]), of.holder))
    return _batch(least, policy, bet=True, cost=Cost.SHARED, gathered=gathered)


def settle(host: HostTail, of: TailClass, draw: Draw, is_good: bool, *, policy: TailPolicy, is_alike: bool = False) -> None:
    """Learn the outcome of a promoted URL. Outcomes may come in any order, each once; while a URL is retried it has none.

    Args:
        is_good: Whether its page gave something new.
        is_alike: Whether that page resembles a kept one.
    """
    cohort = of.cohorts[draw.cohort]
    stratum = _stratum(cohort, host.test)
    cohort.pending -= 1
    cohort.drawn += 1
    cohort.hits += is_good
    host.n_settled += 1
    stratum.draw(is_good, bet=draw.bet)
    of.recent.learn(is_good, window=policy.window, worth=_WORTH_IF_ALIKE if is_alike else 1.0)
    host.barren_whole += draw.cost is Cost.WHOLE and not is_good
    host.barren_shared += draw.cost is Cost.SHARED and not is_good
    host.useful += is_good
    recent = of.recent
    of.is_freed = of.is_freed or (of.is_inherited and recent.s >= _SEVERAL and lower_share(recent.n, recent.s) >= _RIGHT)


def void(host: HostTail, classes: Collection[TailClass], policy: TailPolicy) -> None:
    """Begin a new test, with less of the error to spend, since a wall has answered: the draws until now are no evidence.

    Their yield counts as little as a prior. Their cost is refunded: all of it by the first test that ends, half by the second, a third by
    the third, which is about as much again in all. What walls show is new, too, so that a class may seem to be worth its fetches for
    ever: the tail is left alone once its draws in vain, paid or not, are `_MOST_IN_VAIN` times what the host has given and its price.
    """
    refund = 1 / host.test
    host.barren_whole -= round(refund * host.barren_whole)
    host.barren_shared -= round(refund * host.barren_shared)
    _begin_test(host)
    for of in classes:
        of.recent = of.recent.as_prior(STRENGTH)
    n_vain = host.n_settled - sum(cohort.hits for of in classes for cohort in of.cohorts)
    if policy.tail_yield > 0 and n_vain >= _MOST_IN_VAIN * (policy.price + host.useful):
        _close(host, classes)


def audits(of: TailClass, policy: TailPolicy) -> Promotion | None:
    """Return the audits of a class that are due now, whatever else its host has to fetch; they are counted in the record."""
    audited = sum(cohort.audited for cohort in of.cohorts)
    due = audits_due(of.known, audited, policy.audit_share)
    if of.is_inherited and policy.audit_share > 0:
        due = max(due, (of.known // _LOOKED_AT).bit_length() - 1 - audited)
    drawable = _drawable(of, gathered=_AUDITED)
    if not due or not drawable:
        return None
    found = _take(of, Draw(of.holder, drawable[-1], bet=True, is_audit=True), due)
    of.cohorts[drawable[-1]].audited += found.n
    return found


def _freed_kin(classes: Collection[TailClass]) -> dict[str, Recent]:
    """Return class → counts of what only its pages have named, as far as draws have freed that."""
    found: dict[str, Recent] = {}
    for of in classes:
        if of.is_freed:
            root = of.holder.partition(KINSHIP)[0]
            found[root] = found[root].plus(of.recent) if root in found else of.recent
    return found


def _with(kin: Recent | None, of: TailClass) -> Recent:
    """Return the counts of a class, each fetch of which also leads to at least one URL like its freed kin."""
    if kin is None or not kin.n:
        return of.recent
    return of.recent.plus(Recent(of.recent.n, of.recent.n * kin.s / kin.n))


def _untried(waiting: Sequence[TailClass], best: float) -> TailClass | None:
    """Return the largest class of which hardly anything was drawn yet, None if there is none worth a trial.

    What was fetched of it before it was held was barren, or it would not be held; but these were the first URLs that the site named, not a
    random sample. A trial has as many draws as the best class wastes for one good page: none where two of three are good.

    Args:
        waiting: The classes with waiting URLs.
        best: Expected yield of the best of them.
    """
    n_draws = round(min(_TRIALS, (1 - best) / best)) if best else _TRIALS
    found = [of for of in waiting if of.waiting >= _TRIED_FROM and sum(cohort.drawn + cohort.pending for cohort in of.cohorts) < n_draws]
    return max(found, key=lambda of: (of.waiting, of.holder), default=None)


def _proof(host: HostTail, shared: Sequence[TailClass], classes: Collection[TailClass], policy: TailPolicy) -> _Proof:
    """Return whether the rest of these classes is proved not worth its fetches; begin a new test if this one cannot prove it any more."""
    holders = {of.holder for of in shared}
    strata = [_stratum(cohort, host.test) for of in shared for cohort in of.cohorts if not cohort.is_closed]
    rest = (cohort for of in classes if of.holder not in holders for cohort in of.cohorts)
    others = [cohort.stratum for cohort in rest if cohort.stratum is not None and cohort.test == host.test and cohort.stratum.bets]
    if closes(strata, policy.tail_yield, error_of(policy.error, host.test), others=others):
        return _Proof.HOLDS if span(host.test_from, host.n_settled) >= ENOUGH else _Proof.OPEN
    n_good = max(1, round(policy.tail_yield * sum(stratum.left for stratum in strata)))
    even = log_wealth_if_even(strata, n_good, policy.tail_yield, others=others)
    if even < _LOST_CAPITAL:
        _begin_test(host)
    return _Proof.UNEVEN if even >= -log(error_of(policy.error, host.test)) else _Proof.OPEN


def _close(host: HostTail, classes: Collection[TailClass]) -> TailEnd:
    for of in classes:
        for cohort in of.cohorts:
            if not cohort.is_closed:
                host.n_closed += cohort.left - cohort.pending
                cohort.is_closed = True
    _begin_test(host)
    return TailEnd.CLOSED


def _begin_test(host: HostTail) -> None:
    host.test += 1
    host.test_from = host.n_settled


def _batch(of: TailClass, policy: TailPolicy, *, bet: bool, cost: Cost, gathered: float = _SERVED) -> Promotion:
    number = _least_sampled(of, gathered)
    return _take(of, Draw(of.holder, number, bet=bet, cost=cost), policy.batch)


def _take(of: TailClass, draw: Draw, n: int) -> Promotion:
    cohort = of.cohorts[draw.cohort]
    taken = min(n, cohort.waiting)
    cohort.pending += taken
    cohort.is_frozen = True
    return Promotion(draw, taken)


def _drawable(of: TailClass, *, gathered: float) -> list[int]:
    """Return the cohorts that may be drawn from. The newest, if URLs still join it, must be this share of what is left in the others."""
    found = [i for i, cohort in enumerate(of.cohorts) if cohort.waiting]
    newest = of.cohorts[-1] if of.cohorts else Cohort()
    if len(found) > 1 and not newest.is_frozen and newest.waiting < gathered * sum(cohort.waiting for cohort in of.cohorts[:-1]):
        found.pop()
    return found


def _least_sampled(of: TailClass, gathered: float) -> int:
    """Return the cohort of which the present test has seen the smallest share."""
    return min(_drawable(of, gathered=gathered), key=lambda number: _sampled(of.cohorts[number]))


def _sampled(cohort: Cohort) -> float:
    """Return the share of a cohort that the present test has seen."""
    stratum = cohort.stratum
    return stratum.drawn / max(1, stratum.size) if stratum is not None else 0.0


def _closed(of: TailClass) -> int:
    return sum(cohort.known for cohort in of.cohorts if cohort.is_closed)


def _stratum(cohort: Cohort, test: int) -> Stratum:
    """Return the stratum of a cohort for the test of this number; the draws of earlier tests are no evidence for it."""
    if cohort.stratum is None or cohort.test != test:
        cohort.stratum, cohort.test = Stratum(cohort.left), test
    return cohort.stratum
