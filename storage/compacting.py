"""Writes the environments of a store anew, row by row, so that no deleted byte is left in free pages or between rows.

Memory: one commit of 8 MiB. Disk: a second copy of the larger environment meanwhile.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import lmdb

from thresher.crawler.core.errors import DiskError
from thresher.storage.durable import sync_folder
from thresher.storage.faults import as_ours
from thresher.storage.lock import CrawlLock
from thresher.storage.private import MODE
from thresher.storage.schema import RESULTS, STATE, TABLES

_BYTES_AT_ONCE: Final = 8 << 20  # bytes of one commit of the copy
_SPARE_BYTES: Final = 64 << 20  # spare bytes of the copy's map


def compact(path: Path) -> None:
    """Write both environments of a store anew, so that no deleted byte is left.

    Raises:
        StoreLockedError: If the crawl runs.
        DiskError: If the disk refuses.
    """
    lock = CrawlLock(path / "crawl.lock")
    try:
        for name in (STATE, RESULTS):
            _compact(path / name)
    except (OSError, lmdb.Error) as error:
        raise _no_room(path, error) from None
    finally:
        lock.release()


def _compact(folder: Path) -> None:
    copy = folder / "compact"
    shutil.rmtree(copy, ignore_errors=True)  # left by an earlier try
    copy.mkdir(mode=0o700)
    try:
        with (
            lmdb.open(str(folder), max_dbs=len(TABLES) + 8, readonly=True, lock=False, lib_version=0) as env,
            lmdb.open(str(copy), max_dbs=len(TABLES) + 8, map_size=_map_for(folder), lock=False, sync=False, lib_version=0) as new,
            env.begin(buffers=True) as old,
        ):
            for table in [bytes(name) for name in old.cursor().iternext(values=False)]:
                _write_anew(old.cursor(env.open_db(table, txn=old, create=False)), new, table)
        with (copy / "data.mdb").open("rb+") as file:
            os.fchmod(file.fileno(), MODE)
            os.fsync(file.fileno())
        (copy / "data.mdb").replace(folder / "data.mdb")
        sync_folder(folder)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _write_anew(rows: Iterable[tuple[Any, Any]], new: lmdb.Environment, table: bytes) -> None:
    """Write a table's rows; a copy of its pages would keep bytes of deleted rows between the rows."""
    db, rows = new.open_db(table), iter(rows)
    while True:
        n_bytes = 0
        with new.begin(write=True) as txn:
            for key, value in rows:
                txn.put(key, value, db=db, append=True)
                n_bytes += len(key) + len(value)
                if n_bytes > _BYTES_AT_ONCE:
                    break
            else:
                return


def _map_for(folder: Path) -> int:
    return (folder / "data.mdb").stat().st_size + _SPARE_BYTES


def _no_room(path: Path, error: Exception) -> Exception:
    ours = as_ours(error)
    if isinstance(ours, DiskError):
        return DiskError(
            f"{path}: what is to be forgotten is deleted, but its bytes lie in free pages: the copy without them could not be written "
            f"({error}). Make room for another {_size(path) >> 20:,} MiB and run `thresher forget {path}`"
        )
    return ours


def _size(path: Path) -> int:
    return max((path / name / "data.mdb").stat().st_size for name in (STATE, RESULTS))
