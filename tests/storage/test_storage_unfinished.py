"""A creation that fails leaves nothing; what a killed one leaves is called that; neither is taken for a crawl that lost half its store."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from thresher.config.settings import Settings, StoreSettings
from thresher.crawler.core.errors import NoCrawlError, StoreError, UsageError
from thresher.crawler.process.supervisor import write_status
from thresher.crawler.start.opening import create_store
from thresher.crawler.status import Status
from thresher.storage.disk import Disk
from thresher.storage.lock import CrawlLock
from thresher.storage.partitions import shard_path
from thresher.storage.store import Store
from thresher.storage.verify import verify
from thresher.storage.view import View

TOO_MUCH = Settings(store=StoreSettings(map_size=1 << 46))  # two of them are more addresses than a process has


def _begun(path: Path) -> None:
    for name in ("state", "results", "skipped"):
        (path / name).mkdir(parents=True)
    Disk(path, 1 << 20, create=True).close()


def _half(path: Path) -> None:
    _begun(path)
    (path / "results" / "data.mdb").unlink()


def _empty(path: Path) -> None:
    _half(path)
    (path / "state" / "data.mdb").write_bytes(b"")


@pytest.mark.parametrize("left", [_begun, _half, _empty])
def test_what_a_killed_creation_left_is_said_to_be_that_and_created_anew(tmp_path: Path, left: Callable[[Path], None]) -> None:
    """Mutation: the message speaks of a damaged store and of a backup, though there has never been a crawl."""
    left(tmp_path)
    for reads in (View, verify, lambda path: Store.open(path, None, 0.0)):
        with pytest.raises(NoCrawlError, match="only what a creation left that failed or was killed"):
            reads(tmp_path)
    create_store(tmp_path, Settings())
    assert verify(tmp_path) == []


def test_a_creation_under_way_is_no_killed_one(tmp_path: Path) -> None:
    _half(tmp_path)
    lock = CrawlLock(tmp_path / "crawl.lock")
    with pytest.raises(NoCrawlError, match=f"process {os.getpid()} is creating it"):
        View(tmp_path)
    lock.release()


@pytest.mark.parametrize("n_agents", [1, 3])
def test_a_creation_that_fails_takes_away_what_it_made(tmp_path: Path, n_agents: int) -> None:
    """Mutation: the files that were made remain, and every later command calls them damaged."""
    with pytest.raises(UsageError, match="map_size"):
        create_store(tmp_path / "crawl", Settings(agents=n_agents, store=TOO_MUCH.store))
    assert list((tmp_path / "crawl").iterdir()) == []
    create_store(tmp_path / "crawl", Settings(agents=n_agents))
    assert verify(tmp_path / "crawl") == []


def test_a_creation_that_fails_where_a_crawl_lies_takes_nothing_away(tmp_path: Path) -> None:
    Store.create(tmp_path, Settings(), 0.0).close()
    with pytest.raises(StoreError, match="resume"):
        Store.create(tmp_path, Settings(), 0.0)
    with pytest.raises(UsageError):
        Store.create(tmp_path, TOO_MUCH, 0.0)
    assert verify(tmp_path) == []


def test_the_results_of_a_crawl_that_lost_its_state_are_not_overwritten(tmp_path: Path) -> None:
    """Mutation: the directory is taken for a new one, and the results file is cut to the size of an empty one: all results are lost."""
    Store.create(tmp_path, Settings(), 0.0).close()
    (tmp_path / "state" / "data.mdb").unlink()
    before = (tmp_path / "results" / "data.mdb").read_bytes()
    for create in (lambda: create_store(tmp_path, Settings()), lambda: Store.create(tmp_path, Settings(), 0.0)):
        with pytest.raises(StoreError, match=r"state/data\.mdb of a crawl's store is gone"):
            create()
    assert (tmp_path / "results" / "data.mdb").read_bytes() == before


def test_the_shards_of_a_crawl_that_lost_its_first_are_not_removed(tmp_path: Path) -> None:
    """Mutation: the other shards are taken for what a killed creation has left."""
    create_store(tmp_path, Settings(agents=2))
    write_status(tmp_path, Status())
    shutil.rmtree(tmp_path / "state")
    (tmp_path / "state").mkdir()
    with pytest.raises(StoreError):
        create_store(tmp_path, Settings(agents=2))
    assert (shard_path(tmp_path, 1) / "state" / "data.mdb").exists()
