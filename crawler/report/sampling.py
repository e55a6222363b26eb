"""Samples, sums over time, and values of a sample of keys: they bound the memory of a report, however large the crawl is.

All are deterministic: the same store always gives the same report.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappush, heapreplace
from typing import Generic, TypeVar

import xxhash

T = TypeVar("T")


class Sample(Generic[T]):
    """A uniform sample of the offered items: those whose keys have the smallest hashes.

    `n`: the number of offered items.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: list[tuple[int, int, T]] = []  # (minus the hash, number of the offer, item); the first one is removed next
        self.n = 0

    def offer(self, key: str, item: T) -> None:
        self.n += 1
        place = (-xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass")), self.n, item)
        if len(self._kept) < self._size:
            heappush(self._kept, place)
        elif place[0] > self._kept[0][0]:
            heapreplace(self._kept, place)

    def items(self) -> list[T]:
        """Return the sample in the order in which items were offered."""
        return [item for _, _, item in sorted(self._kept, key=lambda kept: kept[1])]


class Largest(Generic[T]):
    """The largest of the offered items, by a measure."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: list[tuple[tuple[float, ...], int, T]] = []  # (measure, minus the number of the offer, item)
        self._n = 0

    def offer(self, measure: tuple[float, ...], item: T) -> None:
        self._n += 1
        place = (measure, -self._n, item)
        if len(self._kept) < self._size:
            heappush(self._kept, place)
        elif place > self._kept[0]:
            heapreplace(self._kept, place)

    def items(self) -> list[T]:
        """Return the items, largest first; equal ones in the order in which they were offered."""
        return [item for _, _, item in sorted(self._kept, key=lambda kept: kept[:2], reverse=True)]


class Timeline:
    """Sums of several series by time, in at most `most` bins: their width doubles when more would be needed."""

    def __init__(self, n_series: int, most: int = 100) -> None:
        self._n_series, self._most = n_series, most
        self._width_s = 1.0
        self._bins: dict[int, list[float]] = {}
        self.first = self.last = 0.0

    def add(self, at: float, *values: float) -> None:
        """Add a value to each series at a time, in seconds."""
        if not self._bins:
            self.first = self.last = at
        self.first, self.last = min(self.first, at), max(self.last, at)
        while self.last // self._width_s - self.first // self._width_s >= self._most:
            self._halve()
        sums = self._bins.setdefault(int(at // self._width_s), [0.0] * self._n_series)
        for i, value in enumerate(values):
            sums[i] += value

    def bins(self) -> Iterator[tuple[float, float, list[float]]]:
        """Yield (middle in seconds from the first time, seconds covered, sums) for every bin from the first to the last, also empty ones.

        The first and the last bin are covered in part; at least half a bin counts as covered, so that no rate is computed from a short
        moment.
        """
        if not self._bins:
            return
        for number in range(min(self._bins), max(self._bins) + 1):
            start, end = number * self._width_s, (number + 1) * self._width_s
            low, high = max(start, self.first), min(end, self.last)
            covered = max(high - low, self._width_s / 2)
            yield (low + high) / 2 - self.first, covered, self._bins.get(number, [0.0] * self._n_series)

    def _halve(self) -> None:
        self._width_s *= 2
        merged: dict[int, list[float]] = {}
        for number, sums in self._bins.items():
            into = merged.setdefault(number // 2, [0.0] * self._n_series)
            for i, value in enumerate(sums):
                into[i] += value
        self._bins = merged


class Traces(Generic[T]):
    """The last value of each key: of all keys while they are few, then of a sample that is halved whenever `most` are kept.

    A count over the followed keys stands for `weight` times as much [GIB01].
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[bytes, T] = {}
        self.weight = 1

    def __len__(self) -> int:
        return len(self._kept)

    def follows(self, key: bytes) -> bool:
        return not xxhash.xxh3_64_intdigest(key) % self.weight

    def get(self, key: bytes) -> T | None:
        return self._kept.get(key)

    def put(self, key: bytes, value: T) -> None:
        """Set the value of a followed key."""
        self._kept[key] = value
        while len(self._kept) > self._most:
            self.weight *= 2
            self._kept = {kept: value for kept, value in self._kept.items() if self.follows(kept)}
