"""How good was the order of a crawl? Measures of [NW01] and of Cho, Garcia-Molina and Page (1998), over ranks and the order of fetches.

ranks: [n_nodes], any scale. order: the nodes in the order of their fetches, each once; it may leave nodes out, which were only seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thresher.crawler.graph.csr import F64, I64

N_SLICES = 58  # of equal size: the days of the crawl in [NW01]


def mean_by_slice(ranks: F64, order: I64, n_slices: int = N_SLICES) -> F64:
    """Return the mean rank of the pages of each slice of the crawl, [n_slices or the number of pages]."""
    bounds = _bounds(len(order), n_slices)
    return np.add.reduceat(ranks[order], bounds[:-1]) / np.diff(bounds) if len(order) else np.zeros(0)


def mean_slice_of_top(ranks: F64, order: I64, tops: Sequence[int], n_slices: int = N_SLICES) -> list[float]:
    """Return, for the N pages of highest rank among those fetched, the mean slice of their fetch, from 1."""
    bounds = _bounds(len(order), n_slices)
    slices = np.repeat(np.arange(1, len(bounds)), np.diff(bounds))
    best = slices[np.argsort(-ranks[order], kind="stable")]
    return [float(best[:top].mean()) if len(best) else 0.0 for top in tops]


def captured(ranks: F64, order: I64, shares: Sequence[float], *, n_pages: int | None = None) -> list[float]:
    """Return the share of all rank that the fetches up to each share of `n_pages` (default: of all fetches) had got."""
    sums = np.concatenate(([0.0], np.cumsum(ranks[order])))
    n_pages = len(order) if n_pages is None else n_pages
    total = ranks.sum()
    return [float(sums[min(len(order), round(share * n_pages))] / total) if total else 0.0 for share in shares]


def overlap(earlier: F64, final: F64, tops: Sequence[int]) -> list[float]:
    """Return which share of the top N by one ranking are in the top N by the other; both [n_nodes]."""
    first, second = np.argsort(-earlier, kind="stable"), np.argsort(-final, kind="stable")
    return [len(np.intersect1d(first[:top], second[:top])) / max(1, min(top, len(first))) for top in tops]


class Fidelity(NamedTuple):
    """How far an order is from breadth-first."""

    n_inversions: int  # pairs of fetches of which the deeper came first
    n_pairs: int  # pairs of different depth

    @property
    def share(self) -> float:
        """Of the pairs of different depth, those in breadth-first order; 1 if there are none."""
        return 1.0 - self.n_inversions / self.n_pairs if self.n_pairs else 1.0


def breadth_first_fidelity(depths: npt.NDArray[np.integer]) -> Fidelity:
    """Count the inversions of depth, [n] in the order of the fetches. Time: O(n log(depth)), a pass for each bit of the depth."""
    depths = depths.astype(np.int64)
    counts = np.bincount(depths) if len(depths) else np.zeros(0, dtype=np.int64)
    n_pairs = (len(depths) ** 2 - int((counts.astype(np.int64) ** 2).sum())) // 2
    n_inversions = 0
    for bit in range(int(depths.max(initial=0)).bit_length()):
        sharing = depths >> (bit + 1)  # pairs that differ first in this bit
        by_group = np.argsort(sharing, kind="stable")
        ones = (depths[by_group] >> bit) & 1
        before = np.cumsum(ones) - ones
        starts = np.flatnonzero(np.diff(sharing[by_group], prepend=-1))
        sizes = np.diff(np.append(starts, len(depths)))
        n_inversions += int((before - np.repeat(before[starts], sizes))[ones == 0].sum())
    return Fidelity(n_inversions, n_pairs)


class Concentration(NamedTuple):
    """How the fetches spread over hosts."""

    n_hosts: int
    largest_share: float
    top_10_share: float
    effective_hosts: float  # hosts of equal size that would be as spread: 1 / Σ share²


def concentration(hosts: npt.NDArray[np.integer]) -> Concentration:
    """Measure the spread of fetches, [n]: the host's number of each."""
    if not len(hosts):
        return Concentration(0, 0.0, 0.0, 0.0)
    shares = np.sort(np.unique(hosts, return_counts=True)[1])[::-1] / len(hosts)
    return Concentration(len(shares), float(shares[0]), float(shares[:10].sum()), float(1 / (shares**2).sum()))


def _bounds(n: int, n_slices: int) -> I64:
    """Return the bounds of up to `n_slices` slices of almost equal size, none empty."""
    return np.unique(np.linspace(0, n, min(n_slices, max(n, 1)) + 1).astype(np.int64))
