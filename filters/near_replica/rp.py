"""Random projection: a page's words as K numbers between 0 and 1 [DDGMP03, section 2].

    R̂ = Π·d     d: how often each word occurs     Π: K × words, uniform in [−1, 1]
    r = (R̂ − min) / (max − min) per component, over all pages

E[(R̂¹_j − R̂²_j)²] = ‖d¹ − d²‖²/3, so pages of similar words lie close together. No dictionary and no stored Π: a weight is a hash of word
and component, the same in every process. Differs from the paper where its counts make R̂ scale with a page's length: besides raw
counts (the paper's) there are 1 + ln(count), and that scaled to length 1, which tells more (benchmarks/replicas_real.py).

Minimum and maximum are frozen once taken; what comes later is clipped, since a scale that moves would move old signatures.

Time: 40 µs for 2,000 words and K = 5. No loop runs over words.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from crawler.core.model import U64

F64 = npt.NDArray[np.float64]
_U = np.uint64
_GOLDEN: Final = 0x9E3779B97F4A7C15
_MIX_1: Final = _U(0xBF58476D1CE4E5B9)
_MIX_2: Final = _U(0x94D049BB133111EB)
_UNIT: Final = 1.0 / (1 << 31)


class Counting(StrEnum):
    """What a word that occurs n times counts."""

    RAW = "raw"  # n, as in the paper
    LOG = "log"  # 1 + ln n
    LOG_L2 = "log_l2"  # 1 + ln n, the page's vector scaled to length 1


def weights(words: U64, k: int) -> F64:
    """Return the projection's weights.    words: hashes, n    returns: (k, n), uniform in [−1, 1); row j does not depend on k"""
    table: F64 = np.empty(((k + 1) & ~1, words.size), dtype=np.float64)
    for pair in range(0, k, 2):  # one hash gives two weights
        bits = words + _U((pair // 2 + 1) * _GOLDEN % (1 << 64))
        bits ^= bits >> _U(30)
        bits *= _MIX_1
        bits ^= bits >> _U(27)
        bits *= _MIX_2
        bits ^= bits >> _U(31)
        table[pair : pair + 2] = bits.view(np.int32).reshape(-1, 2).T
    table *= _UNIT
    return table[:k]


def project(tokens: U64, k: int, counting: Counting = Counting.LOG_L2) -> F64:
    """Project a page's bag of words.    tokens: hashes of its words, in any order    returns: R̂, k numbers; zeros for no words"""
    if counting is Counting.RAW or not tokens.size:
        return np.asarray(weights(tokens, k).sum(axis=1), dtype=np.float64)
    words, counts = np.unique(tokens, return_counts=True)
    vector = 1.0 + np.log(counts)
    if counting is Counting.LOG_L2:
        vector /= np.sqrt(vector @ vector)
    projection: F64 = weights(words, k) @ vector
    return projection


@dataclass(frozen=True, slots=True)
class Scale:
    """A frozen normalisation of projections to [0, 1]: per component, low and width."""

    low: F64
    width: F64

    @classmethod
    def of(cls, projections: F64, *, per_component: bool = True) -> Scale:
        """Take the scale from pages seen.    projections: (n, k), n ≥ 1    per_component False: one width, the greatest, for all"""
        low = projections.min(axis=0)
        width = projections.max(axis=0) - low
        if not per_component:
            width = np.full_like(width, width.max(initial=0.0))
        return cls(low, np.where(width > 0.0, width, 1.0))

    def __call__(self, projections: F64) -> F64:
        """Return signatures r of projections, (n, k) or (k,)."""
        return np.clip((projections - self.low) / self.width, 0.0, 1.0)
