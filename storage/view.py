"""A store for reading, while a crawl runs or after it. It takes no lock and writes nothing.

Every read is a separate short transaction, so that a long export does not prevent the crawl from reusing pages; long reads are made in
chunks, and the crawl may go on between them. With `at_once` all reads see one moment: for checks, not for exports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar

import lmdb

from thresher.config.plugins import missing
from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.model import State
from thresher.crawler.core.ports import SeenRow
from thresher.storage.archive.files import FOLDER, ArchiveFile, FileHere, archive_name, file_path
from thresher.storage.directory import check_version, decode_config, require_store
from thresher.storage.disk import last_not_above, rows_within
from thresher.storage.overlay import Row
from thresher.storage.packing import pack_u64, unpack_f64, unpack_links, unpack_seen, unpack_skips, unpack_u64
from thresher.storage.reader_maps import ReaderMap
from thresher.storage.records import EDGE, PAGE, SKIP_LINE, Codec, EdgeRecord, PageRecord, SkipLine, UrlRecord
from thresher.storage.schema import EDGES, LINKS, META, PAGES, RESULTS, SEEN, STATE, TABLES, Meta
from thresher.storage.seal import Seals
from thresher.storage.segments import read_lines
from thresher.storage.span import Span, cursor_after, spans_since
from thresher.storage.tables import Tables
from thresher.storage.tables.counters import Counters

_CHUNK = 1000
T = TypeVar("T")


class View:
    """Reads of a store on disk."""

    span: Span | None = None  # if set, `all_…` and `timed` yield only rows of this span
    checked_s: float = 0.0  # CPU seconds for which its files were checked for damage before it was read

    def __init__(self, path: Path, *, at_once: bool = False) -> None:
        """Open a store for reading.

        Args:
            path: The directory of the store.
            at_once: Whether all reads see one moment.

        Raises:
            StoreError: If it cannot be read.
        """
        require_store(path)
        self.path = path
        self._seals = Seals(path)
        self._maps: dict[str, ReaderMap] = {}
        self._envs: dict[str, lmdb.Environment] = {}
        self._dbs: dict[str, Any] = {}
        self._held: dict[str, lmdb.Transaction[bytes]] = {}
        try:
            for name in (STATE, RESULTS):
                self._maps[name] = ReaderMap(path / name)
                self._envs[name] = self._maps[name].env
            for table in TABLES:
                with suppress(lmdb.NotFoundError):
                    self._dbs[table] = self._envs[TABLES[table].env].open_db(table.encode(), create=False)
            check_version(path, self.get(META, Meta.VERSION))
            if lost := set(TABLES) - set(self._dbs):
                raise self._damaged(min(lost), "is gone")
            if at_once:
                self._held = {name: self._begin(name) for name in (STATE, RESULTS)}
            stored = self.get(META, Meta.CONFIG)
            self.settings = decode_config(path, stored, for_reading=True)
            self.absent_filters = tuple(missing(stored or b""))
        except BaseException:
            self.close()
            raise
        self.tables = Tables(self, self.settings)  # their reading methods work as with a `Store`

    # Rows

    def get(self, table: str, key: bytes) -> bytes | None:
        with self._reading(table) as (txn, db):
            stored = txn.get(key, db=db) if db is not None else None
        return None if stored is None else self._seals.value(table, key, stored)

    def get_many(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        with self._reading(table) as (txn, db):
            found = txn.cursor(db).getmulti(keys) if db is not None else []
        value = self._seals.value
        values = {key: value(table, key, stored) for key, stored in found}
        return [values.get(key) for key in keys]

    def floor(self, table: str, key: bytes, n_shared: int) -> Row | None:
        with self._reading(table) as (txn, db):
            if db is None:
                return None
            with txn.cursor(db) as cursor:
                row = last_not_above(cursor, key, n_shared)
        return None if row is None else (row[0], self._seals.value(table, *row))

    def scan(self, table: str, prefix: bytes = b"", start: bytes = b"", limit: int | None = None) -> list[Row]:
        return list(islice(self.rows(table, prefix, start), limit))

    def rows(self, table: str, prefix: bytes = b"", start: bytes = b"") -> Iterator[Row]:
        """Yield rows whose keys begin with `prefix` and are not below `start`, in order, a chunk per transaction."""
        first, n_rows, began = max(prefix, start), 0, 0
        while True:
            with self._reading(table) as (txn, db):
                if db is None:
                    return
                with txn.cursor(db) as cursor:
                    chunk = rows_within(cursor, prefix, first, _CHUNK)
                began, now, n_entries = began or txn.id(), txn.id(), txn.stat(db)["entries"]
            chunk = self._seals.rows(table, chunk, first)
            yield from chunk
            n_rows += len(chunk)
            if len(chunk) < _CHUNK:
                break
            first = chunk[-1][0] + b"\x00"
        if not prefix and not start and began == now and n_rows != n_entries:  # no process wrote meanwhile: pages have lost rows
            raise self._damaged(table, f"has {n_entries:,} rows, and {n_rows:,} can be found")

    def _damaged(self, table: str, what: str) -> StoreError:
        return StoreError(f"{self.path}: damaged: its table `{table}` {what}. `thresher verify` says more; restore it from a backup")

    def keys(self, table: str, first: bytes = b"") -> Iterator[bytes]:
        """Yield the keys of a table from `first` on, in order, a chunk per transaction; values are not read."""
        while True:
            with self._reading(table) as (txn, db):
                if db is None:
                    return
                with txn.cursor(db) as cursor:
                    chunk = list(islice(cursor.iternext(values=False), _CHUNK)) if cursor.set_range(first) else []
            yield from chunk
            if len(chunk) < _CHUNK:
                return
            if chunk[-1] < first:
                raise self._damaged(table, "has keys that are not in order")
            first = chunk[-1] + b"\x00"

    def _begin(self, env: str) -> lmdb.Transaction[bytes]:
        """Start a read transaction; if the crawl's file has grown beyond our map, take its new size first."""
        while True:
            try:
                return self._envs[env].begin()
            except lmdb.MapResizedError:
                self._envs[env].set_mapsize(0)

    @contextmanager
    def _reading(self, table: str) -> Iterator[tuple[lmdb.Transaction[bytes], Any]]:
        """Yield (a transaction, the table's handle or None if this store does not have the table)."""
        env = TABLES[table].env
        if env in self._held:
            yield self._held[env], self._dbs.get(table)
            return
        with self._begin(env) as txn:
            yield txn, self._dbs.get(table)

    # Data of a crawl's store beside its rows

    @property
    def stride(self) -> int:
        """The difference between consecutive numbers of one shard."""
        return 1

    @property
    def counters(self) -> Counters:
        """The counters as of the last commit."""
        return Counters(self)

    @property
    def visit(self) -> int:
        """Number of the next visit: results below it are committed."""
        return unpack_u64(self.meta(Meta.NEXT_VISIT))

    @property
    def clock(self) -> float:
        """`now` of the last commit."""
        return unpack_f64(self.meta(Meta.CLOCK))

    @property
    def secret(self) -> bytes:
        """The key of every hash of this crawl."""
        return self.meta(Meta.SECRET)

    def meta(self, name: bytes) -> bytes:
        value = self.get(META, name)
        if value is None:
            raise StoreError(f"{self.path}: no {name.decode()} in its table `meta`. Restore this directory from a backup")
        return value

    def put(self, table: str, key: bytes, value: bytes) -> NoReturn:
        raise StoreError(f"{self.path}: open for reading, and something would write to its table `{table}`")

    def put_many(self, table: str, rows: Mapping[bytes, bytes]) -> NoReturn:
        self.put(table, b"", b"")

    def delete(self, table: str, key: bytes) -> NoReturn:
        self.put(table, key, b"")

    def log(self, line: bytes) -> NoReturn:
        self.put("skipped", b"", line)

    def take_seq(self, n: int = 1) -> int:
        raise StoreError(f"{self.path}: open for reading, and something would number a new URL")

    def archive_file(self, visit: int, serial: int) -> ArchiveFile:
        """Return the file of the archive with this number that has the records of a visit."""
        return FileHere(file_path(self.path / FOLDER, archive_name(self.path, self.secret), serial))

    # Everything of a kind

    def narrow(self, cursor: str) -> str:
        """Make `all_…` yield only what was found since a cursor; return the next cursor.

        Raises:
            UsageError: If it is not a cursor of this crawl.
        """
        (self.span,) = spans = spans_since([self], cursor)
        return cursor_after([self], spans)

    def is_later(self, visit: int) -> bool:
        """Return whether a visit was committed after the rows that `all_…` yield."""
        return visit >= (self.visit if self.span is None else self.span.end.visit)

    def all_pages(self) -> Iterator[tuple[int, PageRecord]]:
        """Yield (visit, record) of every page, in the order of the visits."""
        end = self.visit if self.span is None else self.span.end.visit
        for key, value in self.rows(PAGES, start=b"" if self.span is None else pack_u64(self.span.start.visit)):
            if (visit := unpack_u64(key)) >= end:
                return
            yield visit, PAGE.decode(value)

    def all_urls(self, state: State | None = None) -> Iterator[tuple[UrlRecord, SeenRow]]:
        """Yield every known URL, or those in one state, in the order of discovery.

        With a span, only those that this shard has: a URL that is sent to another shard is there once it has arrived.
        """
        span = self.span
        known = self.numbered_urls(0 if span is None else span.start.seq)
        while chunk := list(islice(known, _CHUNK)):
            rows = self.get_many(SEEN, [url.key for _, url in chunk])
            for (seq, url), value in zip(chunk, rows, strict=True):
                row = None if value is None else unpack_seen(value)
                if row is None or row.seq != seq or state not in (None, row.state):
                    continue
                if span is None or (seq < span.end.seq and row.state is not State.OUTBOX):
                    yield url, row

    def numbered_urls(self, start: int = 0) -> Iterator[tuple[int, UrlRecord]]:
        """Yield (number, URL) of all URLs from a number on, in order, filters' own requests among them."""
        return self.tables.urls.all(start)

    def all_skipped(self) -> Iterator[SkipLine]:
        """Yield the written lines of the log of skipped URLs, oldest first."""
        start, end = (0, 0), unpack_skips(self.meta(Meta.SKIPS))
        if self.span is not None:
            start = (self.span.start.segment, self.span.start.n_bytes)
            end = (self.span.end.segment, self.span.end.n_bytes)
        for line in read_lines(self.path / "skipped", end, start):
            yield SKIP_LINE.decode(line)

    def all_edges(self) -> Iterator[tuple[bytes, EdgeRecord]]:
        """Yield (key of the original, edge) of every redirect."""
        return self.timed(EDGES, EDGE, lambda edge: edge.found_at)

    def timed(self, table: str, codec: Codec[T], at: Callable[[T], float]) -> Iterator[tuple[bytes, T]]:
        """Yield the records of a table with times.

        Args:
            at: Returns the time of a record.
        """
        for key, value in self.rows(table):
            record = codec.decode(value)
            if self.span is None or self.span.has(at(record)):
                yield key, record

    def all_links(self) -> Iterator[tuple[int, list[int]]]:
        """Yield (visit, numbers of the URLs it links to) of every page with links."""
        end = self.visit
        for key, value in self.rows(LINKS):
            if (visit := unpack_u64(key)) >= end:
                return
            yield visit, unpack_links([value])[1].tolist()

    def close(self) -> None:
        for txn in self._held.values():
            txn.abort()
        self._held.clear()
        for shared in self._maps.values():
            shared.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
