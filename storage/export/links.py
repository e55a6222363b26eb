"""`links`: the link graph as pairs of known URLs, page by page; a page's targets in the order in which the crawl found them first.

Anchors (the words of a link, its `rel`, its element) are read on request from the page's stored body. None: no body is stored, a filter
rewrote the link to another URL, or the page may not be parsed here (crawler/core/anchors.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Protocol

import msgspec

from thresher.crawler.core.anchors import Anchor, anchors
from thresher.crawler.core.url import URLSpace, hostname_of, origin_of, site_of
from thresher.crawler.core.url_rules import url_rules
from thresher.storage.export.content import content_type_of
from thresher.storage.export.fields import ExportKind, Field
from thresher.storage.export.labels import LabelLookup
from thresher.storage.export.pages import current_pages
from thresher.storage.export.texts import TextLookup
from thresher.storage.records import PageRecord
from thresher.storage.view import View

_ANCHORS = frozenset(("anchor", "rel", "element"))
_HTML = frozenset(("text/html", "application/xhtml+xml", ""))


class Link(Protocol):
    """A link of any kind of export: the URLs of the page and of what it names."""

    source: str
    target: str


class KnownLink(msgspec.Struct, gc=False):
    """One link between two known URLs."""

    source: str
    target: str
    label: str | None  # label of the source
    anchor: Anchor | None


def rows(view: View, wanted: frozenset[str]) -> Iterator[KnownLink]:
    """Yield every link of the newest page of each URL."""
    texts, labels = TextLookup(view), LabelLookup.of_view(view)
    anchors_of = anchors_of_view(view) if wanted & _ANCHORS else _no_anchors
    for visit, page in current_pages(view):
        seqs = view.tables.links.read(visit)
        found = texts.of_seqs(seqs)
        label = labels.of((page.key,)).get(page.key) if "label" in wanted else None
        said = anchors_of(visit, page) if found else {}
        for seq in seqs:
            if (target := found.get(seq)) is not None:
                yield KnownLink(page.url, target, label, said.get(target))


def _no_anchors(_visit: int, _page: PageRecord) -> Mapping[str, Anchor]:
    return {}


def anchors_of_view(view: View) -> Callable[[int, PageRecord], Mapping[str, Anchor]]:
    """Return a function that reads the anchors of a page from its body."""
    space = URLSpace(view.secret, url_rules(view.settings))

    def read(visit: int, page: PageRecord) -> Mapping[str, Anchor]:
        body = view.tables.bodies.get(visit) if page.has_body and page.mime_type in _HTML else None
        return (anchors(body, content_type_of(page), page.url, space) or {}) if body is not None else {}

    return read


def is_cross_site(link: Link) -> bool:
    """Return whether a link leads from one site to another."""
    first, second = (site_of(hostname_of(origin_of(url))) for url in (link.source, link.target))
    return first != second


LINKS_KIND = ExportKind(
    "links",
    rows,
    (
        Field("source", attrgetter("source")),
        Field("target", attrgetter("target")),
        Field("cross_site", is_cross_site, on_request=True),
        Field("label", attrgetter("label"), on_request=True),
        Field("anchor", lambda link: None if link.anchor is None else link.anchor.text, on_request=True),
        Field("rel", lambda link: None if link.anchor is None else link.anchor.rel, on_request=True),
        Field("element", lambda link: None if link.anchor is None else link.anchor.element, on_request=True),
    ),
)
