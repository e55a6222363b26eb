"""Office documents, which are zipped XML: OOXML (docx, pptx, xlsx) and OpenDocument (odt, odp, ods).

Each member is read as a stream, without entities, schemas or network; the unpacked bytes of all members are bounded, so a zip bomb of
terabytes takes no more than a large document. A paragraph, or a cell of a table, is a line. Old binary files (doc, xls, ppt) are not read.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Final

from lxml import etree

from thresher.crawler.core.document_types import OPEN, SHEET, SLIDES, WORD
from thresher.crawler.documents.found import Document

_MAX_BYTES: Final = 128 << 20  # bytes of unpacked XML in one document
_STEP: Final = 64 << 10
_PARTS: Final = {
    WORD: r"word/(document|footnotes|endnotes|comments)\.xml",
    SLIDES: r"ppt/(slides|notesSlides)/[^/]+\.xml",
    SHEET: r"xl/(sharedStrings\.xml|worksheets/[^/]+\.xml)",
}
_RELATIONS: Final = re.compile(r"(word|ppt|xl)/(.*/)?_rels/[^/]+\.rels")
_HYPERLINK: Final = "/hyperlink"
_NUMBER: Final = re.compile(r"(\d+)")
_HREF: Final = "{http://www.w3.org/1999/xlink}href"
_OWN_TEXT: Final = frozenset(("t", "tab", "br", "cr"))  # elements of OOXML with text of a paragraph, or that end a word
_LINES: Final = frozenset(("p", "h", "si", "is"))
_FAULTS: Final = (zipfile.BadZipFile, zlib.error, etree.XMLSyntaxError, EOFError, KeyError, NotImplementedError, OSError, RuntimeError)


def read_office(body: bytes, mime_type: str, found: Document) -> None:
    """Read an office document; a part that cannot be read is left out.

    Args:
        body: The bytes of the file.
        mime_type: The media type, which says how its parts are named.
        found: Gets the title, text and links.

    Raises:
        ValueError: If it is not an office document.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(body))
        names = archive.namelist()
    except _FAULTS as error:
        raise ValueError(f"no office document that can be read: {error}") from None
    is_open = mime_type in OPEN
    wanted = re.compile("content\\.xml" if is_open else _PARTS[mime_type])
    parts = [name for name in names if wanted.fullmatch(name)]
    if not parts:
        raise ValueError("no office document: it has none of the parts of one")
    left = _Left(_MAX_BYTES)
    for name in ("meta.xml", "docProps/core.xml", *sorted(filter(_RELATIONS.fullmatch, names)), *sorted(parts, key=_in_order)):
        if found.is_over():
            return
        try:
            with archive.open(name) as member:
                _read_part(name, member, found, left, is_open=is_open)
        except _FAULTS:
            continue


class _Left:
    """The number of bytes of XML that may still be unpacked."""

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes


class _Bounded:
    """A member of the zip, read no further than the bound."""

    def __init__(self, member: IO[bytes], left: _Left, found: Document) -> None:
        self._member, self._left, self._found = member, left, found

    def read(self, _: int = -1) -> bytes:
        if self._found.is_over():
            return b""
        piece = self._member.read(min(_STEP, self._left.n_bytes))
        self._left.n_bytes -= len(piece)
        if not self._left.n_bytes:
            self._found.is_cut = True
        return piece


def _in_order(name: str) -> list[tuple[int, str]]:
    """Return a key that puts slide2 before slide10."""
    return [(int(piece), "") if piece.isdigit() else (-1, piece) for piece in _NUMBER.split(name)]


def _read_part(name: str, member: IO[bytes], found: Document, left: _Left, *, is_open: bool) -> None:
    if name.endswith(".rels"):
        for element in _elements(member, found, left):
            if element.get("TargetMode") == "External" and (element.get("Type") or "").endswith(_HYPERLINK):
                found.link(element.get("Target") or "")
    elif name in ("meta.xml", "docProps/core.xml"):
        for element in _elements(member, found, left):
            if _name(element) == "title":
                found.name(element.text or "")
    else:
        _read_text(member, found, left, is_open=is_open)


def _read_text(member: IO[bytes], found: Document, left: _Left, *, is_open: bool) -> None:
    """Add the paragraphs of a part. In OpenDocument all text within a paragraph belongs to it, in OOXML only the text of its runs."""
    words: list[str] = []
    for element in _elements(member, found, left):
        name = _name(element)
        if is_open and (address := element.get(_HREF)) and name == "a":
            found.link(address)
        if is_open and name in _LINES:
            found.say("".join(element.itertext()))
        elif not is_open and name in _OWN_TEXT:
            words.append((element.text or "") if name == "t" else " ")
        elif not is_open and name in _LINES:
            found.say("".join(words))
            words.clear()
        if name in _LINES:
            element.clear()
    found.say("".join(words))


def _elements(member: IO[bytes], found: Document, left: _Left) -> Iterator[etree._Element]:
    """Yield each element when it ends."""
    source = _Bounded(member, left, found)
    for _, element in etree.iterparse(source, events=("end",), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False):
        yield element


def _name(element: etree._Element) -> str:
    """Return an element's name without its namespace; "" for comments and the like."""
    return str(element.tag).rpartition("}")[2] if isinstance(element.tag, str) else ""
