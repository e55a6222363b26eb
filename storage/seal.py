"""Seals rows: four bytes after each value on disk show whether the row is what was written. LMDB has no checksums.

    value on disk = value ‖ xxh32(key ‖ value) 4, seeded by the name of the table

If a page was overwritten, it gives wrong rows, or rows of another table. Reading these raises a `StoreError` that names the row, and never
returns values that were not stored. A seal cannot detect missing rows, and rows of an older state of the same page; storage/verify.py looks
for contradictions.

Only the schema's version has no seal, so that any version can be read. Time: 0.3 µs a row written or read, 0.1 in C, 5 of a body of 25 KB.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

from xxhash import xxh32_digest

from thresher.crawler.core.errors import StoreError
from thresher.crawler.native import NATIVE, native
from thresher.storage.overlay import Row
from thresher.storage.schema import META, TABLES, Meta

_BYTES = 4
_SEEDS = {table: zlib.crc32(table.encode()) for table in TABLES}


def sealed(table: str, rows: Iterable[Row]) -> list[Row]:
    """Return rows with their seals, as they are on disk."""
    seed = _SEEDS[table]
    if table == META:
        return [(key, value if key == Meta.VERSION else value + xxh32_digest(key + value, seed)) for key, value in rows]
    if NATIVE:
        return native.sealed(rows, seed)
    return [(key, value + xxh32_digest(key + value, seed)) for key, value in rows]


def _opened(key: bytes, stored: bytes, seed: int) -> bytes | None:
    """Return a row's value; None if it is not what was written under this key."""
    value = stored[:-_BYTES]
    return value if stored[-_BYTES:] == xxh32_digest(key + value, seed) else None


class Seals:
    """Opens the rows of one store."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def value(self, table: str, key: bytes, stored: bytes) -> bytes:
        """Return a row's value.

        Raises:
            StoreError: If it is not what was written under this key.
        """
        if table == META and key == Meta.VERSION:
            return stored
        value = native.opened(key, stored, _SEEDS[table]) if NATIVE else _opened(key, stored, _SEEDS[table])
        if value is None:
            raise self._broken(table, key)
        return value

    def values(self, table: str, rows: Sequence[Row]) -> dict[bytes, bytes]:
        """Return the values of rows by their keys.

        Raises:
            StoreError: If one is not what was written under its key.
        """
        if NATIVE and table != META:
            seed, opened = _SEEDS[table], native.opened
            found = {key: opened(key, stored, seed) for key, stored in rows}
            if None not in found.values():
                return cast("dict[bytes, bytes]", found)
        return {key: self.value(table, key, stored) for key, stored in rows}

    def rows(self, table: str, rows: Iterable[Row], after: bytes = b"") -> list[Row]:
        """Return rows without their seals.

        Raises:
            StoreError: If a row is not what was written, or keys do not ascend from `after` on.
        """
        found, value = [], self.value
        for key, stored in rows:
            if key < after:
                raise StoreError(f"{self._path}: damaged: the keys of its table `{table}` are not in order at {key.hex()}. {_ADVICE}")
            found.append((key, value(table, key, stored)))
            after = key
        return found

    def _broken(self, table: str, key: bytes) -> StoreError:
        return StoreError(f"{self._path}: damaged: in its table `{table}` the row {key.hex()[:64]} is not what was written. {_ADVICE}")


_ADVICE = "`thresher verify` says what else is; restore this directory from a backup"
