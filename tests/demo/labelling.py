"""An independent walk over the HTML of a labelled web, and what every labelled web must hold."""

from __future__ import annotations

import hashlib
from collections import deque
from functools import cache
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin

from thresher.crawler.core.url import URLRules, URLSpace
from thresher.crawler.demo.demo_settings import profile
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.truth import split
from thresher.crawler.demo.web import Reply

PORT = 8080


@cache
def labelled(name: str, **changes: object) -> LabelledWeb:
    """Return a web, made once: its answers depend on the URL alone."""
    return LabelledWeb(profile(name, **changes), port=PORT)


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.words: list[str] = []
        self._in_body = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_body |= tag == "body"
        if tag == "a":
            self.hrefs.append(dict(attrs)["href"] or "")

    def handle_data(self, data: str) -> None:
        if self._in_body:
            self.words += data.split()


def fetch(web: LabelledWeb, url: str) -> Reply:
    return web.respond(*split(url))


def words(web: LabelledWeb, url: str) -> list[str]:
    """Return the words that the page shows."""
    return _Page(fetch(web, url).body.decode()).words


def links(url: str, reply: Reply) -> list[str]:
    return [urldefrag(urljoin(url, href)).url for href in _Page(reply.body.decode()).hrefs]


def walk_html(web: LabelledWeb) -> dict[str, tuple[int, int, str]]:
    """Return URL → (status, clicks, redirect target) of all that HTML links lead to; of what is endless, one URL per document."""
    found: dict[str, tuple[int, int, str]] = {}
    met: set[str] = set()
    endless: set[str] = set()
    queue = deque((url, 0) for url in web.seeds())
    while queue:
        url, depth = queue.popleft()
        if url in met:
            continue
        met.add(url)
        label = web.label(url)
        if label.is_endless and (not label.document or label.document in endless):
            assert any(trap.holds(url) for trap in web.traps()), url
            continue
        if label.is_endless:
            endless.add(label.document)
        reply = fetch(web, url)
        headers = dict(reply.headers)
        found[url] = reply.status, depth, headers.get("location", "")
        if "location" in headers:
            queue.appendleft((headers["location"], depth))
        elif headers["content-type"].startswith("text/html"):
            queue.extend((link, depth + 1) for link in links(url, reply))
    return found


def check_truth(web: LabelledWeb) -> None:
    """Truth is what an independent walk over the pages finds, in the crawler's own canonical form."""
    truth = web.truth()
    assert walk_html(web) == {url: (label.status, label.depth, label.target) for url, label in truth.urls.items()}
    space = URLSpace(b"demo" * 4, URLRules(ports=None))
    assert {space.canonical(url) for url in truth.urls} == truth.urls.keys()
    for label in truth.urls.values():
        assert bool(label.document) == bool(label.canonical), label
        assert not label.canonical or web.label(label.canonical).document == label.document, label
    assert dict(web.graph()).keys() == truth.urls.keys()
    assert web.static_dns().keys() == set(web.hosts())
    assert len(set(web.static_dns().values())) == len(web.hosts())


def check_purity(name: str, **changes: object) -> None:
    """Equal options give equal bytes whatever was asked before; another seed gives another web."""
    first, second = (LabelledWeb(profile(name, **changes), port=PORT) for _ in range(2))
    urls = list(first.truth().urls)[::3]
    assert [_digest(first, url) for url in urls] == [_digest(second, url) for url in reversed(urls)][::-1]
    assert labelled(name, seed=1, **changes).hosts() != first.hosts()


def _digest(web: LabelledWeb, url: str) -> str:
    return hashlib.sha256(repr(fetch(web, url)).encode()).hexdigest()
