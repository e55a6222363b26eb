"""The records of a filter that were read or written lately, and which were certainly never met.

They are remembered in two generations of a dict. A cache that began empty knows which keys it never met (bloom.py), so that nothing is read
for them; one that did not remembers what was lately not there.

`RecordCache` is C where it was built (thresher.crawler.native), for it is asked a hundred times a page; `PythonCache` says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from thresher.crawler.native import NATIVE, native
from thresher.storage.tables.bloom import Met


class _Unread(bytes):
    """Stands for a record that is not remembered."""


_UNREAD: Final = _Unread()


class PythonCache:
    """What is remembered of one filter's records."""

    def __init__(self, read: Callable[[bytes], bytes | None], generation: int, begins_empty: bool, /) -> None:
        """Create the cache.

        Args:
            read: Reads a record that is not remembered.
            generation: Records of a generation.
            begins_empty: Whatever is there, it was `put` here.
        """
        self._read = read
        self._generation = generation
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
