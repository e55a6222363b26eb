"""Checks by plain reads whether a file is safe to map, before LMDB maps it: reading past the end of a mapped file is a SIGBUS.

LMDB 0.9 (little-endian, 64 bits) keeps two meta pages at the start of data.mdb and uses the one of the later transaction:

    page header 16 │ magic 4 │ version 4 │ address 8 │ map size 8 │ free db 48 (its first 4: page size) │ main db 48 │ last page 8 │ txn 8

A file may end before its last page if the pages after its end are free; such a file is walked by py-lmdb's verifier, which reads every
reachable page without mapping any. The writer keeps files full length, so that this is rare.
"""

from __future__ import annotations

import struct
from pathlib import Path

from thresher.crawler.core.errors import StoreError

_META = struct.Struct("<16xIIQQI44x48xQQ")
_MAGIC = 0xBEEFC0DE
_DATA_VERSION = 1
_PAGE_SIZES = frozenset(1 << n for n in range(8, 17))

ADVICE = "Restore this directory from a backup, or start a new crawl elsewhere; nothing was written"


def check_data_file(path: Path) -> None:
    """Raise `StoreError` unless `path` is a whole LMDB 0.9 data file."""
    try:
        n_bytes = path.stat().st_size
        page_size, last_page = _newest_meta(path)
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}. {ADVICE}") from None
    needed = (last_page + 1) * page_size
    if n_bytes >= needed:
        return
    if problems := _walk(path):
        raise StoreError(f"{path}: truncated: {n_bytes} bytes, expected {needed} ({problems[0]}). {ADVICE}")


def page_problems(path: Path) -> list[str]:
    """Return what is wrong with the pages of a file that no process writes.

    Raises:
        StoreError: If it must not even be mapped.
    """
    check_data_file(path)
    return _walk(path)


def _walk(path: Path) -> list[str]:
    """Walk the file without mapping it; return its faults, [] if every used page is there and sound."""
    from lmdb import verify  # rarely needed, and slow to import

    try:
        problems: list[str] = verify.verify(str(path), subdir=False)  # type: ignore[no-untyped-call]  # lmdb has no types
    except verify.VerifyError as error:
        return [str(error)]
    return problems


def meta_pages(path: Path) -> tuple[bytes, int]:
    """Return (the two meta pages, the length of the file by the newer one). No process may commit meanwhile."""
    page_size, last_page = _newest_meta(path)
    with path.open("rb") as file:
        return file.read(2 * page_size), (last_page + 1) * page_size


def _newest_meta(path: Path) -> tuple[int, int]:
    """Return (page size, last page) of the meta page that LMDB will use."""
    with path.open("rb") as file:
        first = _read_meta(path, file.read(_META.size))
        file.seek(first[0])
        second = _read_meta(path, file.read(_META.size))
    page_size, last_page, _ = max(first, second, key=lambda meta: meta[2])
    return page_size, last_page


def _read_meta(path: Path, head: bytes) -> tuple[int, int, int]:
    """Return (page size, last page, transaction)."""
    if len(head) < _META.size:
        raise StoreError(f"{path}: truncated: no room for LMDB's meta pages. {ADVICE}")
    magic, version, _, _, page_size, last_page, txn = _META.unpack(head)
    if magic != _MAGIC or version != _DATA_VERSION or page_size not in _PAGE_SIZES:
        raise StoreError(f"{path}: not LMDB data of version {_DATA_VERSION}, or its meta pages are overwritten. {ADVICE}")
    return page_size, last_page, txn
