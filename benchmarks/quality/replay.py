"""Does an archive replay? `python -m benchmarks.quality.replay [FOLDER…] [--pages 20] [--wayback PATH]`.

Each FOLDER, by default Debian's python3-doc and debian-handbook, is served on loopback, and so is a gallery of 20 pages with 400 images,
styles within styles and fonts on a second host. Some pages of each are archived with their requisites. Then the servers end, and pywb
(`wayback`, of the package pywb, in any environment) replays the files on loopback. Every page of the archive is requested there, with its
requisites up to three hops away. Python's own html.parser and a plain search in the styles find these, not the crawler's code. There is no
browser, so requests by scripts are not counted.

Prints for each: pages, requisites on the live servers, requisites in the replay, and those that are missing. Exits with 1 below 99 %.
"""

from __future__ import annotations

import argparse
import functools
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from http.client import HTTPConnection
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Final
from urllib.parse import urldefrag, urljoin, urlsplit

from benchmarks.support.handler_server import serving
from benchmarks.support.ports import free_port
from thresher.crawler.children.python import command, environment

_FOLDERS: Final = ("/usr/share/doc/python3-doc/html", "/usr/share/doc/debian-handbook/html/en-US")
_SHARE: Final = 0.99
_HOPS: Final = 3
_CSS_URL: Final = re.compile(r"""url\(\s*["']?([^"')]+)["']?\s*\)|@import\s+["']([^"']+)["']""", re.IGNORECASE)
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)


class _Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path, address: str) -> Iterator[str]:
    """Serve a folder; yield its origin."""
    with serving(functools.partial(_Quiet, directory=str(folder)), address) as port:
        yield f"http://{address}:{port}"


