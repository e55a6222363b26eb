"""The label of the seed from which a URL was found, while the crawl runs: for archives, and for other agents that get its links.

The way from a seed may pass the sites of several agents: messages (FoundLinks, Needed, Submitted, Announced) carry the label, and the
receiver stores it. Without labels in the configuration nothing is read.
"""

from __future__ import annotations

from thresher.config.settings import Settings
from thresher.crawler.core.model import CrawlURL
from thresher.storage.export.labels import LabelLookup
from thresher.storage.store import Store


class SeedLabels:
    """Labels of URLs that are fetched."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._lookup = LabelLookup(store, settings, store.secret)

    def of(self, url: CrawlURL) -> str:
        """Return a URL's label; "" if it has none."""
        return self._lookup.of_url(url.key, url.via) if self._lookup else ""

    def of_host(self, queue: bytes) -> str:
        """Return the label of the first seed on a host; "" if none has one."""
        return self._lookup.of_host(queue)

    def keep(self, source: CrawlURL, label: str) -> None:
        """Store the label of another agent's page, style sheet or sitemap."""
        if label:
            self._lookup.of_foreign(source.key, label)
