"""Partitions move between shards: all that was known is known afterwards, whenever a move was cut short. Seen by the view of shards."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from harness import crawl, demo, options, write_config

from thresher.crawler.cli import thresher
from thresher.crawler.cluster.resharding import reshard
from thresher.crawler.core.model import State
from thresher.storage import moving
from thresher.storage.export.labels import LabelLookup
from thresher.storage.export.scans import hosts
from thresher.storage.partitions import shard_paths
from thresher.storage.schema import FAILURES, HELD, MEMORY, PAGES, PAIRS, ROBOTS, SEEN, SITE_LINKS, SITES, URLS
from thresher.storage.shards import ShardsView, open_view
from thresher.storage.store import Store
from thresher.storage.verify import verify
from thresher.storage.view import View

_SAME = (PAIRS, FAILURES, HELD, MEMORY, ROBOTS, SITE_LINKS, SITES)


class CutShortError(Exception):
    """The process dies here."""


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that was stopped half way, by one agent."""
    directory = tmp_path_factory.mktemp("crawled")
    with demo("kill", directory, n_sites=6, pages_per_host=[8, 12]) as server:
        filters = {"near_replica": {"mode": "observe", "min_tokens": 10}}  # it remembers what is of no site
        seeds = server.web.seeds()
        labels = {seed: f"seed {n}" for n, seed in enumerate(seeds[1:])}
        config = write_config(directory, {**options(server, filters=filters), "labels": labels}, seeds)
        with crawl(directory / "store", config, "--set", "limits.max_pages=60") as life:
            assert life.end() == 0, life.said
    return directory / "store"


def known(path: Path) -> dict[str, Any]:
    """Return what a crawl's stores say in all, without their numbers."""
    labelled = {key: label for shard in shard_paths(path) for key, label in labels(shard).items()}
    with open_view(path) as view:
        texts = {row.seq: url.text for url, row in view.all_urls()}
        sources = {row.visit: url.text for url, row in view.all_urls()}
        return {
            "urls": {(url.text, url.via, row._replace(seq=0, visit=0)) for url, row in view.all_urls()},
            "states": {state: view.tables.seen.count(state) for state in State},
            "waiting": Counter((at[:3], view.tables.seen.url_of(at.seq), url[1:]) for at, url in view.tables.queues.waiting(b"")),
            "hosts": dict(hosts(view)),
            "pages": {(page.url, view.tables.bodies.get(visit)) for visit, page in view.all_pages()},
            "visits": {sources[visit] for visit, page in view.all_pages() if sources[visit] == page.url},
            "links": {(sources[visit], texts[target]) for visit, targets in view.all_links() for target in targets},
            "edges": dict(view.all_edges()),
            "rows": {table: dict(view.rows(table)) for table in _SAME},
            "labels": labelled,
        }


def labels(shard: Path) -> dict[bytes, str]:
    """Return the labels of a shard's own URLs, as its agent knows them."""
    with View(shard) as view:
        return LabelLookup.of_view(view).of(url.key for url, row in view.all_urls() if row.state is not State.OUTBOX)


def test_what_was_known_is_known_after_every_change_of_their_number(crawled: Path, tmp_path: Path) -> None:
    """Numbers of agents up and down again, each move sound; the view of shards tells the same as that of the one store."""
    store = shutil.copytree(crawled, tmp_path / "store")
    before = known(store)
    for n in (2, 5, 3, 1):
        reshard(store, n)
        assert known(store) == before
        assert verify(store) == []
        with open_view(store) as view:
            assert isinstance(view, ShardsView)
            assert all(list(view.keys(table)) == [key for key, _ in view.rows(table)] for table in (URLS, PAGES, SEEN))


def test_what_filters_know_of_no_site_all_agents_know_afterwards(crawled: Path, tmp_path: Path) -> None:
    """Mutation: it was moved with the partition that its key happens to lie in."""
    store = shutil.copytree(crawled, tmp_path / "store")
    reshard(store, 3)
    shards = [of_no_site(path) for path in shard_paths(store)]
    assert shards[0]
    assert shards[0] == shards[1] == shards[2] == of_no_site(crawled)


def of_no_site(path: Path) -> dict[bytes, bytes]:
    with View(path) as view:
        return {key: value for key, value in view.rows(MEMORY) if key[7:10] == bytes(3)}


@pytest.mark.parametrize("n_commits", [1, 3, 6])
def test_a_move_that_was_cut_short_is_ended_by_the_next(
    crawled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_commits: int
) -> None:
    """Broken where a host is counted again, or a row that was deleted is looked for. Until then what is half moved is no damage."""
    store = shutil.copytree(crawled, tmp_path / "store")
    before = known(store)
    left = n_commits

    def commit_and_die(of: Store) -> None:
        nonlocal left
        commit(of)
        left -= 1
        if left == 0:
            raise CutShortError

    commit = moving._commit
    monkeypatch.setattr(moving, "_commit", commit_and_die)
    monkeypatch.setattr(moving, "_AT_ONCE", 50)
    with pytest.raises(CutShortError):
        reshard(store, 3)
    assert verify(store) == []
    said = CliRunner().invoke(thresher, ["verify", str(store)])
    assert (said.exit_code, "`thresher resume" in said.stderr) == (0, True)
    reshard(store, 2)
    assert known(store) == before
    assert verify(store) == []
