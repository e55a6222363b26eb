"""A cache of a filter's records: recently read or written ones, those that wait to be written, and knowledge of keys that were never
written.

Records are kept in two generations of a dict. A cache that began empty knows which keys were never written (bloom.py), and reads nothing
for them; any other cache remembers recent keys without a record. A written record waits in the form of its row, and its bytes are counted
for its site.

`RecordCache` is written in C if that was built (thresher.crawler.native), since it is read a hundred times per page and written 25 times;
`PythonCache` does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Protocol

from thresher.crawler.native import NATIVE, native
from thresher.storage.packing import MEMORY_HEADER, pack_memory
from thresher.storage.tables.bloom import BloomFilter

_SITE: Final = 8
_RECORD: Final = 110  # bytes that a remembered record takes beside those of its key and its value


class Visits(Protocol):
    """Knows the number of the present visit."""

    @property
    def visit(self) -> int: ...


class _Unread(bytes):
    """Stands for a record that is not in the cache."""


_UNREAD: Final = _Unread()


class PythonCache:
    """The cache of one filter's records, in Python."""

    def __init__(
        self,
        read: Callable[[bytes], bytes | None],
        generation: int,
        begins_empty: bool,
        visits: Visits,
        grow: Callable[[bytes, int], int],
        tag: bytes,
        most: int,
        /,
    ) -> None:
        """Create the cache.

        Args:
            read: Reads a record that is not in the cache.
            generation: Bytes of a generation: of keys, values and what each record takes beside them.
            begins_empty: Whether all records were `put` through this cache.
            visits: Gives the number of the visit that is written to a row.
            grow: Returns the bytes of a site's records after they have grown by so many; called if they are not known, or too many.
            tag: The beginning of each row's key.
            most: Bytes that a site's records may take.
        """
        self._read = read
        self._generation = generation
        self._n_young = 0  # bytes that were remembered in `_young`
        self._visits, self._grow, self._tag, self._most = visits, grow, tag, most
        self.unwritten: dict[bytes, bytes | None] = {}  # row's key → row (None: deleted)
        self.used: dict[bytes, int] = {}  # site → bytes of its records, for recently used sites; no other object writes these records
        self.unsaved: set[bytes] = set()  # sites whose bytes have changed since the last flush
        self._met = BloomFilter() if begins_empty else None
        self._young: dict[bytes, bytes | None] = {}
        self._old: dict[bytes, bytes | None] = {}

    def get(self, key: bytes, /) -> bytes | None:
        """Return the value of a record; None if there is none."""
        value = self._remembered(key)
        if value is _UNREAD:
            if self._met is not None and key not in self._met:
                return None
            value = self._read(key)
            self._remember(key, value)
        return value

    def put(self, key: bytes, value: bytes | None, /) -> bytes | None:
        """Cache a written value, None for a deleted one; return the value before."""
        before = self.get(key)
        self._remember(key, value)
        if before is None and value is not None and self._met is not None:
            self._met.add(key)
        return before

    def write(self, key: bytes, value: bytes, /, weight: float = 0.0) -> None:
        """Cache a record, let its row wait, and count its bytes for its site."""
        if len(key) < _SITE:
            raise ValueError(f"write: a key begins with the 8 bytes of its site, found {key!r}")
        earlier = self.put(key, value)
        self.unwritten[self._tag + key] = pack_memory(weight, self._visits.visit, value)
        grown = len(value) - len(earlier) if earlier is not None else len(value) + len(self._tag) + len(key) + MEMORY_HEADER
        if grown:
            site = key[:_SITE]
            used = self.used.get(site, 0)
            self.used[site] = used + grown if used and used + grown <= self._most else self._grow(site, grown)
            self.unsaved.add(site)

    def unread(self, keys: Iterable[bytes], /) -> list[bytes]:
        """Return the keys that `get` would have to read."""
        met = self._met
        return [key for key in keys if self._remembered(key) is _UNREAD and (met is None or key in met)]

    def _remembered(self, key: bytes) -> bytes | None:
        value = self._young.get(key, _UNREAD)
        if value is _UNREAD:
            value = self._old.get(key, _UNREAD)
            if value is not _UNREAD:
                self._remember(key, value)
        return value

    def _remember(self, key: bytes, value: bytes | None) -> None:
        if key in self._young:
            self._n_young -= len(self._young[key] or b"")
        else:
            if self._n_young >= self._generation:
                self._young, self._old, self._n_young = {}, self._young, 0
            self._n_young += _RECORD + len(key)
        self._n_young += len(value or b"")
        self._young[key] = value


RecordCache: Final = native.RecordCache if NATIVE else PythonCache
