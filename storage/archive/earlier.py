"""Reads the payload digest, URL and date of each answer in earlier archives, so that a new archive may refer to it [WARC 1.1, revisit].

It reads CDXJ and CDX-like JSON lines (`.cdxj`, packed or not), WARC files, and folders of both, also of crawls. Records that themselves
refer to others, and incomplete answers, cannot be referred to. A damaged file is read up to the damage; unusable lines and records are
counted.

Time: 5 µs a line; 45 µs an answer of a WARC file, which is unpacked for it. Memory: a line, a record's head.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, cast

import msgspec

from thresher.storage.records import Capture

_INDEXES: Final = (".cdxj", ".cdxj.gz")
_ARCHIVES: Final = (".warc.gz", ".warc")
_PACKED: Final = b"\x1f\x8b"
_REVISIT: Final = "warc/revisit"


class _Line(msgspec.Struct):
    """The fields of a line's JSON that are used."""

    url: str
    digest: str = ""
    mime: str = ""


class Earlier:
    """The captures of one path, and how many lines or records could not be used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.n_unusable = 0
        self.faults: list[str] = []  # messages about files that could not be read to their end

    def __iter__(self) -> Iterator[Capture]:
        for file in sources(self._path):
            try:
                yield from self._archive(file) if file.name.endswith(_ARCHIVES) else self._index(file)
            except (OSError, EOFError, zlib.error) as error:
                self.faults.append(f"{file}: read up to where it is damaged: {error}")

    def _index(self, file: Path) -> Iterator[Capture]:
        with file.open("rb") as raw:
            is_packed = raw.read(2) == _PACKED
        with cast("IO[bytes]", gzip.open(file) if is_packed else file.open("rb")) as lines:
            for line in lines:
                if line.strip() and not line.startswith(b"!"):
                    found = _of_line(line)
                    self.n_unusable += found is None
                    if found is not None and found.digest:
                        yield found

    def _archive(self, file: Path) -> Iterator[Capture]:
        from fastwarc.warc import ArchiveIterator, WarcRecordType  # part of the extra `archive`

        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response, parse_http=False):
                headers = record.headers
                digest = sha1_of(headers.get("WARC-Payload-Digest") or "")
                if headers.get("WARC-Truncated") or digest is None:
                    self.n_unusable += 1
                    continue
                record_id = (headers.get("WARC-Record-ID") or "").removeprefix("<urn:uuid:").removesuffix(">")
                yield Capture(headers.get("WARC-Target-URI") or "", headers.get("WARC-Date") or "", record_id, digest)


def sources(path: Path) -> list[Path]:
    """Return the files to read at a path, in order; [] if there are none."""
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.name.endswith((*_INDEXES, *_ARCHIVES)) and file.is_file())
    return [path] if path.is_file() and _is_text_or_packed(path) else []


def _is_text_or_packed(path: Path) -> bool:
    """Return whether a file may be an index or an archive, whatever its name; a WACZ, for example, is neither."""
    with path.open("rb") as file:
        head = file.read(4)
    return head.startswith(_PACKED) or (head.isascii() and head.decode().isprintable())


def sha1_of(text: str) -> bytes | None:
    """Return the 20 bytes of a SHA-1 as archives write it (Base32 or hexadecimal, labelled or bare); None for anything else."""
    label, _, value = text.rpartition(":")
    if label.lower() not in ("", "sha1"):
        return None
    try:
        found = base64.b32decode(value) if len(value) == 32 else bytes.fromhex(value)
    except (ValueError, binascii.Error):
        return None
    return found if len(found) == 20 else None


def _of_line(line: bytes) -> Capture | None:
    """Return the capture of a line; None if it is not a line of an index. Its digest is empty if it refers to another."""
    _, _, rest = line.partition(b" ")
    stamp, _, said = rest.partition(b" ")
    try:
        told = msgspec.json.decode(said, type=_Line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if told.mime == _REVISIT:
        return Capture("", "", "", b"")
    digest = sha1_of(told.digest)
    if digest is None or len(stamp) != 14 or not stamp.isdigit():
        return None
    d = stamp.decode()
    return Capture(told.url, f"{d[:4]}-{d[4:6]}-{d[6:8]}T{d[8:10]}:{d[10:12]}:{d[12:]}Z", "", digest)
