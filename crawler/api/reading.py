"""Read a crawl from Python, also one that goes on in another process: pages, URLs, links, texts, and the story of a URL."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from thresher.crawler.children.taking_texts import extracting
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.url import BadURL, URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.explain.explain import Explainer
from thresher.crawler.explain.story import Story
from thresher.crawler.machines.reading import reach_machines
from thresher.crawler.terminal.extras import require
from thresher.storage.export.content import text_of
from thresher.storage.export.fields import ExportKind, Field
from thresher.storage.export.kinds import KINDS
from thresher.storage.export.page_texts import texts_kind
from thresher.storage.export.parquet import arrow_table
from thresher.storage.export.reading import reading
from thresher.storage.packing import unpack_seen
from thresher.storage.schema import SEEN
from thresher.storage.view import View

if TYPE_CHECKING:
    import pyarrow


class CrawlReader:
    """Reads what one crawl has found, as it is on disk. A context manager; to be used by one thread.

    Rows are dicts with the names and values of `thresher export DIR --what KIND`, whose help lists them.
    """

    def __init__(self, directory: str | Path) -> None:
        """Create the crawl reader.

        Args:
            directory: The directory of a crawl.

        Raises:
            UsageError: If there is no crawl.
            StoreError: If the crawl is damaged.
        """
        path = Path(directory)
        if not (path / "state").is_dir():
            raise UsageError(f"{path}: expected the directory of a crawl, found none. Name the one that `thresher crawl -o` was given")
        reach_machines()
        self._stack = ExitStack()
        self._view: View = self._stack.enter_context(reading(path))

    def pages(self, *fields: str) -> Iterator[dict[str, Any]]:
        """Yield one row for each page: that of its newest visit.

        Args:
            fields: Names of fields, in order; none: all fields that need no body.
        """
        return self.rows("pages", *fields)

    def urls(self, *fields: str) -> Iterator[dict[str, Any]]:
        """Yield one row for each known URL: its state, its reason, how it was found.

        Args:
            fields: As in `pages`.
        """
        return self.rows("urls", *fields)

    def links(self, *fields: str) -> Iterator[dict[str, Any]]:
        """Yield one row for each link between known URLs.

        Args:
            fields: As in `pages`.
        """
        return self.rows("links", *fields)

    def texts(self, *fields: str, main: bool = True) -> Iterator[dict[str, Any]]:
        """Yield one row for each page that was kept: its text and language. If reading a page took too much time or memory, its row has a
        `fault` and no text.

        Args:
            fields: As in `pages`.
            main: Whether menus and footers are left out; otherwise all visible text is returned.

        Raises:
            UsageError: If the extra `text` is not installed.
        """
        chosen = KINDS["texts"].choose(fields)
        with extracting(self._view, chosen, "main" if main else "visible") as extractor:
            for row in texts_kind(extractor).rows(self._view, frozenset(field.name for field in chosen)):
                yield {field.name: field.of(row) for field in chosen}

    def rows(self, what: str, *fields: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of any kind of export.

        Args:
            what: A kind of export: pages, urls, links, redirects, skipped, hostgraph or sitegraph.
            fields: Names of fields, in order; none: all fields that need no body.

        Raises:
            UsageError: If there is no such kind or field.
        """
        kind = _kind(what)
        chosen = kind.choose(fields)
        return self._rows(kind, chosen)

    def _rows(self, kind: ExportKind[Any], chosen: Sequence[Field[Any]]) -> Iterator[dict[str, Any]]:
        """Yield rows; while they are read, the reader is referred to, and so stays open."""
        for row in kind.rows(self._view, frozenset(field.name for field in chosen)):
            yield {field.name: field.of(row) for field in chosen}

    def explain(self, url: str) -> Story:
        """Return why a URL was or was not fetched, and what would be decided today; the attribute `answer` is one sentence."""
        return Explainer(self._view, self._view.settings, time.time()).story(url)

    def text(self, url: str) -> str | None:
        """Return the visible text of a page's newest visit; None for a URL that was not fetched, has no text, or whose body is not kept."""
        try:
            key = URLSpace(self._view.secret, url_rules(self._view.settings)).seed(url).key
        except BadURL:
            return None
        row = self._view.get(SEEN, key)
        visit = 0 if row is None else unpack_seen(row).visit
        page = self._view.tables.pages.read(visit) if visit else None
        if page is None or not page.has_body or (body := self._view.tables.bodies.get(visit)) is None:
            return None
        return text_of(body, page, self._view.settings.identity.agent)

    def to_arrow(self, what: str = "pages", *fields: str) -> pyarrow.Table:
        """Return all rows of a kind as a table with typed columns (storage/export/parquet.py), in memory.

        Args:
            what: A kind of export, as in `rows`.
            fields: As in `pages`.

        Raises:
            UsageError: If the extra `parquet` is not installed, or there is no such kind or field.
        """
        require("to_arrow", module="pyarrow", extra="parquet")
        names = [field.name for field in _kind(what).choose(fields)]
        return arrow_table(what, names, (list(row.values()) for row in self.rows(what, *fields)))

    def close(self) -> None:
        """Close the store."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open(directory: str | Path) -> CrawlReader:  # noqa: A001 - thresher.open, as gzip.open and shelve.open
    """Return a reader of the crawl in a directory.

    Raises:
        UsageError: If there is no crawl.
        StoreError: If the crawl is damaged.
    """
    return CrawlReader(directory)


def _kind(what: str) -> ExportKind[Any]:
    if what not in KINDS:
        raise UsageError(f"what: expected one of {', '.join(KINDS)}, found {what!r}")
    return KINDS[what]
