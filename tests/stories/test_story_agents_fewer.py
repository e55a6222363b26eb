"""A crawl that has fewer agents than before counts what the others have fetched: its limits hold, and its status says it."""

from __future__ import annotations

from pathlib import Path

import msgspec
from harness import crawl, demo, options, resume, write_config

from thresher.crawler.settlement.totals import Totals
from thresher.crawler.status import Status
from thresher.storage.shards import open_view
from thresher.storage.verify import verify

N_AGENTS = (3, 1)  # one page after the other


def test_pages_of_agents_that_are_gone_count_for_the_limit_and_in_the_status(tmp_path: Path) -> None:
    """Mutation: the counters of a shard without an agent were left out, so that after each change of the number the crawl could fetch
    `max_pages` again.
    """
    store = tmp_path / "store"
    with demo("kill", tmp_path, n_sites=6, hosts_per_site=[1, 2], pages_per_host=[10, 12]) as server:
        config = write_config(tmp_path, options(server), server.web.seeds())
        for n_agents, limit in zip(N_AGENTS, (24, 40), strict=True):
            sets = (f"agents={n_agents}", f"limits.max_pages={limit}")
            more = [part for each in sets for part in ("--set", each)]
            with resume(store, *more) if store.exists() else crawl(store, config, *more) as life:
                assert life.end() == 0, life.said
            assert (_pages(store), _told(store)) == (limit, limit)
            assert f"{limit:,}, of which" in life.said
        with resume(store, "--set", "agents=2", "--set", "limits.max_pages=null") as life:
            assert life.end() == 0, life.said
    assert _told(store) == _pages(store) > 40
    with open_view(store) as view:
        counted = Status()
        Totals(view.counters).fill(counted)
    told = msgspec.json.decode((store / "status.json").read_bytes(), type=Status)
    assert (told.known, told.requests, told.wire_bytes) == (counted.known, counted.requests, counted.wire_bytes)
    assert verify(store) == []


def _pages(store: Path) -> int:
    with open_view(store) as view:
        return sum(1 for _ in view.all_pages())


def _told(store: Path) -> int:
    return int(msgspec.json.decode((store / "status.json").read_bytes())["pages"])
