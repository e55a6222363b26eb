"""`urls`: every known URL with its state, in the order of discovery."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from thresher.crawler.core.ports import SeenRow
from thresher.storage.export.fields import PURPOSES, STATES, ExportKind, Field, iso
from thresher.storage.export.labels import LabelLookup
from thresher.storage.export.texts import TextLookup
from thresher.storage.records import FAILURE, FailureRecord, UrlRecord
from thresher.storage.schema import FAILURES
from thresher.storage.view import View

_CHUNK = 1000
_iso = lru_cache(16)(iso)  # what one page made known was found at one time
_OF_FAILURE = frozenset(("attempts", "failure", "failure_detail", "failed_at", "final"))


@dataclass(slots=True)
class ExportedUrl:
    """One known URL: its rows, and further data for the wanted fields."""

    url: UrlRecord
    seen: SeenRow
    via: str | None = None
    failure: FailureRecord | None = None
    label: str | None = None


def rows(view: View, wanted: frozenset[str]) -> Iterator[ExportedUrl]:
    """Yield the rows of the export."""
    texts, labels = TextLookup(view), LabelLookup.of_view(view)
    known = view.all_urls()
    while chunk := [ExportedUrl(url, seen) for url, seen in islice(known, _CHUNK)]:
        if "via" in wanted:
            found = texts.of_keys(row.url.via for row in chunk)
            for row in chunk:
                row.via = found.get(row.url.via)
        if "label" in wanted:
            labelled = labels.of(row.url.key for row in chunk)
            for row in chunk:
                row.label = labelled.get(row.url.key)
        if wanted & _OF_FAILURE:
            for row, value in zip(chunk, view.get_many(FAILURES, [row.url.key for row in chunk]), strict=True):
                row.failure = None if value is None else FAILURE.decode(value)
        yield from chunk


URLS_KIND = ExportKind(
    "urls",
    rows,
    (
        Field("url", lambda row: row.url.text),
        Field("state", lambda row: STATES[row.seen.state]),
        Field("reason", lambda row: row.seen.reason and str(row.seen.reason)),
        Field("depth", lambda row: row.seen.seed_distance),
        Field("site_depth", lambda row: row.seen.site_depth),
        Field("hops", lambda row: row.seen.hops),
        Field("purpose", lambda row: PURPOSES[row.seen.purpose]),
        Field("via", lambda row: row.via),
        Field("found_at", lambda row: _iso(row.url.found_at)),
        Field("attempts", lambda row: row.failure and row.failure.attempts),
        Field("failure", lambda row: row.failure and row.failure.reason),
        Field("failure_detail", lambda row: row.failure and row.failure.detail),
        Field("failed_at", lambda row: row.failure and iso(row.failure.at)),
        Field("final", lambda row: row.failure and row.failure.final),
        Field("visit", lambda row: row.seen.visit or None),
        Field("label", lambda row: row.label),
    ),
)
