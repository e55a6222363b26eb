"""What is remembered of a site: filters' memories within their bounds, and how many other sites link to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_site import SITE

from thresher.config.settings import Settings, StoreSettings
from thresher.crawler.core.ports import SiteRecord
from thresher.storage.store import Store
from thresher.storage.tables import memory as memory_module
from thresher.storage.tables.bloom import BloomFilter
from thresher.storage.tables.memory import StoredMemory, filter_tag
from thresher.storage.tables.site_links import SiteLinks


def test_filters_memories_never_mix(store: Store) -> None:
    one, two = store.tables.memory("one"), store.tables.memory("two")
    one.put(SITE + b"k", b"1")
    two.put(SITE + b"k", b"2")
    assert (one.get(SITE + b"k"), two.get_many([SITE + b"k", SITE])) == (b"1", [b"2", None])
    assert list(one.scan(SITE)) == [(SITE + b"k", b"1")]
    one.delete(SITE + b"k")
    assert (one.get(SITE + b"k"), one.used(SITE), two.used(SITE) > 0) == (None, 0, True)


def test_the_tags_of_all_filters_differ() -> None:
    names = [
        *("scope", "path_trap", "media", "exact_duplicate", "soft_error", "dust", "pattern_yield", "near_replica", "depth_cutoff"),
        *("link_quality", "language", "audit"),
    ]
    assert len({filter_tag(name) for name in names}) == len(names)


def test_a_site_that_outgrows_its_memory_forgets_what_weighs_least(store: Store) -> None:
    memory = StoredMemory(store, "f", 1000)
    for n in range(10):
        memory.put(SITE + bytes([n]), b"x" * 50, weight=float(n % 5))
        store.end_visit()
    memory.put(b"T" * 8 + b"k", b"x" * 800, weight=0.0)
    before = memory.used(SITE)
    memory.put(SITE + b"new", b"x" * 400, weight=9.0)
    kept = [key[8:] for key, _ in memory.scan(SITE)]
    assert before == 10 * (2 + 9 + 8 + 50)
    assert kept == [bytes([n]) for n in (2, 3, 4, 7, 8, 9)] + [b"new"]
    assert memory.used(SITE) <= 900
    assert memory.get(b"T" * 8 + b"k") is not None


def test_what_no_longer_is_remembered_before_it_was_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record may leave the cache before it is written to the disk: it is then read from the rows that wait to be written.

    Mutation: only the disk is read.
    """
    monkeypatch.setattr(memory_module, "_GENERATION", 2)
    keys = [SITE + bytes([n]) for n in range(9)]
    with Store.create(tmp_path / "crawl", Settings(), 1000.0) as store:
        memory = store.tables.memory("f")
        for key in keys:
            memory.put(key, key * 2)
        memory.delete(keys[4])
        expected = [None if key == keys[4] else key * 2 for key in keys]
        assert [memory.get(key) for key in keys] == memory.get_many(keys) == expected
        store.end_visit()
        store.flush().result()
        assert memory.get_many(keys) == [memory.get(key) for key in keys] == expected
    with Store.open(tmp_path / "crawl", None, 1000.0) as store:
        assert [key for key, _ in store.tables.memory("f").scan(SITE)] == [key for key in keys if key != keys[4]]


PUTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40), st.sampled_from([0.0, 1.0, 2.5])), max_size=30)


@settings(max_examples=12, deadline=None)
@given(PUTS)
def test_the_same_visits_leave_the_same_memory(tmp_path_factory: pytest.TempPathFactory, puts: list[tuple[int, int, float]]) -> None:
    """Law: which records are evicted depends on the visits alone, not on which of them were committed together.

    The bytes that are counted for a site are the bytes that its records have.
    """
    left = []
    for every in (1, 7):
        with Store.create(tmp_path_factory.mktemp("memory"), Settings(store=StoreSettings(map_size=1 << 20)), 0.0) as store:
            memory = StoredMemory(store, "f", 150)
            for n, (key, size, weight) in enumerate(puts):
                memory.put(SITE + bytes([key]), bytes(size), weight=weight)
                store.end_visit()
                if n % every == 0:
                    store.flush().result()
                used = sum(2 + len(k) + 8 + len(v) for k, v in memory.scan(SITE))
                assert memory.used(SITE) == used <= 150
            left.append(list(memory.scan(b"")))
    assert left[0] == left[1]


def test_a_site_knows_how_many_others_link_to_it(store: Store) -> None:
    """A pair of sites counts once, whether its first link was found lately or in an earlier process.

    A site without hosts is not counted.
    """
    store.tables.queues.save_site(SITE, SiteRecord(name="a.example", n_hosts=1))
    for source in (b"1" * 8, b"2" * 8, b"1" * 8):
        store.tables.site_links.add(source, {SITE, source})
    assert SiteLinks(store, store.tables.queues).add(b"2" * 8, {SITE}) == []
    assert store.tables.site_links.add(SITE, {SITE, b"n" * 8}) == []
    found = store.tables.queues.site(SITE)
    assert found is not None
    assert found.n_linking == 2
    assert store.tables.queues.site(b"n" * 8) is None


def test_of_a_site_that_half_as_many_again_link_to_it_is_said(store: Store) -> None:
    """The caller is told only when the number of linking sites has grown by half. Mutation: it is told of each new one."""
    store.tables.queues.save_site(SITE, SiteRecord(name="a.example", n_hosts=1))
    said = [n for n in range(1, 24) if store.tables.site_links.add(b"from %03d" % n, {SITE})]
    assert said == [1, 2, 3, 5, 7, 11, 15, 22]


def test_what_was_met_is_never_taken_for_new_and_what_is_new_seldom_for_met() -> None:
    """The set never calls a key new that was added, and seldom calls a new key known. Mutation: the older bitmaps are not looked at."""
    met = BloomFilter()
    for n in range(70_000):  # more than one bitmap takes
        met.add(b"%d" % n)
    assert all(b"%d" % n in met for n in range(70_000))
    assert sum(b"%d" % n in met for n in range(70_000, 80_000)) < 300


def test_a_memory_that_began_empty_reads_nothing_for_what_it_never_met(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory that began empty needs no read for a key that was never written.

    One that was opened again reads, and finds what was written before. Mutation: each memory is taken for one that began empty.
    """
    with Store.create(tmp_path / "crawl", Settings(), 1000.0) as store:
        store.tables.memory("f").put(SITE + b"old", b"1")
    with Store.open(tmp_path / "crawl", None, 1000.0) as store:
        assert store.tables.memory("f").get(SITE + b"old") == b"1"
        fresh = store.tables.memory("new")
        monkeypatch.setattr(store, "get", None)  # a read would fail
        assert (fresh.get(SITE + b"k"), fresh.get_many([SITE + b"k", SITE + b"l"])) == (None, [None, None])
