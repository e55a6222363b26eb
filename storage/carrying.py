"""Copies a shard from one disk to another: its files, in pieces. No process may write to it meanwhile.

    DIR/agent-3          the complete shard
    DIR/agent-3.coming   the part that has arrived so far; renamed once all of it is on the disk
    DIR/agent-3.copy     only its state, for an agent here that takes over partitions of it (moving.py)

An interrupted copy is begun anew.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from thresher.crawler.core.errors import StoreError
from thresher.storage.beginning import SPARE_BYTES
from thresher.storage.disk import Disk
from thresher.storage.durable import sync_folder
from thresher.storage.partitions import shard_path
from thresher.storage.private import private
from thresher.storage.schema import STATE
from thresher.storage.unfinished import FOLDERS

PIECE_BYTES: Final = 4 << 20
_STATE_FILE: Final = f"{STATE}/data.mdb"
_STAYS: Final = frozenset(("crawl.lock", "lock.mdb"))  # files of the processes that use a store, which are not copied


class File(msgspec.Struct, frozen=True):
    """A file of a shard. name: path below the shard's directory"""

    name: str
    n_bytes: int


class FilePiece(msgspec.Struct, frozen=True):
    """A request for a part of a file."""

    agent: int
    name: str
    offset: int


FetchPiece = Callable[[FilePiece], bytes]  # reads a piece from the other disk


def files_of(shard: Path) -> list[File]:
    """Return the files that a shard consists of."""
    found = [path for path in sorted(shard.iterdir()) if path.is_file()]
    found += [path for name in FOLDERS for path in sorted((shard / name).rglob("*")) if path.is_file()]
    return [File(str(path.relative_to(shard)), path.stat().st_size) for path in found if path.name not in _STAYS]


def read_piece(directory: Path, piece: FilePiece) -> bytes:
    """Return up to `PIECE_BYTES` of a file of a shard."""
    path = inside(shard_path(directory, piece.agent), piece.name)
    try:
        with path.open("rb") as file:
            file.seek(piece.offset)
            return file.read(PIECE_BYTES)
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}. Nothing was changed") from None


def bring(directory: Path, agent: int, files: list[File], fetch: FetchPiece) -> None:
    """Copy a whole shard to this disk; the remains of an earlier try are replaced."""
    shard = shard_path(directory, agent)
    coming = shard.with_name(f"{shard.name}.coming")
    _fetch_all(coming, agent, files, fetch)
    if shard.exists():
        shutil.rmtree(shard)
    coming.rename(shard)
    sync_folder(directory)


def bring_state(directory: Path, agent: int, files: list[File], fetch: FetchPiece) -> Path:
    """Copy the state of a shard to this disk; return the path of a store with this state and no results."""
    place = copy_path(directory, agent)
    _fetch_all(place, agent, [file for file in files if file.name == _STATE_FILE], fetch)
    Disk(place, (place / _STATE_FILE).stat().st_size + SPARE_BYTES, create=True).close()
    return place


def copy_path(directory: Path, agent: int) -> Path:
    """Return the path for the state of another machine's shard while partitions of it are taken over."""
    return directory / f"agent-{agent}.copy"


def drop(directory: Path, agent: int) -> None:
    """Delete a shard that was copied to another machine."""
    assert agent, "the first shard stays on the head"
    shutil.rmtree(shard_path(directory, agent), ignore_errors=True)


def _fetch_all(place: Path, agent: int, files: list[File], fetch: FetchPiece) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o700, parents=True)
    for wanted in files:
        path = inside(place, wanted.name)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(path, "wb", opener=private) as file:
            while file.tell() < wanted.n_bytes:
                content = fetch(FilePiece(agent, wanted.name, file.tell()))
                if not content:
                    raise StoreError(f"{path}: expected {wanted.n_bytes:,} bytes, found {file.tell():,}: the other disk changes meanwhile")
                file.write(content)
            file.flush()
            os.fsync(file.fileno())
    for folder in {path.parent for path in place.rglob("*")} | {place}:
        sync_folder(folder)


def inside(place: Path, name: str) -> Path:
    """Return a path below a directory.

    Raises:
        StoreError: If the name leads out of it.
    """
    path = Path(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise StoreError(f"{place}: expected the name of a file below it, found {name!r}")
    return place / path
