"""The new links of a page, as columns: what the learned gate judges at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

import msgspec

from thresher.crawler.core.model import CrawlURL, Purpose


class LinkBatch(msgspec.Struct, frozen=True, dict=True):
    """The new URLs of one page as columns: subject of the learned gate. All columns have the same length n."""

    source: CrawlURL
    texts: Sequence[str]
    hosts: Sequence[str]
    sites: Sequence[str]
    keys: Sequence[bytes]
    site_depths: Sequence[int]
    is_redirect: bool = False  # of the source: its one link is its target

    @classmethod
    def of(cls, url: CrawlURL) -> LinkBatch:
        """Make the batch of one known URL that is judged again."""
        return cls(url, (url.text,), (url.host,), (url.site,), (url.key,), (url.site_depth,))

    @cached_property
    def by_site(self) -> dict[bytes, list[int]]:
        """Positions of each site's links, ascending, by the site's 8 bytes; sites in the order of their first links."""
        of_name: dict[str, list[int]] = {}
        for i, site in enumerate(self.sites):
            of_name.setdefault(site, []).append(i)
        return {self.keys[at[0]][:8]: at for at in of_name.values()}

    def of_sites(self, sites: Collection[bytes]) -> list[int]:
        """Return the positions of some sites' links, ascending."""
        return sorted([i for site in sites for i in self.by_site[site]])

    def take(self, at: Sequence[int]) -> LinkBatch:
        """Return some of them, by their positions."""
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
        """Clicks from a seed to each of them."""
        return self.source.seed_distance + (not self.is_redirect)

    @property
    def hops(self) -> int:
        """Redirect hops to each of them since the last link."""
        return self.source.hops + 1 if self.is_redirect else 0

    def url(self, i: int, purpose: Purpose = Purpose.PAGE) -> CrawlURL:
        """Return the i-th as an object."""
        place = self.seed_distance, self.site_depths[i], self.hops
        return CrawlURL(self.texts[i], self.sites[i], self.hosts[i], self.keys[i], *place, purpose, self.source.key)

    def __len__(self) -> int:
        return len(self.texts)
