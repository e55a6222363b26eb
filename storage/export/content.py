"""The characters and the visible text of a stored body. It is parsed again, so that no text is stored twice."""

from __future__ import annotations

from thresher.crawler.core import html
from thresher.storage.records import PageRecord

MARKUP = frozenset(("text/html", "application/xhtml+xml", "text/plain", ""))


def text_of(body: bytes, page: PageRecord, agent: str) -> str | None:
    """Return the visible text; None if the body has no text, or may only be parsed in a child process."""
    if page.mime_type not in MARKUP:
        return None
    parsed = html.read(body, content_type_of(page), page.mime_type, agent=agent, max_links=1)
    return None if parsed is None else parsed.text


def characters_of(body: bytes, page: PageRecord) -> str:
    """Return the body as characters, decoded as it was when it was fetched."""
    return html.decode(body, content_type_of(page))[0].decode("utf-8", "replace")


def content_type_of(page: PageRecord) -> str:
    """Return the Content-Type by which a body was decoded when it was fetched."""
    return f"{page.mime_type}; charset={page.charset}" if page.charset else page.mime_type
