"""Estimates how often a page changes, from visits that only see whether it has changed since the visit before [CGM03].

A visit after t seconds is censored: it shows whether there was any change, not how many. Under a Poisson process of rate r it sees one with
probability 1 - exp(-r t). Intervals are irregular, so r is the root of the likelihood's derivative

    sum over changed (w t / (exp(r t) - 1))  +  (events + a) / r  =  sum over unchanged (w t)  +  half a mean interval  +  a / prior

Unchanged intervals enter by their sum alone; changed ones are kept in buckets of half an octave, each with its weight and its sum. The
"half a mean interval" without a change is the bias correction of their improved estimator: for visits at regular intervals and without a
prior, the root is exactly -ln((n - x + .5) / (n + .5)) / t. An `event` is a change whose own time is known (a date that a page or a sitemap
gives): then the time since it is an unchanged interval that ends in a change.

`a` is the strength of the prior in changes: a Gamma prior of mean rate `prior`, whose mode in log r is taken, so that the root always
exists. Where the prior comes from: `inherited` goes down the tree of a URL's patterns (crawler/core/url_tree.py), from the host's rate to
that of its nearest siblings; each estimate is the next one's prior.

Differs from [CGM03] in the prior, and in that old visits lose weight, since rates of pages change.

Memory: 40 bytes, and 24 for each half octave in use, about five. Time: 40 µs an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

STRENGTH: Final = 1.0  # strength of a prior, in changes
_MOST_BUCKETS: Final = 12
_STEPS: Final = 24  # steps of bisection: they find the root to a millionth
_LARGE: Final = 500.0  # exp() of a larger value makes no difference


class ChangeEvidence(msgspec.Struct, array_like=True):
    """What visits have shown about one page, or about all pages of a pattern. Weights are 1 for a visit now, less for older ones."""

    n: float = 0.0  # visits, by weight
    unchanged_s: float = 0.0  # time for which there was certainly no change
    events: float = 0.0  # changes whose own time is known
    changed: dict[int, tuple[float, float]] = {}  # half octave of the interval → (weight, weighted sum of the intervals)

    def fade(self, kept: float) -> None:
        """Reduce the weight of all visits so far.

        Args:
            kept: Share of the weight that stays, 0 to 1.
        """
        self.n *= kept
        self.unchanged_s *= kept
        self.events *= kept
        self.changed = {at: (weight * kept, total * kept) for at, (weight, total) in self.changed.items() if weight * kept > 1e-3}

    def on_visit(self, interval_s: float, *, is_changed: bool, own: float = 1.0) -> None:
        """Record a visit, `interval_s` > 0 seconds after the visit before.

        Args:
            own: Probability that a change is the page's own, and not one of many together (core/co_change.py).
        """
        self.n += 1.0
        if not is_changed:
            self.unchanged_s += interval_s
            return
        self.unchanged_s += (1.0 - own) * interval_s
        at = round(2 * math.log2(interval_s))
        if at not in self.changed and len(self.changed) >= _MOST_BUCKETS:
            at = min(self.changed, key=lambda known: abs(known - at))
        weight, total = self.changed.get(at, (0.0, 0.0))
        self.changed[at] = (weight + own, total + own * interval_s)

    def on_date(self, age_s: float, weight: float = 1.0) -> None:
        """Record that the last change was `age_s` seconds ago.

        Args:
            weight: How far that is trusted, 0 to 1.
        """
        self.events += weight
        self.unchanged_s += weight * age_s

    @property
    def n_changed(self) -> float:
        """Weight of the visits that saw a change."""
        return sum(weight for weight, _ in self.changed.values())


class Prior(NamedTuple):
    """The expected rate before any visit."""

    rate: float  # changes a second
    strength: float = STRENGTH


def estimate(evidence: ChangeEvidence, prior: Prior) -> float:
    """Return the rate of change, in changes a second, > 0."""
    changed = [(total / weight, total) for weight, total in evidence.changed.values()]
    seen_s = evidence.unchanged_s + sum(total for _, total in changed)
    half_s = 0.5 * seen_s / evidence.n if evidence.n >= 1.0 else 0.0
    quiet_s = evidence.unchanged_s + half_s + prior.strength / prior.rate
    known = evidence.events + prior.strength
    low, high = math.log(known / quiet_s), math.log((known + evidence.n_changed) / quiet_s)
    if not changed:
        return math.exp(low)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _pull(changed, known, math.exp(middle)) > quiet_s:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)


def _pull(changed: list[tuple[float, float]], known: float, rate: float) -> float:
    """Return the part of the derivative that increases the rate; it falls as the rate grows.

    Args:
        changed: Mean interval and weighted sum of each bucket.
    """
    return known / rate + sum(total / math.expm1(rate * t) for t, total in changed if rate * t < _LARGE)


def inherited(families: Iterable[ChangeEvidence], rate: float) -> float:
    """Return the rate that a page inherits from its patterns, the most general first.

    Args:
        rate: The rate of a page about which nothing is known, in changes a second.
    """
    for evidence in families:
        rate = estimate(evidence, Prior(rate))
    return rate


def freshness(rate: float, interval_s: float) -> float:
    """Return the share of time, 0 to 1, for which a copy equals the page, if it is visited every `interval_s` seconds [CG03]."""
    x = rate * interval_s
    return -math.expm1(-x) / x if x > 1e-9 else 1.0
