"""`browser`: pages that only a browser can read. `--fields url --format tsv` makes a list of seeds for a crawler with a browser."""

from __future__ import annotations

from collections.abc import Iterator

from thresher.crawler.core.model import NEEDS_BROWSER
from thresher.storage.export.fields import ExportKind, Field, iso
from thresher.storage.export.labels import with_label
from thresher.storage.export.pages import current_pages
from thresher.storage.records import PageRecord
from thresher.storage.view import View


def rows(view: View, _wanted: frozenset[str]) -> Iterator[PageRecord]:
    """Yield the rows of the export."""
    for _, page in current_pages(view):
        if not NEEDS_BROWSER.isdisjoint(page.flags):
            yield page


_KIND = ExportKind(
    "browser",
    rows,
    (
        Field("url", lambda page: page.url),
        Field("reason", lambda page: next(flag for flag in page.flags if flag in NEEDS_BROWSER)),
        Field("status", lambda page: page.status),
        Field("title", lambda page: page.title),
        Field("depth", lambda page: page.seed_distance),
        Field("fetched_at", lambda page: iso(page.fetched_at)),
    ),
)
BROWSER_KIND = with_label(_KIND, lambda page: page.key)
