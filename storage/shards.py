"""The shards of a crawl of several agents, read as one store.

Rows of all shards are merged by their keys. Every shard numbers its URLs and visits itself, so the crawl's numbers interleave theirs:
number n of shard k of m is n × m + k. The number of a URL that another agent has (state `outbox`, in the link graph of the page that names
it) becomes that of its owner's row; a URL that has not yet arrived there is shown as the finding shard knows it. Counters are sums.

Memory: 8 bytes for each number of a shard once links are read. Time: 3 µs a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from thresher.crawler.core.model import State
from thresher.crawler.core.ports import SeenRow
from thresher.storage import far, ways
from thresher.storage.archive.files import ArchiveFile
from thresher.storage.overlay import Row
from thresher.storage.packing import (
    pack_f64,
    pack_i64,
    pack_links,
    pack_seen,
    pack_u64,
    unpack_i64,
    unpack_links,
    unpack_seen,
    unpack_u64,
    visit_of,
)
from thresher.storage.partitions import Partitions, read_partitions, require_crawl, shard_path
from thresher.storage.records import Codec, PageRecord, SkipLine, UrlRecord
from thresher.storage.schema import (
    BODIES,
    CAPTURES,
    CHANGES,
    COUNTERS,
    JOURNAL,
    LINKS,
    META,
    PAGES,
    QUEUE,
    REQUESTS,
    RULES,
    SEEN,
    URLS,
    Meta,
)
from thresher.storage.span import cursor_after, spans_since
from thresher.storage.tables import Tables
from thresher.storage.view import View

_BY_NUMBER = frozenset((URLS, REQUESTS, PAGES, BODIES, LINKS, JOURNAL, CAPTURES, CHANGES))  # tables whose keys are a number
_SUMS = frozenset((COUNTERS, RULES))
_OF_A_SHARD = (b"channel:", b"state:outbox")  # counters that are only valid for one shard
_CHUNK = 1000
_key_of = itemgetter(0)
T = TypeVar("T")


def open_view(path: Path, *, at_once: bool = False) -> View:
    """Open a crawl for reading, with one shard or several.

    Args:
        path: The directory of the crawl.
        at_once: Whether all reads see the store as of one moment.

    Raises:
        StoreError: If it cannot be read.
        UsageError: If it is a single shard of a crawl.
    """
    require_crawl(path)
    table = read_partitions(path)
    if table is None or table.shards == 1:
        return View(path, at_once=at_once)
    return ShardsView(path, table, at_once=at_once)


class ShardsView(View):
    """Several shards as one `View`; configuration and secret are those of the first."""

    def __init__(self, directory: Path, table: Partitions, *, at_once: bool = False) -> None:
        self.path = directory
        self.shards: list[View] = []
        self._way: ways.FarConnection | None = None
        try:
            for agent in range(table.shards):
                self.shards.append(self._opened(agent, table, at_once))
        except BaseException:
            self.close()
            raise
        self.settings, self.absent_filters = self.shards[0].settings, self.shards[0].absent_filters
        self._numbers: dict[int, npt.NDArray[np.int64]] = {}
        self.tables = Tables(self, self.settings)

    def _opened(self, agent: int, table: Partitions, at_once: bool) -> View:
        """Open a shard, on this machine or another."""
        path = shard_path(self.path, agent)
        if not table.machines or table.machines[agent] == table.machines[0]:
            return View(path, at_once=at_once)
        if self._way is None:
            self._way = ways.connection(self.path, table)
        return far.FarView(path, self._way.ask_of(agent, at_once=at_once))

    # Rows

    def get(self, table: str, key: bytes) -> bytes | None:
        return self._meta(key) if table == META else self.get_many(table, [key])[0]

    def get_many(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        found: dict[bytes, list[bytes]] = {}
        for k, shard in enumerate(self.shards):
            here = [key for key in keys if self._may_have(table, key, k)]
            for key, value in zip(here, shard.get_many(table, [self._inner(table, key) for key in here]), strict=True):
                if value is not None:
                    found.setdefault(key, []).append(self._outer_value(table, k, value))
        return [_one(table, found[key]) if key in found else None for key in keys]

    def floor(self, table: str, key: bytes, n_shared: int) -> Row | None:
        """Return the last row that is not above `key`, from the shard that gave its number."""
        k = unpack_u64(key[-8:]) % len(self.shards)
        row = self.shards[k].floor(table, self._inner(table, key), n_shared)
        return None if row is None else (self._outer_key(table, k, row[0]), self._outer_value(table, k, row[1]))

    def rows(self, table: str, prefix: bytes = b"", start: bytes = b"") -> Iterator[Row]:
        """Yield the rows of all shards whose keys begin with `prefix` and are not below `start`, in order, each key once."""
        runs = [self._run(k, table, prefix, start) for k in range(len(self.shards))]
        for key, group in groupby(merge(*runs, key=_key_of), _key_of):
            if table != COUNTERS or not key.startswith(_OF_A_SHARD):
                yield key, _one(table, [value for _, value in group])

    def _run(self, k: int, table: str, prefix: bytes, start: bytes) -> Iterator[Row]:
        """Yield the rows of one shard with the crawl's keys."""
        first = max(prefix, start)
        if table in _BY_NUMBER:
            number = -(-(unpack_u64(first.ljust(8, b"\0")[:8]) - k) // len(self.shards)) if first else 0
            source = self.shards[k].rows(table, start=pack_u64(max(0, number)))
        else:
            source = self.shards[k].rows(table, prefix, start[:-8] if table == QUEUE else start)
        for key, value in source:
            outer = self._outer_key(table, k, key)
            if outer >= first:
                if not outer.startswith(prefix):
                    return
                yield outer, self._outer_value(table, k, value)

    def keys(self, table: str, first: bytes = b"") -> Iterator[bytes]:
        """Yield the keys of all shards in order, each once; values are not read."""
        assert not first, "all of them"
        return (key for key, _ in groupby(merge(*(self._key_run(k, table) for k in range(len(self.shards))))))

    def _key_run(self, k: int, table: str) -> Iterator[bytes]:
        for key in self.shards[k].keys(table):
            yield self._outer_key(table, k, key)

    # From a shard's numbers to the crawl's, and back

    def _may_have(self, table: str, key: bytes, k: int) -> bool:
        if table in _BY_NUMBER or table == QUEUE:
            return unpack_u64(key[-8:]) % len(self.shards) == k
        return True

    def _inner(self, table: str, key: bytes) -> bytes:
        if table in _BY_NUMBER or table == QUEUE:
            return key[:-8] + pack_u64(unpack_u64(key[-8:]) // len(self.shards))
        return key

    def _outer_key(self, table: str, k: int, key: bytes) -> bytes:
        if table in _BY_NUMBER or table == QUEUE:
            return key[:-8] + pack_u64(unpack_u64(key[-8:]) * len(self.shards) + k)
        return key

    def _outer_value(self, table: str, k: int, value: bytes) -> bytes:
        if table == SEEN:
            row, m = unpack_seen(value), len(self.shards)
            visit, there = visit_of(row.visit, k)
            return pack_seen(row._replace(seq=row.seq * m + k, visit=visit * m + there if visit else 0))
        if table == LINKS:
            numbers = self._numbers_of(k)
            targets = unpack_links([value])[1]
            known = targets < len(numbers)
            outer = targets * len(self.shards) + k
            outer[known] = numbers[targets[known]]
            return pack_links(np.unique(outer).tolist())
        return value

    def _numbers_of(self, k: int) -> npt.NDArray[np.int64]:
        """Return the crawl's number for each number of a shard, as of now."""
        numbers = self._numbers.get(k)
        if numbers is None:
            m, shard = len(self.shards), self.shards[k]
            numbers = np.arange(unpack_u64(shard.meta(Meta.NEXT_SEQ)), dtype=np.int64) * m + k
            rows = ((key, unpack_seen(value)) for key, value in shard.rows(SEEN))
            in_outbox = ((key, row.seq) for key, row in rows if row.state is State.OUTBOX and row.seq < len(numbers))
            while chunk := list(islice(in_outbox, _CHUNK)):
                for (_, seq), value in zip(chunk, self.get_many(SEEN, [key for key, _ in chunk]), strict=True):
                    assert value is not None, f"number {seq} of shard {k} is gone"
                    numbers[seq] = unpack_seen(value).seq
            self._numbers[k] = numbers
        return numbers

    # Data of a crawl beside its rows

    @property
    def way(self) -> ways.FarConnection | None:
        """The connection to the machines of the crawl; None if all of it lies on this one."""
        return self._way

    @property
    def stride(self) -> int:
        """The difference between consecutive numbers of one shard."""
        return len(self.shards)

    def numbered_urls(self, start: int = 0) -> Iterator[tuple[int, UrlRecord]]:
        """Yield (number, URL) of all URLs from a number on, in order."""
        m = len(self.shards)
        return merge(*(self._numbered(k, max(0, -(-(start - k) // m))) for k in range(m)), key=_key_of)

    def _numbered(self, k: int, start: int) -> Iterator[tuple[int, UrlRecord]]:
        """Yield the URLs of one shard with the crawl's numbers."""
        return ((seq * len(self.shards) + k, record) for seq, record in self.shards[k].numbered_urls(start))

    def _meta(self, name: bytes) -> bytes | None:
        if name in (Meta.NEXT_SEQ, Meta.NEXT_VISIT):
            return pack_u64(max(unpack_u64(shard.meta(name)) for shard in self.shards) * len(self.shards))
        if name == Meta.CLOCK:
            return pack_f64(max(shard.clock for shard in self.shards))
        return self.shards[0].get(META, name)

    def narrow(self, cursor: str) -> str:
        """Make `all_…` yield only what was found since a cursor; return the next cursor.

        Raises:
            UsageError: If it is not a cursor of this crawl.
        """
        spans = spans_since(self.shards, cursor)
        for shard, span in zip(self.shards, spans, strict=True):
            shard.span = span
        self.span = spans[0]  # each shard has its own
        return cursor_after(self.shards, spans)

    def is_later(self, visit: int) -> bool:
        """Return whether a visit was committed after the rows that `all_…` yield."""
        if self.span is None:
            return visit >= self.visit
        return self.shards[visit % len(self.shards)].is_later(visit // len(self.shards))

    def archive_file(self, visit: int, serial: int) -> ArchiveFile:
        return self.shards[visit % len(self.shards)].archive_file(visit // len(self.shards), serial)

    def all_pages(self) -> Iterator[tuple[int, PageRecord]]:
        """Yield (visit, record) of every page, in the order of the visits; those of a span shard by shard."""
        if self.span is None:
            yield from super().all_pages()
            return
        for k, shard in enumerate(self.shards):
            yield from ((visit * len(self.shards) + k, page) for visit, page in shard.all_pages())

    def all_urls(self, state: State | None = None) -> Iterator[tuple[UrlRecord, SeenRow]]:
        """Yield every known URL, or those in one state, in the order of discovery; those of a span shard by shard."""
        if self.span is None:
            yield from super().all_urls(state)
            return
        for k, shard in enumerate(self.shards):
            for url, row in shard.all_urls(state):
                yield url, unpack_seen(self._outer_value(SEEN, k, pack_seen(row)))

    def timed(self, table: str, codec: Codec[T], at: Callable[[T], float]) -> Iterator[tuple[bytes, T]]:
        """Yield the records of a table with times; those of a span shard by shard."""
        if self.span is None:
            yield from super().timed(table, codec, at)
            return
        for shard in self.shards:
            yield from shard.timed(table, codec, at)

    def all_skipped(self) -> Iterator[SkipLine]:
        """Yield the written lines of the logs of skipped URLs, oldest first in each shard."""
        return chain.from_iterable(shard.all_skipped() for shard in self.shards)

    def close(self) -> None:
        for shard in self.shards:
            shard.close()
        if self._way is not None:
            self._way.close()


def _one(table: str, values: list[bytes]) -> bytes:
    """Return one value for a key that several shards have."""
    if len(values) == 1:
        return values[0]
    if table in _SUMS:
        return pack_i64(sum(map(unpack_i64, values)))
    if table == SEEN:
        return next((value for value in values if value[0] != State.OUTBOX), values[0])
    return values[0]
