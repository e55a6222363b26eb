"""How often does a page change? Estimated from visits that only see whether it has changed since the one before [CGM03].

A visit after t seconds is censored: it shows whether there was any change, not how many. Under a Poisson process of rate r it sees one with
probability 1 - exp(-r t). Intervals are irregular, so r is the root of the likelihood's derivative

    sum over changed (w t / (exp(r t) - 1))  +  (events + a) / r  =  sum over unchanged (w t)  +  half a mean interval  +  a / prior

Unchanged intervals enter by their sum alone; changed ones are kept in buckets of half an octave, each with its weight and its sum. Half a
visit without a change is the correction of bias of their improved estimator: for visits at regular intervals and without a prior, the
root is exactly -ln((n - x + .5) / (n + .5)) / t. An `event` is a change whose own time is known (a date that a page or a sitemap gives):
then the time since it is an unchanged interval that ends in a change.

`a` is the strength of the prior in changes: a Gamma prior of mean rate `prior`, whose mode in log r is taken, so that the root exists
whatever was seen. Where the prior comes from: `inherited` goes down the tree of a URL's patterns (crawler/core/url_tree.py), from the
host's rate to that of its nearest siblings; each estimate is the next one's prior.

Differs from [CGM03] in the prior, and in that old visits lose weight, since pages do not keep to one rate.

Memory: 40 bytes and 24 for each half octave met, about five. Time: 40 µs an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

STRENGTH: Final = 1.0  # of a prior, in changes
_MOST_BUCKETS: Final = 12
_STEPS: Final = 24  # bisections: the root is known to a millionth
_LARGE: Final = 500.0  # exp of it is beyond what matters


class Evidence(msgspec.Struct, array_like=True):
    """What visits have shown of one page, or of all pages of a pattern. Weights are 1 for a visit of now, less for older ones."""

    n: float = 0.0  # visits
    unchanged_s: float = 0.0  # time for which there was certainly no change
    events: float = 0.0  # changes whose own time is known
    changed: dict[int, tuple[float, float]] = {}  # half octave of the interval → weight, weighted sum of the intervals

    def fade(self, kept: float) -> None:
        """Let all that was seen so far weigh less.

        Args:
            kept: Share, 0 to 1.
        """
        self.n *= kept
        self.unchanged_s *= kept
        self.events *= kept
        self.changed = {at: (weight * kept, total * kept) for at, (weight, total) in self.changed.items() if weight * kept > 1e-3}

    def visited(self, interval_s: float, *, is_changed: bool, own: float = 1.0) -> None:
        """Note a visit, `interval_s` > 0 after the one before.

        Args:
            own: How likely a change is the page's own, and not one of many (core/co_change.py).
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

    def dated(self, age_s: float, weight: float = 1.0) -> None:
        """Note that the last change is `age_s` old.

        Args:
            weight: How far that is believed, 0 to 1.
        """
        self.events += weight
        self.unchanged_s += weight * age_s

    @property
    def n_changed(self) -> float:
        """Weight of the visits that saw a change."""
        return sum(weight for weight, _ in self.changed.values())


class Prior(NamedTuple):
    """What is thought of a rate before any visit."""

    rate: float  # changes a second
    strength: float = STRENGTH


def estimate(evidence: Evidence, prior: Prior) -> float:
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
    """Return what draws the rate upwards: falls as it grows.

    Args:
        changed: Mean interval and weighted sum of each bucket.
    """
    return known / rate + sum(total / math.expm1(rate * t) for t, total in changed if rate * t < _LARGE)


def inherited(families: Iterable[Evidence], rate: float) -> float:
    """Return the rate that a page inherits from its patterns, the most general first.

    Args:
        rate: Of a page of which nothing is known.
    """
    for evidence in families:
        rate = estimate(evidence, Prior(rate))
    return rate


def freshness(rate: float, interval_s: float) -> float:
    """Return the share of time, 0 to 1, for which a copy visited at intervals is as the page is [CG03]."""
    x = rate * interval_s
    return -math.expm1(-x) / x if x > 1e-9 else 1.0