class _Needs(HTMLParser):
    """Collects the requisites of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        self._in_style = tag == "style"
        if tag in ("img", "script", "source", "video", "audio", "track", "embed"):
            self.found += [said.get("src", ""), said.get("poster", "")]
            self.found += [each.split()[0] for each in said.get("srcset", "").split(", ") if each.split()]
        if tag == "link" and {"stylesheet", "icon", "preload"} & set(said.get("rel", "").lower().split()):
            self.found.append(said.get("href", ""))
        self.found += of_css(said.get("style", ""))

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.found += of_css(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False


def of_css(text: str) -> list[str]:
    return [a or b for a, b in _CSS_URL.findall(_COMMENT.sub("", text))]


def get(origin: str, path: str) -> tuple[int, str, bytes]:
    """Return status, type and body, after redirects on the same origin."""
    for _ in range(5):
        parts = urlsplit(origin)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        target = answer.getheader("location") or ""
        if answer.status in (301, 302, 307) and target:
            path = urljoin(origin + path, target).removeprefix(origin)
            continue
        return answer.status, (answer.getheader("content-type") or "").partition(";")[0], body
    return 0, "", b""


def needed(pages: list[str]) -> set[str]:
    """Return the requisites of live pages, up to three hops away, that the live servers have."""
    found: set[str] = set()
    for page in pages:
        step = _of_body(page, *_live(page)[1:])
        for _ in range(_HOPS):
            new = {url for url in step if url not in found and _live(url)[0] == 200}
            found |= new
            step = {each for url in new for each in _of_body(url, *_live(url)[1:])}
    return found


@functools.cache
def _live(url: str) -> tuple[int, str, bytes]:
    parts = urlsplit(url)
    return get(f"{parts.scheme}://{parts.netloc}", parts.path + (f"?{parts.query}" if parts.query else ""))


def _of_body(url: str, kind: str, body: bytes) -> set[str]:
    text = body.decode("utf-8", "replace")
    if kind == "text/html":
        parser = _Needs()
        parser.feed(text)
        hrefs = parser.found
    else:
        hrefs = of_css(text) if kind == "text/css" else []
    urls = {urldefrag(urljoin(url, href.strip()))[0] for href in hrefs if href.strip() and not href.startswith(("data:", "#"))}
    return {each for each in urls if each.startswith("http://127.")}


def gallery(folder: Path, other: str) -> None:
    """Put 20 pages on two hosts: with 20 images each, of two sizes, styles that import styles, and fonts."""
    for name, text in (
        ("a.css", f"@import url(b.css); body {{ background: url('{other}/ground.png') }}"),
        ("b.css", "@font-face { src: url(font.woff2) format('woff2') } li { list-style-image: url(dot.png) }"),
        ("font.woff2", "wOF2"),
        ("app.js", "1;"),
    ):
        (folder / name).write_text(text)
    for n, name in enumerate(("dot.png", "ground.png", "favicon.ico")):
        (folder / name).write_bytes(picture(4, 60 * n))
    for n in range(20):
        shown = []
        for i in range(10):
            small, large = f"{n}-{i}.png", f"{n}-{i}-large.png"
            (folder / small).write_bytes(picture(40, 10 * n + i))
            (folder / large).write_bytes(picture(80, 10 * n + i))
            shown.append(f'<img src="{small}" srcset="{small} 1x, {other}/{large} 2x">')
        head = '<link rel=stylesheet href="a.css"><script src="app.js"></script>'
        links = "".join(f'<a href="{m}.html">{m}</a>' for m in range(20))
        (folder / f"{n}.html").write_text(f"<!doctype html>{head}<p>gallery {n}{''.join(shown)}{links}")
    (folder / "index.html").write_text('<!doctype html><link rel=icon href="dot.png"><a href="0.html">in</a>')


def picture(size: int, shade: int) -> bytes:
    """Return a square PNG of one colour.

    Args:
        size: Pixels of a side.
        shade: 0 to 255.
    """
    row = b"\0" + bytes((shade, 255 - shade, shade // 2)) * size
    parts = ((b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(row * size)), (b"IEND", b""))
    chunks = (struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def archive(seed: str, store: Path, pages: int, more: dict[str, str] | None = None) -> list[str]:
    """Archive some pages; return those that the crawl has.

    Args:
        more: Further settings.
    """
    options = {
        "identity.contact": "replay@example.org",
        "scope.type": "prefix",
        "limits.max_pages": pages,
        "limits.max_wait": "5",
        "limits.min_free_disk": 0,
        "fetch.allow_addresses": "[127.0.0.0/8]",
        "fetch.allow_ports": "any",
        "politeness.min_delay": 0,
        "politeness.delay_factor": 0,
        "politeness.address_delay": 0,
        "filters.soft_error.mode": "observe",
        "filters.exact_duplicate.mode": "observe",
        "archive.format": "warc",
        "archive.requisites": "true",
        **(more or {}),
    }
    sets = [word for key, value in options.items() for word in ("--set", f"{key}={value}")]
    run = [*command("thresher.crawler.api"), "crawl", seed, *sets, "-o", str(store), "--progress", "none"]
    subprocess.run(run, env=environment(), check=True, capture_output=True)
    read = [*command("thresher.crawler.api"), "export", str(store), "--fields", "url,status", "--format", "tsv"]
    lines = subprocess.run(read, env=environment(), check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split("\t")[0] for line in lines if line.endswith("\t200")]


@contextmanager
def replayed(stores: list[Path], wayback: str, folder: Path) -> Iterator[str]:
    """Let pywb replay the archives of some crawls; yield its origin."""
    files = [str(file) for store in stores for file in store.rglob("archive/*.warc.gz")]
    manager = str(Path(wayback).with_name("wb-manager"))
    for words in (["init", "c"], ["add", "c", *files]):
        subprocess.run([manager, *words], cwd=folder, check=True, capture_output=True)
    port = free_port("127.0.0.1")
    process = subprocess.Popen(
        [wayback, "-b", "127.0.0.1", "-p", str(port)], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        origin = f"http://127.0.0.1:{port}"
        for _ in range(120):
            try:
                get(origin, "/")
                break
            except OSError:
                time.sleep(0.5)
        yield origin
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    """Run the measurement."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.replay", description="Archive, replay, count what is missing.")
    parser.add_argument("folders", nargs="*", default=[each for each in _FOLDERS if Path(each).is_dir()])
    parser.add_argument("--pages", type=int, default=20, help="of each folder")
    parser.add_argument("--wayback", default=shutil.which("wayback") or "", help="pywb's command; default: the one on the path")
    options = parser.parse_args()
    if not options.wayback:
        sys.exit("no `wayback` on the path: install pywb into some environment, and name its command with --wayback")
    with tempfile.TemporaryDirectory(prefix="replay-") as name:
        found = run([Path(each) for each in options.folders], options.pages, options.wayback, Path(name))
    sys.exit(0 if found else 1)


def run(folders: list[Path], pages: int, wayback: str, work: Path) -> bool:
    """Archive each folder and the gallery, and replay all; print the figures, and return whether enough was found."""
    (shop := work / "gallery").mkdir()
    (replay := work / "replay").mkdir()
    asked: dict[str, tuple[list[str], set[str]]] = {}
    stores = []
    with served(shop, "127.0.0.3") as other:
        gallery(shop, other)
        for n, folder in enumerate([*folders, shop]):
            with served(folder, "127.0.0.2") as origin:
                stores.append(work / f"store{n}")
                taken = archive(f"{origin}/", stores[-1], pages)
                asked[str(folder)] = taken, needed(taken)
    sound = True
    with replayed(stores, wayback, replay) as pywb:
        for what, (taken, wanted) in asked.items():
            status = {url: get(pywb, f"/c/id_/{url}")[0] for url in [*taken, *sorted(wanted)]}
            missing = sorted(url for url, code in status.items() if code != 200)
            share = 1 - len(missing) / max(1, len(status))
            sound = sound and share >= _SHARE and len(taken) > 1
            print(f"{what}: {len(taken)} pages, {len(wanted)} requisites live, {len(missing)} not in the replay ({share:.1%} found)")
            for url in missing[:20]:
                print(f"     {status[url]} {url}")
    return sound


if __name__ == "__main__":
    main()
