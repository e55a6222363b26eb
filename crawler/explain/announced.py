"""What sitemaps say about a URL, for its story."""

from __future__ import annotations

import msgspec

from thresher.crawler.core.lastmod import believed
from thresher.storage.export.fields import iso
from thresher.storage.view import View


class Announcement(msgspec.Struct, kw_only=True):
    """What a sitemap says about the URL."""

    by: str  # the sitemap
    lastmod: str | None
    believed: float  # share of its host's lastmods that were found true, 0 to 1
    changefreq: str | None
    priority: float | None


def announced(view: View, key: bytes, queue: bytes) -> Announcement | None:
    """Return what a sitemap says about a URL; None if no sitemap names it.

    Args:
        view: The store.
        key: The key of the URL.
        queue: The name of its host's queue.
    """
    said = view.tables.sitemaps.announced(key)
    if said is None:
        return None
    sitemap, host = view.tables.sitemaps.sitemap(said.sitemap), view.tables.sitemaps.announcer(queue)
    return Announcement(
        by=sitemap.text if sitemap is not None else "a sitemap",
        lastmod=iso(said.lastmod),
        believed=round(believed(host.n_held, host.n_false), 2) if host is not None else 0.0,
        changefreq=said.changefreq or None,
        priority=said.priority if said.priority >= 0 else None,
    )
