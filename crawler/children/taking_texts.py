"""Starts and ends the child processes that extract texts, for exports that have texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from thresher.crawler.children.text_extractor import TextExtractor
from thresher.crawler.terminal.extras import require
from thresher.storage.export.fields import Field
from thresher.storage.export.page_texts import LANGUAGE
from thresher.storage.view import View


@contextmanager
def extracting(view: View, fields: Sequence[Field[Any]], text: str) -> Iterator[TextExtractor]:
    """Yield an extractor of the texts that these fields need; its children end with the context.

    Args:
        text: "main" or "visible".

    Raises:
        UsageError: If the extra that the fields need is not installed.
    """
    is_main, tells_language = text == "main", any(field.name in LANGUAGE for field in fields)
    if is_main:
        require("the main text of pages", module="trafilatura", extra="text")
    if tells_language:
        require("the language of texts", module="py3langid", extra="text")
    with TextExtractor(view.settings.parse, is_main=is_main, tells_language=tells_language) as extractor:
        yield extractor
