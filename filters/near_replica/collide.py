"""Collision: finds signatures that are within a tolerance of one another in every component [DDGMP03, section 4].

Two pages collide when ‖X¹ − X²‖∞ < C and ‖R¹ − R²‖∞ < D, both strictly. Space is divided into boxes; a page is compared only with those in
the boxes that its own tolerance reaches. `close_pairs` finds all pairs of a set, block by block; `Grid` takes one page at a time and keeps
its boxes in a filter's memory. Both are exact (but for boxes that are full): boxes only choose the candidates, components decide.

Memory: `close_pairs` 60 bytes a page and 100 MB of a block; `Grid` 4·K bytes and a name a page, `capacity` pages a box at most.
Time: `close_pairs` 10 µs a page for K = 5, and 40 ns a candidate; a look-up of `Grid` reads two boxes a tag on average.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import product
from math import floor
from typing import Final

import numpy as np

from thresher.crawler.core.model import U64
from thresher.crawler.core.ports import Memory
from thresher.crawler.native import NATIVE, native
from thresher.filters.near_replica.hyperlink_map import I64
from thresher.filters.near_replica.random_projection import F64

_NATIVE: Final = NATIVE and sys.byteorder == "little"  # native code reads rows as little-endian numbers
_MAX_AXES: Final = 5  # 2^5 boxes are looked up for each page
_BLOCK: Final = 1 << 20  # candidates compared at a time
_ODD: Final = np.array([pow(0x9E3779B97F4A7C15, power, 1 << 64) for power in range(1, 1 + _MAX_AXES)], dtype=np.uint64)
_SIDE: Final = 24.0  # side of a box in tolerances: a look-up reads (1 + 2/24)^5 boxes on average; tags keep boxes small
_MIDDLE: Final = 0.5  # middle of a box: most pages are there


def close_pairs(points: F64, tolerances: F64) -> Iterator[I64]:
    """Yield all pairs of rows that differ by less than the tolerance in every column, in blocks.

    Args:
        points: (n, d).
        tolerances: (d,), above 0; infinite where a column does not matter.

    Yields:
        Row numbers, (m, 2), the smaller first; every pair once, in no particular order.
    """
    axes = _axes(points, tolerances)
    boxes = points[:, axes] / (2.0 * tolerances[axes])
    own = _codes(np.floor(boxes).astype(np.int64))
    order = np.argsort(own, kind="stable")
    held = own[order]
    nearest = np.floor(boxes - 0.5).astype(np.int64)  # the lower of the two boxes that the tolerance reaches, per axis
    for corner in product((0, 1), repeat=axes.size):
        wanted = _codes(nearest + np.array(corner, dtype=np.int64))
        first = np.searchsorted(held, wanted, side="left")
        counts = np.searchsorted(held, wanted, side="right") - first
        yield from _compared(points, tolerances, order, first, counts)


def _compared(points: F64, tolerances: F64, order: I64, first: I64, counts: I64) -> Iterator[I64]:
    """Compare row i with those at `order[first[i]:first[i] + counts[i]]`; yield close pairs, the smaller number first."""
    for left, place in spread(first, counts):
        right = order[place]
        later = left < right
        pairs = np.column_stack((left[later], right[later]))
        for column, tolerance in enumerate(tolerances):
            if np.isfinite(tolerance):
                pairs = pairs[np.abs(points[pairs[:, 0], column] - points[pairs[:, 1], column]) < tolerance]
        if len(pairs):
            yield pairs


def spread(first: I64, counts: I64) -> Iterator[tuple[I64, I64]]:
    """Yield (row, position) for every position from `first[row]` to `first[row] + counts[row]`, rows in order, in blocks."""
    ends = np.cumsum(counts)
    row = 0
    while row < counts.size:
        done = int(ends[row - 1]) if row else 0
        stop = max(int(np.searchsorted(ends, done + _BLOCK, side="right")), row + 1)
        part = counts[row:stop]
        rows = np.repeat(np.arange(row, stop), part)
        if rows.size:
            yield rows, np.arange(rows.size) + np.repeat(first[row:stop] - (ends[row:stop] - part - done), part)
        row = stop


def _axes(points: F64, tolerances: F64) -> I64:
    """Choose the columns in which pages differ most."""
    spread = points.std(axis=0) / tolerances if len(points) else np.zeros(tolerances.size)
    best: I64 = np.argsort(-spread, kind="stable")[:_MAX_AXES]
    return best[np.isfinite(tolerances[best])]


def _codes(boxes: I64) -> U64:
    """Return one number per box; two boxes may share one."""
    codes: U64 = boxes.view(np.uint64) @ _ODD[: boxes.shape[1]]
    return codes


class Grid:
    """Finds near signatures, one page at a time, in a filter's memory.

        tag ‖ box (4 × K, b"" if the tolerance makes one box of everything) → (name ‖ K components f4)*, the latest last

    A full box drops its oldest page. Millions of pages would fill the boxes, so they are divided by tags: a page is compared only with
    those that have a tag in common with it.
    """

    def __init__(self, tolerance: float, *, capacity: int, name_bytes: int) -> None:
        """Create a grid.

        Args:
            tolerance: D, above 0, in the signatures' unit.
            capacity: Pages a box.
            name_bytes: Bytes of each page's name, a multiple of 4.
        """
        self._name = name_bytes
        self._tolerance = tolerance
        self._side = _SIDE * tolerance
        self._capacity = capacity
        self._is_one_box = self._box(0.0 - tolerance) == self._box(1.0 + tolerance)

    def near(
        self, signature: bytes, memory: Memory, tags: Sequence[bytes], brief: bytes = b"", fewest: int = 0
    ) -> list[tuple[bytes, float]]:
        """Return the pages within the tolerance that share a tag, with their distances; their order depends only on what was added before.

        Args:
            signature: f4 × K, each 0 to 1.
            tags: 8 bytes or more each; the first 8 take the place of a site in the memory's keys.
            brief: A found page's name must end with bytes of which at least `fewest` are equal to these.
        """
        keys = tags if self._is_one_box else self._keys(signature, tags, self._tolerance * (1.0 + 1e-9))  # so that rounding loses no page
        found = b"".join([value for value in map(memory.get, keys) if value])
        if not found:
            return []
        if _NATIVE:
            return native.near(found, signature, self._name, self._tolerance, brief, fewest)
        width = self._name + len(signature)
        rows = np.frombuffer(found, dtype="<f4").reshape(-1, width // 4)[:, self._name // 4 :]
        distances = np.abs(rows - np.frombuffer(signature, dtype="<f4")).max(axis=1)
        briefs = np.frombuffer(found, dtype=np.uint8).reshape(-1, width)[:, self._name - len(brief) : self._name]
        alike = np.count_nonzero(briefs == np.frombuffer(brief, dtype=np.uint8), axis=1)
        near = [(row, float(distances[row])) for row in np.flatnonzero((distances < self._tolerance) & (alike >= fewest)).tolist()]
        return list({found[row * width : row * width + self._name]: distance for row, distance in near}.items())

    def add(self, name: bytes, signature: bytes, memory: Memory, tags: Sequence[bytes]) -> None:
        """Add a page under a name, once."""
        entry = name + signature
        for key in tags if self._is_one_box else self._keys(signature, tags, 0.0):
            held = memory.get(key)
            if held is None:
                memory.put(key, entry)
            elif entry not in held:
                memory.put(key, (held + entry)[-self._capacity * len(entry) :])

    def _keys(self, signature: bytes, tags: Sequence[bytes], reach: float) -> list[bytes]:
        """Return the memory keys of the boxes within reach of a signature."""
        axes = np.frombuffer(signature, dtype="<f4")[:_MAX_AXES].tolist()
        boxes = product(*[range(self._box(at - reach), self._box(at + reach) + 1) for at in axes])
        places = [b"".join([axis.to_bytes(4, "big", signed=True) for axis in box]) for box in boxes]
        return [tag + place for tag in tags for place in places]

    def _box(self, at: float) -> int:
        """Return the number of the box along one axis."""
        return floor((at - _MIDDLE) / self._side + 0.5)
