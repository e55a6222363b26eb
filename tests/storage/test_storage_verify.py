"""`verify` finds each kind of damage, and nothing in a sound store; `View` reads beside a running crawl."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from harness import running
from store_child import Crawl, url_of

from thresher.config.settings import Settings
from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.model import CrawlURL, Purpose, State
from thresher.crawler.core.ports import Entry, Lane
from thresher.crawler.core.robots import RobotsRecord, file_hash
from thresher.filters.tail.records import TailClass
from thresher.storage.packing import pack_due, pack_links, pack_u64, unpack_seen
from thresher.storage.records import HOST, PAGE, PAIR, SITE, PairRecord
from thresher.storage.schema import (
    ALIASES,
    BODIES,
    COUNTERS,
    DUE,
    EDGES_IN,
    HELD,
    HOSTS,
    LINKS,
    MEMORY_BYTES,
    META,
    PAGES,
    PAIRS,
    QUEUE,
    REQUESTS,
    ROBOTS_FILES,
    SEEN,
    SITE_LINKS,
    SITES,
    TAIL_CLASSES,
    TAIL_MEMBERS,
    TAIL_PLACES,
    URLS,
    Meta,
)
from thresher.storage.store import Store
from thresher.storage.tables.requests import Requester
from thresher.storage.tables.tail import TailPlace, class_tag
from thresher.storage.verify import verify
from thresher.storage.view import View

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of sixty visits with something of every kind."""
    path = tmp_path_factory.mktemp("sound") / "crawl"
    crawl = Crawl(path, 1)
    store = crawl.store
    crawl.admit(0)
    for _ in range(60):
        crawl.visit()
    _add_the_rare(store)
    store.close(5.0)
    return path


def _add_the_rare(store: Store) -> None:
    held, alias = url_of(10**6), url_of(10**6 + 1)
    store.tables.seen.add(held, State.HELD, None, 1.0)
    store.tables.held.hold(held.key, "dust")
    queue = held.key[:8] + bytes(8)
    store.tables.tail.put_host(queue, b"")
    store.tables.tail.put_class(queue, "dust", msgspec.msgpack.encode(TailClass("dust")))
    store.tables.tail.add(held.key, TailPlace(queue, class_tag("dust"), 0, bytes(8), is_inherited=False), "dust")
    store.tables.seen.add(alias, State.ALIAS, None, 1.0)
    store.tables.aliases.put(alias.key, "https://a.example/", "sid")
    store.tables.robots.put(b"o" * 16, RobotsRecord("https://a.example", "rules", 1.0, 2.0, 200, file_hash(b"x")), b"x")
    home = url_of(0)
    probe = CrawlURL("https://host0.example/probe", home.site, home.host, home.key[:8] + b"probe...", purpose=Purpose.PROBE)
    seq = store.tables.requests.add(probe, Requester("soft_error"), 1.0)
    queue = home.key[:8] * 2
    host = store.tables.queues.host(queue)
    assert host is not None
    host.n_queued += 1
    store.tables.queues.put(queue, Entry(Lane.AHEAD, 0, seq, 0, probe))
    if not host.due:
        host.due = 9.0
        store.tables.queues.file(queue, 0.0, 9.0)
    store.tables.queues.save_host(queue, host)
    origin = store.scan("edges", limit=1)[0][0]
    store.tables.redirects.put_pair(origin, home.key, home.text, 1, 200)


def test_a_sound_store_has_no_problem(sound: Path) -> None:
    assert verify(sound) == []


def test_a_store_of_a_version_that_did_not_count_what_filters_hold_counts_it_when_it_is_opened(sound: Path, tmp_path: Path) -> None:
    """Mutation: the URLs that filters hold are not counted when such a store is opened: the counter goes below zero when the first of them
    is fetched.
    """
    path = tmp_path / "crawl"
    shutil.copytree(sound, path)
    with contextlib.closing(Store.open(path, None, 1e6)) as store:
        assert store.counters.all("held:") == {"held:dust": 1}
        store.delete(COUNTERS, b"held:dust")
    assert verify(path) == []
    with contextlib.closing(Store.open(path, None, 1e6)) as store:
        assert store.counters.all("held:") == {"held:dust": 1}
    assert verify(path) == []


def first(store: Store, table: str) -> tuple[bytes, bytes]:
    return store.scan(table, limit=1)[0]


def drop_first(table: str) -> Callable[[Store], None]:
    return lambda store: store.delete(table, first(store, table)[0])


def copy_first(table: str, key: bytes) -> Callable[[Store], None]:
    return lambda store: store.put(table, key, first(store, table)[1])


def queued(store: Store) -> tuple[bytes, bytes]:
    return next((key, value) for key, value in store.scan(SEEN) if unpack_seen(value).state is State.QUEUED)


def a_queued_url_is_done(store: Store) -> None:
    key, _ = queued(store)
    row = store.tables.seen.row(key)
    assert row is not None
    store.tables.seen.update(key, row._replace(state=State.DONE, visit=1))


def a_done_url_is_queued(store: Store) -> None:
    store.tables.seen.settle(url_of(0).key, State.QUEUED)


