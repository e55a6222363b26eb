"""`links`: the link graph as pairs of known URLs, page by page; a page's targets in the order in which they were found first."""

from __future__ import annotations

from collections.abc import Iterator

from thresher.crawler.core.url import hostname_of, origin_of, site_of
from thresher.storage.export.fields import Field, Kind
from thresher.storage.export.labels import Labels
from thresher.storage.export.pages import current_pages
from thresher.storage.export.texts import Texts
from thresher.storage.view import View

Link = tuple[str, str, str | None]  # source, target, label of the source


def rows(view: View, wanted: frozenset[str]) -> Iterator[Link]:
    """Yield every link of every page that is its URL's newest."""
    texts, labels = Texts(view), Labels(view)
    for visit, page in current_pages(view):
        seqs = view.tables.links.read(visit)
        found = texts.of_seqs(seqs)
        label = labels.of((page.key,)).get(page.key) if "label" in wanted else None
        yield from ((page.url, found[seq], label) for seq in seqs if seq in found)


def _is_cross_site(link: Link) -> bool:
    first, second = (site_of(hostname_of(origin_of(url))) for url in link[:2])
    return first != second


LINKS_KIND = Kind(
    "links",
    rows,
    (
        Field("source", lambda link: link[0]),
        Field("target", lambda link: link[1]),
        Field("cross_site", _is_cross_site, on_request=True),
        Field("label", lambda link: link[2], on_request=True),
    ),
)
