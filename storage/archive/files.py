"""The WARC files of a store: DIR/archive/NAME-NNNNNN.warc.gz, append-only, each of at most `archive.max_file`.

A group's records are appended and synced before its results are committed, and are valid once its state is committed: the end of the last
committed record is in `meta`, beside the watermark of the results. The next opening cuts off all bytes after it. So a kill or a full disk
in the middle of a record leaves no trace, and each visit has its records exactly once. Where the last file was taken away, or lost bytes
that were committed, the next one begins.

Every file begins with a `warcinfo`. A changed configuration or version of Thresher begins a new file. Names are unique among crawls, so
that files of several crawls can be in one folder.
"""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from thresher.config.settings import ArchiveSettings
from thresher.storage.archive.record import FIELDS, ArchiveRecord, stamp
from thresher.storage.durable import sync_folder
from thresher.storage.partitions import is_shard
from thresher.storage.private import MODE
from thresher.storage.records import ARCHIVE_END, ArchiveEnd, ArchivePlace

FOLDER: Final = "archive"
SUFFIX: Final = ".warc.gz"

Packed = list[tuple[int, bytes]]  # (visit, its packed records) of each visit


class ArchiveFile(Protocol):
    """A file of an archive for reading, on this machine's disk or another's."""

    @property
    def path(self) -> Path:
        """Its path on its machine."""
        ...

    def read(self, offset: int, n_bytes: int) -> bytes:
        """Return a part of it; less at its end.

        Raises:
            FileNotFoundError: If it is gone.
            OSError: If it cannot be read.
        """
        ...


class FileHere(NamedTuple):
    """A file on this machine's disk."""

    path: Path

    def read(self, offset: int, n_bytes: int) -> bytes:
        with self.path.open("rb", buffering=0) as file:
            return os.pread(file.fileno(), n_bytes, offset)


class _Part(NamedTuple):
    """The data to write to one file."""

    serial: int
    at: int
    pieces: list[bytes]


def archive_name(path: Path, secret: bytes) -> str:
    """Return the beginning of the names of a store's files.

    Args:
        path: The path of the store.
    """
    shard = path.name if is_shard(path.name) else ""
    return "thresher-" + hashlib.blake2b(shard.encode(), key=secret, digest_size=4).hexdigest()


def file_path(folder: Path, name: str, serial: int) -> Path:
    return folder / f"{name}-{serial:06}{SUFFIX}"


