"""Every kind of export, by name, and the loop that writes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thresher.storage.export.browser import BROWSER_KIND
from thresher.storage.export.fields import ExportKind, Field
from thresher.storage.export.forgotten import FORGOTTEN_KIND
from thresher.storage.export.group_graph import HOSTGRAPH_KIND, SITEGRAPH_KIND
from thresher.storage.export.lines import LineWriter
from thresher.storage.export.links import LINKS_KIND
from thresher.storage.export.outlinks import OUTLINKS_KIND
from thresher.storage.export.page_texts import TEXTS_KIND
from thresher.storage.export.pages import PAGES_KIND
from thresher.storage.export.redirect_rows import REDIRECTS_KIND
from thresher.storage.export.requisites import REQUISITES_KIND
from thresher.storage.export.sitemaps import ANNOUNCED_KIND, ORPHANS_KIND, SITEMAPS_KIND, UNANNOUNCED_KIND
from thresher.storage.export.skipped import SKIPPED_KIND
from thresher.storage.export.urls import URLS_KIND
from thresher.storage.export.versions import VERSIONS_KIND
from thresher.storage.view import View

_ALL: tuple[ExportKind[Any], ...] = (
    *(PAGES_KIND, URLS_KIND, SKIPPED_KIND, REDIRECTS_KIND, LINKS_KIND, OUTLINKS_KIND, HOSTGRAPH_KIND, SITEGRAPH_KIND),
    *(SITEMAPS_KIND, ANNOUNCED_KIND, ORPHANS_KIND, UNANNOUNCED_KIND, VERSIONS_KIND, TEXTS_KIND, FORGOTTEN_KIND, BROWSER_KIND),
    REQUISITES_KIND,
)
KINDS: dict[str, ExportKind[Any]] = {kind.name: kind for kind in _ALL}
TIMED = frozenset(("pages", "texts", "urls", "skipped", "redirects", "links", "outlinks", "sitemaps", "announced"))  # for `--since`


def write_all(view: View, kind: ExportKind[Any], fields: Sequence[Field[Any]], lines: LineWriter) -> int:
    """Write every row of a kind; return how many there were. Memory: a chunk of rows."""
    readers = [field.of for field in fields]
    n = 0
    for row in kind.rows(view, frozenset(field.name for field in fields)):
        lines.write([read(row) for read in readers])
        n += 1
    return n
