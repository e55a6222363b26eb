"""Validation of rules on the live site: a small separate crawl fetches the pages that a list lacks, with all rules of politeness.

The crawl fetches only the wanted URLs (they are its seeds, `scope.type: page`), without filters, into a temporary store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from thresher.config.settings import FilterSettings, ScopeSettings, Settings
from thresher.crawler.analysis.dust_lists import stored
from thresher.crawler.core.url import BadURL, URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.start.opening import check_startable
from thresher.filters.dust.urllist import Sighting
from thresher.running import Crawl
from thresher.storage.view import View

_LONGEST_WAIT_S = 120.0  # longest wait for a host that backs off


class Fetching:
    """Fetches pages for validation, each URL once."""

    def __init__(self, directory: Path, settings: Settings) -> None:
        self._directory = directory
        self._settings = settings
        self._asked: set[str] = set()
        self._answered: set[str] = set()

    async def fetch(self, urls: Sequence[str]) -> list[Sighting]:
        """Return what the pages at `urls` show; a URL that fails, redirects or may not be fetched is returned as an error."""
        space = URLSpace(bytes(16), url_rules(self._settings))
        canonical = {text: url for url in urls if url not in self._asked for text in _canonical(space, url)}
        self._asked.update(urls)
        await self._crawl(list(canonical))
        with View(self._directory) as view:
            pages = {sighting.url: sighting for sighting in stored(view)}
        found = []
        for text, url in canonical.items():
            page = pages.get(text)
            found.append(Sighting(url, 599) if page is None else msgspec.structs.replace(page, url=url))
        return found

    @property
    def n_asked(self) -> int:
        """How many URLs were requested."""
        return len(self._asked)

    async def _crawl(self, urls: list[str]) -> None:
        settings = msgspec.structs.replace(self._settings, seeds=urls)
        await Crawl(self._directory, settings=settings, specs=()).run()


@contextmanager
def fetching(settings: Settings) -> Iterator[Fetching]:
    """Yield a fetcher of pages; its store is deleted afterwards.

    Raises:
        UsageError: If the settings name no contact.
    """
    check_startable(settings)
    limits = msgspec.structs.replace(settings.limits, max_wait=min(settings.limits.max_wait, _LONGEST_WAIT_S), max_redirects=0)
    own = msgspec.structs.replace(settings, scope=ScopeSettings(type="page"), filters=FilterSettings(), limits=limits)
    with TemporaryDirectory(prefix="thresher-dust-") as directory:
        yield Fetching(Path(directory) / "store", own)


def _canonical(space: URLSpace, url: str) -> list[str]:
    try:
        return [space.canonical(url)]
    except BadURL:
        return []
