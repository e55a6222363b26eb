"""Intervals for values fitted to sessions: leave out one group of sessions at a time, and see how much the value changes [TUK58].

The views of one session are not independent draws, nor are the sessions of one visitor. So the visitors, in order, are divided into up to
30 groups, and the variance is that of the fits without each group (delete-a-group jackknife). From the variance follows a number of
independent draws that would have it, at most the number of views; the interval is that of a share of so many draws [WIL27], with Student's
t for the number of groups. So an estimate at or near 0 has an interval, too (Korn and Graubard 1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from thresher.filters.evidence.intervals import Interval, wilson

MOST_GROUPS = 30
_Z = 1.959963984540054  # 95 %
_T = (12.7062, 4.3027)  # 95 %, of 1 and 2 degrees of freedom


def of_share(share: float, without: Sequence[float], n: float) -> Interval:
    """Return the 95 % interval of a share.

    Args:
        without: The share without each group.
        n: The largest number of independent draws that is possible.
    """
    if len(without) < 2 or n <= 0:
        return 0.0, 1.0
    shrunk = (share * n + 1) / (n + 2)
    variance = _variance(without)
    return wilson(share, min(shrunk * (1 - shrunk) / variance, n) if variance > 0 else n, _t(len(without) - 1))


def of_mean(mean: float, without: Sequence[float]) -> Interval:
    """Return the 95 % interval of a mean that is no share, ± infinity for fewer than two groups."""
    if len(without) < 2:
        return -np.inf, np.inf
    half = _t(len(without) - 1) * sqrt(_variance(without))
    return mean - half, mean + half


def _variance(without: Sequence[float]) -> float:
    n = len(without)
    return (n - 1) * float(np.var(without))


def _t(freedom: int) -> float:
    """Return Student's t for 95 % by its expansion in the normal's quantile; within .002 from 4 degrees of freedom on."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    z, v = _Z, float(freedom)
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / v + second / v**2 + third / v**3