def a_host_miscounts(store: Store) -> None:
    key, value = first(store, HOSTS)
    record = HOST.decode(value)
    record.n_queued += 1
    store.put(HOSTS, key, HOST.encode(record))


def a_site_miscounts(store: Store) -> None:
    key, value = first(store, SITES)
    record = SITE.decode(value)
    record.n_hosts += 1
    store.put(SITES, key, SITE.encode(record))


def a_number_changes_hands(store: Store) -> None:
    store.put(URLS, pack_u64(1), store.scan(URLS, limit=2)[1][1])


def a_page_is_there_twice(store: Store) -> None:
    record = store.tables.pages.read(1)
    assert record is not None
    store.tables.pages.put(record, b"again")
    store.tables.seen.settle(record.key, State.DONE)
    store.end_visit()


def a_body_rots(store: Store) -> None:
    store.put(BODIES, pack_u64(2), store.get(BODIES, pack_u64(3)) or b"")


def a_body_is_no_zstd(store: Store) -> None:
    store.put(BODIES, pack_u64(2), b"rot")


def a_page_forgets_its_body(store: Store) -> None:
    record = store.tables.pages.read(2)
    assert record is not None
    record.has_body = False
    store.put(PAGES, pack_u64(2), PAGE.encode(record))


DAMAGE: dict[str, tuple[Callable[[Store], object], str]] = {
    "queued, in no queue": (drop_first(QUEUE), "in no queue"),
    "a queue row of a done URL": (a_queued_url_is_done, "waits, its URL is done"),
    "a done URL is queued again": (a_done_url_is_queued, "queued, and in no queue"),
    "a URL without text": (lambda store: store.delete(URLS, pack_u64(2)), "of no URL"),
    "a number of another URL": (a_number_changes_hands, "another URL"),
    "a text too many": (copy_first(URLS, pack_u64(10**5)), "texts for"),
    "a URL that is not known": (lambda store: store.delete(SEEN, queued(store)[0]), "its URL is unknown"),
    "a number not given out": (lambda store: setattr(store, "_next_seq", 5), "has not been given out"),
    "a visit to come": (lambda store: setattr(store, "visit", 50), "past the watermark"),
    "an alias to nowhere": (drop_first(ALIASES), "leads nowhere"),
    "a row without a URL": (lambda store: store.put(QUEUE, first(store, QUEUE)[0], b""), "is empty, or out of order"),
    "a row out of order": (lambda store: store.put(QUEUE, first(store, QUEUE)[0], 2 * first(store, QUEUE)[1]), "is empty, or out of order"),
    "a queue without host": (drop_first(HOSTS), "no host"),
    "a host that miscounts": (a_host_miscounts, "URLs wait, there are"),
    "a site that miscounts": (a_site_miscounts, "hosts, there are"),
    "a host without due": (drop_first(DUE), "no row in `due`"),
    "a due row too many": (lambda store: store.put(DUE, pack_due(77.0, b"q" * 16), b""), "not due then"),
    "a counter that drifted": (lambda store: store.counters.add("state:done", 1), "counter state:done"),
    "a count of held URLs that drifted": (lambda store: store.counters.add("held:dust", 1), "counter held:dust: says 2, there are 1"),
    "a request in no queue": (copy_first(REQUESTS, pack_u64(3 * 10**5)), "requests 300000: in no queue"),
    "an edge unknown at its target": (drop_first(EDGES_IN), "does not know it"),
    "an edge known only at its target": (copy_first(EDGES_IN, b"t" * 32), "known at their targets"),
    "a pair of no redirect": (lambda store: store.put(PAIRS, b"p" * 16, PAIR.encode(PairRecord(b"", "", 1, 0))), "redirects nowhere"),
    "a site that is told of a link too many": (
        lambda store: (store.tables.site_links.add(b"s" * 8, {first(store, SITES)[0]}), drop_first(SITE_LINKS)(store)),
        "sites link to it",
    ),
    "a hold in one table": (drop_first(HELD), "which held does not say"),
    "a place in no class": (drop_first(TAIL_MEMBERS), "its class does not have it"),
    "a member without a place": (drop_first(TAIL_PLACES), "does not wait there"),
    "a class that is gone": (drop_first(TAIL_CLASSES), "there is no such class"),
    "a draw that is not queued": (lambda store: store.tables.tail.put_draw(url_of(0).key, bytes(16), b""), "does not wait for its fetch"),
    "held by nobody": (lambda store: store.tables.held.forget(first(store, HELD)[0][8:]), "held by nobody"),
    "a hold on a URL that is not held": (lambda store: store.tables.held.hold(url_of(0).key, "dust"), "and its URL is done"),
    "a robots file gone": (drop_first(ROBOTS_FILES), "is not stored"),
    "memory booked wrongly": (lambda store: store.put(MEMORY_BYTES, first(store, MEMORY_BYTES)[0], pack_u64(1)), "1 bytes booked"),
    "a URL with two pages": (a_page_is_there_twice, "has a page already"),
    "a body that changed": (a_body_rots, "sha256 differs"),
    "a body that cannot be unpacked": (a_body_is_no_zstd, "cannot be unpacked"),
    "a body that is gone": (lambda store: store.delete(BODIES, pack_u64(2)), "lacks its body"),
    "a body too many": (a_page_forgets_its_body, "does not know of"),
    "a page that is gone": (lambda store: store.delete(PAGES, pack_u64(2)), "of no page"),
    "a link to nowhere": (lambda store: store.put(LINKS, pack_u64(2), pack_links([10**7])), "never given out"),
    "links that are cut off": (lambda store: store.put(LINKS, pack_u64(2), b"\x81"), "ends within a number"),
    "a row that is no record": (lambda store: store.put(HOSTS, first(store, HOSTS)[0], b"\x01rot"), "cannot be read"),
    "a row of the wrong length": (lambda store: store.put(SEEN, b"k" * 16, b"short"), "cannot be read"),
    "a row of an unknown version": (lambda store: store.put(PAGES, pack_u64(2), b"\x07"), "version 7"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_verify_finds_each_kind_of_damage(sound: Path, tmp_path: Path, damage: str) -> None:
    plant, words = DAMAGE[damage]
    path = tmp_path / "crawl"
    shutil.copytree(sound, path)
    with Store.open(path, None, 0.0) as store:
        plant(store)
    assert any(words in problem for problem in verify(path)), verify(path)


def test_verify_of_a_heap_of_damage_stops_in_time(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path / "crawl")
    with Store.open(tmp_path / "crawl", None, 0.0) as store:
        for n in range(1000):
            store.put(DUE, pack_due(float(n + 1), b"q" * 16), b"")
    assert len(verify(tmp_path / "crawl")) == 100


def test_a_view_reads_everything_of_a_kind(sound: Path) -> None:
    with View(sound) as view:
        pages = dict(view.all_pages())
        assert (len(pages), view.visit, view.clock) == (60, 61, 5.0)
        assert [url.key for url, _ in view.all_urls(State.HELD)] == [url_of(10**6).key]
        urls = list(view.all_urls())
        assert [row.seq for _, row in urls] == sorted(row.seq for _, row in urls)
        assert len(urls) == len(view.tables.seen)
        assert len(list(view.all_skipped())) == 60
        assert all(edge.status == 301 for _, edge in view.all_edges())
        links = dict(view.all_links())
        assert set(links) == set(pages)
        assert {view.tables.seen.url_of(seq) for seq in links[1]} == {url_of(n).text for n in (0, 1, 2)}
        assert view.tables.bodies.get(1) is not None
        assert view.tables.pages.read(1) == pages[1]
        assert (view.counters.get("hosts"), view.tables.queues.n_hosts(), len(view.secret)) == (7, 7, 32)


def test_a_view_never_writes(sound: Path) -> None:
    def save_a_host() -> None:
        view.tables.queues.save_host(b"q" * 16, HOST.decode(view.scan(HOSTS)[0][1]))
        view.tables.queues.save()

    with View(sound) as view:
        for write in (
            save_a_host,
            lambda: view.tables.seen.add(url_of(77), State.QUEUED, None, 0.0),
            lambda: view.tables.redirects.put(b"k" * 16, b"", "", 301, 0.0),
            lambda: view.delete(SEEN, b"k"),
        ):
            with pytest.raises(StoreError, match="open for reading"):
                write()


def test_a_view_of_no_store_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no crawl here"):
        View(tmp_path)


def test_a_view_follows_a_crawl_that_runs_and_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F89: readers beside a writer, through the growth of its map; each of their reads is short."""
    monkeypatch.setattr("thresher.storage.reader_maps._SPARE_BYTES", 0)
    command = [sys.executable, str(Path(__file__).with_name("store_child.py")), str(tmp_path), "1", "1500", "100"]
    seen = []
    with running(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        line = process.stdout.readline()
        with View(tmp_path) as view:
            while line:  # of each commit, beside which it is read; after 100 visits it waits
                if int(line.split()[0]) % 100 == 0:
                    with contextlib.suppress(BrokenPipeError):  # it has ended meanwhile
                        os.write(process.stdin.fileno(), b"\n")
                seen.append(view.tables.seen.count(State.DONE))
                assert len(list(view.all_pages())) >= seen[-1]
                line = process.stdout.readline()
            assert len(list(view.all_pages())) == 1500
    assert seen == sorted(seen)
    assert len(set(seen)) > 2


def test_a_table_that_a_store_was_made_without_is_empty(sound: Path) -> None:
    with View(sound) as view:
        view._dbs.pop(COUNTERS)
        assert (view.scan(COUNTERS), view.get(COUNTERS, b"x"), view.get_many(COUNTERS, [b"x"])) == ([], None, [None])


def test_the_watermark_is_part_of_every_commit(tmp_path: Path) -> None:
    with Store.create(tmp_path, Settings(), 0.0) as store:
        store.end_visit()
        store.flush(3.0).result()
        assert store.get(META, Meta.NEXT_VISIT) == pack_u64(2)
