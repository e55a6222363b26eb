"""Takes a snapshot of a crawl, while it runs or after it: all shards of this machine, their results, logs and archives, as of one moment.

    frozen      the LMDB files of one moment (cut.py)
    chunks      every file is read; chunks that differ from the last snapshot at the same position of the same file are written to packs
    manifest    written last: without it there is no snapshot, and the next snapshot deletes its packs
    keep        snapshots before the last `keep` are deleted, and packs that no other snapshot needs

If a quarter or less of a pack is still needed, these chunks are written again, and the pack is deleted.

Time: all files are read. The crawl goes on meanwhile, and its files grow by what it changes.
"""

from __future__ import annotations

import fcntl
import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from backports import zstd

from thresher.crawler.core.errors import StoreError, UsageError
from thresher.storage.directory import require_store
from thresher.storage.export.reading import reading_shard
from thresher.storage.partitions import COMMAND_LOCK, DIRECTORY, read_partitions, require_crawl, shard_paths
from thresher.storage.private import private
from thresher.storage.snapshots.cut import Frozen, frozen
from thresher.storage.snapshots.manifest import (
    CHUNK_BYTES,
    FORMAT,
    PACKS,
    SNAPSHOTS,
    ChunkPlace,
    FileChunks,
    Manifest,
    decode,
    digest_of,
    encode,
    pack_name,
    packed,
    snapshot_name,
)
from thresher.storage.snapshots.marks import FILE as MARKS
from thresher.storage.snapshots.marks import Kept, write_marks
from thresher.storage.snapshots.targets import Target
from thresher.storage.unfinished import FOLDERS

PACK_BYTES: Final = 32 << 20
_LOCK = "snapshot.lock"
_STAYS: Final = frozenset(
    ("crawl.lock", "lock.mdb", "data.mdb", "working", MARKS, _LOCK, COMMAND_LOCK, f"{DIRECTORY}.lock")
)  # files of processes, or frozen ones
_WORN: Final = 0.25  # share of a pack


def take(directory: Path, target: Target, *, keep: int) -> Manifest:
    """Take a snapshot of a crawl, and delete snapshots before the last `keep`.

    Raises:
        StoreError: If the crawl cannot be read.
        UsageError: If the target has snapshots of another crawl.
        DiskError: If the target refuses.
    """
    require_crawl(directory)
    require_store(directory)
    return take_shards(directory, shard_paths(directory), target, keep=keep)


def take_shards(directory: Path, shards: Sequence[Path], target: Target, *, keep: int, marks: bool = False) -> Manifest:
    """Take a snapshot of the shards of one machine.

    Args:
        marks: Whether to write marks, by which senders keep messages that are not in the snapshot.
    """
    with _alone(directory):
        crawl, pages, heard = "", 0, list[Kept]()
        for shard in shards:
            with reading_shard(shard) as view:  # closed before the files are frozen: a process opens an environment once
                crawl = hashlib.blake2b(b"snapshot", key=view.secret, digest_size=8).hexdigest()
                pages += view.counters.get("pages")
                heard.append(view.tables.channels.all_received())
        earlier = [decode(name, target.get(name)) for name in target.names(SNAPSHOTS)[-1:]]
        if earlier and earlier[0].crawl != crawl:
            raise UsageError(f"{directory}: expected a target of its own, found the snapshots of another crawl. Name another one")
        number = earlier[0].number + 1 if earlier else 1
        taking = _Taking(target, number, earlier[0] if earlier else None)
        with frozen(shards) as files:
            at = time.time()
            taking.take(directory, shards, files)
        manifest = Manifest(FORMAT, crawl, owners_digest(directory), number, at, pages, taking.new_bytes, taking.files)
        target.put(snapshot_name(number), encode(manifest))
        for shard, kept in zip(shards, heard, strict=True) if marks else ():
            write_marks(shard, kept)
        _forget(target, keep)
    return manifest


