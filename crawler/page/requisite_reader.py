"""Finds the requisites of an answer: the canonical URLs of the images, style sheets and scripts that it needs to be shown.

Pages and style sheets go to the child process of parser.py: CSS takes half a second per megabyte, which would block the event loop, and the
tree of a hostile page could block it for minutes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from thresher.config.settings import Settings
from thresher.crawler.core.model import Fetched, Flag, Purpose
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.core.requisites import CSS_TYPE, HTML_TYPES
from thresher.crawler.core.url import URLSpace
from thresher.crawler.page.parser import Parser
from thresher.storage.tables.requisites import RequisiteTables

_PAGES: Final = (*HTML_TYPES, "text/plain", "")  # types that a request for a page would read as a page with words
_HOSTILE: Final = frozenset((Flag.PARSE_TIMEOUT, Flag.PARSE_CRASH, Flag.PARSE_SKIPPED))


class Named(NamedTuple):
    """The requisites that a page or style sheet names."""

    texts: list[str]  # canonical URLs, distinct, in its order
    fault: str = ""  # why some are not among them; "" if all are


class RequisiteReader:
    """Reads requisites; used if `archive.requisites` is on."""

    def __init__(self, parser: Parser, urls: URLSpace, tables: RequisiteTables, settings: Settings) -> None:
        self._parser = parser
        self._urls = urls
        self._tables = tables
        self._overriding = Overriding(settings)

    def has(self, key: bytes) -> bool:
        """Return whether a URL was fetched as a requisite that is no page."""
        known = self._tables.get(key)
        return known is not None and known.state == "fetched" and known.status == 200 and known.mime_type not in _PAGES

    async def read(self, outcome: Fetched, flags: frozenset[Flag] = frozenset()) -> Named:
        """Return the requisites of a body.

        Args:
            flags: The flags of its parsing as a page.
        """
        url, mime_type = outcome.url, outcome.head.mime_type
        is_page = url.purpose is not Purpose.REQUISITE
        is_read = mime_type == CSS_TYPE or (is_page and (mime_type in HTML_TYPES or not mime_type))
        if not is_read or not outcome.body or flags & _HOSTILE:
            return Named([])
        at_most = self._overriding.of(url.text).archive.max_requisites_per_page
        found = await self._parser.needs(outcome.body, outcome.head.get(b"content-type"), mime_type or "text/html", at_most)
        if found is None:
            return Named([], "its addresses cannot be read: the process that reads it ended twice")
        base = self._urls.base(url.text, found.base) if found.base else url.text
        texts, _ = self._urls.resolve(base, found.hrefs)
        fault = f"{found.n_left_out:,} addresses beyond archive.max_requisites_per_page" if found.n_left_out else ""
        return Named([text for text in dict.fromkeys(texts) if text != url.text], fault)
