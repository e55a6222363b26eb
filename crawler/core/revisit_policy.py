"""Shares the visits that a host allows among its pages: by how often each page changes and how much it matters.

    uniform       all pages equally often
    harmonic      least sum of weight · H(changes missed), H the harmonic numbers [KPLH19]: r = (sqrt(c² + 4 w c / m) - c) / 2
    age_optimal   smallest age of the copies [CG03, 4.3]
    fresh         most copies equal to their pages: largest sum of w r / (r + c) [AHLPS18]: r = sqrt(w c / m) - c, or the longest interval

r is a page's visits a second, c its rate of change, w its weight, and m the multiplier for which the visits of a host add up to the number
that politeness allows: one bisection for each host, since visits cannot be moved between hosts. Under harmonic a page that changes with
every request gets w / m and no more, and one that hardly ever changes sqrt(w c / m): no page starves, unlike under the policy that is best
for freshness alone. All intervals are between the shortest and the longest one.

A host with time to spare gets no useless visits: unless the policy is `uniform`, the geometric mean of the probabilities that its visits
find a change is at least 1 in 100 (`NEEDLESS`). Pages that change so often that they are visited after the shortest interval do not count.
This bounds the multiplier and not single pages, so the visits are still shared as the policy says. With a bound for each page, pages that
seldom change would have visits in proportion to their rates, and copies would be stale for as long as with equal intervals.

Time: 1 ms for a host's multiplier, 20 µs for a page's interval (age_optimal: 50 ms, 0.5 ms).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Policy = Literal["harmonic", "uniform", "age_optimal", "fresh"]
Reals = NDArray[np.float64]

NEEDLESS: Final = 0.01  # probability of a change below which a host's visits are not worth their requests
_STEPS: Final = 50
_STEPS_OF_AGE: Final = 24  # steps of bisection; a difference of a millionth does not matter
_LONGEST: Final = 60.0  # exp(-x) is 0 from here on


class Share(NamedTuple):
    """Similar pages of a host: how many, how often each changes, what each is worth."""

    n: float
    rate: float  # changes a second
    weight: float


class Intervals(NamedTuple):
    """The shortest and the longest interval between two visits of a page, in seconds."""

    least_s: float
    most_s: float


def interval_s(policy: Policy, rate: float, weight: float, multiplier: float, bounds: Intervals) -> float:
    """Return the time between two visits of a page.

    Args:
        multiplier: The multiplier of its host.
    """
    return float(_intervals(policy, np.array([rate]), np.array([weight]), multiplier, bounds)[0])


def multiplier(policy: Policy, shares: Sequence[Share], visits_per_s: float, bounds: Intervals) -> float:
    """Return the multiplier for which a host's pages need just the visits that it allows, or as many as are worth it; 0 if there is no
    limit.
    """
    n, rates, weights = (np.array(column, dtype=np.float64) for column in zip(*shares, strict=True))

    def is_too_much(value: float) -> bool:
        intervals = _intervals(policy, rates, weights, value, bounds)
        visits = n / intervals
        chances = -np.expm1(-rates * intervals)  # probabilities that visits find a change
        counted = visits * ((intervals > bounds.least_s) | (chances < NEEDLESS))
        is_needless = policy != "uniform" and counted @ np.log(chances) < math.log(NEEDLESS) * counted.sum()
        return bool(visits.sum() > visits_per_s or is_needless)

    if not is_too_much(0.0):
        return 0.0
    low, high = math.log(1e-30), math.log(1e30)
    if is_too_much(math.exp(high)):  # even if each page is visited after the longest interval
        return math.exp(high)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if is_too_much(math.exp(middle)):
            low = middle
        else:
            high = middle
    return math.exp(high)


def _intervals(policy: Policy, rates: Reals, weights: Reals, value: float, bounds: Intervals) -> Reals:
    """Return the intervals of pages, within bounds.

    Args:
        value: The multiplier.
    """
    if value <= 0.0:
        return np.full_like(rates, bounds.least_s)
    if policy == "uniform":
        wanted = np.full_like(rates, value)
    elif policy == "harmonic":
        wanted = 2.0 / (rates * np.expm1(0.5 * np.log1p(4.0 * weights / (value * rates))))
    elif policy == "fresh":
        visits = np.sqrt(rates) * (np.sqrt(weights / value) - np.sqrt(rates))
        wanted = 1.0 / np.maximum(visits, 1.0 / bounds.most_s)
    else:
        wanted = _by_age(rates, weights, value, bounds)
    return np.clip(wanted, bounds.least_s, bounds.most_s)


def _by_age(rates: Reals, weights: Reals, value: float, bounds: Intervals) -> Reals:
    """Return the intervals for which one more visit reduces each page's age by the same amount [CG03, 4.3]."""
    low, high = np.full_like(rates, math.log(bounds.least_s)), np.full_like(rates, math.log(bounds.most_s))
    for _ in range(_STEPS_OF_AGE):
        middle = (low + high) / 2
        is_short = weights * _gain(rates, np.exp(middle)) < value
        low, high = np.where(is_short, middle, low), np.where(is_short, high, middle)
    return np.exp(high)


def _gain(rates: Reals, intervals: Reals) -> Reals:
    """Return by how much the age of a page falls with one more visit a second; it grows with its interval."""
    x = np.minimum(rates * intervals, _LONGEST)
    exact = 0.5 + (np.exp(-x) * (1.0 + x) - 1.0) / np.maximum(x, 1e-12) ** 2
    return intervals**2 * np.where(x < 1e-3, x / 3.0, exact)
