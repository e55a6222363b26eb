"""Recognises the remains of a creation that failed or was killed before its first commit: environments without a row, and no crawl.

A failing creation removes its files; the remains of a killed one are recognised, not reported as damage, and created anew.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

import lmdb

from thresher.crawler.core.errors import StoreError
from thresher.storage.archive.files import FOLDER as ARCHIVE
from thresher.storage.check import check_data_file
from thresher.storage.partitions import DIRECTORY, is_shard
from thresher.storage.partitions import FILE as PARTITIONS
from thresher.storage.schema import RESULTS, STATE, TABLES

_SKIPPED: Final = "skipped"
_LOCK: Final = "crawl.lock"
MADE: Final = (STATE, RESULTS, _SKIPPED)  # made by every creation
FOLDERS: Final = (*MADE, ARCHIVE)


def may_be_new(path: Path) -> bool:
    """Return whether this directory is empty, or has only remains of a creation."""
    names = {entry.name for entry in os.scandir(path)}
    return {name for name in names if not is_shard(name)} <= {*FOLDERS, _LOCK, PARTITIONS, DIRECTORY}


def is_unfinished(path: Path) -> bool:
    """Return whether a creation began here and never had its first commit; it makes the state's environment first."""
    with suppress(OSError):
        return may_be_new(path) and (path / STATE / "data.mdb").exists() and is_without_rows(path)
    return False


def is_without_rows(path: Path) -> bool:
    """Return whether both environments are missing or have no row; environments that cannot be read may have rows."""
    with suppress(OSError, StoreError, lmdb.Error):
        return all(_has_none(path / name) for name in (STATE, RESULTS))
    return False


def take_away(path: Path) -> None:
    """Remove the files of a creation. The caller must have the lock of the store."""
    for name in FOLDERS:
        shutil.rmtree(path / name, ignore_errors=True)
    with suppress(OSError):
        (path / _LOCK).unlink()


def _has_none(folder: Path) -> bool:
    file = folder / "data.mdb"
    if not file.exists() or not file.stat().st_size:
        return True
    check_data_file(file)
    with lmdb.open(str(folder), readonly=True, create=False, lock=False, max_dbs=len(TABLES) + 8, lib_version=0) as env, env.begin() as txn:
        names = [bytes(name) for name, _ in txn.cursor()]
        return not any(txn.stat(env.open_db(name, txn=txn, create=False))["entries"] for name in names)
