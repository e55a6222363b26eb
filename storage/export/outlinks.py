"""`outlinks`: every link of a page as its stored body has it, whether or not the crawl took it up.

A row is a pair of a page and a URL to which it links; several links of a page to one URL are one row. Links that are no URL of a web server
(`mailto:`) are left out. A page without a stored body has no row, nor has one that may not be parsed here (crawler/core/anchors.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

import msgspec

from thresher.crawler.core.anchors import Anchor
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.storage.export.fields import STATES, ExportKind, Field
from thresher.storage.export.labels import LabelLookup
from thresher.storage.export.links import anchors_of_view, is_cross_site
from thresher.storage.export.pages import current_pages
from thresher.storage.packing import unpack_seen
from thresher.storage.schema import SEEN
from thresher.storage.view import View


class Outlink(msgspec.Struct, gc=False):
    """A page, and a URL to which it links."""

    source: str
    target: str
    anchor: Anchor
    state: str | None  # of the target; None: the crawl does not know it, or it was not asked for
    label: str | None  # of the source


def rows(view: View, wanted: frozenset[str]) -> Iterator[Outlink]:
    """Yield the links of the newest page of each URL, in the order in which the page has them."""
    anchors_of, labels = anchors_of_view(view), LabelLookup.of_view(view)
    space = URLSpace(view.secret, url_rules(view.settings))
    for visit, page in current_pages(view):
        found = anchors_of(visit, page)
        label = labels.of((page.key,)).get(page.key) if found and "label" in wanted else None
        seen = view.get_many(SEEN, [space.key(target) for target in found]) if "state" in wanted else [None] * len(found)
        for (target, anchor), row in zip(found.items(), seen, strict=True):
            state = None if row is None else STATES[unpack_seen(row).state]
            yield Outlink(page.url, target, anchor, state, label)


OUTLINKS_KIND = ExportKind(
    "outlinks",
    rows,
    (
        Field("source", attrgetter("source")),
        Field("target", attrgetter("target")),
        Field("cross_site", is_cross_site),
        Field("anchor", attrgetter("anchor.text")),
        Field("rel", attrgetter("anchor.rel")),
        Field("element", attrgetter("anchor.element")),
        Field("state", attrgetter("state"), on_request=True),
        Field("label", attrgetter("label"), on_request=True),
    ),
)
