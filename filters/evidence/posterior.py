"""How much a class is expected to yield: its own fetches, drawn towards what classes like it yield.

The mean of a Beta posterior: (κ μ + s)/(κ + n), where μ is the yield of all classes of the host and κ says how many fetches that is worth.
A class that was seldom fetched is ordered by its like, one that was fetched often by itself [EM75: shrinkage; for orders of a crawl the
greedy index of a bandit without discount].

Time: under 1 µs a class.
"""

from __future__ import annotations

from collections.abc import Iterable

from thresher.filters.evidence.decay import Recent
from thresher.filters.evidence.intervals import wilson

STRENGTH = 4.0  # κ: fetches that the prior is worth


def pooled(classes: Iterable[Recent], *, mean: float = 0.1, strength: float = STRENGTH) -> float:
    """Return the yield of all classes together, drawn towards `mean` by as many fetches as `strength` says."""
    n, s = strength, strength * mean
    for recent in classes:
        n, s = n + recent.n, s + recent.s
    return s / n


def expected(recent: Recent, prior: float, *, strength: float = STRENGTH) -> float:
    """Return the expected yield of a class, 0 to 1.

    Args:
        prior: Yield of its like.
    """
    return (strength * prior + recent.s) / (strength + recent.n)


def lower_share(n: float, s: float, z: float = 1.64) -> float:
    """Return a lower bound of a share of which s of n were seen [WIL27]. For beliefs that hold URLs: not valid at every look.

    Args:
        z: 1.64 for one error in twenty on one side.
    """
    return wilson(s / n if n > 0 else 0.0, n, z)[0]
