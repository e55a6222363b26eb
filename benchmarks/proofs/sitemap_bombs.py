"""Sitemaps built to hurt, and one of ten million lines, each crawled by the command line: `python -m benchmarks.proofs.sitemap_bombs`.

    [--scale 1.0]   size of the bombs: 1 is 10 GB behind a gzip, ten million lines, a million sitemaps
    [--only WORD]   only those whose name contains WORD

A server on loopback generates each sitemap while it is read, and counts requests and bytes. Every crawl must end with exit 0, fetch the
site's one page, record why the sitemap was cut or refused, and make no more requests than its budget allows. Compared with a crawl without
the bomb it may use 50 MB more memory (not counting the child process that reads large sitemaps) and 5 s more of processor time. Prints a
line for each sitemap; exits with 1 if a promise was broken.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.support.loop_server import serving as on_loopback
from thresher.crawler.children import python

MOST_MB: Final = 50.0
MOST_S: Final = 5.0
BUDGET: Final = 100  # limits.max_sitemaps_per_host
_PAGE: Final = b"<html><title>home</title>the one page of this site, which has some words"
_PIECE: Final = 1 << 20

Body = Callable[[str], Iterator[bytes]]  # path → pieces of the body


class Bomb(NamedTuple):
    """A kind of sitemap."""

    name: str
    body: Body
    headers: str
    word: str  # that a note of the crawl about it must contain


def bombs(scale: float) -> list[Bomb]:
    """Return every kind."""
    return [
        Bomb("gigabytes in a gzip file", lambda _: _zipped(b"<urlset>", b" ", int(10_000 * scale)), "", "larger than"),
        Bomb(
            "the same as Content-Encoding", lambda _: _zipped(b"<urlset>", b" ", int(10_000 * scale)), "Content-Encoding: gzip\r\n", "bomb"
        ),
        Bomb("billion laughs", _laughs, "", "it has a DTD"),
        Bomb("elements in elements", lambda _: _many(b"<urlset>", b"<url>", int(1_000_000 * scale)), "", "in more than 32 others"),
        Bomb(
            "elements beside elements",
            lambda _: _many(b"<urlset>", b"<x/>", max(3_500_000, int(10_000_000 * scale))),
            "",
            "more than 2,000,000",
        ),
        Bomb("indexes in indexes", _indexes, "", "an index of more than 1,000 sitemaps"),
        Bomb("a million URLs of XML", lambda _: _urls(int(1_000_000 * scale)), "", "more than 50,000 URLs"),
        Bomb("ten million lines", lambda _: _lines(int(10_000_000 * scale)), "", "more than 50,000 URLs"),
        Bomb("a line without an end", lambda _: _many(b"http://127.0.0.1/", b"x", int(400_000_000 * scale)), "", "no URLs"),
    ]


def _zipped(head: bytes, filler: bytes, n_mib: int) -> Iterator[bytes]:
    member = gzip.compress(filler * (16 << 20), 9)
    yield gzip.compress(head)
    for _ in range(max(1, n_mib // 16)):
        yield member


def _laughs(_path: str) -> Iterator[bytes]:
    entities = b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10 if n else b"ha") for n in range(10))
    yield b"<!DOCTYPE urlset [" + entities + b"]><urlset><url><loc>&a9;</loc></url></urlset>"


def _many(head: bytes, unit: bytes, n: int) -> Iterator[bytes]:
    yield head
    piece = unit * (_PIECE // len(unit))
    for _ in range(max(1, n * len(unit) // len(piece))):
        yield piece


def _indexes(path: str) -> Iterator[bytes]:
    yield b"<sitemapindex>"
    for n in range(2000):
        yield b"<sitemap><loc>%s-%d.xml</loc></sitemap>" % (path.encode().removesuffix(b".xml"), n)
    yield b"</sitemapindex>"


def _urls(n: int) -> Iterator[bytes]:
    yield b"<urlset>"
    for first in range(0, n, 1000):
        yield b"".join(b"<url><loc>/made/up/%d</loc><lastmod>2024-01-01</lastmod></url>" % i for i in range(first, first + 1000))
    yield b"</urlset>"


def _lines(n: int) -> Iterator[bytes]:
    for first in range(0, n, 1000):
        yield b"".join(b"http://127.0.0.1:1/made/up/%d\n" % i for i in range(first, first + 1000))


class Server:
    """Serves one bomb on loopback, and counts."""

    def __init__(self, bomb: Bomb | None) -> None:
        self._bomb = bomb
        self.paths: list[str] = []
        self.n_bytes = 0
        self.port = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request and close."""
        try:
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
            self.paths.append(path)
            if path == "/robots.txt":
                self._whole(writer, f"Sitemap: /s{'.xml' if self._bomb else '-none.xml'}\n".encode(), "text/plain")
            elif path == "/":
                self._whole(writer, _PAGE, "text/html")
            elif self._bomb is None or path.startswith("/made"):
                writer.write(b"HTTP/1.1 404 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            else:
                writer.write(f"HTTP/1.1 200 X\r\nConnection: close\r\nContent-Type: application/xml\r\n{self._bomb.headers}\r\n".encode())
                for piece in self._bomb.body(path):
                    writer.write(piece)
                    self.n_bytes += len(piece)
                    await writer.drain()
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the crawler has closed the connection
        finally:
            writer.close()

    def _whole(self, writer: asyncio.StreamWriter, body: bytes, kind: str) -> None:
        writer.write(f"HTTP/1.1 200 X\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)


@contextmanager
def serving(bomb: Bomb | None) -> Iterator[Server]:
    """Serve in a thread of this process."""
    server = Server(bomb)
    with on_loopback(server.talk) as server.port:
        yield server


class Run(NamedTuple):
    """The figures of one crawl."""

    code: int
    cpu_s: float
    most_mb: float  # peak memory of the crawling process
    server: Server
    notes: str  # all notes about sitemaps


def run(bomb: Bomb | None, directory: Path) -> Run:
    """Crawl the site of one bomb."""
    with serving(bomb) as server:
        sets = {
            "politeness.min_delay": 0, "politeness.delay_factor": 0, "politeness.address_delay": 0, "limits.min_free_disk": 0,
            "limits.max_pages": 3, "fetch.allow_addresses": "[127.0.0.0/8]", "fetch.allow_ports": "any", "retry.scale": 0.0001,
            "identity.contact": "https://example.org/bot", "filters.soft_error.mode": "off", "limits.max_error_rate": 1,
            "sitemaps": "robots",
        }  # fmt: skip
        flags = [part for name, value in sets.items() for part in ("--set", f"{name}={value}")]
        command = python.command("thresher", "crawl", f"http://127.0.0.1:{server.port}/", *flags, "-o", str(directory))
        crawl = subprocess.Popen(command, env=python.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        most_kb = _watched(crawl)
        _, status, used = os.wait4(crawl.pid, 0) if crawl.returncode is None else (0, 0, None)
        code = os.waitstatus_to_exitcode(status) if used is not None else crawl.returncode or 0
        cpu_s = used.ru_utime + used.ru_stime if used is not None else 0.0
    export = python.command("thresher", "export", str(directory), "--what", "sitemaps")
    rows = subprocess.run(export, env=python.environment(), capture_output=True, text=True, check=False).stdout.splitlines()
    notes = " ".join(" ".join(json.loads(row)["notes"]) for row in rows)
    return Run(code, cpu_s, most_kb / 1024, server, notes)


def _watched(crawl: subprocess.Popen[bytes]) -> int:
    """Return the peak memory in KiB of the crawl's largest process, without the short-lived children that read sitemaps."""
    most: dict[int, int] = {}
    while not _has_ended(crawl.pid):
        for pid in _family(crawl.pid):
            if (kib := _high_water(pid)) is not None:
                most[pid] = kib
        time.sleep(0.02)
    return max(most.values(), default=0)


def _has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(grandchild for child in children for grandchild in _family(int(child)))]


def _high_water(pid: int) -> int | None:
    try:
        if b"sitemap_process" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return None
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), None)
    except OSError:
        return None


