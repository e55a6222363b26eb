"""WACZ: an archive with its index and its list of pages in one ZIP file, which players open [specs.webrecorder.net/wacz/1.1.1].

    archive/*.warc.gz       the files, up to their committed end
    indexes/index.cdx.gz    the CDXJ, a gzip member for every 3,000 lines      index.idx: the first line of each, and its position
    pages/pages.jsonl       the pages of the crawl, seeds marked, each with the label of its seed
    datapackage.json        name, size and SHA-256 of all these                datapackage-digest.json: its own SHA-256

Compressed files are stored without further compression, as the specification requires, so that a player can read parts of them. Memory: a
member of the index.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import uuid
import zipfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import IO, Any, BinaryIO, Final

from thresher.storage.archive.cdxj import WarcFile, index_lines
from thresher.storage.export.labels import with_labels
from thresher.storage.export.pages import current_pages
from thresher.storage.view import View

VERSION: Final = "1.1.1"
_LINES: Final = 3000  # lines of a member of the index
_HTML: Final = ("text/html", "application/xhtml+xml")


def write_wacz(view: View, files: list[WarcFile], out: BinaryIO, *, software: str) -> int:
    """Write a crawl's archive; return the number of pages in its list."""
    created = datetime.fromtimestamp(view.clock, UTC)
    with zipfile.ZipFile(out, "w") as package:
        writer = _Package(package, created)
        for file in files:
            writer.add(f"archive/{file.name}", file.blocks())
        members: list[str] = ['!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\n']
        writer.add("indexes/index.cdx.gz", _members(index_lines(files), members))
        writer.add("indexes/index.idx", (line.encode() for line in members), packs=True)
        n_pages = [0]
        writer.add("pages/pages.jsonl", _pages(view, n_pages), packs=True)
        writer.describe(software)
    return n_pages[0]


class _Package:
    """The ZIP file, and the content of its `datapackage.json`."""

    def __init__(self, package: zipfile.ZipFile, created: datetime) -> None:
        self._package = package
        self._created = created
        self._resources: list[dict[str, Any]] = []

    def add(self, path: str, blocks: Iterable[bytes], *, packs: bool = False) -> None:
        digest, n_bytes = hashlib.sha256(), 0
        with self._open(path, packs=packs) as member:
            for block in blocks:
                member.write(block)
                digest.update(block)
                n_bytes += len(block)
        name = path.rpartition("/")[2]
        self._resources.append({"name": name.lower(), "path": path, "hash": f"sha256:{digest.hexdigest()}", "bytes": n_bytes})

    def describe(self, software: str) -> None:
        """Write `datapackage.json`, and its digest."""
        created = self._created.strftime("%Y-%m-%dT%H:%M:%SZ")
        said = {"profile": "data-package", "resources": self._resources, "created": created, "wacz_version": VERSION, "software": software}
        package = json.dumps(said, indent=2).encode()
        digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(package).hexdigest()}"}
        for path, content in (("datapackage.json", package), ("datapackage-digest.json", json.dumps(digest, indent=2).encode())):
            with self._open(path, packs=True) as member:
                member.write(content)

    def _open(self, path: str, *, packs: bool) -> IO[bytes]:
        info = zipfile.ZipInfo(path, self._created.timetuple()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED if packs else zipfile.ZIP_STORED
        info.external_attr = 0o600 << 16
        return self._package.open(info, "w", force_zip64=True)


def _members(lines: Iterator[str], members: list[str]) -> Iterator[bytes]:
    """Yield the compressed index; add the lines of index.idx to `members`."""
    offset = 0
    while chunk := list(islice(lines, _LINES)):
        packed = gzip.compress("".join(chunk).encode(), 9, mtime=0)
        told = {"offset": offset, "length": len(packed), "digest": f"sha256:{hashlib.sha256(packed).hexdigest()}"}
        members.append(f"{' '.join(chunk[0].split(' ', 2)[:2])} {json.dumps(told)}\n")
        offset += len(packed)
        yield packed


def _pages(view: View, n_pages: list[int]) -> Iterator[bytes]:
    """Yield the lines of the list of pages; count them."""
    yield b'{"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": false}\n'
    for visit, page, label in with_labels(view, current_pages(view)):
        if page.status == 200 and page.mime_type in _HTML and view.tables.captures.place(visit) is not None:
            at = datetime.fromtimestamp(page.fetched_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            told = {"id": str(uuid.uuid5(uuid.NAMESPACE_URL, page.url)), "url": page.url, "ts": at, "title": page.title or page.url}
            more = ({"seed": True} if page.seed_distance == 0 else {}) | ({"label": label} if label else {})
            n_pages[0] += 1
            yield json.dumps(told | more).encode() + b"\n"
