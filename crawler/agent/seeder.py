"""Admits the configured seeds when the agent opens its store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from thresher.crawler.core.ownership import Ownership
from thresher.crawler.core.url import URLSpace, origin_of
from thresher.crawler.settlement.admission import Admission
from thresher.crawler.settlement.group_commit import Committer
from thresher.storage.store import Store

_GROUP = 2_000  # seeds per commit
_ROUND = 50  # seeds in one round of the event loop: some 5 ms


class Seeder:
    """Admits the configured seeds that the store does not know yet. Time: one seen test per seed at each opening."""

    def __init__(self, store: Store, admission: Admission, urls: URLSpace, ownership: Ownership | None = None) -> None:
        """Create the seeder.

        Args:
            ownership: Which sites belong to this agent; None: all. Each agent admits its own seeds.
        """
        self._ownership = ownership
        self._store = store
        self._admission = admission
        self._urls = urls

    async def run(self, committer: Committer, seeds: Iterable[str], now: float, *, stopping: Callable[[], bool] = lambda: False) -> None:
        """Queue new seeds in groups, each committed; once `stopping` returns True, the rest is left to the next opening."""
        for n, text in enumerate(seeds, 1):
            if self._urls.fault(origin_of(text)) is not None:
                continue  # the record of a seed from a process with other rules
            url = self._urls.seed(text)
            if (self._ownership is None or self._ownership.is_own(url.key)) and self._store.tables.seen.row(url.key) is None:
                self._admission.seed(url, now)
                self._store.end_visit()
            if n % _GROUP == 0:
                await committer.drain()
                if stopping():
                    break
            elif n % _ROUND == 0:
                await asyncio.sleep(0)  # a seed is a whole visit: whatever else runs now may commit
        await committer.drain()
