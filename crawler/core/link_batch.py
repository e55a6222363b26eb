"""The new links of a page as columns; the learned gate judges them together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Final

import msgspec

from thresher.crawler.core.model import CrawlURL, Purpose

_SITE: Final = itemgetter(slice(8))  # of a key
_SITE_KEYS: Final = "site keys"  # key in a batch's dict, beside its fields


class LinkBatch(msgspec.Struct, frozen=True, dict=True):
    """The new URLs of one page as columns: the input of the learned gate. All columns have the same length n."""

    source: CrawlURL
    texts: Sequence[str]
    hosts: Sequence[str]
    sites: Sequence[str]
    keys: Sequence[bytes]
    site_depths: Sequence[int]
    is_redirect: bool = False  # whether the source is a redirect; its only link is the target

    @classmethod
    def of(cls, url: CrawlURL) -> LinkBatch:
        """Make a batch of one known URL, to judge it again."""
        return cls(url, (url.text,), (url.host,), (url.site,), (url.key,), (url.site_depth,))

    @classmethod
    def from_urls(cls, source: CrawlURL, urls: Sequence[CrawlURL], *, is_redirect: bool = False) -> LinkBatch:
        """Make a batch of the URLs to which one source leads, in the same order.

        Args:
            source: The page or redirect that names the URLs.
            urls: Its links; each keeps its own `site_depth`.
            is_redirect: Whether the source is a redirect. Then `urls` has one URL, its target.
        """
        return cls(
            source,
            [url.text for url in urls],
            [url.host for url in urls],
            [url.site for url in urls],
            [url.key for url in urls],
            [url.site_depth for url in urls],
            is_redirect,
        )

    @property
    def site_keys(self) -> tuple[bytes, ...]:
        """The sites of the links, 8 bytes each, in the order of their first links; computed once.

        Every filter asks it of every page, unlike `by_site`, and a `cached_property` takes a lock.
        """
        beside = vars(self)
        found: tuple[bytes, ...] | None = beside.get(_SITE_KEYS)
        if found is None:
            found = beside[_SITE_KEYS] = self._found_sites()
        return found

    def _found_sites(self) -> tuple[bytes, ...]:
        if self.sites and self.sites.count(self.sites[0]) == len(self.sites):  # nearly every page: no bytes are made for each link
            return (self.keys[0][:8],)
        return tuple(dict.fromkeys(map(_SITE, self.keys)))

    @cached_property
    def by_site(self) -> dict[bytes, list[int]]:
        """Return {site, 8 bytes: positions of its links, ascending}; sites in the order of their first links."""
        of_name: dict[str, list[int]] = {}
        for i, site in enumerate(self.sites):
            of_name.setdefault(site, []).append(i)
        return {self.keys[at[0]][:8]: at for at in of_name.values()}

    def of_sites(self, sites: Collection[bytes]) -> list[int]:
        """Return the positions of some sites' links, ascending."""
        return sorted([i for site in sites for i in self.by_site[site]])

    def take(self, at: Sequence[int]) -> LinkBatch:
        """Return a batch of only some of the links, by their positions."""
        return msgspec.structs.replace(
            self,
            texts=[self.texts[i] for i in at],
            hosts=[self.hosts[i] for i in at],
            sites=[self.sites[i] for i in at],
            keys=[self.keys[i] for i in at],
            site_depths=[self.site_depths[i] for i in at],
        )

    @property
    def seed_distance(self) -> int:
        """Clicks from a seed to each link."""
        return self.source.seed_distance + (not self.is_redirect)

    @property
    def hops(self) -> int:
        """Redirects to each link since the last click."""
        return self.source.hops + 1 if self.is_redirect else 0

    def url(self, i: int, purpose: Purpose = Purpose.PAGE) -> CrawlURL:
        """Return the i-th link as a URL."""
        place = self.seed_distance, self.site_depths[i], self.hops
        return CrawlURL(self.texts[i], self.sites[i], self.hosts[i], self.keys[i], *place, purpose, self.source.key)

    def __len__(self) -> int:
        return len(self.texts)
