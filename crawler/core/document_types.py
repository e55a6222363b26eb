"""Media types and extensions of documents with text and links that are not markup: PDF, and the zipped XML of office programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

PDF: Final = "application/pdf"
_OOXML: Final = "application/vnd.openxmlformats-officedocument."
_ODF: Final = "application/vnd.oasis.opendocument."
WORD: Final = _OOXML + "wordprocessingml.document"
SLIDES: Final = _OOXML + "presentationml.presentation"
SHEET: Final = _OOXML + "spreadsheetml.sheet"
OPEN: Final = frozenset((_ODF + "text", _ODF + "presentation", _ODF + "spreadsheet"))
DOCUMENTS: Final = frozenset((PDF, WORD, SLIDES, SHEET, *OPEN))
EXTENSIONS: Final = frozenset(("pdf", "docx", "pptx", "xlsx", "odt", "odp", "ods"))


def accepted_types(accept_types: Iterable[str], *, documents: bool) -> list[str]:
    """Return the media types whose bodies are read.

    Args:
        documents: The setting `parse.documents`.
    """
    return list(dict.fromkeys([*accept_types, *(sorted(DOCUMENTS) if documents else ())]))
