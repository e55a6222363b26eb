"""The set of known URLs says the same whether its rows are unwritten, in its cache of records or on disk."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_site import QUEUE, SITE, url

from thresher.config.settings import Settings
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Purpose, Reason, State
from thresher.crawler.core.ports import Entry, Lane, SeenRow
from thresher.crawler.native import NATIVE
from thresher.storage.records import UrlRecord
from thresher.storage.schema import QUEUE as QUEUE_TABLE
from thresher.storage.schema import URLS
from thresher.storage.store import Store
from thresher.storage.tables.seen import SeenSet
from thresher.storage.tables.urls import Urls


def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let caches keep four rows, in Python two to four."""
    monkeypatch.setattr("thresher.storage.tables.seen_cache._SET_BITS", 0)
    monkeypatch.setattr("thresher.storage.tables.seen_cache._GENERATION", 2)


@given(st.lists(st.tuples(st.integers(0, 70_000), st.integers(1, 400)), min_size=1, max_size=40), st.booleans(), st.integers(0, 31))
@settings(max_examples=15, deadline=None)
def test_new_links_written_as_columns_are_as_written_one_by_one(places: list[tuple[int, int]], is_redirect: bool, worth: int) -> None:
    """All tables are compared: the rows of `seen`, what `urls` and `queue` say, the counters, and the next number."""
    source = url("source", seed_distance=3, hops=1)
    depths, ranks = [depth for depth, _ in places], [rank for _, rank in places]
    links = LinkBatch(
        source,
        [f"https://a.example/{i}" + "x" * (i * 9) for i in range(len(places))],
        ["https://a.example"] * len(places),
        ["a.example"] * len(places),
        [SITE + i.to_bytes(8, "big") for i in range(len(places))],
        depths,
        is_redirect,
    )
    stores = []
    for together in (True, False):
        with TemporaryDirectory() as directory, Store.create(Path(directory) / "crawl", Settings(), 1.0) as store:
            store.tables.queues.put(QUEUE, Entry(Lane.FRESH, 200, 1_000, 0, source))
            if together:
                first = store.tables.seen.add_links(links, slice(0, len(places)), State.QUEUED, worth, 7.5)
                rows = [(rank, first + i, depth) for i, (depth, rank) in enumerate(places)]
                store.tables.queues.put_links(QUEUE, rows, seed_distance=links.seed_distance, hops=links.hops)
            else:
                for i, rank in enumerate(ranks):
                    seq = store.tables.seen.add(links.url(i), State.QUEUED, None, 7.5, worth)
                    store.tables.queues.put(QUEUE, Entry(Lane.FRESH, rank, seq, 0, links.url(i)))
            assert store.take_seq() == len(places) + 1
            assert store.tables.seen.rows(links.keys) == [store.tables.seen.row(key) for key in links.keys]
            tables = {name: dict(layer.rows) for name, layer in store._open.layers.items() if name not in (URLS, QUEUE_TABLE)}
            waiting = [(at, row[1:]) for at, row in store.tables.queues.waiting(QUEUE + bytes([Lane.FRESH]))]
            stores.append((tables, dict(store.counters.items()), [*store.tables.urls.all()], waiting))
    assert stores[0] == stores[1]


def test_a_url_is_known_once_added(store: Store) -> None:
    seen = store.tables.seen
    assert seen.rows([url("a").key, url("b").key]) == [None, None]
    assert seen.add(url("a", site_depth=2, seed_distance=3), State.QUEUED, None, 7.0) == 1
    assert seen.add(url("b"), State.REFUSED, Reason.PATH_TRAP, 7.0) == 2
    for wait in (False, True):
        if wait:
            store.flush().result()
        fresh = SeenSet(store, Urls(store))
        a, missing, b = fresh.rows([url("a").key, url("c").key, url("b").key])
        assert a == SeenRow(State.QUEUED, None, 2, 3, 0, Purpose.PAGE, 1, 0)
        assert b is not None
        assert (missing, b.state, b.reason) == (None, State.REFUSED, Reason.PATH_TRAP)
    assert (seen.url_of(2), seen.record(1).via, seen.record(1).found_at) == ("https://a.example/b", b"v" * 16, 7.0)


def test_a_set_that_began_empty_reads_nothing_for_new_urls_and_one_that_goes_on_finds_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A set that began empty needs no read for a new URL; one that was opened again finds the URLs of before.

    There are three ways to add a URL. Mutations: one of the three ways is not noted; each set is taken for one that began empty.
    """
    names = [f"{n}......." for n in range(9)]  # a key's last bytes count: they differ
    keys, new = [url(name).key for name in names], [url(f"{n}new....").key for n in range(10, 70)]
    few_rows(monkeypatch)
    with Store.create(tmp_path / "crawl", Settings(), 1000.0) as store:
        seen = store.tables.seen
        seen.add(url(names[0]), State.QUEUED, None, 0.0)
        seen.adopt(UrlRecord(url(names[1]).text, keys[1], b"v" * 16, 0.0), SeenRow(State.QUEUED, None, 0, 0, 0, Purpose.PAGE, 9, 0))
        texts, hosts, sites = [url(name).text for name in names[2:]], ["https://a.example"] * 7, ["a.example"] * 7
        links = LinkBatch(url(names[0]), texts, hosts, sites, keys[2:], [1] * 7)
        seen.add_links(links, slice(0, 7), State.QUEUED, 0, 0.0)
        assert None not in seen.rows(keys[2:])  # these take the place of the first two
        assert None not in seen.rows(keys)
        with monkeypatch.context() as patched:
            if NATIVE:
                patched.setattr(store, "get_many", None)  # a read would fail
            assert seen.rows(new) == [None] * 60
    with Store.open(tmp_path / "crawl", None, 1000.0) as store:
        assert None not in store.tables.seen.rows(keys)
        assert store.tables.seen.rows(new) == [None] * 60


def test_states_are_counted_as_they_change(store: Store) -> None:
    for name in "abc":
        store.tables.seen.add(url(name), State.QUEUED, None, 0.0)
    store.tables.seen.settle(url("b").key, State.DONE)
    assert [store.tables.seen.count(state) for state in (State.QUEUED, State.DONE)] == [2, 1]
    row = store.tables.seen.row(url("b").key)
    assert row is not None
    assert (row.state, row.visit, len(store.tables.seen)) == (State.DONE, store.visit, 3)


def test_a_url_is_never_added_twice(store: Store) -> None:
    store.tables.seen.add(url("a"), State.QUEUED, None, 0.0)
    with pytest.raises(AssertionError, match="is known"):
        store.tables.seen.add(url("a"), State.QUEUED, None, 0.0)


def test_the_hot_rows_never_outlive_an_update(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: with a cache of few rows the seen set answers as with none."""
    few_rows(monkeypatch)
    names = [f"u{n}" for n in range(7)]
    for name in names:
        store.tables.seen.add(url(name), State.QUEUED, None, 0.0)
    for name in names[::2]:
        store.tables.seen.settle(url(name).key, State.DONE)
    states = [row.state for row in store.tables.seen.rows([url(name).key for name in names]) if row]
    assert states == [State.DONE, State.QUEUED] * 3 + [State.DONE]
