"""The expected yield of a class: the yield of its own fetches, drawn towards the yield of similar classes.

It is the mean of a Beta posterior, (κ μ + s)/(κ + n): μ is the yield of all classes of the host, and the prior counts as κ fetches. So a
class with few fetches is ordered by the classes around it, one with many by its own [EM75: shrinkage; as the order of a crawl it is the
greedy index of a bandit without discount].

Time: under 1 µs a class.
"""

from __future__ import annotations

from collections.abc import Iterable

from thresher.filters.evidence.decay import Recent
from thresher.filters.evidence.intervals import wilson

STRENGTH = 4.0  # κ: the prior counts as so many fetches


def pooled(classes: Iterable[Recent], *, mean: float = 0.1, strength: float = STRENGTH) -> float:
    """Return the yield of all classes together, drawn towards `mean`, which counts as `strength` fetches."""
    n, s = strength, strength * mean
    for recent in classes:
        n, s = n + recent.n, s + recent.s
    return s / n


def expected(recent: Recent, prior: float, *, strength: float = STRENGTH) -> float:
    """Return the expected yield of a class, 0 to 1.

    Args:
        prior: Yield of the classes around it.
    """
    return (strength * prior + recent.s) / (strength + recent.n)


def lower_share(n: float, s: float, z: float = 1.64) -> float:
    """Return a lower bound of a share of which s of n draws were seen [WIL27]. For opinions that hold URLs: not valid at every look.

    Args:
        z: 1.64 for one error in twenty, on one side.
    """
    return wilson(s / n if n > 0 else 0.0, n, z)[0]


def upper_share(n: float, s: float, z: float = 0.84) -> float:
    """Return an upper bound of a share of which s of n draws were seen; the counterpart of `lower_share`.

    Args:
        z: 0.84 for one error in five, on one side.
    """
    return wilson(s / n if n > 0 else 0.0, n, z)[1]
