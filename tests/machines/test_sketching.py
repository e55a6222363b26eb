"""Sketches of pages are the same whichever machine makes them; also of hosts whose pages lie on several, since they have moved."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from harness import demo, options, resume
from tasks_here import ANYWHERE, TasksHere

from thresher.config.load import load
from thresher.crawler.analysis import replica_sketches
from thresher.crawler.analysis.replica_links import LinkedUrls
from thresher.crawler.analysis.replica_pages import PagesRead, read_store
from thresher.filters.near_replica import sketching
from thresher.filters.near_replica.sketching import Recipe, url_hashes
from thresher.storage.export.pages import current_pages
from thresher.storage.far_server import ShardServer
from thresher.storage.graph import redirects
from thresher.storage.partitions import read_partitions, shard_path, write_partitions
from thresher.storage.shards import open_view
from thresher.storage.store import Store
from thresher.storage.ways import connect_by

SECRET = b"t" * 32  # with it both machines have sites


class Way:
    """Leads to the shard on machine b."""

    def __init__(self, disk: Path, ways: list[Way]) -> None:
        """ways: takes this one"""
        self._server = ShardServer(shard_path(disk, 1), at_once=True)
        self.tasks = TasksHere(lambda agent: "ab"[agent], lambda _agent: self._server.view())
        self.export, self.put, self.task, self.fetch = self.tasks.export, self.tasks.put, self.tasks.task, self.tasks.fetch
        ways.append(self)

    def ask_of(self, _agent: int, *, at_once: bool) -> Callable[[bytes], bytes]:
        return self._server.answer

    def change(self, agent: int, what: str, argument: bytes) -> bytes:
        raise AssertionError("a shard would be changed")

    def close(self) -> None:
        self._server.close()


def test_pages_have_the_same_sketches_on_two_machines_as_on_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutations: what pages of a host share is learned from some of them; the sketches of two hosts' pages are given to each other's;
    so are the links of two shards' pages; redirects are not followed; links are read on the head.
    """
    store = tmp_path / "store"
    with demo("kill", tmp_path, n_sites=6, pages_per_host=[8, 12]) as server:
        tree = {"seeds": server.web.seeds(), **options(server, limits={"max_pages": 7})}
        settings = load(["-"], stdin=lambda: msgspec.json.encode(tree).decode()).settings
        Store.create(store, settings, time.time(), secret=SECRET).close()
        for words in (("agents=1",), ("agents=2", "limits.max_pages=null")):
            with resume(store, *(part for word in words for part in ("--set", word))) as life:
                assert life.end() == 0, life.said
    _, shards = _sketched(store)
    assert {*map(frozenset, shards.values())} == {frozenset((0,)), frozenset((1,)), frozenset((0, 1))}
    head, other = tmp_path / "a" / "crawl", tmp_path / "b" / "crawl"
    shutil.copytree(store, head, ignore=shutil.ignore_patterns("agent-1", "channels"))
    shutil.copytree(store / "agent-1", other / "agent-1")
    table = read_partitions(store)
    assert table is not None
    write_partitions(head, msgspec.structs.replace(table, machines=["a", "b"]))
    ways: list[Way] = []
    connect_by(lambda _path, _table: Way(other, ways))
    for most, n_learned in ((5, 10_000), (500, 10_000), (5, 9)):  # pages of the hosts of one export, and from which it is learned
        monkeypatch.setattr(replica_sketches, "_PAGES", most)
        for module in (sketching, replica_sketches):
            monkeypatch.setattr(module, "MOST_LEARNED", n_learned)
        (one, _), (two, _) = _sketched(store), _sketched(head)
        assert two.faults == one.faults
        for field in ("urls", "hosts", "texts"):
            assert getattr(two.sketches, field) == getattr(one.sketches, field)
        for field in ("projections", "minima", "least", "links", "link_starts"):
            assert getattr(two.sketches, field).tobytes() == getattr(one.sketches, field).tobytes()
        ran = ways[-1].tasks.ran
        assert {machine for what, machine in ran if what == "sketch"} == {"a", "b", ANYWHERE}
        assert ("WordsExport", ANYWHERE) in ways[-1].tasks.carried, "of hosts whose pages lie on both"
        assert ("WordsExport", "a") not in ways[-1].tasks.carried
        assert (("learn", "b") in ran) == (most == 5), "what a large host's pages share is learned before they are sketched"
        assert ("TargetsExport", "b") in ran
    assert _linked(head) == _linked(store)


def _linked(path: Path) -> int:
    """Check the links of each page against the stored rows; return how many lead over a redirect to somewhere else."""
    n_ended = 0
    with open_view(path, at_once=True) as view:
        ends = {original: target for original, target, _ in redirects(view) if original and target}
        visits = [visit for visit, _ in current_pages(view)]
        for visit, found in zip(visits, LinkedUrls(view).of(visits), strict=True):
            numbers = view.tables.links.read(visit)
            n_ended += sum(number in ends for number in numbers)
            expected = {url.text for url in view.tables.urls.get_many([_end(ends, number) for number in numbers]) if url is not None}
            assert found.tolist() == sorted(url_hashes([*expected]).tolist())
    assert n_ended > 9
    return n_ended


def _end(ends: dict[int, int], number: int) -> int:
    for _ in range(5):
        number = ends.get(number, number)
    return number


def _sketched(path: Path) -> tuple[PagesRead, dict[str, set[int]]]:
    """Return the pages of a crawl, and the shards that have some of each host."""
    with open_view(path, at_once=True) as view:
        shards: dict[str, set[int]] = {}
        for visit, page in current_pages(view):
            shards.setdefault(page.url.split("/")[2], set()).add(visit % view.stride)
        return read_store(view, Recipe()), shards
