"""A web whose every answer is given byte for byte, and what an archive says of it, read by programs that did not write it.

async with RawWeb() as web:
    web.raw("a.test/", b"HTTP/1.0 200 OK\r\n\r\n", b"body", then="close")
    await crawl(tmp_path, archived(web, ["a.test/"]))
assert records(tmp_path)[0].block == …
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import socket
import struct
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

from fastwarc.warc import ArchiveIterator as FastIterator
from little_web import LittleWeb, settings
from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import BufferedReader
from warcio.checker import Checker

from thresher.config.settings import ArchiveSettings, Settings

Then = Literal["keep", "close", "reset", "stall"]


class RawWeb(LittleWeb):
    """A `LittleWeb` that can also send bytes exactly as a test gives them, and keeps the bytes of both sides."""

    def __init__(self) -> None:
        super().__init__()
        self._raw: dict[str, tuple[tuple[bytes, ...], Then]] = {}
        self.sent: dict[str, list[bytes]] = {}  # place → each answer, as it was written to its socket
        self.received: dict[str, list[bytes]] = {}  # place → each request, as it was received

    def raw(self, place: str, *parts: bytes, then: Then = "keep") -> None:
        """Put an answer that is sent in parts. Afterwards the connection is kept open, closed or reset, or nothing more is sent."""
        self._raw[place] = parts, then

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self._tasks.add(asyncio.current_task())
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                lines = request.decode("latin-1").split("\r\n")
                host = next(line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:"))
                place = host.partition(":")[0] + lines[0].split(" ")[1]
                self.received.setdefault(place, []).append(request)
                if place not in self._raw:
                    await self._answer(place, _Noted(writer, self.sent.setdefault(place, [])))  # type: ignore[arg-type]  # as much of a StreamWriter as is used
                    continue
                parts, then = self._raw[place]
                self.requests.append(place)
                self.sent.setdefault(place, []).append(b"".join(parts))
                for part in parts:
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(0.005)  # so that the parts travel separately
                if then == "stall":
                    await reader.read()
                if then == "reset":
                    sock = writer.get_extra_info("socket")
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    writer.transport.abort()
                if then != "keep":
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()


class _Noted:
    """A stream writer that keeps what was written to it."""

    def __init__(self, writer: asyncio.StreamWriter, noted: list[bytes]) -> None:
        self._writer, self._noted = writer, noted
        self.drain = writer.drain

    def write(self, data: bytes) -> None:
        self._noted.append(data)
        self._writer.write(data)


def archived(web: LittleWeb, seeds: list[str], **sections: Any) -> Settings:
    """Return the configuration of a crawl that writes an archive."""
    return settings(web, seeds, **{"archive": ArchiveSettings(format="warc"), **sections})


@dataclass
class Read:
    """A record as warcio reads it."""

    kind: str
    headers: dict[str, list[str]]
    block: bytes
    file: Path
    offset: int

    def __getitem__(self, name: str) -> str:
        return self.headers.get(name, [""])[0]

    @property
    def url(self) -> str:
        return self["WARC-Target-URI"]

    @property
    def fields(self) -> dict[str, list[str]]:
        """Return the lines of a block of `warc-fields`."""
        found: dict[str, list[str]] = {}
        for line in self.block.decode().split("\r\n")[:-1]:
            name, _, value = line.partition(": ")
            found.setdefault(name, []).append(value)
        return found


def files(store: Path) -> list[Path]:
    return sorted(store.rglob("archive/*.warc.gz"))


def records(store: Path) -> list[Read]:
    """Read every record of a crawl's archive."""
    return [record for file in files(store) for record in read(file)]


def read(file: Path) -> list[Read]:
    found = []
    with file.open("rb") as stream:
        iterator = ArchiveIterator(stream, no_record_parse=True)
        for record in iterator:
            headers: dict[str, list[str]] = {}
            for name, value in record.rec_headers.headers:
                headers.setdefault(name, []).append(value)
            found.append(Read(record.rec_type, headers, record.raw_stream.read(), file, iterator.get_record_offset()))
    return found


def answers(store: Path) -> dict[str, list[Read]]:
    """Return by URL the records of answers."""
    found: dict[str, list[Read]] = {}
    for record in records(store):
        if record.kind in ("response", "revisit"):
            found.setdefault(record.url, []).append(record)
    return found


def faults(store: Path) -> list[str]:
    """Let two other programs check every file; return their complaints. Chunked answers are listed apart: see `judge`."""
    return [fault for file in files(store) for fault in judge(file)]


def judge(file: Path) -> list[str]:
    """Check every digest of a file by FastWARC, and by `warcio check`, which takes the payload of a chunked answer with its chunks."""
    found, chunked = [], set()
    with file.open("rb") as stream:
        for record in FastIterator(stream, parse_http=False):
            if not record.verify_block_digest():
                found.append(f"{record.record_id}: block")
            if "WARC-Payload-Digest" in record.headers and record.headers["WARC-Type"] != "revisit":
                if record.is_http:
                    record.parse_http(auto_decode="transfer")
                if record.http_headers is not None and (record.http_headers.get("Transfer-Encoding") or "").lower() == "chunked":
                    chunked.add(record.record_id)
                if not record.verify_payload_digest(True):
                    found.append(f"{record.record_id}: payload")
    BufferedReader.DECOMPRESSORS.pop("br", None)  # warcio cannot unpack this Brotli; the digests are of the packed bytes
    with contextlib.redirect_stdout(io.StringIO()) as said:
        Checker(SimpleNamespace(inputs=[str(file)], verbose=False)).process_all()  # what `warcio check` does
    lines = said.getvalue().splitlines()
    complained = {word for line in lines if "WARC-Record-ID" in line for word in line.split() if word.startswith("<urn")}
    assert "block digest failed" not in said.getvalue(), lines
    assert "exception" not in said.getvalue(), lines
    return found + [f"{one}: warcio" for one in complained ^ chunked]
