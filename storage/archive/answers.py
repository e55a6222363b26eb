"""Reads the answers of an existing archive of any origin: Thresher, Heritrix, Common Crawl, wget, warcio [ISO 28500, 2017 and 2009].

    response    head and body as received; Common Crawl's are without chunks and codings, and say so in their heads
    resource    only a body: an answer with status 200 and the record's type
    revisit     only the head, and where its body is

If a file is damaged, all readable records are returned; `faults` lists what could not be read, and where.

Memory: one record, as far as it is read.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from thresher.crawler.core.http_message import split
from thresher.storage.archive.earlier import sha1_of

_GZIP: Final = b"\x1f\x8b"
_WINDOW: Final = 31  # zlib's number for gzip with the largest window
_STEP: Final = 1 << 20  # bytes
_PLAIN: Final = b"WARC/"
_ARC: Final = b"filedesc://"
_SHOWN: Final = 20  # bytes of a file that is none
_BLANK_LINE: Final = b"\r\n\r\n"  # ends a head
_ANSWERS: Final = WarcRecordType.response | WarcRecordType.revisit | WarcRecordType.resource
_LENGTH: Final = re.compile(rb"\r\nContent-Length: *(\d+)\r\n", re.IGNORECASE)
_MAGIC: Final = (_PLAIN, b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")


class ArchivedAnswer(msgspec.Struct, frozen=True):
    """One answer."""

    url: str
    at: float  # seconds since the Unix epoch
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    payload: bytes  # without chunks, with content coding
    address: str = ""
    cut: str = ""  # why it is incomplete, in the standard's words: length, time, disconnect, unspecified
    same_as: str = ""  # a revisit: the URL of the answer that has its payload
    digest: bytes = b""  # SHA-1 of its payload, 20 bytes, if the record says so


class ArchivedAnswers:
    """The answers of one file."""

    def __init__(self, path: Path, at_most: int) -> None:
        """Create the answers of a file.

        Args:
            path: The file.
            at_most: Most bytes of a record that are read, head and body; the rest is skipped.
        """
        self._path = path
        self._at_most = at_most
        self.faults: list[str] = []
        self.n_records = 0

    def __iter__(self) -> Iterator[ArchivedAnswer]:
        with self._path.open("rb") as stream:
            if other := _other(stream.read(_STEP >> 10)):
                self.faults.append(f"{self._path}: expected a WARC file, found {other}")
                return
            stream.seek(0)
            at = 0
            try:
                for record in ArchiveIterator(stream, parse_http=False):
                    at = record.stream_pos
                    self.n_records += 1
                    if record.record_type & _ANSWERS:
                        yield from self._answer(record)
            except (OSError, EOFError, ValueError, zlib.error) as error:
                self.faults.append(f"{self._path}: damaged behind byte {at:,}: {error}; what comes before it is read")

            self._look_behind(at)

    def _look_behind(self, at: int) -> None:
        """Record a fault if the file ends in the middle of a record, since the reader takes that for the end.

        Args:
            at: The position of the last record.
        """
        if self.faults:
            return
        with self._path.open("rb") as stream:
            start = stream.read(len(_GZIP))
            stream.seek(at)
            if _PLAIN.startswith(start) and not _ends_with_record(stream):
                self.faults.append(f"{self._path}: ends in the middle of a record, behind byte {at:,}; what comes before it is read")
            if start != _GZIP:
                return
            data = stream.read(_STEP)
            while data:
                member = zlib.decompressobj(_WINDOW)
                while data and not member.eof:
                    try:
                        member.decompress(data, _STEP)
                    except zlib.error as error:
                        self.faults.append(f"{self._path}: damaged behind byte {at:,}: {error}; what comes before it is read")
                        return
                    data = member.unconsumed_tail or stream.read(_STEP)
                if not member.eof:
                    self.faults.append(f"{self._path}: ends in the middle of a record, behind byte {at:,}; what comes before it is read")
                    return
                data = member.unused_data + data if member.unused_data else data

    def _answer(self, record: WarcRecord) -> Iterator[ArchivedAnswer]:
        """Yield the answer of a record, if it is an HTTP answer."""
        headers = record.headers
        url, date = (headers.get("WARC-Target-URI") or "").strip("<>"), headers.get("WARC-Date") or ""
        if not url.startswith(("http://", "https://")):
            return
        declared = int(headers.get("Content-Length") or 0)
        block = record.reader.read(self._at_most)
        if len(block) < min(declared, self._at_most):
            self.faults.append(f"{self._path}: the record at byte {record.stream_pos:,} ends in its middle; it is left out")
            return
        try:
            at = datetime.fromisoformat(date).astimezone(UTC).timestamp()
        except ValueError:
            at = 0.0
        address, cut = headers.get("WARC-IP-Address") or "", headers.get("WARC-Truncated") or ""
        if record.record_type == WarcRecordType.resource:
            kind = (headers.get("Content-Type") or "").encode("latin-1", "replace")
            yield ArchivedAnswer(url, at, 200, ((b"Content-Type", kind),), block, address)
            return
        digest = sha1_of(headers.get("WARC-Payload-Digest") or "") or b""
        message = split(block)
        status, fields = _head(message.head)
        if not status:
            self.faults.append(f"{self._path}: the record at byte {record.stream_pos:,} holds no answer of HTTP; it is left out")
            return
        payload = message.payload if message.is_chunked else message.body + message.excess  # lengths may be those before it was unpacked
        same_as = ""
        if record.record_type == WarcRecordType.revisit:
            same_as = (headers.get("WARC-Refers-To-Target-URI") or url).strip("<>")
        yield ArchivedAnswer(url, at, status, fields, payload, address, cut, same_as, digest)


def _other(start: bytes) -> str:
    """Return what a file is that cannot be a WARC file, from its first bytes; "" if it may be one."""
    if not start:
        return "an empty file"
    unpacked = start
    if start.startswith(_GZIP):
        try:
            unpacked = zlib.decompressobj(_WINDOW).decompress(start)
        except zlib.error as error:
            return f"what gzip cannot unpack: {error}"
    if unpacked.startswith(_ARC):
        return "an ARC file, the format before WARC. `warcio recompress FILE OTHER.warc.gz` makes a WARC file of it"
    if start.startswith(_GZIP):
        return "" if unpacked.startswith(_PLAIN) or not unpacked else f"a packed file that begins with {unpacked[:_SHOWN]!r}"
    return "" if start.startswith(_MAGIC) else f"a file that begins with {start[:_SHOWN]!r}"


def _ends_with_record(stream: BinaryIO) -> bool:
    """Return whether an unpacked file ends with the record at whose beginning the stream is, except for blank lines."""
    at, head = stream.tell(), stream.read(_STEP)
    n_head = head.find(_BLANK_LINE) + len(_BLANK_LINE)
    length = _LENGTH.search(head, 0, n_head)
    end = at + n_head + int(length[1]) if length else 0
    is_whole = end <= stream.seek(0, io.SEEK_END)
    stream.seek(end)
    return is_whole and not stream.read(_STEP).strip()


def _head(head: bytes) -> tuple[int, tuple[tuple[bytes, bytes], ...]]:
    """Return (the status or 0, the fields) of a head."""
    first, _, rest = head.replace(b"\r\n", b"\n").partition(b"\n")
    words = first.split(b" ", 2)
    if not words[0].startswith(b"HTTP/") or len(words) < 2 or not (words[1].isdigit() and len(words[1]) == 3):
        return 0, ()
    found: list[tuple[bytes, bytes]] = []
    for line in rest.split(b"\n"):
        if line[:1] in b" \t" and line.strip() and found:
            found[-1] = (found[-1][0], found[-1][1] + b" " + line.strip())
        elif b":" in line:
            name, _, value = line.partition(b":")
            found.append((name.strip(), value.strip()))
    return int(words[1]), tuple(found)
