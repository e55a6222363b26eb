"""Decides when the rest of a host's held URLs is worth nothing: by one bound over all of its classes, valid at every look.

**Strata.** A stratum is a set of URLs that was known before the first of them was drawn. They are drawn without replacement in the order
of a keyed hash (audits.py), so that the drawn ones are a random sample, however the site ordered its links. If m of `size` URLs are good,
then after n draws with s good ones the next draw is good with probability (m − s)/(size − n) [WSR20].

**The bet.** A gambler bets that the strata yield less than τ. At each draw her wealth is multiplied by the probability that she gave to the
outcome, divided by its probability under m. If m is the true number of every stratum, her wealth is a martingale: the probability that it
ever reaches 1/α is at most α, however often one looks [VIL39]. The same holds for the product over strata, and strata may join at any time,
whatever was drawn before: a new one multiplies by 1. So neither the number of strata nor their growth costs anything. But none may leave: a
loss in a stratum counts even after nothing of it is left (`others`).

**The worst case.** How many good URLs each stratum has left is not known. The bound must exclude every way to divide R good URLs among the
strata, so it takes the division under which the draws are likeliest (union-intersection over strata [SS22]). The log-likelihood of a
stratum is concave in its good URLs, so that one bisection on its slope finds that division. If an equal share f of all strata is sampled
and nothing was good, the wealth is (1 − f)^−R: at τ = .02 and α = .05 about 160 draws are enough for a host of 5,000 URLs, in whatever
number of classes; tested one by one, each class would need as many.

**Beliefs.** The capital is divided among four yields: 0, .15 τ, .4 τ, .7 τ. One good draw loses all that was bet on 0. Before any draw the
gambler may stop betting on a stratum, or begin again; that decision may depend on past draws only. Draws without a bet are no evidence. If
a test cannot be won any more, a new one begins with a smaller part of α (`error_of`): all tests together never spend more than α.

It is assumed that the worth of a URL does not change. If other fetches make a URL worthless (its text was found elsewhere), less is left
than the bound says.

Memory: five numbers a stratum. Time: O(strata × log² size), 0.1 ms for 20 strata.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, inf, lgamma, log, log1p

import msgspec

_BELIEFS = ((0.0, 0.8), (0.15, 0.1), (0.4, 0.06), (0.7, 0.04))  # (the yield as a share of τ, its share of the capital)
_FIRST = 0.9  # share of α for the first test
MOST_BETS = 8  # runs of bets that one stratum may have in one test
_STEPS = 26  # steps of the bisection: they find the slope with an error of 1e-6


class Bets(msgspec.Struct, array_like=True):
    """A run of draws of one stratum that were bet on."""

    before: int  # draws of the stratum before the run
    hits_before: int
    n: int = 0
    s: int = 0  # of them good


class Stratum(msgspec.Struct, array_like=True):
    """One set of URLs, and its draws since the test began."""

    size: int  # URLs not drawn when the test began
    drawn: int = 0
    hits: int = 0  # of them good
    gone: int = 0  # URLs that left without being drawn
    bets: list[Bets] = msgspec.field(default_factory=list)
    is_betting: bool = False  # the last draw was bet on

    @property
    def left(self) -> int:
        """URLs that are still to be drawn."""
        return self.size - self.drawn - self.gone

    def draw(self, is_good: bool, *, bet: bool) -> None:
        """Record a draw.

        Args:
            is_good: Whether the URL gave something useful.
            bet: Whether it was bet on, which must have been decided before the draw.
        """
        is_bet = bet and (self.is_betting or len(self.bets) < MOST_BETS)
        if is_bet:
            if not self.is_betting:
                self.bets.append(Bets(self.drawn, self.hits))
            self.bets[-1].n += 1
            self.bets[-1].s += is_good
        self.is_betting = is_bet
        self.drawn += 1
        self.hits += is_good


def error_of(error: float, test: int) -> float:
    """Return the error probability that the test of this number (from 1) may spend: .9 α, then .1 α / (k (k − 1)); together α."""
    return error * (_FIRST if test == 1 else (1 - _FIRST) / (test * (test - 1)))


def closes(strata: Sequence[Stratum], threshold: float, error: float, *, others: Sequence[Stratum] = ()) -> bool:
    """Return whether the draws refute that a share of `threshold` or more of what is left in the strata is good. True if nothing is left.

    Args:
        strata: The strata that are to be closed.
        threshold: 0 is never refuted while anything is left, 1 always.
        error: Probability of being wrong, at most.
        others: All other strata that were bet on in this test, exhausted ones too. Their losses count: otherwise the test could choose
            which of its draws it uses.
    """
    left = sum(stratum.left for stratum in strata)
    if left == 0 or threshold >= 1:
        return True
    if threshold <= 0:
        return False
    n_good = max(1, ceil(threshold * left - 1e-9))
    if log_wealth_if_even(strata, n_good, threshold, others=others) < -log(error):
        return False
    return log_wealth(strata, n_good, threshold, others=others) >= -log(error)


def upper_bound(strata: Sequence[Stratum], threshold: float, error: float) -> int:
    """Return the largest number of good URLs that may be left. It is wrong with probability `error` at most, however often one looks.

    Args:
        threshold: The yield that the bets were made against.
    """
    low, high = 0, sum(stratum.left for stratum in strata)
    while low < high:
        middle = (low + high + 1) // 2
        refuted = log_wealth(strata, middle, threshold) >= -log(error)
        low, high = (low, middle - 1) if refuted else (middle, high)
    return low


def log_wealth(strata: Sequence[Stratum], n_good: int, threshold: float, *, others: Sequence[Stratum] = ()) -> float:
    """Return the logarithm of the gambler's wealth if the strata still hold n_good good URLs, in the division that is worst for her.

    Args:
        others: Strata about which nothing is assumed; each has the number of good URLs that is worst for her.
    """
    return _log_capital([*strata, *others], threshold) - _likeliest(strata, n_good) - _likeliest(others, 0)


def log_wealth_if_even(strata: Sequence[Stratum], n_good: int, threshold: float, *, others: Sequence[Stratum] = ()) -> float:
    """Return `log_wealth` under the assumption that every stratum has its share of the good URLs: never less, and quickly computed.

    If the shares are no whole numbers, the exact wealth is returned.
    """
    left = sum(stratum.left for stratum in strata)
    found = _log_capital([*strata, *others], threshold) - _likeliest(others, 0)
    rest = n_good
    for i, stratum in enumerate(strata):
        share = rest if i == len(strata) - 1 else min(rest, round(n_good * stratum.left / left))
        share = min(share, stratum.left)
        rest -= share
        found -= _log_likelihood(stratum, share)
    return found if rest == 0 else log_wealth(strata, n_good, threshold, others=others)


def price(threshold: float, error: float) -> int:
    """Return how many barren draws in a row refute `threshold` for an infinite set; finite sets need fewer."""
    if threshold >= 1:
        return 0
    if threshold <= 0:
        return 1 << 62
    return ceil((-log(error) - log(_BELIEFS[0][1])) / -log1p(-threshold))


def _log_capital(strata: Sequence[Stratum], threshold: float) -> float:
    """Return the logarithm of the probability of all draws that were bet on, averaged over the gambler's four beliefs."""
    bets = [bets for stratum in strata for bets in stratum.bets]
    n, s = sum(row.n for row in bets), sum(row.s for row in bets)
    terms = []
    for share, weight in _BELIEFS:
        if s and not share:
            continue
        rate = share * threshold
        terms.append(log(weight) + (s * log(rate) if s else 0.0) + (n - s) * log1p(-rate))
    top = max(terms)
    return top + log(sum(exp(term - top) for term in terms))


