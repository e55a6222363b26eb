"""The content of a snapshot.

    snapshots/000012   files of the crawl, each as its chunks: digest, pack, position in it; zstd
    packs/000012-0003  chunks that were new in that snapshot, each compressed alone

A file's chunks are `CHUNK_BYTES` long, the last one is shorter. A snapshot refers to chunks of earlier packs if the file has not changed at
that position: LMDB does not move pages, and all other files only grow. So each snapshot is complete, and only takes the space of what has
changed.

Memory and size: 36 bytes a chunk, 58 MB for 100 GB.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
from backports import zstd

from thresher.crawler.core.errors import StoreError

CHUNK_BYTES: Final = 64 << 10
FORMAT: Final = 1
SNAPSHOTS: Final = "snapshots"
PACKS: Final = "packs"
_PLACE: Final = struct.Struct(">20sIIII")


class ChunkPlace(NamedTuple):
    """The place of a chunk.

    digest: of the content; snapshot, pack: in which it was new; offset, n_bytes: its place in the pack, compressed
    """

    digest: bytes
    snapshot: int
    pack: int
    offset: int
    n_bytes: int

    @property
    def name(self) -> str:
        """The name of the pack."""
        return pack_name(self.snapshot, self.pack)


class FileChunks(msgspec.Struct, frozen=True):
    """A file of the crawl. name: path below its directory; chunks: their places, one after the other"""

    name: str
    n_bytes: int
    chunks: bytes

    def places(self) -> Iterator[ChunkPlace]:
        """Yield the place of each chunk."""
        return map(ChunkPlace._make, _PLACE.iter_unpack(self.chunks))

    def place(self, number: int) -> ChunkPlace | None:
        """Return the place of a chunk; None after the end."""
        at = number * _PLACE.size
        return ChunkPlace._make(_PLACE.unpack_from(self.chunks, at)) if at < len(self.chunks) else None


class Manifest(msgspec.Struct, frozen=True):
    """One snapshot.

    crawl: id of the crawl, so that no other crawl is kept in the same target; at: Unix time of its moment
    owners: id of the table of its agents' partitions
    pages: fetched pages of the crawl; new_bytes: bytes that were written for it
    """

    format: int
    crawl: str
    owners: str
    number: int
    at: float
    pages: int
    new_bytes: int
    files: list[FileChunks]


class TakenSnapshot(msgspec.Struct, frozen=True):
    """What is told of a snapshot. n_bytes: of all of it; new_bytes: of these, written for it; at: by its machine's clock"""

    number: int
    at: float
    pages: int
    n_bytes: int
    new_bytes: int

    @classmethod
    def of(cls, manifest: Manifest) -> TakenSnapshot:
        n_bytes = sum(file.n_bytes for file in manifest.files)
        return cls(manifest.number, manifest.at, manifest.pages, n_bytes, manifest.new_bytes)


def packed(place: ChunkPlace) -> bytes:
    """Return a place in the format of a manifest."""
    return _PLACE.pack(*place)


def digest_of(content: bytes) -> bytes:
    """Return the digest of a chunk."""
    return hashlib.blake2b(content, digest_size=20).digest()


def snapshot_name(number: int) -> str:
    return f"{SNAPSHOTS}/{number:06}"


def pack_name(snapshot: int, pack: int) -> str:
    return f"{PACKS}/{snapshot:06}-{pack:04}"


def encode(manifest: Manifest) -> bytes:
    return zstd.compress(msgspec.msgpack.encode(manifest), 3)


def decode(name: str, content: bytes) -> Manifest:
    """Return a snapshot.

    Raises:
        StoreError: If it is damaged.
    """
    try:
        manifest = msgspec.msgpack.decode(zstd.decompress(content), type=Manifest)
    except (zstd.ZstdError, msgspec.MsgspecError) as error:
        raise StoreError(f"{name}: expected a snapshot, found something else: {error}. Restore another one") from None
    if manifest.format != FORMAT:
        raise StoreError(f"{name}: snapshot of format {manifest.format}, expected {FORMAT}. Use the thresher that took it")
    return manifest
