"""`forgotten`: the tombstones of URLs and hosts that the operator has had taken down."""

from __future__ import annotations

from collections.abc import Iterator

from thresher.storage.export.fields import ExportKind, Field, iso
from thresher.storage.tables.forgotten import ForgottenRecord
from thresher.storage.view import View


def rows(view: View, _wanted: frozenset[str]) -> Iterator[ForgottenRecord]:
    """Yield the rows of the export."""
    for _, record in view.tables.forgotten.all():
        yield record


FORGOTTEN_KIND = ExportKind(
    "forgotten",
    rows,
    (
        Field("what", lambda record: record.text),
        Field("kind", lambda record: "host" if record.is_host else "url"),
        Field("at", lambda record: iso(record.at)),
        Field("by", lambda record: record.by),
        Field("why", lambda record: record.why or None),
        Field("urls", lambda record: record.n_urls),
        Field("pages", lambda record: record.n_pages),
        Field("captures", lambda record: record.n_captures),
        Field("done", lambda record: record.is_done),
    ),
)