def lack(path: Path, n_bytes: int) -> str:
    """Return what is wrong with a file of which so many bytes were committed; "" if it has them."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        size = -1
    return "" if size >= n_bytes else "is gone" if size < 0 else "is shorter than its committed end"


def lacks(path: Path, secret: bytes, end: bytes | None) -> list[str]:
    """Return which files of a store's archive are gone, or the last one is too short, with the reason; [] if all are there.

    Args:
        end: `Meta.ARCHIVE`.
    """
    if end is None:
        return []
    committed, name = ARCHIVE_END.decode(end), archive_name(path, secret)
    least = [0] * committed.serial + [committed.n_bytes] * bool(committed.n_bytes)
    files = [(file_path(path / FOLDER, name, serial), n_bytes) for serial, n_bytes in enumerate(least)]
    return [f"{file.name} {why}" for file, n_bytes in files if (why := lack(file, n_bytes))]


def cut(folder: Path, name: str, end: ArchiveEnd) -> None:
    """Cut off everything after the committed end."""
    current = file_path(folder, name, end.serial)
    for path in sorted(folder.glob(f"{name}-*{SUFFIX}")):
        if path > current or (path == current and not end.n_bytes):
            path.unlink()
    if current.exists() and current.stat().st_size > end.n_bytes:
        os.truncate(current, end.n_bytes)


def open_archive(path: Path, secret: bytes, settings: ArchiveSettings, end: bytes | None) -> ArchiveWriter | None:
    """Open the archive of a store if the configuration has one. In any case cut off all bytes that were never committed.

    Args:
        end: `Meta.ARCHIVE`.
    """
    folder, name = path / FOLDER, archive_name(path, secret)
    committed = ArchiveEnd() if end is None else ARCHIVE_END.decode(end)
    if settings.format == "warc":
        return ArchiveWriter(folder, name, committed, max_file=settings.max_file)
    if folder.exists():
        cut(folder, name, committed)
    return None


class ArchiveWriter:
    """Appends the records of visits. After construction only the writer thread uses it. Its file stays open."""

    def __init__(self, folder: Path, name: str, end: ArchiveEnd, *, max_file: int) -> None:
        """Cut off everything after the committed end; what was lost before it is left as it is."""
        folder.mkdir(mode=0o700, exist_ok=True)
        cut(folder, name, end)
        self.info = b"software: Thresher\r\n"  # the block of each file's first record; must be set before anything is appended
        self._folder = folder
        self._name = name
        self._end = end
        self._max_file = max_file
        self._is_broken = bool(end.n_bytes and lack(file_path(folder, name, end.serial), end.n_bytes))
        self._serial = end.serial + self._is_broken
        self._descriptor = self._open(self._serial)

    def pack(self, visits: Iterable[tuple[int, Sequence[ArchiveRecord]]]) -> Packed:
        """Return the records of visits as bytes; called once, however often the disk refuses them."""
        from thresher.storage.archive.member import member  # it needs an extra

        return [(visit, b"".join(map(member, records))) for visit, records in visits]

    def append(self, packed: Packed) -> tuple[ArchiveEnd, list[tuple[int, ArchivePlace]]]:
        """Write and sync. Return (the end to commit, which makes the records valid; the place of each visit's records). The next append
        overwrites a failed one.

        The records of a visit are always in the same file.
        """
        config = hashlib.blake2b(self.info, digest_size=8).digest()
        serial, at, n_bytes = self._end.serial, self._end.n_bytes, self._end.n_bytes
        if at and (self._is_broken or self._end.config != config):
            serial, at, n_bytes = serial + 1, 0, 0
        parts, places = [_Part(serial, at, [])], []
        for visit, data in packed:
            if n_bytes and n_bytes + len(data) > self._max_file:
                serial, n_bytes = serial + 1, 0
                parts.append(_Part(serial, 0, []))
            if not n_bytes:
                parts[-1].pieces.append(self._warcinfo(serial))
                n_bytes = len(parts[-1].pieces[0])
            places.append((visit, ArchivePlace(serial, n_bytes, len(data))))
            parts[-1].pieces.append(data)
            n_bytes += len(data)
        for part in parts:
            self._write(part)
        self._end, self._is_broken = ArchiveEnd(serial, n_bytes, config), False
        return self._end, places

    def close(self) -> None:
        os.close(self._descriptor)

    def _write(self, part: _Part) -> None:
        if part.serial != self._serial:
            other, self._descriptor, self._serial = self._descriptor, self._open(part.serial), part.serial
            os.close(other)
        at = part.at
        os.ftruncate(self._descriptor, at)
        for piece in part.pieces:
            write_at(self._descriptor, piece, at)
            at += len(piece)
        os.fsync(self._descriptor)

    def _open(self, serial: int) -> int:
        path = file_path(self._folder, self._name, serial)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, MODE)
        sync_folder(self._folder)
        return descriptor

    def _warcinfo(self, serial: int) -> bytes:
        from thresher.storage.archive.member import member

        name = file_path(self._folder, self._name, serial).name
        return member(ArchiveRecord("warcinfo", str(uuid.uuid4()), stamp(time.time()), FIELDS, self.info, [("WARC-Filename", name)]))


def write_at(descriptor: int, data: bytes, at: int) -> None:
    """Write all of `data` to a file at an offset."""
    rest = memoryview(data)
    while rest:
        n = os.pwrite(descriptor, rest, at)
        rest, at = rest[n:], at + n
