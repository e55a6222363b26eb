"""The admission of seeds: in the order of the file, without holding the event loop."""

from __future__ import annotations

import asyncio
from pathlib import Path

from thresher.config.settings import Settings
from thresher.crawler.agent.seeder import Seeder
from thresher.crawler.core.model import CrawlURL, State
from thresher.crawler.core.url import URLRules, URLSpace
from thresher.crawler.settlement.group_commit import Committer
from thresher.storage.store import Store

_SEEDS = [f"http://h{n}.example/" for n in range(500)]


class _Known:
    """Makes seeds known, and says in which round of the loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.n_rounds = 0
        self.rounds: list[int] = []

    def seed(self, url: CrawlURL, now: float) -> None:
        self._store.tables.seen.add(url, State.QUEUED, None, now)
        self.rounds.append(self.n_rounds)

    async def count(self) -> None:
        while True:
            await asyncio.sleep(0)
            self.n_rounds += 1


async def test_the_loop_goes_on_while_many_seeds_are_admitted(tmp_path: Path) -> None:
    settings = Settings()
    with Store.create(tmp_path / "crawl", settings, 1000.0) as store:
        known = _Known(store)
        urls = URLSpace(b"a secret of bytes", URLRules())
        committer = Committer(store, settings.store, clock=lambda: 1000.0, on_failure=lambda error: None, on_commit=lambda: None)
        counting = asyncio.get_running_loop().create_task(known.count())
        await Seeder(store, known, urls).run(committer, _SEEDS, 1000.0)  # type: ignore[arg-type]  # of an Admission only `seed` is called
        counting.cancel()
        assert max(known.rounds.count(n) for n in set(known.rounds)) <= 100
        assert [store.tables.seen.url_of(n) for n in range(1, 501)] == _SEEDS
