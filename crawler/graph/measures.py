"""Measures how good the order of a crawl was, by [NW01] and by Cho, Garcia-Molina and Page (1998), from ranks and the order of fetches.

ranks: [n_nodes], any scale. order: the nodes in the order of their fetches, each once; nodes that were never fetched are not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thresher.crawler.graph.csr import F64, I64

N_SLICES = 58  # slices of equal size: the days of the crawl in [NW01]


def mean_by_slice(ranks: F64, order: I64, n_slices: int = N_SLICES) -> F64:
    """Return the mean rank of the pages of each slice of the crawl, [n_slices or the number of pages]."""
    bounds = _bounds(len(order), n_slices)
    return np.add.reduceat(ranks[order], bounds[:-1]) / np.diff(bounds) if len(order) else np.zeros(0)


def mean_slice_of_top(ranks: F64, order: I64, tops: Sequence[int], n_slices: int = N_SLICES) -> list[float]:
    """Return, for each N in `tops`, the mean slice (from 1) in which the N pages of highest rank among the fetched pages were fetched."""
    bounds = _bounds(len(order), n_slices)
    slices = np.repeat(np.arange(1, len(bounds)), np.diff(bounds))
    best = slices[np.argsort(-ranks[order], kind="stable")]
    return [float(best[:top].mean()) if len(best) else 0.0 for top in tops]


def captured(ranks: F64, order: I64, shares: Sequence[float], *, n_pages: int | None = None) -> list[float]:
    """Return, for each share s in `shares`, the share of all rank in the first s · `n_pages` fetches (default of `n_pages`: all
    fetches).
    """
    sums = np.concatenate(([0.0], np.cumsum(ranks[order])))
    n_pages = len(order) if n_pages is None else n_pages
    total = ranks.sum()
    return [float(sums[min(len(order), round(share * n_pages))] / total) if total else 0.0 for share in shares]


def overlap(earlier: F64, final: F64, tops: Sequence[int]) -> list[float]:
    """Return, for each N in `tops`, the share of the top N by one ranking that is in the top N by the other; both [n_nodes]."""
    first, second = np.argsort(-earlier, kind="stable"), np.argsort(-final, kind="stable")
    return [len(np.intersect1d(first[:top], second[:top])) / max(1, min(top, len(first))) for top in tops]


class Fidelity(NamedTuple):
    """How far an order of fetches is from breadth-first."""

    n_inversions: int  # pairs of fetches in which the deeper page came first
    n_pairs: int  # pairs of fetches of different depth

    @property
    def share(self) -> float:
        """The share of pairs of different depth that are in breadth-first order; 1 if there are none."""
        return 1.0 - self.n_inversions / self.n_pairs if self.n_pairs else 1.0


def breadth_first_fidelity(depths: npt.NDArray[np.integer]) -> Fidelity:
    """Count the inversions of depth. Time: O(n log(depth)), a pass for each bit of the depth.

    Args:
        depths: [n] depth of each fetched page, in the order of fetches.
    """
    depths = depths.astype(np.int64)
    counts = np.bincount(depths) if len(depths) else np.zeros(0, dtype=np.int64)
    n_pairs = (len(depths) ** 2 - int((counts.astype(np.int64) ** 2).sum())) // 2
    n_inversions = 0
    for bit in range(int(depths.max(initial=0)).bit_length()):
        sharing = depths >> (bit + 1)  # pairs of depths whose highest different bit is this one
        by_group = np.argsort(sharing, kind="stable")
        ones = (depths[by_group] >> bit) & 1
        before = np.cumsum(ones) - ones
        starts = np.flatnonzero(np.diff(sharing[by_group], prepend=-1))
        sizes = np.diff(np.append(starts, len(depths)))
        n_inversions += int((before - np.repeat(before[starts], sizes))[ones == 0].sum())
    return Fidelity(n_inversions, n_pairs)


class Concentration(NamedTuple):
    """How evenly the fetches are spread over hosts."""

    n_hosts: int
    largest_share: float
    top_10_share: float
    effective_hosts: float  # number of hosts of equal size with the same spread: 1 / Σ share²


def concentration(hosts: npt.NDArray[np.integer]) -> Concentration:
    """Measure the spread of fetches over hosts.

    Args:
        hosts: [n] number of the host of each fetch.
    """
    if not len(hosts):
        return Concentration(0, 0.0, 0.0, 0.0)
    shares = np.sort(np.unique(hosts, return_counts=True)[1])[::-1] / len(hosts)
    return Concentration(len(shares), float(shares[0]), float(shares[:10].sum()), float(1 / (shares**2).sum()))


def _bounds(n: int, n_slices: int) -> I64:
    """Return the bounds of up to `n_slices` slices of n items: of almost equal size, none empty."""
    return np.unique(np.linspace(0, n, min(n_slices, max(n, 1)) + 1).astype(np.int64))
