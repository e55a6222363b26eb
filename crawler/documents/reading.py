"""From the bytes of a document to its title, text and links.

For children that may be killed alone: pypdf is Python over structures that the document chooses. A long document is read as far as the
processor time lasts that it is given, and says that it was cut.
"""

from __future__ import annotations

from typing import Final

from thresher.crawler.core.document_types import DOCUMENTS, PDF
from thresher.crawler.documents.found import Document
from thresher.crawler.documents.office import read_office

_SHARE: Final = 0.6  # of a page's processor time that goes into reading it; the rest is for what its end costs


def is_document(mime_type: str) -> bool:
    """Return whether a media type is one of these documents."""
    return mime_type in DOCUMENTS


def read_document(body: bytes, mime_type: str, *, max_links: int, seconds: float) -> Document:
    """Return the text and links of a document; raises ValueError for one that cannot be read, MemoryError where there is too little.

    Args:
        seconds: The seconds of processor time after which the child is killed.
    """
    found = Document(max_links, _SHARE * seconds)
    if mime_type == PDF:
        from thresher.crawler.documents.pdf import read_pdf  # a tenth of a second, for those who ask for documents

        read_pdf(body, found)
    else:
        read_office(body, mime_type, found)
    return found
