"""The directory of a store: whether one is there, whether one may be made, and whether this Thresher can read what is in it."""

from __future__ import annotations

from pathlib import Path
from threading import Lock

import msgspec

from thresher.config.plugins import missing, settings_type, without_missing
from thresher.config.settings import Settings
from thresher.crawler.core.errors import NoCrawlError, StoreError
from thresher.storage.lock import lock_holder
from thresher.storage.packing import unpack_u64
from thresher.storage.partitions import is_shard
from thresher.storage.schema import RESULTS, STATE, VERSION
from thresher.storage.unfinished import is_unfinished, may_be_new

_ONE = Lock()  # two threads that decode a type for the first time, and at once, end the process: msgspec reads what it has half written


def require_store(path: Path) -> None:
    """Raise `NoCrawlError` where no store is, `StoreError` where half of one is, or where one must have been."""
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
    """Raise `StoreError` where no store may be created: beside other files, or where the half of one is left that is made last."""
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
        advice = f"Carry the crawl over with `thresher migrate {path}`" if found == VERSION - 1 else "Use the thresher that wrote it"
        raise StoreError(f"{path}: schema version {found}, expected {VERSION}. {advice}, or start a new crawl")


def decode_config(path: Path, value: bytes | None, *, for_reading: bool = False) -> Settings:
    """Return the stored configuration; raises `StoreError` if the crawl cannot go on with what is installed here.

    Args:
        for_reading: Nothing goes on: plug-ins that are not installed are left out.
    """
    try:
        with _ONE:
            return msgspec.json.decode(without_missing(value or b"", all_of_them=for_reading), type=settings_type())
    except msgspec.MsgspecError as error:
        if names := missing(value or b""):
            raise StoreError(
                f"{path}: filters.{names[0]}: configured, but no installed plug-in has this filter. Install the one that does"
            ) from None
        raise StoreError(f"{path}: its stored configuration cannot be used ({error}). Give one with `-c`") from None


def not_empty(path: Path) -> StoreError:
    """Return the error of a directory in which no store may be created."""
    return StoreError(f"{path}: not empty. Continue a crawl with `resume {path}`, or name a new directory")
