"""Intervals for a share of which s of n draws were seen.

`wilson` is Wilson's score interval [WIL27]: for a single look, or for decisions that only hold URLs. `at_any_time` is valid at every look
at
once: it contains each share whose likelihood is at least `error` times the mean likelihood over all shares [ROB70].

Time: under 1 µs and 30 µs.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, lgamma, log, log1p, sqrt

Interval = tuple[float, float]


def wilson(share: float, n: float, z: float) -> Interval:
    """Return the interval of a share that was seen in n draws; (0, 1) if n is 0.

    Args:
        share: Good draws, as a share of n.
        n: Draws.
        z: 1.96 for one error in twenty, both sides together.
    """
    if n <= 0:
        return 0.0, 1.0
    z2 = z * z
    middle, half = share + z2 / (2 * n), z * sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z2 / n)), min(1.0, (middle + half) / (1 + z2 / n))


def at_any_time(n: int, s: int, error: float = 0.05) -> Interval:
    """Return an interval that contains the share at every n at once with probability 1 − error.

    Args:
        n: Draws.
        s: Good ones among them.
        error: Probability that the true share is ever outside.
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
    """Return the share where the likelihood falls to `least`, by bisection between one inside the interval and the end of the scale."""
    if likelihood(outside) >= least:
        return outside
    while abs(outside - inside) > 1e-5:
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if likelihood(middle) >= least else (inside, middle)
    return outside