def _log_likelihood(of: Stratum, good_left: int) -> float:
    """Return the logarithm of the probability of the draws that were bet on, if `good_left` of the URLs that are left are good.

    URLs that left without being drawn count as not good. That makes barren draws likelier, so the bound errs on the safe side.
    """
    if not 0 <= good_left <= of.left:
        return -inf
    found = 0.0
    for row in of.bets:
        m, size = good_left + of.hits - row.hits_before, of.size - row.before
        found += _falling(m, row.s) + _falling(size - m, row.n - row.s) - _falling(size, row.n)
    return found


def _falling(x: int, k: int) -> float:
    """Return log x (x − 1) … (x − k + 1)."""
    return lgamma(x + 1) - lgamma(x - k + 1) if k else 0.0


def _slope(of: Stratum, good_left: int) -> float:
    """Return by how much the log-likelihood rises if one more than `good_left` URLs are good. Decreases with good_left."""
    found = 0.0
    for row in of.bets:
        m = good_left + of.hits - row.hits_before
        bad, misses = of.size - row.before - m, row.n - row.s
        if bad <= misses and misses:
            return -inf
        found += log((m + 1) / (m + 1 - row.s)) + (log((bad - misses) / bad) if misses else 0.0)
    return found


def _fit(of: Stratum, slope: float) -> int:
    """Return how many good URLs the stratum gets if each must raise the log-likelihood by more than `slope`."""
    low, high = 0, of.left
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if _slope(of, middle) > slope else (low, middle)
    return low


def _likeliest(strata: Sequence[Stratum], n_good: int) -> float:
    """Return the largest log-likelihood of all draws over every division of n_good or more good URLs."""
    if not any(stratum.bets for stratum in strata):
        return 0.0
    fits = [_fit(stratum, 0.0) for stratum in strata]
    if sum(fits) >= n_good:
        return sum(_log_likelihood(stratum, fit) for stratum, fit in zip(strata, fits, strict=True))
    if sum(stratum.left for stratum in strata) < n_good:
        return -inf
    low, high = -50.0, 0.0  # slopes at which enough good URLs fit, and too few
    for _ in range(_STEPS):
        middle = (low + high) / 2
        enough = sum(_fit(stratum, middle) for stratum in strata) >= n_good
        low, high = (middle, high) if enough else (low, middle)
    fits = [_fit(stratum, high) for stratum in strata]
    found = sum(_log_likelihood(stratum, fit) for stratum, fit in zip(strata, fits, strict=True))
    return found + (n_good - sum(fits)) * high  # an upper estimate: the bound errs on the safe side
