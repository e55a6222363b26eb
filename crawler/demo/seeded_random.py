"""Random numbers without a state: the same question (a sequence of words and numbers) gives the same number in every process and version.

A number is the 64-bit xxh3 of the question's words under the web's seed; columns of numbers are splitmix64 of a counter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import xxhash

from thresher.crawler.core.model import U64

T = TypeVar("T")
Word = str | int

_GOLDEN = 0x9E3779B97F4A7C15
_MOST = 1 << 16
_STEPS: U64 = np.arange(1, _MOST + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_BY_30, _BY_27, _BY_31, _BY_32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


class SeededRandom:
    """Random numbers of one seed. Stateless: safe to share."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def throw(self, *question: Word) -> int:
        """Return 64 random bits as an integer."""
        return xxhash.xxh3_64_intdigest("\x1f".join(map(str, question)).encode(), self._seed)

    def unit(self, *question: Word) -> float:
        """Return a number in [0, 1)."""
        return (self.throw(*question) >> 11) / (1 << 53)

    def within(self, bounds: tuple[int, int], *question: Word) -> int:
        """Return an integer from `bounds`, both included."""
        low, high = bounds
        return low + self.throw(*question) % (high - low + 1)

    def pick(self, options: Sequence[T], *question: Word) -> T:
        return options[self.throw(*question) % len(options)]

    def column(self, n: int, *question: Word) -> U64:
        """Return n numbers at once, n ≤ 65,536."""
        column = _STEPS[:n] + np.uint64(self.throw(*question))
        column ^= column >> _BY_30
        column *= _MIX_1
        column ^= column >> _BY_27
        column *= _MIX_2
        column ^= column >> _BY_31
        return column

    def indexes(self, n: int, below: int, *question: Word) -> list[int]:
        """Return n integers in [0, below), below < 2^32."""
        column = self.column(n, *question) >> _BY_32
        column *= np.uint64(below)
        column >>= _BY_32
        return column.tolist()  # type: ignore[no-any-return]  # numpy types a column's tolist as Any
