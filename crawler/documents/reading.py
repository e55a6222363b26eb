"""Reads title, text and links from the bytes of a document.

Only for child processes that may be killed: pypdf is Python code over structures that the document chooses. A long document is read until
its CPU time is used up, and then marked as cut.
"""

from __future__ import annotations

from typing import Final

from thresher.crawler.core.document_types import DOCUMENTS, PDF
from thresher.crawler.documents.found import Document

_SHARE: Final = 0.6  # share of the CPU time that goes into reading; the rest is for finishing


def is_document(mime_type: str) -> bool:
    """Return whether a media type is one of these documents."""
    return mime_type in DOCUMENTS


def read_document(body: bytes, mime_type: str, *, max_links: int, seconds: float) -> Document:
    """Return the text and links of a document.

    Args:
        body: The bytes of the file.
        mime_type: One for which `is_document` is true.
        max_links: Most links that are kept.
        seconds: Seconds of CPU time after which the child is killed.

    Raises:
        ValueError: If it cannot be read.
        MemoryError: If it needs more memory than the child may have.
    """
    found = Document(max_links, _SHARE * seconds)
    if mime_type == PDF:
        from thresher.crawler.documents.pdf import read_pdf  # the import takes a tenth of a second, and only documents need it

        read_pdf(body, found)
    else:
        from thresher.crawler.documents.office import read_office

        read_office(body, mime_type, found)
    return found
