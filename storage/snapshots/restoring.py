"""Restores a crawl from a snapshot: each chunk is read, compared with its digest and written; the directory appears once all is on the
disk.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path, PurePosixPath

from backports import zstd

from thresher.crawler.core.errors import DiskError, StoreError, UsageError
from thresher.storage.durable import sync_folder
from thresher.storage.partitions import shard_path
from thresher.storage.private import private
from thresher.storage.snapshots.manifest import SNAPSHOTS, ChunkPlace, FileChunks, Manifest, decode, digest_of, snapshot_name
from thresher.storage.snapshots.targets import Target


def snapshots(target: Target) -> list[Manifest]:
    """Return the snapshots that a target has, oldest first."""
    return [decode(name, target.get(name)) for name in target.names(SNAPSHOTS)]


def restore(target: Target, directory: Path, number: int | None = None) -> Manifest:
    """Restore the crawl of a snapshot in a new or empty directory.

    Args:
        target: Where snapshots are kept.
        directory: The new directory.
        number: Number of the snapshot; None: the last one.

    Raises:
        StoreError: If the snapshot is damaged or missing.
        UsageError: If the directory is not empty.
        DiskError: If the disk refuses.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory}: expected a new or empty directory, found something in it. Name another one")
    manifest = _chosen(target, number)
    _write_all(target, {file.name: file for file in manifest.files}, directory)
    return manifest


def restore_shard(target: Target, directory: Path, agent: int, owners: str) -> None:
    """Restore a shard from the last snapshot of its machine; remains of an earlier try are replaced. Raises as `restore` does.

    Args:
        owners: Id of the table of partitions to which it must belong.
    """
    manifest, place = _chosen(target, None), shard_path(directory, agent)
    files = {file.name.removeprefix(f"{place.name}/"): file for file in manifest.files if file.name.startswith(f"{place.name}/")}
    if not files or manifest.owners != owners:
        raise StoreError(f"{place.name}: expected a snapshot of it with its partitions, found one from before they were moved: it is lost")
    _write_all(target, files, place)


def _write_all(target: Target, files: dict[str, FileChunks], directory: Path) -> None:
    """Write a directory with these files; it appears when all are written."""
    coming = directory.with_name(f"{directory.name}.coming")
    try:
        shutil.rmtree(coming, ignore_errors=True)
        coming.mkdir(mode=0o700, parents=True)
        reading = _Reading(target)
        for name, file in files.items():
            _write(coming, name, file, reading)
        for folder in {path.parent for path in coming.rglob("*")} | {coming}:
            sync_folder(folder)
        if directory.exists():
            shutil.rmtree(directory)
        coming.rename(directory)
        sync_folder(directory.parent)
    except OSError as error:
        raise DiskError(f"{coming}: cannot be written: {error.strerror}") from None


def _chosen(target: Target, number: int | None) -> Manifest:
    names = target.names(SNAPSHOTS)
    if not names:
        raise UsageError("expected a target with snapshots, found none. `thresher snapshot DIR TARGET` takes one")
    name = names[-1] if number is None else snapshot_name(number)
    if name not in names:
        there = ", ".join(str(int(name.rpartition("/")[2])) for name in names)
        raise UsageError(f"snapshot {number}: expected one of {there}")
    return decode(name, target.get(name))


class _Reading:
    """Reads chunks. For a chunk its whole pack is read: the next chunks of a file are mostly in it, too."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._name = ""
        self._pack = b""

    def chunk(self, place: ChunkPlace) -> bytes:
        """Return a chunk.

        Raises:
            StoreError: If it does not have its digest.
        """
        if place.name != self._name:
            self._name, self._pack = place.name, self._target.get(place.name)
        try:
            content = zstd.decompress(self._pack[place.offset : place.offset + place.n_bytes])
        except zstd.ZstdError:
            content = b""
        if digest_of(content) != place.digest:
            raise StoreError(f"{place.name}: damaged at byte {place.offset}. Restore another snapshot")
        return content


def _write(coming: Path, name: str, file: FileChunks, reading: _Reading) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise StoreError(f"{name!r}: expected the name of a file below the crawl's directory")
    place = coming / path
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(place, "wb", opener=private) as out:
        out.writelines(map(reading.chunk, file.places()))
        out.flush()
        os.fsync(out.fileno())
