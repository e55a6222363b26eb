"""Checks the directory of a store: whether there is a store, whether one may be created, and whether this version of Thresher can read
it.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock

import msgspec

from thresher.config.plugins import missing, settings_type, without_missing
from thresher.config.settings import Settings
from thresher.crawler.core.errors import MissingPluginError, NoCrawlError, StoreError
from thresher.storage.lock import lock_holder
from thresher.storage.packing import unpack_u64
from thresher.storage.partitions import is_shard
from thresher.storage.schema import CARRIED_OVER, RESULTS, STATE, VERSION
from thresher.storage.unfinished import is_unfinished, may_be_new

_ONE = Lock()  # if two threads decode a type for the first time at the same moment, msgspec reads half-written data, and the process dies


def require_store(path: Path) -> None:
    """Check that there is a store.

    Raises:
        NoCrawlError: If there is none.
        StoreError: If there is half of one, or there must have been one.
    """
    if is_unfinished(path):
        if holder := lock_holder(path):
            raise NoCrawlError(f"{path}: no crawl here yet: process {holder} is creating it. Try again in a moment")
        raise NoCrawlError(
            f"{path}: no crawl here, only what a creation left that failed or was killed; nothing was crawled into it. "
            f"Start the crawl again with `crawl … -o {path}`"
        )
    missing = [f"{name}/data.mdb" for name in (STATE, RESULTS) if not (path / name / "data.mdb").is_file()]
    if not missing:
        return
    if len(missing) == 1 or is_shard(path.name) or (path / "status.json").exists():
        raise StoreError(f"{path}: {' and '.join(missing)} of a crawl's store is gone. Restore this directory from a backup")
    raise NoCrawlError(f"{path}: no crawl here: expected state/data.mdb and results/data.mdb. Start one with `crawl … -o {path}`")


def require_new(path: Path) -> None:
    """Check that a store may be created.

    Raises:
        StoreError: If there are other files, or the part of a store that is made last.
    """
    if path.exists() and not path.is_dir():
        raise StoreError(f"{path}: expected a directory, found a file. Name another directory")
    if path.is_dir() and not may_be_new(path):
        raise not_empty(path)
    if (path / RESULTS / "data.mdb").is_file() and not (path / STATE / "data.mdb").is_file():
        require_store(path)


def check_version(path: Path, value: bytes | None) -> None:
    """Raise `StoreError` unless the schema is ours."""
    if value is None or len(value) != 8:
        raise StoreError(
            f"{path}: expected a schema version in state/data.mdb, found none: it is no crawl's, or it is damaged. Name the directory of a "
            "crawl, or restore this one from a backup"
        )
    if (found := unpack_u64(value)) != VERSION:
        advice = f"Carry the crawl over with `thresher migrate {path}`" if found in CARRIED_OVER else "Use the thresher that wrote it"
        raise StoreError(f"{path}: schema version {found}, expected {VERSION}. {advice}, or start a new crawl")


def decode_config(path: Path, value: bytes | None, *, for_reading: bool = False) -> Settings:
    """Return the stored configuration.

    Args:
        for_reading: Whether the crawl is only read: then plug-ins that are not installed are left out.

    Raises:
        StoreError: If it cannot be read.
        MissingPluginError: If the crawl cannot go on since a plug-in is not installed.
    """
    try:
        with _ONE:
            return msgspec.json.decode(without_missing(value or b"", all_of_them=for_reading), type=settings_type())
    except msgspec.MsgspecError as error:
        if names := missing(value or b""):
            raise MissingPluginError(
                f"{path}: filters.{names[0]}: configured, but no installed plug-in has this filter. Install the one that does"
            ) from None
        raise StoreError(f"{path}: its stored configuration cannot be used ({error}). Give one with `-c`") from None


def not_empty(path: Path) -> StoreError:
    """Return the error of a directory in which no store may be created."""
    return StoreError(f"{path}: not empty. Continue a crawl with `resume {path}`, or name a new directory")
