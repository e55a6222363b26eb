"""A made-up site: its pages by path, with the document that each shows; and the graph of a crawl of it, parsed as a crawl parses.

A page names others by their titles, has a menu and a footer like all pages of its site, and shows a document, or nothing that anybody looks
for (lists, forms, exports, empty tabs). Which it is was planted; what a filter sees is the page.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

import numpy as np

from thresher.crawler.analysis.recorded_graph import RecordedGraph
from thresher.crawler.core import html
from thresher.crawler.core.model import U64, Page
from thresher.crawler.core.sketch import fingerprint, token_hashes
from thresher.crawler.core.url import URLSpace

LOGIN = "<p>Please log in to continue.</p><form method=post><input name=mail><input type=password name=pw></form>"
_MOST_LINKS = 1_000
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "is", "ol")]
_N_WORDS = 4_000
_NO_WORDS: U64 = np.empty(0, dtype=np.uint64)


def dice(*of: object) -> Random:
    """Return a source of chance that is the same for the same arguments."""
    return Random(repr(of))


def words(n: int, *of: object) -> str:
    """Return n words, the same for the same arguments."""
    rng = dice(*of)
    return " ".join(_word(rng.randrange(_N_WORDS)) for _ in range(n))


def slug(n: int, *of: object) -> str:
    return words(n, *of).replace(" ", "-")


def _word(number: int) -> str:
    n = len(_SYLLABLES)
    return _SYLLABLES[number % n] + _SYLLABLES[number * 7 // n % n] + ("" if number % 3 else _SYLLABLES[number * 11 % n])


@dataclass(frozen=True)
class ShownPage:
    """What a path answers."""

    title: str
    text: str  # HTML
    links: tuple[str, ...]
    document: str  # "" for none
    to: str = ""  # target of a redirect, "" for a page


class MadeUpSite:
    """The pages of one site, by path."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pages: dict[str, ShownPage] = {}
        for path in ("/about", "/contact"):
            self.document(path, path[1:], words(40, name, path))

    @property
    def origin(self) -> str:
        return f"http://{self.name}.example"

    def page(self, path: str, title: str, text: str = "", links: Iterable[str] = ()) -> None:
        """Add a page that shows no document."""
        self.pages[path] = ShownPage(title, text, tuple(links), "")

    def document(self, path: str, title: str, text: str, links: Iterable[str] = (), *, of: str = "") -> None:
        """Add a page that shows a document.

        Args:
            path: Path and query.
            title: Title of the page.
            text: HTML.
            links: Paths that it names.
            of: Name of the document; "" if only this page shows it.
        """
        self.pages[path] = ShownPage(title, text, tuple(links), of or path)

    def redirect(self, path: str, to: str) -> None:
        self.pages[path] = ShownPage("", "", (to,), "", to)

    def shown(self, path: str) -> bytes:
        """Return the body of a page."""
        page = self.pages[path]
        links = "".join([f'<li><a href="{to}">{self.pages[to].title or to if to in self.pages else to}</a></li>' for to in page.links])
        menu = '<nav><a href="/">Home</a> <a href="/about">About us</a> <a href="/contact">Contact</a></nav>'
        body = f"{menu}<main><h1>{page.title}</h1>{page.text}<ul>{links}</ul></main><footer>Copyright {self.name}.</footer>"
        return f"<!doctype html><html><head><title>{page.title} - {self.name}</title></head><body>{body}</body></html>".encode()


@dataclass
class MadeUpGraph:
    """The graph of a site, with the documents and sizes of its answers."""

    graph: RecordedGraph
    documents: list[str]
    sizes: list[int]  # bytes


def graph_of(site: MadeUpSite, space: URLSpace) -> MadeUpGraph:
    """Return all that links lead to from a site's home page; a link to no page is answered 404."""
    home = space.canonical(site.origin + "/")
    numbers, queue = {home: 0}, deque([home])
    found = MadeUpGraph(RecordedGraph(site.name), [], [])
    pages: dict[int, Page] = {}
    while queue:
        url = queue.popleft()
        path = url[len(site.origin) :]
        shown = site.pages.get(path)
        links: tuple[str, ...] = ()
        if shown is not None and shown.to:
            links = (space.canonical(shown.to, url),)
            found.graph.add(url, "", status=302)
        elif shown is not None:
            page = pages[len(found.graph.urls)] = _parsed(site.shown(path), url, space)
            links = page.links
            found.graph.add(url, page.fingerprint.hex(), status=200)
        else:
            found.graph.add(url, "")
        found.documents.append(shown.document if shown is not None else "")
        found.sizes.append(len(site.shown(path)) if shown is not None and not shown.to else 100)
        for to in links:
            if to not in numbers:
                numbers[to] = len(numbers)
                queue.append(to)
        found.graph.links[-1] = tuple([numbers[to] for to in links])
    found.graph.pages = pages
    return found


def _parsed(body: bytes, url: str, space: URLSpace) -> Page:
    parsed = html.read(body, "text/html; charset=utf-8", "text/html", agent="thresher", max_links=_MOST_LINKS)
    assert parsed is not None
    tokens = token_hashes(parsed.raw_text) if parsed.raw_text else _NO_WORDS
    links = tuple(dict.fromkeys(space.canonical(link.href, url) for link in parsed.links))
    of, n = fingerprint(tokens), len(body)
    return Page(
        space.url(url), 200, "text/html", parsed.title, parsed.raw_text, tokens, of, links, "", parsed.directives, n, form=parsed.form
    )
