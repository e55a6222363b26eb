"""The share of shingles that two texts have in common, from the least shingles of each [BRO97, BHRSG07].

A sketch keeps the `LEAST` least hashes of a text's shingles. Take the smaller of the two greatest hashes kept: below it each sketch is
complete, so the share of hashes that both have estimates the resemblance there, with a standard error of √(J(1−J)/LEAST) at most. A text of
at most `LEAST` shingles is kept whole, and two of them are compared exactly. The short pages of one manual differ in a few shingles: by 64
slots (crawler/core/minhash.py), which are not independent for short texts, a fifth of the pairs called .8 on GTK's pages were not; here
none.

Memory: 2 KB a page. Time: 30 µs a page of 2,000 words, 10 µs a pair.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from thresher.crawler.core.model import U64
from thresher.filters.near_replica.hyperlink_map import I64
from thresher.filters.near_replica.random_projection import F64

U32 = npt.NDArray[np.uint32]
SHINGLE: Final = 5  # words
LEAST: Final = 512
_NONE: Final = np.uint32(0xFFFF_FFFF)  # fills the sketch of a shorter text
_BLOCK: Final = 1 << 12  # pairs compared at a time


def least(shingles: U64) -> U32:
    """Return the sketch of a text: `LEAST` hashes, ascending, filled up with `_NONE`.

    Args:
        shingles: Hashes, in any order, repeated or not.
    """
    found = np.full(LEAST, _NONE, dtype=np.uint32)
    high = np.unique(np.minimum((shingles >> np.uint64(32)).astype(np.uint32), _NONE - np.uint32(1)))[:LEAST]
    found[: high.size] = high
    return found


def resemblances(sketches: U32, pairs: I64) -> F64:
    """Return the resemblance of each pair, (m,); that of a text without words is 0.

    Args:
        sketches: (n, LEAST).
        pairs: (m, 2).
    """
    found = np.empty(len(pairs), dtype=np.float64)
    for first in range(0, len(pairs), _BLOCK):
        part = pairs[first : first + _BLOCK]
        found[first : first + _BLOCK] = _resembling(sketches[part[:, 0]], sketches[part[:, 1]])
    return found


def _resembling(one: U32, other: U32) -> F64:
    reach = np.minimum(one[:, -1:], other[:, -1:])  # `_NONE` where both texts are kept whole
    merged = np.sort(np.concatenate((one, other), axis=1), axis=1)
    counts = (merged <= reach) & (merged != _NONE)
    n_both = ((merged[:, 1:] == merged[:, :-1]) & counts[:, 1:]).sum(axis=1)
    share: F64 = n_both / np.maximum(counts.sum(axis=1) - n_both, 1)
    return share
