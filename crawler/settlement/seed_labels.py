"""The label of the seed from which a URL was found, while the crawl runs: for archives, and for the agents that are told of its links.

A way may lead over the sites of several agents: each names the label with what it tells the others of (FoundLinks, Needed), and they keep
it. Without labels in the configuration nothing is read.
"""

from __future__ import annotations

from thresher.config.settings import Settings
from thresher.crawler.core.model import CrawlURL, Purpose
from thresher.storage.export.labels import LabelLookup
from thresher.storage.store import Store


class SeedLabels:
    """Labels of URLs that are fetched."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._lookup = LabelLookup(store, settings, store.secret)
        self._requisites = store.tables.requisites

    def of(self, url: CrawlURL) -> str:
        """Return a URL's label, "" if it has none."""
        if not self._lookup:
            return ""
        via = url.via
        if url.purpose is Purpose.REQUISITE:
            for _ in range(url.site_depth - 1 + url.hops):  # style sheets and redirects between the page and this
                needed = self._requisites.get(via)
                via = needed.via if needed is not None else via
        return self._lookup.of_url(url.key, via)

    def told(self, page: CrawlURL, label: str) -> None:
        """Keep the label of another agent's page."""
        if label:
            self._lookup.of_foreign(page.key, label)
