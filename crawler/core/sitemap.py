"""Reads sitemaps and feeds: XML, index, gzip, text; RSS and Atom. Pure, bounded, as a stream [sitemaps.org].

    body ─ gunzip, in steps of 64 KiB ─ what is it? ─ lxml's push parser, a target in place of a tree │ lines ─► chunks of `SitemapEntry`

lxml is used because older versions of expat (before 2.6) need quadratic time for a long token. lxml is fed piece by piece, calls a target
for each element, as `iterparse` does, and builds no tree. It loads no DTD, resolves no entity, opens no connection, and stops at libxml2's
limits (256 levels, 10 MB in a text). A document with a DTD is refused at the declaration, before any entity can be used. lxml's recovery is
off: after a bare "&" libxml2 would continue with a wrong URL. Such a file is read a second time with its bare ampersands
escaped.

If a limit cuts a sitemap, a note says so; the entries before the cut count. Memory: the entries, and some steps of 64 KiB. Time: 7 µs a
URL.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import msgspec
from lxml import etree

from thresher.crawler.core.ampersands import Ampersands
from thresher.crawler.core.lastmod import parse_time

MAX_CHILDREN: Final = 1_000  # most sitemaps that are read from one index
CHUNK: Final = 50  # entries that are admitted together: some milliseconds
_STEP: Final = 64 << 10
_MAX_DEPTH: Final = 32
_MAX_ELEMENTS: Final = 2_000_000  # they take a second of CPU time
_MAX_TEXT: Final = 4_096  # characters of a URL or a date
_MAX_FAULTS: Final = 1_000  # a text file with so many lines that are not URLs is not read further
_GZIP: Final = b"\x1f\x8b"
_SPACE: Final = b" \t\r\n"
_BOMS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_URL_LINE: Final = re.compile(rb"https?://", re.IGNORECASE)
_HTML: Final = "no sitemap: an HTML page"
_FREQUENCIES: Final = frozenset(("always", "hourly", "daily", "weekly", "monthly", "yearly", "never"))


class SitemapEntry(msgspec.Struct, array_like=True, frozen=True):
    """One announced URL, as written."""

    loc: str
    kind: str = "page"  # page, image or alternate (hreflang)
    lastmod: float = 0.0  # seconds since the epoch; 0: none
    changefreq: str = ""
    priority: float = -1.0  # 0 to 1; -1: none


class SitemapLimits(msgspec.Struct, array_like=True, frozen=True):
    """Limits on the size of a sitemap."""

    max_bytes: int  # of the decoded content
    max_urls: int
    feeds: bool = False


class SitemapReading(msgspec.Struct, array_like=True):
    """The content of a sitemap as far as it was read.

    `chunks` are msgpack of lists of `SitemapEntry`, so that they can be stored without being decoded.
    """

    kind: str = ""  # urlset, index, text, rss, atom; "": it is no sitemap
    chunks: list[bytes] = []
    n_urls: int = 0
    children: list[str] = []  # sitemaps of an index
    notes: list[str] = []  # messages about the limits and faults that ended it


Source = Callable[[], Iterator[bytes]]  # returns a body in pieces; each call begins at its start

decode_chunk = msgspec.msgpack.Decoder(list[SitemapEntry]).decode
_encode = msgspec.msgpack.Encoder().encode


class _StopReading(Exception):  # noqa: N818 - no error: enough was read
    """The rest of the document is not needed."""


def read(body: bytes | Source, limits: SitemapLimits) -> SitemapReading:
    """Read a sitemap. Its content never causes an exception."""
    source = partial(_steps, body) if isinstance(body, bytes) else body
    first = _Reader(limits)
    fault = first.run(source, mends=False)
    if not fault:
        return first.reading
    second = _Reader(limits)
    fault_again = second.run(source, mends=True)
    if not fault_again:
        second.tell(f"not well-formed ({fault}); read with its bare ampersands escaped")
        return second.reading
    second.tell(f"not well-formed: {fault_again}; what came before was taken")
    return second.reading


class _Reader:
    """Reads one sitemap: collects its entries and notes which limits cut it."""

    def __init__(self, limits: SitemapLimits) -> None:
        self.limits = limits
        self.reading = SitemapReading(chunks=[], children=[], notes=[])
        self._open: list[SitemapEntry] = []
        self._n_beside = 0  # URLs other than a page's own

    def run(self, source: Source, *, mends: bool) -> str:
        """Read the document up to the limits; return what is wrong with its XML, "" if nothing is."""
        fault = ""
        try:
            self._read(source, mends=mends)
        except etree.XMLSyntaxError as error:
            fault = error.msg or "no element"
        except _StopReading as enough:
            self.tell(str(enough))
        self._close_chunk()
        return fault

    def tell(self, what: str) -> None:
        if what:
            self.reading.notes.append(what[:300])

    def _read(self, source: Source, *, mends: bool) -> None:
        pieces = self._unpacked(source())
        start = _first(pieces)
        plain = start[3:] if start.startswith(_BOMS[0]) else start
        if plain[:15].lower() == b"<!doctype html>":
            raise _StopReading(_HTML)
        if plain.startswith(b"<") or start.startswith(_BOMS[1:]):
            self._xml(start, pieces, mends=mends and not start.startswith(_BOMS[1:]))
        elif _URL_LINE.match(plain):
            self.reading.kind = "text"
            self._lines(plain, pieces)
        else:
            raise _StopReading("no sitemap: neither XML nor a list of URLs" if start else "empty")

    def _unpacked(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the content in steps, up to the limit."""
        n_bytes, start = 0, next(pieces, b"")
        whole = _chained(start, pieces)
        for piece in _gunzip(whole, self) if start.startswith(_GZIP) else whole:
            room = self.limits.max_bytes - n_bytes
            n_bytes += len(piece)
            if len(piece) > room:
                yield piece[:room]
                raise _StopReading(f"larger than {self.limits.max_bytes:,} bytes; what came before was taken")
            yield piece

    def _xml(self, start: bytes, pieces: Iterator[bytes], *, mends: bool) -> None:
        target = _Target(self)
        parser = etree.XMLParser(target=target, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        mend = Ampersands()
        for piece in _chained(start, pieces):
            parser.feed(mend.feed(piece) if mends else piece)
        if mends:
            parser.feed(mend.rest())
        parser.close()

    def _lines(self, start: bytes, pieces: Iterator[bytes]) -> None:
        rest, n_bad = b"", 0
        for piece in _chained(start, pieces):
            *lines, rest = (rest + piece).splitlines() if not piece.endswith((b"\n", b"\r")) else [*(rest + piece).splitlines(), b""]
            n_bad += sum(not self._line(line) for line in lines)
            if len(rest) > _MAX_TEXT or n_bad > _MAX_FAULTS:
                raise _StopReading("a text file with lines that are no URLs; what came before was taken")
        n_bad += not self._line(rest)
        if n_bad:
            self.tell(f"{n_bad:,} lines are no URLs")

    def _line(self, line: bytes) -> bool:
        """Read a line; return whether it may be part of a sitemap."""
        text = line.strip()
        if not text:
            return True
        if not _URL_LINE.match(text) or len(text) > _MAX_TEXT:
            return False
        self.add(SitemapEntry(text.decode("utf-8", "replace")))
        return True

    def add(self, entry: SitemapEntry) -> None:
        """Add a URL.

        Raises:
            _StopReading: When there are enough.
        """
        reading = self.reading
        if entry.kind != "page":
            self._n_beside += 1
            if self._n_beside > self.limits.max_urls:
                raise _StopReading(f"more than {self.limits.max_urls:,} images and alternates; what came before was taken")
        elif reading.n_urls >= self.limits.max_urls:
            raise _StopReading(f"more than {self.limits.max_urls:,} URLs; what came before was taken")
        else:
            reading.n_urls += 1
        self._open.append(entry)
        if len(self._open) >= CHUNK:
            self._close_chunk()

    def add_child(self, loc: str) -> None:
        """Add a sitemap of an index."""
        if len(self.reading.children) >= MAX_CHILDREN:
            raise _StopReading(f"an index of more than {MAX_CHILDREN:,} sitemaps; what came before was taken")
        self.reading.children.append(loc)

    def _close_chunk(self) -> None:
        if self._open:
            self.reading.chunks.append(_encode(self._open))
            self._open = []


_ROOTS: Final = {"urlset": "urlset", "sitemapindex": "index", "rss": "rss", "RDF": "rss", "feed": "atom"}
_ITEMS: Final = {"urlset": "url", "index": "sitemap", "rss": "item", "atom": "entry"}
_LOCS: Final = {"urlset": "loc", "index": "loc", "rss": "link", "atom": ""}
_DATES: Final = frozenset(("lastmod", "publication_date", "pubDate", "date", "updated"))
_TEXTS: Final = _DATES | {"loc", "link", "changefreq", "priority"}


class _Target:
    """Receives the SAX events of lxml. An item is a `url`, `sitemap`, `item` or `entry`."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader
        self._depth = 0
        self._n_elements = 0
        self._kind = ""
        self._item = 0  # depth of the open item; 0: none
        self._text: list[str] | None = None  # text of the element that is being read
        self._n_text = 0
        self._said: dict[str, str] = {}
        self._beside: list[SitemapEntry] = []

    def doctype(self, name: str, _public: str | None, _system: str | None) -> None:
        raise _StopReading(_HTML if name.lower() == "html" else "refused: it has a DTD")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._n_elements += 1
        space, name = _split(tag)
        if self._depth == 1:
            self._root(name)
        elif self._n_elements > _MAX_ELEMENTS:
            raise _StopReading(f"more than {_MAX_ELEMENTS:,} elements; what came before was taken")
        elif self._depth > _MAX_DEPTH:
            raise _StopReading(f"elements in more than {_MAX_DEPTH} others; what came before was taken")
        elif not self._item and name == _ITEMS[self._kind]:
            self._item, self._said, self._beside = self._depth, {}, []
        elif self._item:
            self._within(space, name, attributes)

    def _root(self, name: str) -> None:
        kind = _ROOTS.get(name, "")
        if not kind:
            raise _StopReading(_HTML if name.lower() == "html" else f"no sitemap: XML with the root {name[:40]}")
        if kind in ("rss", "atom") and not self._reader.limits.feeds:
            raise _StopReading("a feed, and `feeds` is false")
        self._kind = self._reader.reading.kind = kind

    def _within(self, space: str, name: str, attributes: dict[str, str]) -> None:
        if name == "link" and "href" in attributes:
            is_alternate = attributes.get("rel", "alternate") == "alternate"
            if self._kind == "atom" and is_alternate:
                self._said.setdefault("link", attributes["href"][:_MAX_TEXT])
            elif self._kind == "urlset" and is_alternate:
                self._beside.append(SitemapEntry(attributes["href"][:_MAX_TEXT], "alternate"))
        elif name in _TEXTS and "video" not in space:
            self._text, self._n_text = [], 0

    def data(self, text: str) -> None:
        if self._text is not None and self._n_text <= _MAX_TEXT:
            self._text.append(text)
            self._n_text += len(text)

    def end(self, tag: str) -> None:
        space, name = _split(tag)
        if self._depth == self._item:
            self._close_item()
        elif self._text is not None and name in _TEXTS:
            text, self._text = "".join(self._text).strip(), None
            if "image" in space and name == "loc":
                self._beside.append(SitemapEntry(text, "image"))
            elif "image" not in space:
                self._said.setdefault(name, text)
        self._depth -= 1

    def _close_item(self) -> None:
        self._item, self._text, said = 0, None, self._said
        loc = said.get(_LOCS[self._kind] or "link", "")
        if not loc or len(loc) > _MAX_TEXT:
            return
        if self._kind == "index":
            self._reader.add_child(loc)
            return
        date = next((said[name] for name in ("lastmod", "updated", "publication_date", "pubDate", "date") if name in said), "")
        frequency = said.get("changefreq", "").lower()
        self._reader.add(
            SitemapEntry(loc, "page", parse_time(date), frequency if frequency in _FREQUENCIES else "", _priority(said.get("priority", "")))
        )
        for entry in self._beside:
            if entry.loc and entry.loc != loc:
                self._reader.add(entry)

    def close(self) -> None:
        """Do nothing; lxml calls it."""


def _split(tag: str) -> tuple[str, str]:
    """Return namespace and local name."""
    space, is_named, name = tag.rpartition("}")
    return (space, name) if is_named else ("", tag)


def _priority(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return -1.0
    return value if 0.0 <= value <= 1.0 else -1.0


def _first(pieces: Iterator[bytes]) -> bytes:
    """Return the first piece that is not only white space, without leading white space."""
    for piece in pieces:
        if start := piece.lstrip(_SPACE):
            return start
    return b""


def _chained(start: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield start
    yield from pieces


def _steps(body: bytes) -> Iterator[bytes]:
    for at in range(0, len(body), _STEP):
        yield body[at : at + _STEP]


def _gunzip(pieces: Iterator[bytes], reader: _Reader) -> Iterator[bytes]:
    """Yield the content of gzip members in steps; a broken stream ends it, with a note."""
    member, held = None, b""
    for piece in pieces:
        data, held = held + piece, b""
        while data:
            if member is None:
                if len(data) < len(_GZIP):
                    held, data = data, b""
                    continue
                if not data.startswith(_GZIP):
                    return  # data after the last member do not belong to it
                member = zlib.decompressobj(zlib.MAX_WBITS | 16)
            try:
                yield from _inflated(member, data)
            except zlib.error as error:
                reader.tell(f"broken gzip: {error}; what came before was taken")
                return
            data = member.unused_data
            member = None if member.eof else member
    if member is not None:
        reader.tell("gzip that does not end; what came before was taken")


def _inflated(member: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """Yield the decompressed content of a piece of a member, in steps."""
    while True:
        content = member.decompress(data, _STEP)
        if content:
            yield content
        data = member.unconsumed_tail
        if member.eof or (not data and len(content) < _STEP):
            return
