"""The other side of far.py: answers questions about a shard on this machine's disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from errno import EIO
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec

from thresher.crawler.core.errors import StoreError
from thresher.storage.archive.checking import committed_files
from thresher.storage.archive.files import FOLDER, FileHere
from thresher.storage.carrying import inside
from thresher.storage.export.reading import reading_shard
from thresher.storage.far import (
    MOST_BYTES,
    MOST_ROWS,
    ArchiveFiles,
    ArchivePart,
    FarAnswer,
    Floor,
    Get,
    Keys,
    PageFaults,
    Question,
    Scan,
    SkippedLines,
    Verify,
)
from thresher.storage.packing import pack_u64
from thresher.storage.rot import damaged_pages
from thresher.storage.segments import read_lines
from thresher.storage.verify import MOST_PROBLEMS, problems
from thresher.storage.view import View

_BYTES = 1 << 20
_read_question = msgspec.msgpack.Decoder(Question).decode
T = TypeVar("T")


class ShardServer:
    """Answers questions about one shard on this machine's disk. To be used by one thread."""

    def __init__(self, path: Path, *, at_once: bool) -> None:
        """Create the server; the shard is opened with the first question."""
        self._path = path
        self._at_once = at_once
        self._opened = ExitStack()
        self._view: View | None = None

    def close(self) -> None:
        """Close the store."""
        self._opened.close()
        self._view = None

    def view(self) -> View:
        """Return the shard, opened.

        Raises:
            StoreError: If it cannot be read.
        """
        if self._view is None:
            self._view = self._opened.enter_context(reading_shard(self._path, at_once=self._at_once))
        return self._view

    def answer(self, packed: bytes) -> bytes:
        """Answer a question."""
        try:
            return msgspec.msgpack.encode(_answer(self.view(), _read_question(packed)))
        except StoreError as error:
            return msgspec.msgpack.encode(FarAnswer(fault=str(error)))


def _answer(view: View, question: Question) -> FarAnswer:
    match question:
        case Get(table=table, keys=keys):
            return FarAnswer(values=view.get_many(table, keys))
        case Floor(table=table, key=key, n_shared=n_shared):
            row = view.floor(table, key, n_shared)
            return FarAnswer(rows=[] if row is None else [row])
        case Scan(table=table, prefix=prefix, start=start, limit=limit):
            rows, is_all = _chunk(view.rows(table, prefix, start), limit, lambda row: len(row[0]) + len(row[1]))
            return FarAnswer(rows=rows, is_all=is_all)
        case Keys(table=table, start=start):
            keys_, is_all = _chunk(view.keys(table, start), MOST_ROWS, len)
            return FarAnswer(values=[*keys_], is_all=is_all)
        case SkippedLines(start=start_, end=end, n_skip=n_skip):
            lines, is_all = _chunk(islice(read_lines(view.path / "skipped", end, start_), n_skip, None), MOST_ROWS, len)
            return FarAnswer(values=[*lines], is_all=is_all)
        case Verify(where=where, bodies=bodies):
            found = islice(problems(view, where, bodies=bodies), MOST_PROBLEMS)
            return FarAnswer(values=[problem.encode() for problem in found], is_all=True)
        case ArchiveFiles():
            return FarAnswer(rows=[(path.name.encode(), pack_u64(n_bytes)) for path, n_bytes in committed_files(view)], is_all=True)
        case ArchivePart(name=name, offset=offset, n_bytes=n_bytes):
            return _part(inside(view.path / FOLDER, name), offset, min(n_bytes, MOST_BYTES))
        case PageFaults():
            return FarAnswer(values=[problem.encode() for problem in damaged_pages(view.path)], is_all=True)


def _part(path: Path, offset: int, n_bytes: int) -> FarAnswer:
    try:
        return FarAnswer(values=[FileHere(path).read(offset, n_bytes)])
    except OSError as error:
        return FarAnswer(error=error.errno or EIO)


def _chunk(items: Iterator[T], limit: int, size: Callable[[T], int]) -> tuple[list[T], bool]:
    """Return (the first items, whether these are all)."""
    chunk: list[T] = []
    n_bytes = 0
    for item in items:
        if len(chunk) == limit or n_bytes > _BYTES:
            return chunk, False
        chunk.append(item)
        n_bytes += size(item)
    return chunk, True
