"""When is what is left of a host's held URLs worth nothing? One bound over all its classes, valid whenever one looks.

**Strata.** A stratum is a set of URLs that was known before the first of them was drawn. They are drawn without replacement in the order
of a keyed hash (audits.py), so that the drawn ones are a random sample however the site ordered its links. Of `size` URLs m are good; then
a draw after n draws with s good ones is good with probability (m − s)/(size − n) [WSR20].

**The bet.** A gambler who believes that strata yield less than τ multiplies her wealth by what she thought the draw's outcome worth, over
its probability under m. If the m of every stratum are the true ones, her wealth is a martingale: it reaches 1/α with a probability of at
most α, however often it is looked at [VIL39]. That holds for the product over strata too, and strata may join at any time, whatever
was drawn: a new one multiplies by 1. So nothing is paid for the number of strata or for their growth. None may leave: what bets on a
stratum have cost is paid even if nothing of it is left (`others`).

**The worst case.** How many good URLs each stratum has left is not known. The bound speaks against every division of R good URLs among
the strata at once: it takes the one under which the draws are likeliest (union-intersection over strata [SS22]). The log-likelihood of a
stratum is concave in its good URLs, so that the worst division is found by one bisection on its slope. If all are sampled at one share f
and nothing was good, the wealth is (1 − f)^−R: at τ = .02 and α = .05 about 160 draws decide for a host of 5,000 URLs in whatever number of
classes, where each class by itself would take as many.

**Beliefs.** The gambler's capital is divided between four yields: nothing, .15 τ, .4 τ, .7 τ. One good draw costs her what she had on
nothing. Before any draw she may stop to bet on a stratum, or begin again, depending on the past alone: what is drawn meanwhile is no
evidence. A test that cannot be won any more is begun anew with the k-th part of α (`error_of`): together never more than α.

A URL's worth is taken as fixed. If other draws make a URL worthless (its text was found elsewhere), less is left than the bound says.

Memory: five numbers a stratum. Time: O(strata × log² size), 0.1 ms for 20 strata.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, inf, lgamma, log, log1p

import msgspec

_BELIEFS = ((0.0, 0.8), (0.15, 0.1), (0.4, 0.06), (0.7, 0.04))  # share of τ that the yield is, share of the capital
_FIRST = 0.9  # of α, for the first test
MOST_BETS = 8  # rows of bets of one stratum and test
_STEPS = 26  # of the bisection: the slope to 1e-6


class Bets(msgspec.Struct, array_like=True):
    """Draws in a row that were bet on."""

    before: int  # draws of the stratum before them
    hits_before: int
    n: int = 0
    s: int = 0  # of them good


class Stratum(msgspec.Struct, array_like=True):
    """Draws from one set of URLs since the test began."""

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
        """Note a draw.

        Args:
            bet: Whether it was bet on; that was decided before it was made.
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
    """Return the error that the test of this number (from 1) may spend: .9 α, then .1 α / (k (k − 1)); together α."""
    return error * (_FIRST if test == 1 else (1 - _FIRST) / (test * (test - 1)))


def closes(strata: Sequence[Stratum], threshold: float, error: float, *, others: Sequence[Stratum] = ()) -> bool:
    """Return whether it is refuted that `threshold` of what is left in the strata, or more, is good. Nothing left: True.

    Args:
        threshold: 0 is never refuted while anything is left, 1 always.
        others: All other strata that were bet on in this test, exhausted ones too: what the bets on them cost must be paid, or the test
            could choose its draws.
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
    """Return how many good URLs may be left at most; wrong, at any time of looking, with probability `error` at most.

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
    """Return the logarithm of the gambler's wealth if the strata still hold n_good good URLs, divided as is worst for her.

    Args:
        others: Strata of which nothing is supposed; each has as many good URLs as is worst for her.
    """
    return _log_capital([*strata, *others], threshold) - _likeliest(strata, n_good) - _likeliest(others, 0)


def log_wealth_if_even(strata: Sequence[Stratum], n_good: int, threshold: float, *, others: Sequence[Stratum] = ()) -> float:
    """Return the same if every stratum has its share of the good URLs, which is never less, and quickly known.

    Shares are rounded; where they do not come out even the exact wealth is returned.
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
    """Return how many barren draws refute `threshold` for a set without end; smaller sets take less."""
    if threshold >= 1:
        return 0
    if threshold <= 0:
        return 1 << 62
    return ceil((-log(error) - log(_BELIEFS[0][1])) / -log1p(-threshold))


def _log_capital(strata: Sequence[Stratum], threshold: float) -> float:
    """Return the logarithm of the mean probability of all draws that were bet on over the gambler's beliefs."""
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
    """Return the logarithm of the probability of the draws that were bet on if so many of the URLs that are left are good.

    URLs that went away count as not good, which makes barren draws likelier: the bound errs on the safe side.
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
    """Return by how much one more good URL than good_left raises the log-likelihood. Falls with good_left."""
    found = 0.0
    for row in of.bets:
        m = good_left + of.hits - row.hits_before
        bad, misses = of.size - row.before - m, row.n - row.s
        if bad <= misses and misses:
            return -inf
        found += log((m + 1) / (m + 1 - row.s)) + (log((bad - misses) / bad) if misses else 0.0)
    return found


def _fit(of: Stratum, slope: float) -> int:
    """Return how many good URLs the stratum takes if each must raise the log-likelihood by more than `slope`."""
    low, high = 0, of.left
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if _slope(of, middle) > slope else (low, middle)
    return low


def _likeliest(strata: Sequence[Stratum], n_good: int) -> float:
    """Return the largest log-likelihood of all draws over every division of at least n_good good URLs."""
    if not any(stratum.bets for stratum in strata):
        return 0.0
    fits = [_fit(stratum, 0.0) for stratum in strata]
    if sum(fits) >= n_good:
        return sum(_log_likelihood(stratum, fit) for stratum, fit in zip(strata, fits, strict=True))
    if sum(stratum.left for stratum in strata) < n_good:
        return -inf
    low, high = -50.0, 0.0  # slopes at which enough, and too few, find room
    for _ in range(_STEPS):
        middle = (low + high) / 2
        enough = sum(_fit(stratum, middle) for stratum in strata) >= n_good
        low, high = (middle, high) if enough else (low, middle)
    fits = [_fit(stratum, high) for stratum in strata]
    found = sum(_log_likelihood(stratum, fit) for stratum, fit in zip(strata, fits, strict=True))
    return found + (n_good - sum(fits)) * high  # rather too likely than too little
