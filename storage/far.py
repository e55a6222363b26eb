"""Reads a shard on the disk of another machine like any other: its rows are transferred in chunks, as bytes.

This file defines the questions and answers; how they are transferred is not known here: ways.py gets a function for that. A chunk has at
most 1,000 rows and is cut at 1 MiB, so neither side has more in memory.

Files of an archive (WARC) stay where they are; of these, too, only what is asked for is transferred.

Memory: a chunk on each side. Time: one call a chunk; 10 µs a row.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from thresher.config.plugins import missing
from thresher.crawler.core.errors import StoreError
from thresher.storage.archive.files import FOLDER, archive_name, file_path
from thresher.storage.directory import check_version, decode_config
from thresher.storage.overlay import Row
from thresher.storage.packing import unpack_skips, unpack_u64
from thresher.storage.records import SKIP_LINE, SkipLine
from thresher.storage.schema import META, Meta
from thresher.storage.tables import Tables
from thresher.storage.view import View
from thresher.storage.ways import Ask

MOST_ROWS = 1000
MOST_BYTES = 1 << 20  # of a file's part
_FIRST_ROWS = 32  # rows of the first chunk: often no more are needed


class Get(msgspec.Struct, tag=True, frozen=True):
    """A question for values by their keys."""

    table: str
    keys: list[bytes]


class Floor(msgspec.Struct, tag=True, frozen=True):
    """A question for the last row with a key that is not above `key` and has the same first bytes."""

    table: str
    key: bytes
    n_shared: int


class Scan(msgspec.Struct, tag=True, frozen=True):
    """A question for rows whose keys begin with `prefix` and are not below `start`."""

    table: str
    prefix: bytes
    start: bytes
    limit: int


class Keys(msgspec.Struct, tag=True, frozen=True):
    """A question for keys that are not below `start`."""

    table: str
    start: bytes


class SkippedLines(msgspec.Struct, tag=True, frozen=True):
    """A question for lines of the log of skipped URLs, from `n_skip` on between two places."""

    start: tuple[int, int]
    end: tuple[int, int]
    n_skip: int


class PageFaults(msgspec.Struct, tag=True, frozen=True):
    """A question for the faults of the pages of the store's files."""


class Verify(msgspec.Struct, tag=True, frozen=True):
    """A question for the contradictions in the store; each message begins with `where`."""

    where: str
    bodies: bool


class ArchiveFiles(msgspec.Struct, tag=True, frozen=True):
    """A question for (name, length of its committed part) of each file of the archive."""


class ArchivePart(msgspec.Struct, tag=True, frozen=True):
    """A question for a part of a file of the archive, of which at most `MOST_BYTES` are answered."""

    name: str
    offset: int
    n_bytes: int


Question = Get | Floor | Scan | Keys | SkippedLines | PageFaults | Verify | ArchiveFiles | ArchivePart


class FarAnswer(msgspec.Struct, frozen=True):
    """The answer to a question. is_all: nothing follows; fault: why it cannot be read, "" if it can; error: number of the error with which
    a file could not be read, 0 if it could
    """

    values: list[bytes | None] = []
    rows: list[Row] = []
    is_all: bool = False
    fault: str = ""
    error: int = 0


_read_answer = msgspec.msgpack.Decoder(FarAnswer).decode
_encode = msgspec.msgpack.encode


class FarFile(NamedTuple):
    """A file of an archive on another machine's disk."""

    path: Path
    ask: Callable[[Question], FarAnswer]

    def read(self, offset: int, n_bytes: int) -> bytes:
        """Return a part of it, a chunk per call.

        Raises:
            FileNotFoundError: If it is gone.
            OSError: If it cannot be read.
        """
        parts: list[bytes] = []
        while n_bytes > 0:
            answer = self.ask(ArchivePart(self.path.name, offset, min(n_bytes, MOST_BYTES)))
            if answer.error:
                raise OSError(answer.error, os.strerror(answer.error))
            part = answer.values[0] or b""
            if not part:
                break
            parts.append(part)
            offset, n_bytes = offset + len(part), n_bytes - len(part)
        return b"".join(parts)