def owners_digest(directory: Path) -> str:
    """Return an id of the table of a crawl's partitions: a shard with another table cannot be restored into it."""
    table = read_partitions(directory)
    return "" if table is None else hashlib.blake2b(table.table(), digest_size=8).hexdigest()


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Lock the crawl, so that no other process takes a snapshot meanwhile."""
    with open(directory / _LOCK, "wb", opener=private) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{directory}: another process takes a snapshot of it. Wait until it has ended") from None
        yield


class _Taking:
    """One snapshot, as it grows."""

    def __init__(self, target: Target, number: int, earlier: Manifest | None) -> None:
        self._target = target
        self._number = number
        self._earlier = {file.name: file for file in earlier.files} if earlier else {}
        self._worn = worn(self._earlier.values())
        self._pack = bytearray()
        self._n_packs = 0
        self.files: list[FileChunks] = []
        self.new_bytes = 0

    def take(self, directory: Path, shards: Sequence[Path], files: list[Frozen]) -> None:
        """Take all files of the shards."""
        for file in files:
            self._take(file.path.relative_to(directory), _chunks(file.path, file.n_bytes, file.head))
        for path in _others(shards):
            self._take(path.relative_to(directory), _chunks(path, path.stat().st_size))
        self._end_pack()

    def _take(self, name: Path, chunks: Iterable[bytes]) -> None:
        before = self._earlier.get(str(name))
        places = bytearray()
        n_bytes = 0
        for number, content in enumerate(chunks):
            known = before.place(number) if before is not None else None
            digest = digest_of(content)
            if known is None or known.digest != digest or known.name in self._worn:
                known = self._add(digest, content)
            places += packed(known)
            n_bytes += len(content)
        self.files.append(FileChunks(str(name), n_bytes, bytes(places)))

    def _add(self, digest: bytes, content: bytes) -> ChunkPlace:
        """Write a chunk to the open pack."""
        compressed = zstd.compress(content, 3)
        if len(self._pack) + len(compressed) > PACK_BYTES:
            self._end_pack()
        place = ChunkPlace(digest, self._number, self._n_packs, len(self._pack), len(compressed))
        self._pack += compressed
        return place

    def _end_pack(self) -> None:
        if self._pack:
            self._target.put(pack_name(self._number, self._n_packs), bytes(self._pack))
            self.new_bytes += len(self._pack)
            self._n_packs += 1
            self._pack.clear()


def worn(files: Iterable[FileChunks]) -> set[str]:
    """Return the packs of which little is still needed; the length of a pack is taken from its last needed chunk."""
    needed, ends = Counter[str](), dict[str, int]()
    for file in files:
        for place in file.places():
            needed[place.name] += place.n_bytes
            ends[place.name] = max(ends.get(place.name, 0), place.offset + place.n_bytes)
    return {name for name, end in ends.items() if needed[name] <= _WORN * end}


def _others(shards: Sequence[Path]) -> Iterator[Path]:
    """Yield the files of shards that are not LMDB files: logs, archives, tables."""
    for shard in shards:
        yield from (path for path in sorted(shard.iterdir()) if path.is_file() and path.name not in _STAYS and path.suffix != ".tmp")
        for name in FOLDERS:
            yield from (path for path in sorted((shard / name).rglob("*")) if path.is_file() and path.name not in _STAYS)


def _chunks(path: Path, n_bytes: int, head: bytes = b"") -> Iterator[bytes]:
    """Yield the first bytes of a file in chunks; bytes after its end (free pages) are zero.

    Args:
        head: Replaces the beginning of the file.
    """
    try:
        with path.open("rb") as file:
            for at in range(0, n_bytes, CHUNK_BYTES):
                wanted = min(CHUNK_BYTES, n_bytes - at)
                content = file.read(wanted).ljust(wanted, b"\0")
                instead = head[at : at + wanted]
                yield instead + content[len(instead) :]
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from None


def _forget(target: Target, keep: int) -> None:
    """Delete snapshots before the last `keep`, and packs that no other needs."""
    names = target.names(SNAPSHOTS)
    for name in names[:-keep]:
        target.delete(name)
    needed: set[str] = set()
    for name in names[-keep:]:
        needed.update(place.name for file in decode(name, target.get(name)).files for place in file.places())
    for name in target.names(PACKS):
        if name not in needed:
            target.delete(name)
