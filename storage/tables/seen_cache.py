"""A cache of rows of `seen`, and with native code the knowledge which keys were certainly never added.

Most links of a page lead to a few pages that all pages of a host name; the rest are mostly new. So a page's keys are asked in one call, and
only what may have a row and is not kept here is read from the store.

In C (crawler/native/seen.c) rows are kept packed, in sets of four by the key's hash: a new one takes the place of that one of its set
which was met longest ago. Where all keys are added to the cache, it has a Bloom filter [BLO70] besides, two bits for a key in bitmaps as in
bloom.py, of which the last takes all further keys. `PythonSeenCache` keeps decoded rows in two generations of a dict: a row that was
not used during a whole generation is dropped. It has no filter: in Python a look-up there takes longer than reading.

Memory: in C 5 MiB of rows, 128 KiB to 9.2 MiB for the filter: with more than five million URLs it recognises fewer and fewer new ones, and
the others are looked up. In Python about 350 bytes per row, 2 × 16,384 rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from thresher.crawler.core.ports import SeenRow
from thresher.crawler.native import NATIVE, native
from thresher.storage.packing import PURPOSES, REASON_OF, STATE_OF, unpack_seen

_SET_BITS = 15
_BITMAPS = 3
_GENERATION = 16_384


class SeenCache(Protocol):
    """Recent rows by key, 16 bytes each."""

    def rows(self, keys: Sequence[bytes], /) -> tuple[list[SeenRow | None], list[int]]:
        """Return the row of each key, None where none is kept; and the positions of those of these that may have a row."""
        ...

    def keep(self, key: bytes, value: bytes, /) -> SeenRow:
        """Keep the packed row of a key, in place of an earlier one; return it unpacked."""
        ...

    def add(self, keys: Sequence[bytes], /) -> None:
        """Note that these keys have a row from now on."""
        ...


class PythonSeenCache:
    """The cache in Python."""

    def __init__(self, generation: int) -> None:
        """Create the cache.

        Args:
            generation: Rows of a generation.
        """
        self._generation = generation
        self._young: dict[bytes, SeenRow] = {}
        self._old: dict[bytes, SeenRow] = {}

    def rows(self, keys: Sequence[bytes], /) -> tuple[list[SeenRow | None], list[int]]:
        """Return what is kept, and what else may have a row (see `SeenCache`)."""
        found = [*map(self._young.get, keys)]
        unread = []
        for at in [at for at, row in enumerate(found) if row is None]:
            row = self._old.get(keys[at])
            if row is None:
                unread.append(at)
            else:
                found[at] = row
                self._put(keys[at], row)
        return found, unread

    def keep(self, key: bytes, value: bytes, /) -> SeenRow:
        """Keep a row; return it unpacked."""
        row = unpack_seen(value)
        self._put(key, row)
        return row

    def add(self, keys: Sequence[bytes], /) -> None:
        """Do nothing: without a filter every key may have a row."""

    def _put(self, key: bytes, row: SeenRow) -> None:
        if len(self._young) >= self._generation:
            self._young, self._old = {}, self._young
        self._young[key] = row


def seen_cache(*, begins_empty: bool) -> SeenCache:
    """Return an empty cache.

    Args:
        begins_empty: Whether all keys will be added to this cache.
    """
    if not NATIVE:
        return PythonSeenCache(_GENERATION)
    return native.SeenCache(SeenRow, STATE_OF, REASON_OF, PURPOSES, _SET_BITS, _BITMAPS if begins_empty else 0)
