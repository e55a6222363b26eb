"""A cache of the canonical form of links: most pages of a site have the same navigation.

A link has the same meaning everywhere ("https://a.example/x"), on its host ("/x") or in its folder ("x.html"), by how it is written.
"""

from __future__ import annotations

from thresher.crawler.core.url_spelling import ABSOLUTE, plain_relative

MOST = 50_000  # most links, and most places; with more the cache is emptied
_MOST_CHARACTERS = 256


class LinkCache:
    """Remembers the canonical form of links, by the place on which it depends."""

    def __init__(self) -> None:
        self._by_place: dict[str, dict[str, str]] = {}  # host, folder or "" for anywhere → link → canonical form
        self._n = 0

    def at(self, root: str, folder: str) -> LinksOfPage:
        """Return the part of the cache that applies to a page's links.

        Args:
            root: The page's origin.
            folder: The URL of its folder; "" if links cannot be joined to it as text.
        """
        if self._n >= MOST or len(self._by_place) >= MOST:
            self._by_place.clear()
            self._n = 0
        return LinksOfPage(self, self._at(""), self._at(root), self._at(folder) if folder else None)

    def count(self) -> None:
        """Count an added link."""
        self._n += 1

    def _at(self, place: str) -> dict[str, str]:
        met = self._by_place.get(place)
        if met is None:
            met = self._by_place[place] = {}
        return met


class LinksOfPage:
    """The cached links, as seen from one page."""

    def __init__(self, cache: LinkCache, anywhere: dict[str, str], at_host: dict[str, str], in_folder: dict[str, str] | None) -> None:
        self._cache = cache
        self._anywhere = anywhere
        self._at_host = at_host
        self._in_folder = in_folder

    def get(self, href: str) -> str | None:
        """Return the canonical form of a link; None if it is not cached."""
        return self._at_host.get(href) or (self._in_folder and self._in_folder.get(href)) or self._anywhere.get(href)

    def add(self, href: str, bare: str, url: str) -> None:
        """Cache the canonical form of a link.

        Args:
            href: The link as written.
            bare: The link without its fragment.
            url: Its canonical form.
        """
        if len(href) > _MOST_CHARACTERS:
            return
        if bare[0] == "/":
            self._at_host[href] = url
        elif bare.startswith(ABSOLUTE):
            self._anywhere[href] = url
        elif self._in_folder is not None and plain_relative(bare):
            self._in_folder[href] = url
        else:
            return
        self._cache.count()
