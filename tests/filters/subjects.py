"""Subjects for filters: pages, batches of links and redirect pairs in a small URL space."""

from __future__ import annotations

from thresher.crawler.core.effects import Answer
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import CrawlURL, Directives, Fetched, Head, Page, Reason, RedirectPair
from thresher.crawler.core.sketch import fingerprint, token_hashes
from thresher.crawler.core.url import URLRules, URLSpace, hostname_of, origin_of, site_of
from thresher.filters.base import LinkColumns, StaticFilter

SPACE = URLSpace(bytes(16), URLRules(ports=None))
LONG_TEXT = " ".join(f"word{i}" for i in range(40))


def links(*texts: str) -> LinkColumns:
    urls = [SPACE.url(SPACE.canonical(text)) for text in texts]
    return LinkColumns([url.text for url in urls], [url.host for url in urls], [url.site for url in urls])


def refusal(gate: StaticFilter, text: str) -> Reason | None:
    """Return why a static gate refuses a URL; the same alone as among links that it passes or refuses."""
    alone = gate.refuses(links(text)).get(0)
    others = ["http://a.example/", text, "http://z.example/a/b.html?c=d", "http://a.example/x/logout?delete=1", "http://a.example/z.zip"]
    assert gate.refuses(links(*others)).get(1) == alone
    return alone


def page(
    text: str, body: str = LONG_TEXT, *, status: int = 200, canonical: str = "", seed_distance: int = 1, via: CrawlURL | None = None
) -> Page:
    tokens = token_hashes(body)
    return Page(
        url=SPACE.url(SPACE.canonical(text), seed_distance=seed_distance, via=via.key if via else b""),
        status=status,
        mime_type="text/html",
        title="",
        text=body,
        tokens=tokens,
        fingerprint=fingerprint(tokens),
        links=(),
        canonical=canonical,
        directives=Directives(),
        n_bytes=len(body),
    )


def batch(*texts: str, source: str = "http://a.example/") -> LinkBatch:
    urls = [SPACE.url(SPACE.canonical(text, source)) for text in texts]
    hosts = tuple(origin_of(url.text) for url in urls)
    return LinkBatch(
        source=SPACE.url(source),
        texts=tuple(url.text for url in urls),
        hosts=hosts,
        sites=tuple(site_of(hostname_of(host)) for host in hosts),
        keys=tuple(url.key for url in urls),
        site_depths=[1] * len(urls),
    )


def pair(original: str, target: str, *, status: int = 200) -> RedirectPair:
    return RedirectPair(SPACE.url(SPACE.canonical(original)), SPACE.url(SPACE.canonical(target)), 1, status)


def head(text: str, **headers: str) -> Head:
    fields = tuple((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items())
    return Head(SPACE.url(SPACE.canonical(text)), 200, fields, "127.0.0.1", 0.01)


def answer(
    text: str, found: Page | None = None, *, status: int = 0, target: CrawlURL | None = None, failure: str = "", at: float = 0.0
) -> Answer:
    return Answer(SPACE.url(SPACE.canonical(text)), at, found, found.status if found else status, target, failure)


def fetched(text: str, body: bytes = b"") -> Fetched:
    url = SPACE.url(SPACE.canonical(text))
    return Fetched(url, Head(url, 200, ((b"Content-Type", b"text/html"),), "127.0.0.1", 0.01), body, len(body), 0.02)
