"""`texts`: one row for each page that is kept: its text, its language, and the libraries that gave both.

Pages are those of `pages` with a document as their body and status 2xx, which no filter dropped and which can be read without a browser.
The caller gives an extractor of texts, with child processes that may be killed, since pages may be hostile. A page over which a child was
killed has a row, too, with a `fault` and no text.

Memory: the rows of a chunk, and the bodies that the extractor is working on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn, Protocol, TypeVar

from thresher.crawler.core.ai_preferences import reserves
from thresher.crawler.core.document_types import DOCUMENTS
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import NEEDS_BROWSER
from thresher.storage.export.content import MARKUP, content_type_of
from thresher.storage.export.fields import ExportKind, Field, iso
from thresher.storage.export.judged import keeps
from thresher.storage.export.pages import PageRow, ai_objects, described_pages
from thresher.storage.view import View

LANGUAGE = frozenset(("language", "language_confidence", "language_by"))
_OF_PAGES = frozenset(("keep", "label"))
T = TypeVar("T")
Source = tuple[bytes, str, str]  # body, Content-Type, media type


class Taken(Protocol):
    """The text that an extractor took from a body."""

    @property
    def text(self) -> str | None: ...
    @property
    def language(self) -> str | None: ...
    @property
    def confidence(self) -> float | None: ...
    @property
    def fault(self) -> str: ...


class Extractor(Protocol):
    """Extracts texts from bodies, in order."""

    text_by: str  # with version
    language_by: str

    def each(self, pages: Iterable[tuple[T, Source | None]], /) -> Iterator[tuple[T, Taken]]: ...


@dataclass(slots=True)
class TextRow:
    """One page and its text."""

    of: PageRow
    taken: Taken
    text_by: str
    language_by: str


def texts_kind(extractor: Extractor) -> ExportKind[TextRow]:
    """Return the kind of export with the texts of an extractor."""
    return replace(TEXTS_KIND, rows=partial(_rows, extractor))


def _rows(extractor: Extractor, view: View, wanted: frozenset[str]) -> Iterator[TextRow]:
    for row, taken in extractor.each(_sources(view, wanted)):
        yield TextRow(row, taken, extractor.text_by, extractor.language_by)


def _sources(view: View, wanted: frozenset[str]) -> Iterator[tuple[PageRow, Source | None]]:
    """Yield the pages that have a text, each with the source of its text."""
    for row in described_pages(view, wanted & _OF_PAGES | {"keep"}):
        page = row.page
        is_text = page.mime_type in MARKUP or page.mime_type in DOCUMENTS
        is_good = 200 <= page.status < 300 and NEEDS_BROWSER.isdisjoint(page.flags)
        if page.has_body and is_text and is_good and keeps(page, row.verdicts):
            body = view.tables.bodies.get(row.visit)
            yield row, None if body is None else (body, content_type_of(page), page.mime_type)


def _needs_extractor(_view: View, _wanted: frozenset[str]) -> NoReturn:
    raise UsageError("texts: extracted in other processes. Use `thresher export DIR --what texts`, or `texts()` of `thresher.open`")


def _page(name: str, of: Any) -> Field[TextRow]:
    return Field(name, lambda row: of(row.of.page))


TEXTS_KIND: ExportKind[TextRow] = ExportKind(
    "texts",
    _needs_extractor,
    (
        _page("url", lambda page: page.url),
        Field("text", lambda row: row.taken.text),
        Field("language", lambda row: row.taken.language),
        Field("language_confidence", lambda row: row.taken.confidence),
        _page("title", lambda page: page.title),
        _page("type", lambda page: page.mime_type or None),
        _page("fetched_at", lambda page: iso(page.fetched_at)),
        _page("canonical", lambda page: page.canonical or None),
        _page("noindex", lambda page: page.noindex),
        _page("fingerprint", lambda page: page.fingerprint.hex() or None),
        Field("characters", lambda row: None if row.taken.text is None else len(row.taken.text)),
        Field("fault", lambda row: row.taken.fault or None),
        Field("text_by", lambda row: row.text_by or None),
        Field("language_by", lambda row: row.language_by or None),
        Field("visit", lambda row: row.of.visit),
        Field("label", lambda row: row.of.label),
        _page("ai", ai_objects),
        _page("ai_reserved", lambda page: reserves(page.ai)),
    ),
)
