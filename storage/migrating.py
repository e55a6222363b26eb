"""Migrates a store from an earlier schema to this one: copy, verify, swap.

Only `state/` differs. Its tables are written to a new file, which is read again and compared with the old one row by row; then it replaces
the old one in one step, or not at all. So a kill only costs the work on this store, and the migration of a crawl of several agents can be
continued. Remains of a killed migration are overwritten.

    schema 5    had a row of `urls` for each URL, and a row of `queue` for each queued URL; and what schema 6 had
    schema 6    had other forms of some records in filters' memories: see storage/migrating_memory.py

Disk space: as much as `state/`, meanwhile. Memory: 1,000 rows. Time: 10 µs a URL and a filter's record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain, groupby, islice, zip_longest
from pathlib import Path
from typing import Any, Final

import lmdb

from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.ports import Lane
from thresher.storage.check import check_data_file
from thresher.storage.directory import require_store
from thresher.storage.durable import sync_folder
from thresher.storage.faults import as_ours
from thresher.storage.lock import CrawlLock
from thresher.storage.migrating_memory import memory_bytes_rows, memory_rows
from thresher.storage.overlay import Row
from thresher.storage.packing import pack_queue_key, pack_u64, pack_waiting, unpack_queue_key, unpack_u64, unpack_waiting
from thresher.storage.partitions import shard_paths
from thresher.storage.records import Codec, UrlRecord
from thresher.storage.schema import CARRIED_OVER, MEMORY, MEMORY_BYTES, META, QUEUE, REQUESTS, STATE, TABLES, URLS, VERSION, Meta
from thresher.storage.seal import Seals, sealed
from thresher.storage.url_rows import pack_urls, unpack_urls

_ROW_FOR_EACH_URL: Final = 5  # this schema and those before it
_FILE: Final = "migrating.mdb"
_AT_ONCE: Final = 1000
_MOST_OF_A_ROW: Final = 64  # most URLs of a row
_URL: Final = Codec(UrlRecord)
_SPARE_BYTES: Final = 64 << 20
_BEFORE_SEQ: Final = 25  # bytes of a key of `queue`

Rows = Iterator[Row]


def migrate(path: Path, report: Callable[[str], None]) -> int:
    """Migrate a crawl; return how many of its shards had an earlier schema.

    Args:
        path: The crawl's directory.
        report: Called with a message for each shard that was migrated.

    Raises:
        StoreError: If a shard is damaged, or has another schema; it and the shards after it are not changed.
        StoreLockedError: If the crawl runs.
    """
    shards = shard_paths(path)
    for shard in shards:
        require_store(shard)
    locks: list[CrawlLock] = []
    try:
        locks += [CrawlLock(shard / "crawl.lock") for shard in shards]
        older = {shard: found for shard in shards if (found := _version(shard)) != VERSION}
        for shard, found in older.items():
            _carry_over(shard, found)
            report(f"{shard}: carried over from schema {found} to {VERSION}")
    except (lmdb.Error, OSError) as error:
        raise as_ours(error) from None
    finally:
        for lock in locks:
            lock.release()
    return len(older)


def _version(shard: Path) -> int:
    """Return the schema of a shard: this one or one that can be carried over."""
    check_data_file(shard / STATE / "data.mdb")
    with _opened(shard / STATE / "data.mdb") as env:
        found = next((unpack_u64(value) for key, value in _rows(env, META) if key == Meta.VERSION and len(value) == 8), 0)
    if found not in (*CARRIED_OVER, VERSION):
        known = " or ".join(map(str, (*CARRIED_OVER, VERSION)))
        advice = "Use the thresher that wrote it, or start a new crawl"
        raise StoreError(f"{shard}: schema version {found}, expected {known}: it cannot be carried over. {advice}")
    return found


def _carry_over(shard: Path, found: int) -> None:
    old, new = shard / STATE / "data.mdb", shard / STATE / _FILE
    with suppress(FileNotFoundError):
        new.unlink()
    try:
        with _opened(old) as source, _opened(new, map_size=2 * old.stat().st_size + _SPARE_BYTES) as target:
            for table in (name for name in TABLES if TABLES[name].env == STATE):
                _write(target, table, _converted(shard, source, table, found))
            target.sync(force=True)
            _compare(shard, source, target, found)
        new.replace(old)
    finally:
        with suppress(FileNotFoundError):
            new.unlink()
    sync_folder(old.parent)


def _opened(file: Path, map_size: int = 0) -> lmdb.Environment:
    """Open a file that no other process has open: to read it, or with a size to write it."""
    return lmdb.open(
        str(file),
        subdir=False,
        lock=False,
        readonly=not map_size,
        create=bool(map_size),
        mode=0o600,
        map_size=map_size or file.stat().st_size,
        max_dbs=len(TABLES) + 8,
        sync=False,
        lib_version=0,
    )


def _rows(env: lmdb.Environment, table: str) -> Rows:
    """Yield the rows of a table as they are on disk; none if the store does not have the table."""
    with suppress(lmdb.NotFoundError):
        db = env.open_db(table.encode(), create=False)
        with env.begin() as txn, txn.cursor(db) as cursor:
            yield from cursor


def _write(env: lmdb.Environment, table: str, rows: Rows) -> None:
    db = env.open_db(table.encode())
    while chunk := list(islice(rows, _AT_ONCE)):
        with env.begin(write=True) as txn, txn.cursor(db) as cursor:
            cursor.putmulti(chunk, append=True)


def _converted(shard: Path, env: lmdb.Environment, table: str, found: int) -> Rows:
    """Yield the rows of a table in this schema.

    Args:
        shard: The store's directory.
        env: The state in the earlier schema.
        table: Name of the table.
        found: The earlier schema.
    """
    if table == URLS and found <= _ROW_FOR_EACH_URL:
        return _sealed(URLS, _url_rows(_open_rows(shard, env, URLS), {key for key, _ in _rows(env, REQUESTS)}))
    if table == QUEUE and found <= _ROW_FOR_EACH_URL:
        return _sealed(QUEUE, _queue_rows(_open_rows(shard, env, QUEUE)))
    if table == META:
        return ((key, pack_u64(VERSION) if key == Meta.VERSION else value) for key, value in _rows(env, META))
    if table in (MEMORY, MEMORY_BYTES):
        return _sealed(table, _memory(shard, env, table))
    return _rows(env, table)


def _memory(shard: Path, env: lmdb.Environment, table: str) -> Rows:
    """Yield the rows of a table of filters' memories in this schema."""
    memory = memory_rows(_open_rows(shard, env, MEMORY))
    return memory if table == MEMORY else memory_bytes_rows(_open_rows(shard, env, MEMORY_BYTES), memory)


