"""Removes records from an archive in place: the bytes of a visit's records become a tombstone of exactly the same length.

So the positions of all other records, and the entries of indexes for them, stay valid. A tombstone is one gzip member with one `metadata`
record that names no URL: the number of its visit, when it was forgotten, and padding. It is written as stored blocks of deflate, whose
length can be chosen to the byte. If the records are too short for that, it is compressed, and the header of the member is padded.

    1f 8b 08 .. │ stored block: 00|01, length 2, ~length 2, bytes … │ CRC-32 4 │ length 4        [RFC 1951, 3.2.4; RFC 1952]

After a kill the writing is repeated: the places are stored before the first byte is written (storage/forget.py).

Time: reading an archive for the records of a URL costs 100 µs a visit. Memory: the records of one visit, unpacked.
"""

from __future__ import annotations

import gzip
import os
import struct
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from thresher.crawler.core.errors import StoreError
from thresher.storage.archive.files import FOLDER, archive_name, file_path, write_at
from thresher.storage.archive.record import FIELDS, fields, stamp, urn
from thresher.storage.packing import unpack_u64
from thresher.storage.records import PLACE, ArchivePlace
from thresher.storage.schema import CAPTURES
from thresher.storage.tables.forgotten import Blank
from thresher.storage.view import View

_STORED: Final = 65_535  # bytes of a stored block at most
_HEAD: Final = b"\x1f\x8b\x08%c\x00\x00\x00\x00\x00\xff"
_NAME: Final = 0x08  # flag of a member whose header has a name
_AROUND: Final = 18  # bytes of a member's header and trailer
_PER_BLOCK: Final = 5


def places_of(view: View, is_meant: Callable[[str], bool]) -> Iterator[Blank]:
    """Yield the visits whose records belong to one of the URLs, and the places of these records. Records that cannot be unpacked are
    skipped.
    """
    name = archive_name(view.path, view.secret)
    for key, packed in view.rows(CAPTURES):
        visit, place = unpack_u64(key), PLACE.decode(packed)
        if visit >= view.visit:
            return
        if any(map(is_meant, _targets(file_path(view.path / FOLDER, name, place.serial), place))):
            yield Blank(visit, place.serial, place.offset, place.n_bytes)


def blank(path: Path, secret: bytes, places: Iterable[Blank], at: float) -> None:
    """Write tombstones over the records of some visits, and sync.

    Args:
        path: The path of the store.
        at: Seconds since the Unix epoch.
    """
    by_serial: dict[int, list[Blank]] = {}
    for place in places:
        by_serial.setdefault(place.serial, []).append(place)
    for serial, blanks in by_serial.items():
        file = file_path(path / FOLDER, archive_name(path, secret), serial)
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue  # moved away by its owner: there is nothing to blank
        try:
            for place in blanks:
                write_at(descriptor, tombstone(place.n_bytes, place.visit, at), place.offset)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def tombstone(n_bytes: int, visit: int, at: float) -> bytes:
    """Return a gzip member of `n_bytes` with a record that says that a visit was forgotten."""
    n_blocks = -(-(n_bytes - _AROUND) // (_STORED + _PER_BLOCK))
    length = n_bytes - _AROUND - _PER_BLOCK * n_blocks
    if (record := _record(visit, at, length)) is not None:
        return _head() + _stored(record, n_blocks) + struct.pack("<II", zlib.crc32(record), length)
    record = _record(visit, at, None) or b""
    packed = zlib.compress(record, 9, wbits=-15)
    spare = n_bytes - _AROUND - len(packed)
    if spare < 0:
        raise StoreError(f"visit {visit}: its records take {n_bytes} bytes, too few for a tombstone")
    name = b"x" * (spare - 1) + b"\0" if spare else b""
    return _head(_NAME if spare else 0) + name + packed + struct.pack("<II", zlib.crc32(record), len(record))


def _head(flags: int = 0) -> bytes:
    return _HEAD % flags


def _stored(data: bytes, n_blocks: int) -> bytes:
    """Return data as `n_blocks` stored blocks; all but the last are full, unless there are more than needed."""
    parts, at = [], 0
    for i in range(n_blocks):
        piece = data[at : at + _STORED]
        at += len(piece)
        parts.append(struct.pack("<BHH", i == n_blocks - 1, len(piece), len(piece) ^ 0xFFFF) + piece)
    return b"".join(parts)


def _record(visit: int, at: float, length: int | None) -> bytes | None:
    """Return the record, padded to so many bytes if a length is given; None if it is longer."""
    said = fields([("visit", str(visit)), ("forgotten", stamp(at))])
    record_id = urn(str(uuid.uuid5(uuid.NAMESPACE_OID, f"{visit} {at}")))  # the same id when it is written again
    head = f"WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: {record_id}\r\nWARC-Date: {stamp(at)}\r\nContent-Type: {FIELDS}\r\n"
    if length is None:
        return f"{head}Content-Length: {len(said)}\r\n\r\n".encode() + said + b"\r\n\r\n"
    around = len(head) + len("Content-Length: \r\n\r\n") + len("\r\n\r\n")
    for n_digits in range(1, 12):  # the length of the block is in the head, and changes the length of the head
        n_block = length - around - n_digits
        if n_block >= len(said) and len(str(n_block)) == n_digits:
            return f"{head}Content-Length: {n_block}\r\n\r\n".encode() + said.ljust(n_block) + b"\r\n\r\n"
    return None


def _targets(path: Path, place: ArchivePlace) -> list[str]:
    """Return the URLs of the records of one visit."""
    try:
        with path.open("rb") as file:
            file.seek(place.offset)
            data = gzip.decompress(file.read(place.n_bytes))
    except (OSError, EOFError, zlib.error):
        return []
    found, at = [], 0
    while (end := data.find(b"\r\n\r\n", at)) >= 0 and data.startswith(b"WARC/1.1\r\n", at):
        headers = dict(line.split(b": ", 1) for line in data[at:end].split(b"\r\n")[1:] if b": " in line)
        if target := headers.get(b"WARC-Target-URI"):
            found.append(target.decode().removeprefix("urn:interim:"))
        length = headers.get(b"Content-Length", b"")
        if not length.isdigit():
            break
        at = end + 4 + int(length) + 4
    return found