def judged(bomb: Bomb, made: Run, plain: Run) -> list[str]:
    """Return the promises that were broken."""
    asked = [path for path in made.server.paths if path.startswith("/s")]
    extra_mb, extra_s = made.most_mb - plain.most_mb, made.cpu_s - plain.cpu_s
    checks = (
        (made.code == 0, f"exit {made.code}"),
        ("/" in made.server.paths, "the page was not fetched"),
        (bomb.word in made.notes, f"said: {made.notes[:200]!r}"),
        (len(asked) <= BUDGET + 4, f"{len(asked)} sitemaps requested"),
        (extra_mb < MOST_MB, f"{extra_mb:.0f} MB more"),
        (extra_s < MOST_S, f"{extra_s:.1f} s of processor time more"),
    )
    return [broken for is_kept, broken in checks if not is_kept]


def main() -> int:
    """Run every kind; return 1 if a promise broke."""
    parser = argparse.ArgumentParser(description="Sitemaps built to hurt.")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", default="", help="part of a name: the bombs that are tried")
    options = parser.parse_args()
    n_broken = 0
    with tempfile.TemporaryDirectory(prefix="sitemap-bombs-") as temporary:
        plain = run(None, Path(temporary) / "plain")
        print(f"{'without':<30} {plain.cpu_s:5.1f} s {plain.most_mb:6.0f} MB")
        for n, bomb in enumerate(bomb for bomb in bombs(options.scale) if options.only in bomb.name):
            made = run(bomb, Path(temporary) / str(n))
            broken = judged(bomb, made, plain)
            n_broken += len(broken)
            sent = f"{made.server.n_bytes / 1e6:,.0f} MB sent, {len(made.server.paths)} requests"
            words = "; ".join(broken) or "kept"
            print(f"{bomb.name:<30} {made.cpu_s:5.1f} s {made.most_mb - plain.most_mb:+6.0f} MB  {sent}: {words}", flush=True)
    print(f"{n_broken} broken promises")
    return int(n_broken > 0)


if __name__ == "__main__":
    sys.exit(main())
