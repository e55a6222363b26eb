"""The two LMDB environments of a store, with one read snapshot of each.

The event loop's thread reads the snapshots, the writer's thread commits and renews them. A short lock prevents reads while the writer
replaces a snapshot or remaps a grown file: LMDB's map may only move while no transaction of this process is open.
Reading an older or a newer snapshot gives the same answers, because the rows that differ are still in the overlay.

When a map is full, it is doubled and the same rows are written again; nothing is lost.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import lmdb

from thresher.storage.check import check_data_file
from thresher.storage.mapped_pages import MappedPages
from thresher.storage.overlay import Row
from thresher.storage.schema import RESULTS, STATE, TABLES
from thresher.storage.seal import Seals, sealed

_ENVS = (STATE, RESULTS)
_FIRST_CHUNK = 64
_CHUNK = 4096
# `putmulti` releases the interpreter's lock once for all of its rows, so the loop runs meanwhile; what lies between two calls needs it.
# To give the lock up there, too (`time.sleep(0)`), made the two threads change at each, which took 1.4 µs of CPU a row beside a busy loop.
_PUTS_PER_TURN = 125
_READS_PER_BOUND = 64  # each may bring 16 pages into memory
_ROWS_PER_READ = 64  # rows in order, of which many are on a page


class Write(NamedTuple):
    """The changes of one commit to one table, in key order."""

    table: str
    deletes: list[bytes]
    puts: dict[bytes, bytes]


class Disk:
    """Reads from either thread, writes from one."""

    def __init__(self, path: Path, map_size: int, *, create: bool) -> None:
        """Open both environments.

        Args:
            path: The directory of the store.
            map_size: Bytes of address space for each.
            create: Whether to create them.

        Raises:
            StoreError: If a file must not be mapped.
        """
        self._paths = {name: path / name / "data.mdb" for name in _ENVS}
        for file in self._paths.values():
            if not create or (file.exists() and file.stat().st_size):
                check_data_file(file)
        self._seals = Seals(path)
        self._mapped = MappedPages(self._paths.values())
        self._lock = Lock()
        self._n_reads = 0  # since the memory of the maps was bounded
        self._envs: dict[str, lmdb.Environment] = {}
        self._dbs: dict[str, Any] = {}
        self._snapshots: dict[str, lmdb.Transaction[bytes]] = {}
        self._unused: set[str] = set()  # tables that have had no row since they were opened: reads skip them
        try:
            for name in _ENVS:
                self._open(name, path / name, map_size)
        except lmdb.Error:
            self.close()
            raise

    def _open(self, name: str, path: Path, map_size: int) -> None:
        tables = [table for table in TABLES if TABLES[table].env == name]
        env = lmdb.open(
            str(path),
            map_size=map_size,
            max_dbs=len(TABLES) + 8,
            mode=0o600,
            readahead=False,
            writemap=False,
            sync=True,
            metasync=True,
            max_readers=126,
            max_spare_txns=2,
            lib_version=0,
        )
        self._envs[name] = env
        with env.begin(write=True) as txn:
            for table in tables:
                self._dbs[table] = env.open_db(table.encode(), txn=txn)
                if not txn.stat(self._dbs[table])["entries"]:
                    self._unused.add(table)
        env.reader_check()
        self._snapshots[name] = env.begin()

    # Reads

    def get(self, table: str, key: bytes) -> bytes | None:
        if table in self._unused:
            return None
        with self._lock:
            stored = self._snapshots[TABLES[table].env].get(key, db=self._dbs[table])
            self._count_reads(1)
        return None if stored is None else self._seals.value(table, key, stored)

    def get_many(self, table: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the rows that exist, by key."""
        with self._lock:
            found = self._snapshots[TABLES[table].env].cursor(self._dbs[table]).getmulti(sorted(keys))  # neighbours lie on one page
            self._count_reads(len(keys))
        return self._seals.values(table, found)

    def floor(self, table: str, key: bytes, n_shared: int) -> Row | None:
        """Return the last row whose key is not above `key` and shares its first bytes."""
        with self._lock, self._snapshots[TABLES[table].env].cursor(self._dbs[table]) as cursor:
            row = last_not_above(cursor, key, n_shared)
            self._count_reads(1)
        return None if row is None else (row[0], self._seals.value(table, *row))

    def rows(self, table: str, prefix: bytes, start: bytes, limit: int | None) -> Iterator[Row]:
        """Yield rows whose keys begin with `prefix` and are not below `start`, in order.

        Args:
            limit: The caller reads at most so many; None: all.
        """
        if table in self._unused:
            return
        first, n = max(prefix, start), limit or _FIRST_CHUNK
        while True:
            chunk = self._chunk(table, prefix, first, n)
            yield from chunk
            if len(chunk) < n:
                return
            first, n = chunk[-1][0] + b"\x00", _CHUNK

    def _chunk(self, table: str, prefix: bytes, first: bytes, n: int) -> list[Row]:
        with self._lock, self._snapshots[TABLES[table].env].cursor(self._dbs[table]) as cursor:
            rows = rows_within(cursor, prefix, first, n)
            self._count_reads(1 + len(rows) // _ROWS_PER_READ)
        return self._seals.rows(table, rows, first)

    def _count_reads(self, n: int) -> None:
        """Count reads of rows that may lie anywhere, and bound the memory of the maps now and then. To be called with the lock."""
        self._n_reads += n
        if self._n_reads >= _READS_PER_BOUND:
            self._n_reads = 0
            self._mapped.bound()

    # Writes

    def commit(self, env: str, writes: Iterable[Write]) -> None:
        """Write all of `writes` in one transaction, growing the map as needed."""
        writes = list(writes)
        self._unused.difference_update([write.table for write in writes])  # until then reads find these rows in the overlay
        while True:
            try:
                with self._envs[env].begin(write=True) as txn:
                    self._apply_all(txn, writes)
                break
            except lmdb.MapFullError:
                self._grow(env)
        self._fill(env)

    def _apply_all(self, txn: lmdb.Transaction[bytes], writes: Iterable[Write]) -> None:
        for write in writes:
            self._apply(txn, write)

    def _apply(self, txn: lmdb.Transaction[bytes], write: Write) -> None:
        with txn.cursor(self._dbs[write.table]) as cursor:
            for key in write.deletes:
                if cursor.set_key(key):
                    cursor.delete()
            if not write.puts:
                return
            append = TABLES[write.table].append and (not cursor.last() or cursor.key() < next(iter(write.puts)))
            rows = iter(write.puts.items())
            while some := sealed(write.table, islice(rows, _PUTS_PER_TURN)):
                cursor.putmulti(some, append=append)
                self._mapped.bound()

    def _grow(self, env: str) -> None:
        """Double the map. No transaction of ours is open meanwhile; LMDB itself informs other processes."""
        with self._lock:
            self._snapshots[env].abort()
            self._envs[env].set_mapsize(2 * self._envs[env].info()["map_size"])
            self._snapshots[env] = self._envs[env].begin()
            self._mapped.on_move()

    def reserve(self, map_size: int) -> None:
        """Enlarge each map to this size, if it is smaller."""
        with self._lock:
            for env in _ENVS:
                if self.map_size(env) < map_size:
                    self._snapshots[env].abort()
                    self._envs[env].set_mapsize(map_size)
                    self._snapshots[env] = self._envs[env].begin()
            self._mapped.on_move()

    def _fill(self, env: str) -> None:
        """Extend the file to its full length if its last pages are free and were never written (see storage/check.py)."""
        n_bytes = (self._envs[env].info()["last_pgno"] + 1) * self._envs[env].stat()["psize"]
        with contextlib.suppress(OSError):  # it only saves the next opening a walk
            if self._paths[env].stat().st_size < n_bytes:
                os.truncate(self._paths[env], n_bytes)

    def renew(self) -> None:
        """Let reads see the last commit, and let LMDB reuse the pages it freed. Also bounds the memory of the maps."""
        with self._lock:
            for name in _ENVS:
                self._snapshots[name].abort()
                self._snapshots[name] = self._envs[name].begin()
        self._mapped.bound()

    def check_readers(self) -> int:
        """Clear the slots of dead readers; return their number."""
        return sum(env.reader_check() for env in self._envs.values())

    def map_size(self, env: str) -> int:
        return int(self._envs[env].info()["map_size"])

    def close(self) -> None:
        for snapshot in self._snapshots.values():
            snapshot.abort()
        for env in self._envs.values():
            env.close()
        self._mapped.close()


def rows_within(cursor: lmdb.Cursor[bytes], prefix: bytes, first: bytes, n: int) -> list[Row]:
    """Return up to n rows from the key `first` on whose keys begin with `prefix`; rows after these are not read."""
    if not cursor.set_range(first):
        return []
    rows = cursor.iternext()
    return list(islice(takewhile(lambda row: row[0].startswith(prefix), rows) if prefix else rows, n))


def last_not_above(cursor: lmdb.Cursor[bytes], key: bytes, n_shared: int) -> Row | None:
    """Return the last row whose key is not above `key` and shares its first bytes."""
    is_there = cursor.set_range(key)
    if is_there and cursor.key() == key:
        return cursor.item()
    if not (cursor.prev() if is_there else cursor.last()) or not cursor.key().startswith(key[:n_shared]):
        return None
    return cursor.item()
