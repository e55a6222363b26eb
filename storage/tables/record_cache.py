"""The records of a filter that were read or written lately, those that wait to be written, and which were certainly never met.

They are remembered in two generations of a dict. A cache that began empty knows which keys it never met (bloom.py), so that nothing is read
for them; one that did not remembers what was lately not there. A record that is written waits as the row that it will be, and is counted
for the bytes of its site.

`RecordCache` is C where it was built (thresher.crawler.native), for it is asked a hundred times a page and written to 25 times;
`PythonCache` says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Protocol

from thresher.crawler.native import NATIVE, native
from thresher.storage.packing import MEMORY_HEADER, pack_memory
from thresher.storage.tables.bloom import Met

_SITE: Final = 8


class Visits(Protocol):
    """Knows the number of the present visit."""

    @property
    def visit(self) -> int: ...


class _Unread(bytes):
    """Stands for a record that is not remembered."""


_UNREAD: Final = _Unread()


class PythonCache:
    """What is remembered of one filter's records."""

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
            read: Reads a record that is not remembered.
            generation: Records of a generation.
            begins_empty: Whatever is there, it was `put` here.
            visits: Whose visit a row is written with.
            grow: Returns the bytes that a site's records take once they have grown by so many; asked if none are known, or too many.
            tag: Begins the key of each row.
            most: Bytes that a site's records may take.
        """
        self._read = read
        self._generation = generation
        self._visits, self._grow, self._tag, self._most = visits, grow, tag, most
        self.unwritten: dict[bytes, bytes | None] = {}  # row's key → row (None: deleted)
        self.used: dict[bytes, int] = {}  # bytes that the records of sites met lately take; nobody else writes these records
        self.unsaved: set[bytes] = set()  # sites of which that has changed since the last flush
        self._met = Met() if begins_empty else None
        self._young: dict[bytes, bytes | None] = {}
        self._old: dict[bytes, bytes | None] = {}

    def get(self, key: bytes, /) -> bytes | None:
        """Return the value of a record, None if there is none."""
        value = self._remembered(key)
        if value is _UNREAD:
            if self._met is not None and key not in self._met:
                return None
            value = self._read(key)
            self._remember(key, value)
        return value

    def put(self, key: bytes, value: bytes | None, /) -> bytes | None:
        """Remember what is written, None for what is deleted; return what was there before."""
        before = self.get(key)
        self._remember(key, value)
        if before is None and value is not None and self._met is not None:
            self._met.add(key)
        return before

    def write(self, key: bytes, value: bytes, /, weight: float = 0.0) -> None:
        """Remember a record, let its row wait, and count it for its site."""
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
        """Return those of some keys that `get` would read."""
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
        if len(self._young) >= self._generation and key not in self._young:
            self._young, self._old = {}, self._young
        self._young[key] = value


RecordCache: Final = native.RecordCache if NATIVE else PythonCache
