"""Text for the pages of sites: the pages of the PostgreSQL manual, as blocks of words and links."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

MANUAL = Path("/usr/share/doc/postgresql-doc-15/html")
PACKAGE = "postgresql-doc-15"
_BLOCKS = frozenset(["h1", "h2", "h3", "h4", "p", "li", "dt", "dd", "pre", "td", "th"])


@dataclass(frozen=True)
class Span:
    """Words, and the manual's page that they link to, or ""."""

    words: str
    to: str = ""


@dataclass(frozen=True)
class Block:
    """A heading, paragraph, item or listing."""

    tag: str
    spans: tuple[Span, ...]

    @property
    def words(self) -> str:
        return " ".join("".join(span.words for span in self.spans).split())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[Block] = []
        self._tag, self._spans, self._to = "", list[Span](), ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self._end()
            self._tag = tag
        if tag == "a":
            href = urlsplit(dict(attrs).get("href") or "")
            self._to = href.path if not href.netloc and href.path.endswith(".html") else ""

    def handle_endtag(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._end()
        if tag == "a":
            self._to = ""

    def handle_data(self, data: str) -> None:
        if self._tag:
            self._spans.append(Span(data, self._to))

    def _end(self) -> None:
        if any(span.words.strip() for span in self._spans):
            self.blocks.append(Block(self._tag, tuple(self._spans)))
        self._tag, self._spans = "", []


@lru_cache(maxsize=2_048)
def blocks_of(name: str) -> tuple[Block, ...]:
    """Return the blocks of one of the manual's pages, without its navigation's tables."""
    reader = _Reader()
    reader.feed((MANUAL / name).read_text("utf-8", "replace"))
    return tuple(block for block in reader.blocks if block.tag not in ("td", "th"))


def links_of(name: str) -> Iterator[str]:
    """Yield the pages that a page's text links to."""
    for block in blocks_of(name):
        yield from (span.to for span in block.spans if span.to)


def pages(n: int) -> list[str]:
    """Return the n pages that are nearest to the manual's first page, breadth-first. Its index of words, which links to all pages, is left
    out.
    """
    found, queue = ["index.html"], deque(["index.html"])
    while queue and len(found) < n:
        for to in links_of(queue.popleft()):
            if to not in found and to != "bookindex.html" and (MANUAL / to).is_file():
                found.append(to)
                queue.append(to)
    return found[:n]
