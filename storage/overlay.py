"""Rows that are written but not yet on disk: the open group, and the group the writer is committing.

A layer has priority over the layers below it. Tables that are scanned during a crawl keep their keys in sorted buckets by prefix, so that
scanning one host's rows does not walk every host's.

Memory: the rows themselves and 8 bytes per key of a scanned table. Time: O(1) per put, O(log n) if keys are not in order.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping

from thresher.storage.archive.record import ArchiveRecord
from thresher.storage.schema import TABLES

Row = tuple[bytes, bytes]
Change = tuple[bytes, bytes | None]  # None: deleted


class Layer:
    """Unwritten rows of one table. Its keys are sorted when they are needed: most tables are written far more often than scanned."""

    __slots__ = ("_buckets", "_prefix", "_unfiled", "_unsorted", "rows")

    def __init__(self, prefix: int | None) -> None:
        self.rows: dict[bytes, bytes | None] = {}
        self._prefix = prefix
        self._buckets: dict[bytes, list[bytes]] = {}
        self._unfiled: list[bytes] = []  # keys that are in no bucket until the next scan
        self._unsorted: set[bytes] = set()  # prefixes of buckets that are out of order

    def put(self, key: bytes, value: bytes | None) -> None:
        if self._prefix is not None and key not in self.rows:
            self._file(key, self._prefix)
        self.rows[key] = value

    def put_many(self, rows: Mapping[bytes, bytes]) -> None:
        if self._prefix is not None:
            known = self.rows
            self._unfiled += [key for key in rows if key not in known] if known else rows
        self.rows.update(rows)

    def _file(self, key: bytes, prefix: int) -> None:
        shared = key[:prefix]
        bucket = self._buckets.get(shared)
        if bucket is None:
            self._buckets[shared] = [key]
            return
        if key < bucket[-1]:
            self._unsorted.add(shared)
        bucket.append(key)

    def floor(self, key: bytes, n_shared: int) -> bytes | None:
        """Return the last key, deleted or not, that is not above `key` and has the same first `n_shared` bytes (at least the length of the
        prefix).
        """
        assert self._prefix is not None
        bucket = self._sorted(key[: self._prefix])
        at = bisect_right(bucket, key) - 1
        return bucket[at] if at >= 0 and bucket[at].startswith(key[:n_shared]) else None

    def _sorted(self, shared: bytes) -> list[bytes]:
        """Return the keys that begin with a prefix, in order."""
        if self._unfiled and self._prefix is not None:
            for key in self._unfiled:
                self._file(key, self._prefix)
            self._unfiled.clear()
        bucket = self._buckets.get(shared, [])
        if shared in self._unsorted:
            self._unsorted.discard(shared)
            bucket.sort()  # mostly sorted runs, which are merged
        return bucket

    def changes(self, prefix: bytes, start: bytes) -> Iterable[Change]:
        """Return the changes whose keys begin with `prefix` and are not below `start`, in order; () if there is certainly none."""
        rows, width = self.rows, self._prefix
        if not rows:
            return ()
        if width is None or len(prefix) < width:
            return [(key, rows[key]) for key in sorted(rows) if key >= start and key.startswith(prefix)]
        bucket = self._sorted(prefix[:width])
        low = bisect_left(bucket, max(prefix, start))
        if len(prefix) == width:
            return ((key, rows[key]) for key in bucket[low:])
        return ((key, rows[key]) for key in bucket[low:] if key.startswith(prefix))


class Group:
    """The changes that one commit makes, all or nothing."""

    __slots__ = ("archive", "layers", "lines", "n_bytes", "n_visits")

    def __init__(self) -> None:
        self.layers = {name: Layer(table.prefix) for name, table in TABLES.items()}
        self.lines: list[bytes] = []  # lines of the log of skipped URLs
        self.archive: list[tuple[int, list[ArchiveRecord]]] = []  # (visit, its records for the archive)
        self.n_visits = 0
        self.n_bytes = 0

    def __bool__(self) -> bool:
        return bool(self.n_visits or self.lines or self.archive) or any(layer.rows for layer in self.layers.values())


def shadow(upper: Iterable[Change], lower: Iterable[Change]) -> Iterator[Change]:
    """Merge two sorted runs; of equal keys the upper run's row counts."""
    above, below = iter(upper), iter(lower)
    a, b = next(above, None), next(below, None)
    while a is not None and b is not None:
        if a[0] < b[0]:
            yield a
            a = next(above, None)
            continue
        if a[0] == b[0]:
            yield a
            a = next(above, None)
        else:
            yield b
        b = next(below, None)
    if a is not None:
        yield a
        yield from above
    if b is not None:
        yield b
        yield from below
