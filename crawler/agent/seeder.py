"""The configured seeds, admitted when the agent opens its store."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from thresher.crawler.core.ownership import Ownership
from thresher.crawler.core.url import URLSpace, origin_of
from thresher.crawler.settlement.admission import Admission
from thresher.crawler.settlement.group_commit import Committer
from thresher.storage.store import Store

_GROUP = 2_000  # seeds per commit


class Seeder:
    """Admits the configured seeds that the store does not know yet; costs one seen test a seed on every opening."""

    def __init__(self, store: Store, admission: Admission, urls: URLSpace, ownership: Ownership | None = None) -> None:
        """Create the seeder.

        Args:
            ownership: Which sites are this agent's, where there are several; the others admit their own seeds.
        """
        self._ownership = ownership
        self._store = store
        self._admission = admission
        self._urls = urls

    async def run(self, committer: Committer, seeds: Iterable[str], now: float, *, stopping: Callable[[], bool] = lambda: False) -> None:
        """Queue new seeds in groups that are committed one after another; once `stopping`, leave the rest to the next opening."""
        for n, text in enumerate(seeds, 1):
            if self._urls.fault(origin_of(text)) is not None:
                continue  # of a life under other rules
            url = self._urls.seed(text)
            if (self._ownership is None or self._ownership.is_own(url.key)) and self._store.tables.seen.row(url.key) is None:
                self._admission.seed(url, now)
                self._store.end_visit()
            if n % _GROUP == 0:
                await committer.drain()
                if stopping():
                    break
        await committer.drain()