class FarView(View):
    """Reads of a store on another machine's disk."""

    def __init__(self, path: Path, ask: Ask) -> None:
        """Open the store.

        Args:
            path: Its path on the other machine, for messages.
            ask: Sends a question, and returns the answer.

        Raises:
            StoreError: If it cannot be read.
        """
        self.path = path
        self._ask_there = ask
        check_version(path, self.get(META, Meta.VERSION))
        stored = self.get(META, Meta.CONFIG)
        self.settings = decode_config(path, stored, for_reading=True)
        self.absent_filters = tuple(missing(stored or b""))
        self.tables = Tables(self, self.settings)

    def _ask(self, question: Question) -> FarAnswer:
        answer = _read_answer(self._ask_there(_encode(question)))
        if answer.fault:
            raise StoreError(answer.fault)
        return answer

    def get(self, table: str, key: bytes) -> bytes | None:
        return self._ask(Get(table, [key])).values[0]

    def get_many(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        found: list[bytes | None] = []
        for at in range(0, len(keys), MOST_ROWS):
            found += self._ask(Get(table, [*keys[at : at + MOST_ROWS]])).values
        return found

    def floor(self, table: str, key: bytes, n_shared: int) -> Row | None:
        return next(iter(self._ask(Floor(table, key, n_shared)).rows), None)

    def rows(self, table: str, prefix: bytes = b"", start: bytes = b"") -> Iterator[Row]:
        """Yield rows whose keys begin with `prefix` and are not below `start`, in order, a chunk per call."""
        first, limit = max(prefix, start), _FIRST_ROWS
        while True:
            answer = self._ask(Scan(table, prefix, first, limit))
            yield from answer.rows
            if answer.is_all:
                return
            first, limit = answer.rows[-1][0] + b"\0", MOST_ROWS

    def keys(self, table: str, first: bytes = b"") -> Iterator[bytes]:
        """Yield the keys of a table from `first` on, in order, a chunk per call."""
        while True:
            answer = self._ask(Keys(table, first))
            keys = [key for key in answer.values if key is not None]
            yield from keys
            if answer.is_all:
                return
            first = keys[-1] + b"\0"

    def all_skipped(self) -> Iterator[SkipLine]:
        """Yield the written lines of the log of skipped URLs, oldest first."""
        start, end = (0, 0), unpack_skips(self.meta(Meta.SKIPS))
        if self.span is not None:
            start = (self.span.start.segment, self.span.start.n_bytes)
            end = (self.span.end.segment, self.span.end.n_bytes)
        n_read = 0
        while True:
            answer = self._ask(SkippedLines(start, end, n_read))
            yield from (SKIP_LINE.decode(line) for line in answer.values if line is not None)
            if answer.is_all:
                return
            n_read += len(answer.values)

    def damaged_pages(self) -> list[str]:
        """Return a message for each fault of the pages of its files."""
        return self._words(PageFaults())

    def problems(self, where: str, *, bodies: bool) -> list[str]:
        """Return the faults that storage/verify.py finds on the machine of the store."""
        return self._words(Verify(where, bodies))

    def _words(self, question: PageFaults | Verify) -> list[str]:
        return [problem.decode() for problem in self._ask(question).values if problem is not None]

    def archive_file(self, visit: int, serial: int) -> FarFile:
        """Return the file of the archive with this number."""
        return FarFile(file_path(self.path / FOLDER, archive_name(self.path, self.secret), serial), self._ask)

    def archive_files(self) -> Iterator[tuple[FarFile, int]]:
        """Yield (file, length of its committed part) of each file of the archive."""
        for name, n_bytes in self._ask(ArchiveFiles()).rows:
            yield FarFile(self.path / FOLDER / name.decode(), self._ask), unpack_u64(n_bytes)

    def close(self) -> None:
        """Do nothing: nothing is open here."""
