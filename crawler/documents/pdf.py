"""PDF by pypdf: the text of its pages in order, the addresses of its link annotations, the title from its metadata.

A page's text comes line by line as it is laid out; blank lines and the end of a page separate paragraphs. Scans have no text. An
encrypted file that opens without a password is read.
"""

from __future__ import annotations

import io
import logging
import re
from typing import Any

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from thresher.crawler.documents.found import Document

_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n")
_HYPHENATED = re.compile(r"(?<=\w)-\n(?=[a-zß-ÿ])")
_FAULTS = (  # pypdf trusts the document, and raises what its own code raises on wrong data
    *(PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, ZeroDivisionError),
    *(RecursionError, OSError, NotImplementedError),
)

logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its messages about broken files are of no use


def read_pdf(body: bytes, found: Document) -> None:
    """Read a PDF; a page that cannot be read is left out.

    Args:
        body: The bytes of the file.
        found: Gets the title, text and links.

    Raises:
        ValueError: If it is not a PDF.
    """
    try:
        reader = PdfReader(io.BytesIO(body), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError("encrypted")
        n_pages = len(reader.pages)
    except _FAULTS as error:
        raise ValueError(f"no PDF that can be read: {error}") from None
    try:
        if reader.metadata is not None:
            found.name(str(reader.metadata.get("/Title") or ""))
    except _FAULTS:
        pass
    n_read = 0
    for number in range(n_pages):
        if found.is_over():
            return
        try:
            page = reader.pages[number]
            _read_links(page, found)
            for paragraph in _PARAGRAPHS.split(_HYPHENATED.sub("", page.extract_text())):
                found.say(paragraph)
            n_read += 1
        except _FAULTS:
            continue
    if n_pages and not n_read:
        raise ValueError("no page of it can be read")


def _read_links(page: Any, found: Document) -> None:
    for reference in page.get("/Annots") or ():
        annotation = reference.get_object()
        action = annotation.get("/A") if annotation.get("/Subtype") == "/Link" else None
        address = action.get_object().get("/URI") if action is not None else None
        if address is not None:
            found.link(address.decode("utf-8", "replace") if isinstance(address, bytes) else str(address))
