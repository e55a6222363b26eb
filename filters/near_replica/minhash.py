"""Candidates by banding: pages that agree in all slots of one band of their MinHash sketches [BRO97, IM98].

With b bands of r slots, two texts of resemblance J become candidates with probability 1 − (1 − Jʳ)ᵇ: for 16 × 4, .86 at J = .6 and
above .999 at J = .8. Only candidates are compared, so the cost grows with the number of pages and not with its square.

If many pages share a band, that says little about any two of them. So where more than `crowd` pages share one, they are sorted by the
first component of their projections, and each is compared only with the next `crowd` pages.

Memory: 8 bytes a candidate pair. Time: 1 µs a page and band.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from thresher.crawler.core.model import U64
from thresher.filters.near_replica.hyperlink_map import I64
from thresher.filters.near_replica.random_projection import F64
from thresher.filters.near_replica.resemblance import U32

_PRIME: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(29)


def band_pairs(sketches: U32, along: F64, *, rows: int, crowd: int = 128, bands: Sequence[int] | None = None) -> I64:
    """Return the pairs of rows that agree in a band: (m, 2), the smaller row first, each pair once, sorted.

    Args:
        sketches: (n, k), each row k slots.
        along: (n,), the sort key of a crowd.
        rows: Slots a band.
        bands: Numbers of the bands that count; None: all.
    """
    n = len(sketches)
    codes = [np.empty(0, dtype=np.int64)]
    for first in (band * rows for band in (range(n_bands(sketches, rows)) if bands is None else bands)):
        hashes = _hashes(sketches[:, first : first + rows])
        order = np.lexsort((along, hashes))
        codes.append(_neighbours(order, hashes[order], crowd, n))
    merged = np.unique(np.concatenate(codes))
    return np.column_stack((merged // max(n, 1), merged % max(n, 1)))


def n_bands(sketches: U32, rows: int) -> int:
    """Return the number of bands of sketches."""
    return int(sketches.shape[1]) // rows


def agreement(sketches: U32, pairs: I64) -> F64:
    """Return the estimated resemblance of each pair, (m,).

    Args:
        pairs: (m, 2).
    """
    found = np.empty(len(pairs), dtype=np.float64)
    for first in range(0, len(pairs), 1 << 16):
        part = pairs[first : first + (1 << 16)]
        found[first : first + (1 << 16)] = (sketches[part[:, 0]] == sketches[part[:, 1]]).mean(axis=1)
    return found


def _hashes(band: U32) -> U64:
    hashes = np.zeros(len(band), dtype=np.uint64)
    for column in band.T:
        hashes ^= column
        hashes *= _PRIME
        hashes ^= hashes >> _SHIFT
    return hashes


def _neighbours(order: I64, held: U64, crowd: int, n: int) -> I64:
    """Return the codes (i·n + j) of equal neighbours, at most `crowd` apart."""
    codes = []
    for step in range(1, min(crowd, n - 1) + 1):
        equal = np.flatnonzero(held[step:] == held[:-step])
        if not equal.size:
            break
        one, other = order[equal], order[equal + step]
        codes.append(np.minimum(one, other) * n + np.maximum(one, other))
    return np.concatenate(codes) if codes else np.empty(0, dtype=np.int64)
