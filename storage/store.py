"""The store of a crawling process: one directory, one writer, nothing lost, nothing half done.

    DIR/state/    LMDB: everything that changes            DIR/skipped/    the log of skipped URLs, see storage/segments.py
    DIR/results/  LMDB: append-only by visit               DIR/crawl.lock  held while a process crawls
    DIR/archive/  WARC files, if they are asked for: see storage/archive/files.py

Writes go to the open group, in memory. Reads look there first, then in the group that is being committed, then on disk: they see every
write made before. `flush` hands the open group to the writer thread, which commits it in one piece. A group holds whole visits:
`end_visit` sets their bounds, and a flush in between is a programming error.

A kill at any moment loses only what was not flushed: the URLs of those visits are still in their queues.
Memory: the rows of at most two groups. Time: 0.3 µs per put, 0.2 µs per read from memory, 0.6 µs per read from disk.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

import lmdb
import msgspec

from thresher.config.settings import Settings
from thresher.crawler.core.errors import StoreError
from thresher.storage.archive.files import FOLDER, ArchiveFile, FileHere, archive_name, file_path, open_archive
from thresher.storage.archive.record import ArchiveRecord
from thresher.storage.beginning import cut_results, least_map, take_lock, write_first
from thresher.storage.directory import check_version, decode_config, require_new, require_store
from thresher.storage.disk import Disk
from thresher.storage.faults import as_ours
from thresher.storage.lock import CrawlLock
from thresher.storage.overlay import Change, Group, Row, shadow
from thresher.storage.packing import pack_f64, pack_u64, unpack_f64, unpack_skips, unpack_u64
from thresher.storage.schema import BODIES, META, RESULTS, TABLES, Archived, Meta
from thresher.storage.segments import SegmentWriter
from thresher.storage.tables import Tables
from thresher.storage.tables.counters import Counters
from thresher.storage.unfinished import MADE, is_without_rows, take_away
from thresher.storage.writer import Writer

PATIENCE_S = 10.0


class Store:
    """To be used by one thread; it has its own writer thread. Made by `create` or `open`."""

    def __init__(self, path: Path, lock: CrawlLock, disk: Disk, settings: Settings, *, patience_s: float) -> None:
        self.path = path
        self.settings = settings
        self._lock = lock
        self._disk = disk
        self._open = Group()
        self._behind: Group | None = None  # the group that is being committed
        self._commit: Future[None] | None = None  # the last commit
        self._closed = False
        self.secret = self._meta(Meta.SECRET)
        self.clock = unpack_f64(self._meta(Meta.CLOCK))  # `now` of the last commit
        self.stored_config = self._meta(Meta.CONFIG)  # the configuration of the last process, as JSON
        self._next_seq = unpack_u64(self._meta(Meta.NEXT_SEQ))
        self.visit = unpack_u64(self._meta(Meta.NEXT_VISIT))  # number of the current or next one; the first is 1
        segments = SegmentWriter(path / "skipped", *unpack_skips(self._meta(Meta.SKIPS)))
        cut_results(disk, self.visit)
        level = settings.store.compression_level
        self.archive = open_archive(path, self.secret, settings.archive, disk.get(META, Meta.ARCHIVE))
        self._writer = Writer(disk, segments, self.archive, compression_level=level, patience_s=patience_s, on_commit=self._on_commit)
        self.counters = Counters(self)
        self.tables = Tables(self, settings, writes=True)
        if msgspec.json.encode(settings) != self.stored_config:
            self.reconfigure(settings)

    @classmethod
    def create(
        cls, path: Path, settings: Settings, now: float, *, patience_s: float = PATIENCE_S, secret: bytes = b"", bare: bytes = b""
    ) -> Self:
        """Make a new store in a directory that is missing or empty.

        Args:
            secret: The secret of the crawl whose shard this is; a new one if there is none.
            bare: Seeds given without a scheme, in the format of `Meta.BARE`.

        Raises:
            StoreError: If the directory is not empty.
            StoreLockedError: If another process uses it.
        """
        require_new(path)
        try:
            for folder in (path, *(path / name for name in MADE)):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise as_ours(error) from None
        return cls._start(path, settings, patience_s, now, secret=secret or secrets.token_bytes(32), bare=bare)

    @classmethod
    def open(cls, path: Path, settings: Settings | None, now: float, *, patience_s: float = PATIENCE_S, reserves: bool = True) -> Self:
        """Open a store to continue a crawl, with its last configuration if `settings` is None.

        Args:
            reserves: Whether its maps take `store.map_size` at once; False for a few writes, one of which may lower the size.

        Raises:
            StoreError: If it is damaged, or there is none.
            StoreLockedError: If another process uses it.
        """
        require_store(path)
        return cls._start(path, settings, patience_s, now, reserves=reserves)

    @classmethod
    def _start(
        cls,
        path: Path,
        settings: Settings | None,
        patience_s: float,
        now: float,
        *,
        secret: bytes = b"",
        bare: bytes = b"",
        reserves: bool = True,
    ) -> Self:
        """Open or create a store; `open` and `create` document the arguments.

        Args:
            secret: Secret of the store to create; b"" opens an existing one.
        """
        lock = take_lock(path)
        begins = bool(secret) and is_without_rows(path)
        disk: Disk | None = None
        try:
            disk = Disk(path, settings.store.map_size if settings is not None else least_map(path), create=bool(secret))
            if secret and settings is not None:
                write_first(path, disk, settings, now, secret, bare)
            check_version(path, disk.get(META, Meta.VERSION))
            chosen = settings or decode_config(path, disk.get(META, Meta.CONFIG))
            if reserves:
                disk.reserve(chosen.store.map_size)
            store = cls(path, lock, disk, chosen, patience_s=patience_s)
        except BaseException as error:
            if disk is not None:
                disk.close()
            if begins:
                take_away(path)
            lock.release()
            if isinstance(error, lmdb.Error | OSError):
                raise as_ours(error) from None
            raise
        store.clock = max(store.clock, now)
        store.tables.tail.count_if_never()
        return store

    def _meta(self, name: bytes) -> bytes:
        value = self._disk.get(META, name)
        if value is None:
            raise StoreError(f"{self.path}: no {name.decode()} in its table `meta`. Restore this directory from a backup")
        return value

    # Rows

    def get(self, table: str, key: bytes) -> bytes | None:
        """Return a row's value as last written, or None."""
        rows = self._open.layers[table].rows
        if key in rows:
            return rows[key]
        behind = self._behind
        if behind is not None:
            rows = behind.layers[table].rows
            if key in rows:
                return rows[key]
        self._writer.check()
        return self._disk.get(table, key)

    def get_many(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of many keys, in order."""
        self._writer.check()
        behind = self._behind  # read before the disk: a row that has left it is on the disk then
        found: dict[bytes, bytes | None] = {}
        for group in (behind, self._open):
            if group is not None and not (rows := group.layers[table].rows).keys().isdisjoint(keys):
                found.update({key: rows[key] for key in keys if key in rows})
        rest = [key for key in keys if key not in found] if found else keys
        if rest:
            found.update(self._disk.get_many(table, rest))
        return [*map(found.get, keys)]

    def committed(self, table: str, key: bytes) -> bytes | None:
        """Return a row's value as it is on disk."""
        self._writer.check()
        return self._disk.get(table, key)

    def committed_rows(self, table: str, prefix: bytes, start: bytes, limit: int) -> list[Row]:
        """Return up to `limit` rows as they are on disk, of keys that begin with `prefix` and are not below `start`, in order."""
        self._writer.check()
        return list(islice(self._disk.rows(table, prefix, start, limit), limit))

    def put(self, table: str, key: bytes, value: bytes) -> None:
        group = self._open
        group.layers[table].put(key, value)
        group.n_bytes += len(key) + len(value)

    def put_many(self, table: str, rows: Mapping[bytes, bytes]) -> None:
        """Put many rows of a table."""
        group = self._open
        group.layers[table].put_many(rows)
        group.n_bytes += sum(map(len, rows)) + sum(map(len, rows.values()))

    def delete(self, table: str, key: bytes) -> None:
        self._open.layers[table].put(key, None)

    def scan(self, table: str, prefix: bytes = b"", start: bytes = b"", limit: int | None = None) -> list[Row]:
        """Return up to `limit` rows whose keys begin with `prefix` and are not below `start`, in order."""
        self._writer.check()
        behind = self._behind
        rows: Iterable[Change] = self._disk.rows(table, prefix, start, limit)
        for group in (behind, self._open):
            if group is not None and (changes := group.layers[table].changes(prefix, start)):
                rows = shadow(changes, rows)
        return list(islice(((key, value) for key, value in rows if value is not None), limit))

    def floor(self, table: str, key: bytes, n_shared: int) -> Row | None:
        """Return the last row with a key that is not above `key` and has the same first `n_shared` bytes; the table's keys end with a
        number.
        """
        self._writer.check()
        behind = self._behind  # read before the disk
        layers = [group.layers[table] for group in (self._open, behind) if group is not None]
        while True:
            on_disk = self._disk.floor(table, key, n_shared)
            found = [layer.floor(key, n_shared) for layer in layers] + [on_disk[0] if on_disk is not None else None]
            last = max((at for at in found if at is not None), default=None)
            if last is None:
                return None
            layer = next((layer for layer in layers if last in layer.rows), None)
            value = layer.rows[last] if layer is not None else on_disk[1] if on_disk is not None else None
            if value is not None:
                return last, value
            if (number := unpack_u64(last[-8:])) == 0:
                return None
            key = last[:-8] + pack_u64(number - 1)

    def log(self, line: bytes) -> None:
        """Append a line to the log of skipped URLs."""
        self._open.lines.append(line)
        self._open.n_bytes += len(line)

    def capture(self, records: list[ArchiveRecord]) -> None:
        """Add records of the current visit to the archive."""
        self._open.archive.append((self.visit, records))
        self._open.n_bytes += sum(len(record.block) for record in records)

    def leave_body_to_archive(self, may_hold: Callable[[bytes], bool]) -> None:
        """Let the body of the current visit be stored only in the archive, if there is one.

        Args:
            may_hold: Returns whether a body can be read from its record.
        """
        key, rows = pack_u64(self.visit), self._open.layers[BODIES].rows
        body = rows.get(key)
        if body is not None and may_hold(body):
            rows[key] = Archived(body)
            self._open.n_bytes -= len(body)

    def archive_file(self, visit: int, serial: int) -> ArchiveFile:
        """Return the file of the archive with this number; all visits of a store have the same files."""
        return FileHere(file_path(self.path / FOLDER, archive_name(self.path, self.secret), serial))

    def reconfigure(self, settings: Settings) -> None:
        """Set the crawl's configuration; the agent applies its changes to known URLs."""
        self.settings = settings
        self.put(META, Meta.CONFIG, msgspec.json.encode(settings))

    # Numbers

    @property
    def stride(self) -> int:
        """The difference between consecutive numbers."""
        return 1

    @property
    def next_seq(self) -> int:
        """Sequence number of the next new URL."""
        return self._next_seq

    def take_seq(self, n: int = 1) -> int:
        """Take the next `n` sequence numbers for new URLs; return the first of them (numbers begin at 1)."""
        self._next_seq += n
        return self._next_seq - n

    # Groups

    def end_visit(self) -> None:
        """End the current visit: all its writes are made."""
        self.visit += 1
        self._open.n_visits += 1

    def _mid_visit(self) -> bool:
        """Return whether the open group has results of a visit that has not ended."""
        unfinished = pack_u64(self.visit)
        layers = (self._open.layers[table] for table in TABLES if TABLES[table].env == RESULTS)
        return any(unfinished in layer.rows for layer in layers)

    @property
    def pending_visits(self) -> int:
        """Visits in the open group."""
        return self._open.n_visits

    @property
    def first_uncommitted(self) -> int:
        """Number of the first visit that is not on disk yet."""
        behind = self._behind
        return self.visit - self._open.n_visits - (behind.n_visits if behind is not None else 0)

    @property
    def pending_bytes(self) -> int:
        """Bytes of keys and values in the open group, before compression."""
        return self._open.n_bytes

    @property
    def committing(self) -> bool:
        """Is a group being committed? Until it is done, the open group cannot be flushed."""
        return self._behind is not None

    @property
    def trouble(self) -> str:
        """The disk's error while the writer tries again, or "". Nothing must be admitted meanwhile."""
        return self._writer.trouble

    @property
    def writer_cpu_s(self) -> float:
        """CPU seconds that the writer thread has used for commits."""
        return self._writer.cpu_s

    def flush(self, now: float = 0.0) -> Future[None]:
        """Commit the open group; the future is done when it is on disk, or carries the error that broke the store.

        One commit at a time: calling it while `committing` is a programming error. `now` becomes the store's clock.
        """
        assert not self._mid_visit(), "flush in the middle of a visit"
        assert self._behind is None, "flush while a group is being committed"
        self._writer.check()
        group = self._open
        self.tables.queues.save()
        self.tables.save_memories()
        self.counters.save()
        self.clock = max(self.clock, now)
        self.put(META, Meta.CLOCK, pack_f64(self.clock))
        self.put(META, Meta.NEXT_SEQ, pack_u64(self._next_seq))
        self.put(META, Meta.NEXT_VISIT, pack_u64(self.visit))
        self._behind, self._open = group, Group()
        self._commit = self._writer.submit(group)
        return self._commit

    def _on_commit(self) -> None:
        """Handle the end of a commit, in the writer's thread: the group is on disk and visible to reads."""
        self._behind = None

    def close(self, now: float = 0.0, *, commit: bool = True) -> None:
        """Commit the open group and release the directory. In the middle of a visit, or if the store is broken, nothing is committed.

        Args:
            commit: False drops the open group, and a commit that waits for the disk.
        """
        if self._closed:
            return
        self._closed = True
        try:
            if commit and self._writer.error is None and not self._mid_visit():
                if self._commit is not None:
                    self._commit.result()
                self.flush(now).result()
        finally:
            self._writer.close()
            self._disk.close()
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        """Close; after an exception, which may be in the middle of a visit, the open group is dropped."""
        self.close(commit=kind is None)
