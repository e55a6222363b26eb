"""`pages`: the records of the crawl's pages, one for each URL: that of its newest visit, with the newest verdicts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from thresher.crawler.core.ai_preferences import reserves
from thresher.crawler.core.model import Purpose
from thresher.storage.export.content import characters_of, text_of
from thresher.storage.export.fields import PURPOSES, ExportKind, Field, iso
from thresher.storage.export.judged import NewestVerdict, follows, keeps, named_keys, standing, verdict_object
from thresher.storage.export.labels import LabelLookup
from thresher.storage.export.texts import TextLookup
from thresher.storage.packing import unpack_seen
from thresher.storage.records import REVISIONS, PageRecord
from thresher.storage.schema import SEEN, VERDICTS
from thresher.storage.view import View

_CHUNK = 200
_PAGES = frozenset((Purpose.PAGE, Purpose.AUDIT, Purpose.ANNOUNCED, Purpose.REVISIT))
_OF_BODY = frozenset(("text", "html", "body"))
_JUDGED = frozenset(("keep", "follow", "verdicts"))


@dataclass(slots=True)
class PageRow:
    """One page: its record, and further data for the wanted fields."""

    visit: int
    page: PageRecord
    agent: str
    via: str | None = None
    verdicts: list[NewestVerdict] = field(default_factory=list)
    texts: dict[bytes, str] = field(default_factory=dict)  # texts of the URLs that the verdicts name
    label: str | None = None
    body: bytes | None = None


def current_pages(view: View) -> Iterator[tuple[int, PageRecord]]:
    """Yield (visit, record) of the newest page of each URL, each URL once; a crawl may go on meanwhile.

    A URL that is settled again after this began is given at the end, as it was. Memory: a key for each of these.
    """
    end = view.visit
    settled_since: dict[bytes, int] = {}
    pages = view.all_pages()
    while read := list(islice(pages, _CHUNK)):
        chunk = [(visit, page) for visit, page in read if visit < end and page.purpose in _PAGES]
        rows = view.get_many(SEEN, [page.key for _, page in chunk])
        for (visit, page), value in zip(chunk, rows, strict=True):
            newest = visit if value is None else unpack_seen(value).visit
            if newest == visit:
                yield visit, page
            elif newest >= end or (view.span is not None and view.is_later(newest)):
                settled_since[page.key] = visit
    for visit in settled_since.values():
        record = view.tables.pages.read(visit)
        if record is not None:
            yield visit, record


def rows(view: View, wanted: frozenset[str]) -> Iterator[PageRow]:
    """Yield the rows of the export. A body is only available until the next row is read."""
    for row in described_pages(view, wanted):
        if row.page.has_body and wanted & _OF_BODY:
            row.body = view.tables.bodies.get(row.visit)
        yield row
        row.body = None


def described_pages(view: View, wanted: frozenset[str]) -> Iterator[PageRow]:
    """Yield the rows of the export without their bodies."""
    texts, labels = TextLookup(view), LabelLookup.of_view(view)
    pages = current_pages(view)
    while chunk := [PageRow(visit, page, view.settings.identity.agent) for visit, page in islice(pages, _CHUNK)]:
        _complete(view, chunk, wanted, texts, labels)
        yield from chunk


def page_object(view: View, visit: int, page: PageRecord) -> dict[str, Any]:
    """Return one page as the export shows it, without fields that need its body."""
    row = PageRow(visit, page, view.settings.identity.agent)
    fields = PAGES_KIND.choose(())
    _complete(view, [row], frozenset(field.name for field in fields), TextLookup(view), LabelLookup.of_view(view))
    return {field.name: field.of(row) for field in fields}


def _complete(view: View, chunk: list[PageRow], wanted: frozenset[str], texts: TextLookup, labels: LabelLookup) -> None:
    """Read the further data for the wanted fields, for many rows at a time."""
    if "via" in wanted:
        found = texts.of_keys(row.page.via for row in chunk)
        for row in chunk:
            row.via = found.get(row.page.via)
    if "label" in wanted:
        labelled = labels.of(row.page.key for row in chunk)
        for row in chunk:
            row.label = labelled.get(row.page.key)
    if wanted & _JUDGED:
        _add_verdicts(view, chunk, texts)


def _add_verdicts(view: View, chunk: list[PageRow], texts: TextLookup) -> None:
    for row, value in zip(chunk, view.get_many(VERDICTS, [row.page.key for row in chunk]), strict=True):
        row.verdicts = standing(row.page, () if value is None else REVISIONS.decode(value))
        if named := named_keys(row.verdicts):
            row.texts = texts.of_keys(named)


def ai_objects(page: PageRecord) -> list[dict[str, Any]]:
    """Return the statements about a page's use by AI, each with its source and time."""
    return [{"source": source, "says": says, "at": iso(at or page.fetched_at)} for source, says, at in page.ai]


def _of_body(read: Callable[[bytes, PageRow], Any]) -> Callable[[PageRow], Any]:
    return lambda row: None if row.body is None else read(row.body, row)


PAGES_KIND = ExportKind(
    "pages",
    rows,
    (
        Field("url", lambda row: row.page.url),
        Field("status", lambda row: row.page.status or None),
        Field("depth", lambda row: row.page.seed_distance),
        Field("site_depth", lambda row: row.page.site_depth),
        Field("type", lambda row: row.page.mime_type or None),
        Field("charset", lambda row: row.page.charset or None),
        Field("title", lambda row: row.page.title),
        Field("bytes", lambda row: row.page.n_bytes),
        Field("wire_bytes", lambda row: row.page.wire_bytes),
        Field("sha256", lambda row: row.page.sha256.hex() or None),
        Field("fingerprint", lambda row: row.page.fingerprint.hex() or None),
        Field("hops", lambda row: row.page.hops),
        Field("via", lambda row: row.via),
        Field("fetched_at", lambda row: iso(row.page.fetched_at)),
        Field("elapsed", lambda row: round(row.page.elapsed_s, 6)),
        Field("address", lambda row: row.page.address or None),
        Field("canonical", lambda row: row.page.canonical or None),
        Field("noindex", lambda row: row.page.noindex),
        Field("nofollow", lambda row: row.page.nofollow),
        Field("signals", lambda row: row.page.signals),
        Field("flags", lambda row: row.page.flags),
        Field("keep", lambda row: keeps(row.page, row.verdicts)),
        Field("follow", lambda row: follows(row.page, row.verdicts)),
        Field("verdicts", lambda row: [verdict_object(verdict, row.texts) for verdict in row.verdicts]),
        Field("links", lambda row: row.page.n_links),
        Field("failed", lambda row: row.page.failed_cause or None),
        Field("failed_detail", lambda row: row.page.failed_detail or None),
        Field("purpose", lambda row: PURPOSES[row.page.purpose]),
        Field("visit", lambda row: row.visit),
        Field("has_body", lambda row: row.page.has_body),
        Field("headers", lambda row: [[name.decode("latin-1"), value.decode("latin-1")] for name, value in row.page.headers]),
        Field("label", lambda row: row.label),
        Field("ai", lambda row: ai_objects(row.page)),
        Field("ai_reserved", lambda row: reserves(row.page.ai)),
        Field("text", _of_body(lambda body, row: text_of(body, row.page, row.agent)), on_request=True),
        Field("html", _of_body(lambda body, row: characters_of(body, row.page)), on_request=True),
        Field("body", _of_body(lambda body, _: b64encode(body).decode("ascii")), on_request=True),
    ),
)
