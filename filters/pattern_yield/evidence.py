"""What the fetches of one pattern prove about its yield: a test that may be looked at after every fetch, with decay.

**Barren.** A pattern is barren when "its yield is `min_yield` or more" is rejected by betting against it [WSR24]: a gambler who believes
in a smaller yield q multiplies her wealth by q/θ for a fetch that was worth it and by (1−q)/(1−θ) for one that was not. Whatever the true
yield ≥ θ, her expected wealth never grows, hence reaches 1/α with a probability of at most α, however often it is looked at [VIL39].
The wealth is spread over four beliefs, most of it on q = 0: with θ = .05 and α = .05, 63 fetches in a row that were worth nothing decide,
164 with one that was, 206 with two. Of patterns that yield 5 % one in 22 is called barren within 2,000 fetches; a Wilson bound looked at
after every fetch calls nine in ten so within 1,000.

**Decay.** After 400 fetches without a decision the bets begin anew, so that an archive whose end is barren is found out. The k-th test
may err with probability α_k: .9 α for the first, .1 α / (k (k − 1)) for the others; together α, for ever.

**Release.** While a pattern is barren its audited fetches are counted in a window of 40 that is halved when it is full: it yields again as
soon as their share of worthy ones reaches θ. The first worthy one among the first 20 is enough.

Memory: 10 bytes a pattern. Time: 1 µs per fetch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, lgamma, log, log1p

import msgspec

EPOCH = 400  # fetches after which the bets begin anew
AUDITS = 40  # fetches of a barren pattern that its release looks back on
_BELIEFS = ((0.0, 0.8), (0.15, 0.1), (0.4, 0.06), (0.7, 0.04))  # share of θ that q is, share of the wealth
_FIRST = 0.9  # of α, for the first test
_OWN = 8  # fetches from which a pattern speaks for itself


class Evidence(msgspec.Struct, array_like=True):
    """What is known of one pattern. Changed by `Rule.learn` alone."""

    fetched: int = 0
    worth: int = 0  # of them: new themselves, or led to something new
    n: int = 0  # fetches of this test; while barren, audits
    s: int = 0  # of them worth it
    epoch: int = 1
    barren: bool = False
    n_barren: int = 0  # times that it became so


@dataclass(frozen=True)
class Rule:
    """When a pattern is barren."""

    min_yield: float  # θ, above 0 and below 1
    error: float  # α, above 0 and below 1

    def learn(self, of: Evidence, worth: bool) -> None:
        """Take one more fetch into account."""
        of.fetched += 1
        of.worth += worth
        of.n += 1
        of.s += worth
        if of.barren:
            self._audit(of)
        elif not worth and self.rejects(of.n, of.s, of.epoch):
            of.barren, of.n, of.s = True, 0, 0
            of.n_barren += 1
        elif of.n >= EPOCH:
            of.epoch, of.n, of.s = of.epoch + 1, 0, 0

    def take_back(self, of: Evidence) -> None:
        """Let a fetch that counted as worth it count as one that was not."""
        of.worth, of.s = max(0, of.worth - 1), max(0, of.s - 1)

    def _audit(self, of: Evidence) -> None:
        if of.s and of.s >= self.min_yield * of.n:
            of.barren = False
            of.epoch += 1
        elif of.n >= AUDITS:
            of.n, of.s = of.n // 2, of.s // 2

    def rejects(self, n: int, s: int, epoch: int = 1) -> bool:
        """Return whether n fetches with s worthy ones refute a yield of `min_yield` or more."""
        return s <= self.min_yield * n and log_wealth(n, s, self.min_yield) >= -log(self.error_of(epoch))

    def error_of(self, epoch: int) -> float:
        """Return with which probability the test of an epoch may call a pattern barren that yields `min_yield`."""
        return self.error * (_FIRST if epoch == 1 else (1 - _FIRST) / (epoch * (epoch - 1)))

    def yields(self, of: Evidence) -> bool:
        """Return whether the pattern's own fetches speak for it, whatever those of a coarser one say."""
        n, s = (of.n, of.s) if of.n >= _OWN else (of.fetched, of.worth)
        return not of.barren and s > 0 and n >= _OWN and s >= self.min_yield * n


def log_wealth(n: int, s: int, theta: float) -> float:
    """Return the logarithm of the gambler's wealth after n fetches with s worthy ones, against a yield of θ or more."""
    barren = n - s
    terms = []
    for share, weight in _BELIEFS:
        if s and not share:
            continue
        gain = s * log(share) if s else 0.0
        terms.append(log(weight) + gain + barren * (log1p(-share * theta) - log1p(-theta)))
    top = max(terms)
    return top + log(sum([exp(term - top) for term in terms]))


def interval(n: int, s: int, error: float = 0.05) -> tuple[float, float]:
    """Return an interval that holds the yield at every n at once with probability 1 − error [ROB70].

    It holds every p whose likelihood is at least `error` of the mean likelihood over all p.
    """
    if n == 0:
        return 0.0, 1.0
    mean = lgamma(s + 1) + lgamma(n - s + 1) - lgamma(n + 2)
    least = mean + log(error)

    def likelihood(p: float) -> float:
        if (p <= 0 and s) or (p >= 1 and s < n):
            return -inf
        return (s * log(p) if s else 0.0) + ((n - s) * log1p(-p) if s < n else 0.0)

    return _edge(likelihood, least, s / n, 0.0), _edge(likelihood, least, s / n, 1.0)


def _edge(likelihood: Callable[[float], float], least: float, inside: float, outside: float) -> float:
    """Return where the likelihood falls below `least` between a place where it does not and the end of the scale."""
    if likelihood(outside) >= least:
        return outside
    while abs(outside - inside) > 1e-5:
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if likelihood(middle) >= least else (inside, middle)
    return outside
