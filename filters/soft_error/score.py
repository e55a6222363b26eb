"""The score of a redirect from the whole log [LEE09, eq. 1], as one pass over columns.

    σ(u, v) = k1·log10 I_v + k2·log10(N_h / M_h) + k3·log10(1 / H_h)        h = host(u)

    I_v  originals that end at v          large: many URLs end at one page, as the missing ones of a host do
    N_h  originals of host h in the log   N/M large: the host sends many URLs to few pages
    M_h  different targets of host h
    H_h  different hosts of those targets  large: a directory or a shortener, whose job it is to redirect

The log L is a set of pairs (original, end of its chain within 5 hops). An original counts once in each of N, M, H and I: if a log of years
has several targets of it, log.py keeps only the last one. The "1" of 1/H is lost in the poster's text; its sign follows from the third
heuristic and the curves of figure 1. With k = 1: -log10 H ≤ σ ≤ log10 I + log10 N.

Host: http, https, www. and bare of a name are one (`thresher.crawler.core.url.queue_name`), ports other than 80 and 443 are hosts of their
own. The poster says "host" and no more; scheme and www are spellings, and a host that answers under four of them is one program.

θ = 3 is for millions of pairs: a lone host that sends n URLs to one page scores 2·log10 n, so that 32 are needed (calibrate.py).
Time: four sorts, 0.5 s a million pairs. Memory: 60 bytes a pair.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]


class Weights(NamedTuple):
    """k1, k2, k3 of the score, each ≥ 0."""

    target: float = 1.0  # of log10 I
    ratio: float = 1.0  # of log10(N/M)
    spread: float = 1.0  # of log10(1/H)


ONE_EACH = Weights()
THRESHOLD = 3.0  # θ of [LEE09]


class Columns(NamedTuple):
    """A redirect log by dense numbers from 0; a pair may be mentioned more than once, an original or target may be in none."""

    originals: I32  # of each mention
    targets: I32
    host_of_original: I32  # by number of the original
    host_of_target: I32


class PairCounts(NamedTuple):
    """The distinct pairs of a log in the order of their first mention, with the counts that σ is made of."""

    originals: I32
    targets: I32
    n_to_target: I32
    n_from_host: I32
    n_targets: I32
    n_target_hosts: I32

    def score(self, weights: Weights = ONE_EACH) -> F64:
        """Return σ of each pair; higher is more suspicious, log10 units."""
        return (
            weights.target * np.log10(self.n_to_target)
            + weights.ratio * np.log10(self.n_from_host / self.n_targets)
            - weights.spread * np.log10(self.n_target_hosts)
        )


def sigma(n_to_target: int, n_from_host: int, n_targets: int, n_target_hosts: int, weights: Weights = ONE_EACH) -> float:
    """Score one redirect; higher is more suspicious [LEE09, eq. 1].

    Args:
        n_to_target: I, at least 1, as all counts.
        n_from_host: N.
        n_targets: M.
        n_target_hosts: H.

    Returns:
        log10 units, about -3 to 7.
    """
    return (
        weights.target * math.log10(n_to_target)
        + weights.ratio * math.log10(n_from_host / n_targets)
        - weights.spread * math.log10(n_target_hosts)
    )


def count(log: Columns) -> PairCounts:
    """Count a redirect log."""
    n_originals, n_targets = len(log.host_of_original), len(log.host_of_target)
    n_hosts = 1 + int(max(log.host_of_original.max(initial=0), log.host_of_target.max(initial=0)))
    first = np.sort(np.unique(_joined(log.originals, log.targets, n_targets), return_index=True)[1])
    originals, targets = log.originals[first], log.targets[first]
    hosts = log.host_of_original[originals]
    is_in_log = np.bincount(originals, minlength=n_originals) > 0
    to_targets = np.unique(_joined(hosts, targets, n_targets)) // max(1, n_targets)
    to_hosts = np.unique(_joined(hosts, log.host_of_target[targets], n_hosts)) // n_hosts
    return PairCounts(
        originals,
        targets,
        n_to_target=_tally(targets, n_targets)[targets],
        n_from_host=_tally(log.host_of_original[is_in_log], n_hosts)[hosts],
        n_targets=_tally(to_targets, n_hosts)[hosts],
        n_target_hosts=_tally(to_hosts, n_hosts)[hosts],
    )


def _joined(high: I32, low: I32, n_low: int) -> I64:
    """Return one number for each pair of numbers."""
    return high.astype(np.int64) * n_low + low


def _tally(numbers: npt.NDArray[np.integer], n: int) -> I32:
    """Return how often each number below `n` occurs."""
    return np.bincount(numbers, minlength=n).astype(np.int32)
