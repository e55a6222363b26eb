"""Prepares a store's directory before a process may write to it: takes the lock, writes the first rows of a new store, deletes results
without a state.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import msgspec

from thresher.config.settings import Settings
from thresher.storage.directory import not_empty
from thresher.storage.disk import Disk, Write
from thresher.storage.faults import as_ours
from thresher.storage.lock import CrawlLock
from thresher.storage.packing import pack_f64, pack_skips, pack_u64
from thresher.storage.schema import META, RESULTS, STATE, TABLES, VERSION, Meta

_CUT_AT_ONCE = 4096
SPARE_BYTES = 16 << 20


def least_map(path: Path) -> int:
    """Return a size of the maps that suffices to read the configuration, which has the final size."""
    return max((path / name / "data.mdb").stat().st_size for name in (STATE, RESULTS)) + SPARE_BYTES


def take_lock(path: Path) -> CrawlLock:
    """Lock a store's directory for this process."""
    try:
        return CrawlLock(path / "crawl.lock")
    except OSError as error:
        raise as_ours(error) from None


def write_first(path: Path, disk: Disk, settings: Settings, now: float, secret: bytes, bare: bytes) -> None:
    """Write the first rows of a store into two empty environments.

    Raises:
        StoreError: If it is a store already.
    """
    if disk.get(META, Meta.VERSION) is not None:
        raise not_empty(path)
    rows = {
        Meta.VERSION: pack_u64(VERSION),
        Meta.SECRET: secret,
        Meta.CONFIG: msgspec.json.encode(settings),
        Meta.CLOCK: pack_f64(now),
        Meta.NEXT_SEQ: pack_u64(1),
        Meta.NEXT_VISIT: pack_u64(1),
        Meta.SKIPS: pack_skips(0, 0),
        **({Meta.BARE: bare} if bare else {}),
    }
    disk.commit(STATE, [Write(META, [], dict(sorted(rows.items())))])
    disk.renew()


def cut_results(disk: Disk, watermark: int) -> None:
    """Delete the results of visits whose state was never committed."""
    for table in (name for name in TABLES if TABLES[name].env == RESULTS):
        while keys := [key for key, _ in islice(disk.rows(table, b"", pack_u64(watermark), _CUT_AT_ONCE), _CUT_AT_ONCE)]:
            disk.commit(RESULTS, [Write(table, keys, {})])
            disk.renew()
