"""`requisites`: every requisite of pages, and what became of it: why an archive has or lacks a file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from thresher.storage.export.fields import ExportKind, Field, iso
from thresher.storage.export.labels import with_label
from thresher.storage.export.texts import TextLookup
from thresher.storage.records import REQUISITE, RequisiteRecord
from thresher.storage.schema import REQUISITES
from thresher.storage.view import View

_CHUNK = 1000


class RequisiteRow(NamedTuple):
    """A requisite, and the page or style sheet that named it first."""

    key: bytes
    record: RequisiteRecord
    via: str | None


def rows(view: View, wanted: frozenset[str]) -> Iterator[RequisiteRow]:
    """Yield every requisite that was requested, or should have been."""
    texts, every = TextLookup(view), view.rows(REQUISITES)
    while chunk := [(key, REQUISITE.decode(value)) for key, value in islice(every, _CHUNK)]:
        known = texts.of_keys(record.via for _, record in chunk) if "via" in wanted else {}
        for key, record in chunk:
            yield RequisiteRow(key, record, known.get(record.via) or _other(view, record.via))


def _other(view: View, key: bytes) -> str | None:
    """Return the URL of a source that is not a page: a style sheet, or another requisite that redirects."""
    record = view.tables.requisites.get(key)
    return record.text if record is not None else None


_KIND = ExportKind(
    "requisites",
    rows,
    (
        Field("url", lambda row: row.record.text),
        Field("state", lambda row: row.record.state),
        Field("status", lambda row: row.record.status or None),
        Field("type", lambda row: row.record.mime_type or None),
        Field("why", lambda row: row.record.why or None),
        Field("hop", lambda row: row.record.hop),
        Field("via", lambda row: row.via),
        Field("at", lambda row: iso(row.record.at)),
    ),
)
REQUISITES_KIND = with_label(_KIND, lambda row: row.key)
