"""`skipped`: the log of URLs that were not admitted, oldest first, each as it was logged when it was refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from thresher.storage.export.fields import ExportKind, Field
from thresher.storage.export.labels import LabelLookup
from thresher.storage.export.texts import TextLookup
from thresher.storage.records import SkipLine
from thresher.storage.view import View

_CHUNK = 1000


@dataclass(slots=True)
class SkipRow:
    """One line of the log."""

    line: SkipLine
    via: str | None = None
    label: str | None = None


def rows(view: View, wanted: frozenset[str]) -> Iterator[SkipRow]:
    """Yield the rows of the export."""
    texts, labels = TextLookup(view), LabelLookup.of_view(view)
    lines = view.all_skipped()
    while chunk := [SkipRow(line) for line in islice(lines, _CHUNK)]:
        if "via" in wanted:
            found = texts.of_keys(bytes.fromhex(row.line.via) for row in chunk)
            for row in chunk:
                row.via = found.get(bytes.fromhex(row.line.via))
        if "label" in wanted:
            labelled = labels.of(bytes.fromhex(row.line.via) for row in chunk)
            for row in chunk:
                row.label = labelled.get(bytes.fromhex(row.line.via))
        yield from chunk


def _host(row: SkipRow) -> str | None:
    _, is_absolute, rest = row.line.url.partition("://")
    return rest.partition("/")[0].partition("?")[0] if is_absolute else None


SKIPPED_KIND = ExportKind(
    "skipped",
    rows,
    (
        Field("url", lambda row: row.line.url),
        Field("reason", lambda row: row.line.reason),
        Field("via", lambda row: row.via),
        Field("by", lambda row: row.line.by or None),
        Field("detail", lambda row: row.line.detail or None),
        Field("host", _host),
        Field("n", lambda row: row.line.n),
        Field("label", lambda row: row.label),
    ),
)