def _sealed(table: str, rows: Rows) -> Rows:
    return chain.from_iterable(sealed(table, [row]) for row in rows)


def _open_rows(shard: Path, env: lmdb.Environment, table: str) -> Rows:
    value = Seals(shard).value
    return ((key, value(table, key, stored)) for key, stored in _rows(env, table))


def _url_rows(rows: Rows, alone: set[bytes]) -> Rows:
    """Yield rows of URLs with consecutive numbers that one finder named at one time; a filter's own request has its own row.

    Args:
        rows: A row for each URL.
        alone: Numbers of filters' own requests.
    """
    urls = ((unpack_u64(key), _URL.decode(value), key in alone) for key, value in rows)
    numbered = enumerate(urls)
    for _, run in groupby(numbered, key=lambda one: (one[1][0] - one[0], one[1][1].via, one[1][1].found_at, one[0] if one[1][2] else -1)):
        while part := [url for _, url in islice(run, _MOST_OF_A_ROW)]:
            records = [record for _, record, _ in part]
            first = records[0]
            yield pack_u64(part[0][0]), pack_urls([one.text for one in records], [one.key for one in records], first.via, first.found_at)


def _queue_rows(rows: Rows) -> Rows:
    """Yield rows of URLs that wait with the same rank of a queue; rows of other lanes than FRESH have one URL."""
    for (rank, _), run in groupby(rows, key=lambda row: (row[0][:_BEFORE_SEQ], row[0][16] != Lane.FRESH and row[0])):
        while part := list(islice(run, _MOST_OF_A_ROW)):
            first = unpack_u64(part[0][0][_BEFORE_SEQ:])
            if unpack_u64(part[-1][0][_BEFORE_SEQ:]) - first >> 32:
                yield from ((key, bytes(4) + value) for key, value in part)
                continue
            values = [(unpack_u64(key[_BEFORE_SEQ:]) - first).to_bytes(4, "big") + value for key, value in part]
            yield rank + pack_u64(first), b"".join(values)


def _compare(shard: Path, source: lmdb.Environment, target: lmdb.Environment, found: int) -> None:
    """Raise `StoreError` unless the copy has the same content as the original."""
    for table in (name for name in TABLES if TABLES[name].env == STATE):
        before: Iterator[Any] = _rows(source, table)
        after: Iterator[Any] = _rows(target, table)
        if table == URLS and found <= _ROW_FOR_EACH_URL:
            before = ((unpack_u64(key), _URL.decode(value)) for key, value in _open_rows(shard, source, URLS))
            after = _urls_of(_open_rows(shard, target, URLS))
        elif table == QUEUE and found <= _ROW_FOR_EACH_URL:
            before = _open_rows(shard, source, QUEUE)
            after = _waiting_of(_open_rows(shard, target, QUEUE))
        elif table == META:
            before = ((key, pack_u64(VERSION) if key == Meta.VERSION else value) for key, value in before)
        elif table in (MEMORY, MEMORY_BYTES):
            before, after = _memory(shard, source, table), _open_rows(shard, target, table)
        if any(one != other for one, other in zip_longest(before, after)):
            raise StoreError(f"{shard}: its table `{table}` could not be carried over: the copy says something else. Nothing was changed")


def _urls_of(rows: Rows) -> Iterator[tuple[int, UrlRecord]]:
    for key, value in rows:
        row = unpack_urls(value)
        yield from ((seq, row.record(at)) for at, seq in enumerate(range(unpack_u64(key), unpack_u64(key) + len(row.texts))))


def _waiting_of(rows: Rows) -> Rows:
    """Yield a row for each queued URL, as in schema 5."""
    for key, values in rows:
        row = unpack_queue_key(key)
        for waiting in unpack_waiting(values):
            yield pack_queue_key(*row[:3], row.seq + waiting.past), pack_waiting(*waiting)[4:]
