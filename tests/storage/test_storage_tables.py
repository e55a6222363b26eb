"""Each class of `storage/tables/` keeps its tables' meaning, whether its rows are unwritten, being committed or on disk."""

from __future__ import annotations

import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st
from one_site import QUEUE, SITE, url

from thresher.config.settings import Settings, StoreSettings
from thresher.crawler.core.model import CrawlURL, Purpose, Reason, State, Verdict
from thresher.crawler.core.ports import Entry, HostRecord, Lane, QueueStore, SiteRecord
from thresher.crawler.core.ports import Memory as MemoryPort
from thresher.crawler.core.robots import RobotsRecord, file_hash
from thresher.filters.base import Gate
from thresher.filters.journal import JournalRecord
from thresher.storage.records import FailureRecord, PageRecord
from thresher.storage.store import Store
from thresher.storage.tables.held import Held
from thresher.storage.tables.journal import Move, arrived, departed, move_of
from thresher.storage.tables.memory import StoredMemory
from thresher.storage.tables.queues import Queues
from thresher.storage.tables.requests import Requester
from thresher.storage.tables.robots import RobotsTable
from thresher.storage.tables.rules import RuleCounts
from thresher.storage.tables.verdicts import DROPPED_LATER


def queue_up(store: Store, name: str, lane: Lane, rank: int, **place: int) -> Entry:
    seq = store.tables.seen.add(url(name, **place), State.QUEUED, None, 0.0)
    entry = Entry(lane, rank, seq, 0, url(name, **place))
    store.tables.queues.put(QUEUE, entry)
    return entry


def test_queues_are_what_the_frontier_asks_for(store: Store) -> None:
    port: QueueStore = store.tables.queues
    assert isinstance(port, Queues)
    memory: MemoryPort = store.tables.memory("f")
    assert isinstance(memory, StoredMemory)


def test_a_lane_is_served_by_rank_then_discovery(store: Store) -> None:
    store.tables.queues.save_host(QUEUE, HostRecord(name="a.example", site="a.example"))
    deep = queue_up(store, "deep", Lane.FRESH, 3, site_depth=3)
    first = queue_up(store, "first", Lane.FRESH, 1, site_depth=1)
    second = queue_up(store, "second", Lane.FRESH, 1, site_depth=1)
    store.flush().result()
    third = queue_up(store, "third", Lane.FRESH, 1, site_depth=1)
    ahead = queue_up(store, "ahead", Lane.AHEAD, 0)
    assert store.tables.queues.head(QUEUE, Lane.FRESH, 10) == [first, second, third, deep]
    assert store.tables.queues.head(QUEUE, Lane.FRESH, 2) == [first, second]
    assert store.tables.queues.head(QUEUE, Lane.AHEAD, 10) == [ahead]
    store.tables.queues.delete(QUEUE, first)
    assert store.tables.queues.head(QUEUE, Lane.FRESH, 2) == [second, third]
    assert (store.tables.queues.has(QUEUE, first), store.tables.queues.has(QUEUE, second)) == (False, True)
    assert store.tables.queues.head(QUEUE, Lane.RETRY, 2) == []


def test_a_waiting_url_keeps_its_attempts_and_place(store: Store) -> None:
    store.tables.queues.save_host(QUEUE, HostRecord(name="a.example", site="a.example"))
    entry = queue_up(store, "a", Lane.FRESH, 1, site_depth=1, seed_distance=4, hops=2)
    store.tables.queues.delete(QUEUE, entry)
    again = entry._replace(lane=Lane.RETRY, rank=10**15, attempt=3)
    store.tables.queues.put(QUEUE, again)
    assert store.tables.queues.head(QUEUE, Lane.RETRY, 1) == [again]


TIMES = st.sampled_from([1.0, 1.5, 1_700_000_000.123456, 1_700_000_000.123457, 1_700_000_000.9, 2e9])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcd"), TIMES | st.just(0.0), st.booleans()), max_size=15), TIMES, TIMES)
def test_hosts_stand_in_the_order_of_their_time(
    tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[str, float, bool]], after: float, until: float
) -> None:
    """Law: `due` answers as a sorted list of (time, queue) does, however rows were moved."""
    model: dict[bytes, float] = {}
    with Store.create(tmp_path_factory.mktemp("due"), Settings(store=StoreSettings(map_size=1 << 20)), 0.0) as store:
        for name, due, flush in moves:
            queue = name.encode() * 16
            store.tables.queues.file(queue, model.get(queue, 0.0), due)
            model[queue] = due
            if flush:
                store.flush().result()
        rows = sorted((due, queue) for queue, due in model.items() if due)
        assert store.tables.queues.n_due() == len(rows)
        assert store.tables.queues.due((0.0, b""), 1e12, 10) == rows
        past = [row for row in rows if row > (after, b"b" * 16)]
        assert store.tables.queues.due((after, b"b" * 16), until, 2) == [row for row in past if row[0] <= until][:2]
        assert store.tables.queues.next_due((after, b"b" * 16)) == (past[0][0] if past else None)


def test_hosts_and_sites_are_counted_once_and_written_with_their_group(store: Store) -> None:
    """Mutation: records saved since the last flush are forgotten, or each save counts a host."""
    for n_queued in (3, 4):
        store.tables.queues.save_host(QUEUE, HostRecord(name="a.example", site="a.example", n_queued=n_queued))
        store.tables.queues.save_site(SITE, SiteRecord(name="a.example", n_hosts=n_queued))
        for is_flushed in (False, True):
            if is_flushed:
                store.end_visit()
                store.flush().result()
            found = store.tables.queues.host(QUEUE)
            assert found is not None
            assert (found.n_queued, store.tables.queues.n_hosts(), store.tables.queues.host(b"x" * 16)) == (n_queued, 1, None)
            assert store.tables.queues.site(SITE) == SiteRecord(name="a.example", n_hosts=n_queued)


def test_records_that_are_decoded_no_more_are_found_and_counted_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that began empty reads nothing for keys that are certainly new. Mutation: keys of records are not remembered."""
    monkeypatch.setattr("thresher.storage.tables.queues._MET", 1)
    names = [f"{n}.example" for n in range(5)]
    for _ in range(2):
        for n, name in enumerate(names):
            store.tables.queues.save_host(bytes((n,)) * 16, HostRecord(name=name, site=name))
            store.tables.queues.save_site(bytes((n,)) * 8, SiteRecord(name=name))
        store.end_visit()
        store.flush().result()
        queues = store.tables.queues
        assert [host.name for n in range(6) if (host := queues.host(bytes((n,)) * 16)) is not None] == names
        assert [site.name for n in range(6) if (site := queues.site(bytes((n,)) * 8)) is not None] == names
        assert queues.n_hosts() == 5


def test_a_page_and_its_body_come_back(store: Store) -> None:
    record = PageRecord(url="https://a.example/a", key=url("a").key, status=200, headers=[(b"X", b"\xff\x00")], flags=["not_html"])
    store.tables.pages.put(record, b"<p>body" * 1000)
    visit = store.visit
    for wait in (False, True):
        if wait:
            store.end_visit()
            store.flush().result()
        page = store.tables.pages.read(visit)
        assert page == record
        assert page is not None
        body = store.tables.bodies.get(visit)
        assert (page.has_body, len(page.sha256), body) == (True, 32, b"<p>body" * 1000)
        assert type(body) is bytes, "a parser in C takes no subclass"
    assert [(number, page.url) for number, page in store.tables.pages.since(0)] == [(visit, "https://a.example/a")]
    assert (store.tables.pages.read(visit + 1), store.tables.bodies.get(visit + 1), len(store.tables.pages)) == (None, None, 1)


def test_links_are_the_distinct_known_urls_of_a_page(store: Store) -> None:
    store.tables.links.put([7, 3, -1, 1_000_000, 3])
    assert store.tables.links.read(store.visit) == [3, 7, 1_000_000]
    assert store.tables.links.read(99) == []


def test_the_journal_takes_the_panels_records(store: Store) -> None:
    store.tables.journal.put([JournalRecord(4, b"judged", [("exact_duplicate", b"measure")]), JournalRecord(3, b"again", [])])
    assert [(entry.gate, entry.judgement, entry.measures) for entry in store.tables.journal.read(store.visit)] == [
        (4, b"judged", [("exact_duplicate", b"measure")]),
        (3, b"again", []),
    ]


def test_the_journal_tells_of_moves_and_forgets_a_site(store: Store) -> None:
    """Mutation: entries that a move had written of a site stay in the journal when the site is forgotten."""
    row, other = (b"tgsite-one-key", b"value"), (b"tgsite-two-key", b"value")
    store.tables.journal.put([arrived(Move(3, 9, [row, other]))])
    store.end_visit()
    store.tables.journal.put([departed(3, 4095)])
    assert [move_of(*entries) for _, entries in store.tables.journal.since(0)] == [(3, 9, [row, other]), (3, 4095, [])]
    store.tables.journal.forget(b"site-one")
    assert [(entry.gate, move_of(entry)) for _, (entry,) in store.tables.journal.since(0)] == [
        (Gate.ARRIVED, (3, 9, [other])),
        (Gate.DEPARTED, (3, 4095, [])),
    ]


def test_chains_are_followed_backwards_and_loops_are_cut(store: Store) -> None:
    keys = {name: url(name).key for name in "abcdefgh"}
    for origin, target in ("ab", "bc", "cd", "de", "ef", "xf", "fc"):
        store.tables.redirects.put(url(origin).key, url(target).key, f"https://a.example/{target}", 301, 1.0)
    assert sorted(store.tables.redirects.into(keys["f"])) == sorted([url("e").key, url("x").key])
    assert dict(store.tables.redirects.ending_at(keys["c"], 5)) == {
        keys["b"]: 1,
        keys["f"]: 1,
        keys["a"]: 2,
        keys["e"]: 2,
        url("x").key: 2,
        keys["d"]: 3,
    }
    assert dict(store.tables.redirects.ending_at(keys["c"], 1)) == {keys["b"]: 1, keys["f"]: 1}
    assert store.tables.redirects.ending_at(keys["a"]) == []


def test_a_redirect_that_changed_leads_only_where_it_leads_now(store: Store) -> None:
    a, b, c = (url(name).key for name in "abc")
    store.tables.redirects.put(a, b, "https://a.example/b", 302, 1.0)
    store.tables.redirects.put(a, c, "https://a.example/c", 302, 2.0)
    assert (store.tables.redirects.into(b), store.tables.redirects.into(c)) == ([], [a])
    store.tables.redirects.put(a, b"", "javascript:void(0)", 302, 3.0)
    edge = store.tables.redirects.edge(a)
    assert edge is not None
    assert (store.tables.redirects.into(c), edge.to_text) == ([], "javascript:void(0)")
    store.tables.redirects.put_pair(a, c, "https://a.example/c", 2, 200)
    pair = store.tables.redirects.pair(a)
    assert pair is not None
    assert (pair.target, pair.hops, store.tables.redirects.pair(b)) == (c, 2, None)


def release(store: Store, holder: str) -> list[bytes]:
    store.tables.held.release(holder)
    return store.tables.held.take_released(10, holder)


def test_a_url_is_free_when_its_last_holder_releases_it(store: Store) -> None:
    a, b = url("a").key, url("b").key
    for key, holder in ((a, "dust"), (b, "dust"), (a, "pattern")):
        store.tables.held.hold(key, holder)
    assert sorted(store.tables.held.holders(a)) == ["dust", "pattern"]
    assert release(store, "dust") == [b]
    assert release(store, "pattern") == [a]
    assert release(store, "pattern") == []
    store.tables.held.hold(a, "dust")
    store.tables.held.forget(a)
    assert (store.tables.held.keys("dust"), store.tables.held.holders(a)) == ([], [])


def test_what_a_holder_holds_is_released_a_part_at_a_time_kills_in_between_included(store: Store) -> None:
    """Mutation: after the first part the holder is no longer marked as released, and its other URLs are held for ever."""
    keys = sorted(url(str(i)).key for i in range(25))
    for key in keys:
        store.tables.held.hold(key, "pattern")
    store.tables.held.hold(keys[3], "dust")
    store.tables.held.release("pattern")
    assert store.tables.held.take_released(10, "pattern") == [key for key in keys[:10] if key != keys[3]]
    after_a_kill = Held(store)
    assert after_a_kill.is_releasing
    assert [after_a_kill.take_released(10) for _ in range(3)] == [keys[10:20], keys[20:], []]
    assert not after_a_kill.is_releasing
    assert (store.tables.held.keys("pattern"), store.tables.held.holders(keys[3])) == ([], ["dust"])


def test_a_rule_records_so_many_rows_and_counts_the_rest(store: Store) -> None:
    rules = RuleCounts(store, cap=2)
    assert [rules.may_record("sessionid") for _ in range(4)] == [True, True, False, False]
    assert (rules.count("sessionid"), rules.may_record("other"), rules.all()) == (4, True, {"other": 1, "sessionid": 4})
    store.tables.aliases.put(url("a").key, "https://a.example/b", "sessionid")
    alias = store.tables.aliases.get(url("a").key)
    assert alias is not None
    assert (alias.to_text, store.tables.aliases.get(url("b").key)) == ("https://a.example/b", None)
    store.tables.aliases.forget(url("a").key)
    assert store.tables.aliases.get(url("a").key) is None


def test_the_aliases_of_a_url_are_released_a_part_at_a_time(store: Store) -> None:
    keys = sorted(url(str(n)).key for n in range(5))
    for key in keys:
        store.tables.aliases.put(key, "https://a.example/b", "sessionid", url("b").key)
    store.tables.aliases.forget(keys[0])
    assert (store.tables.aliases.has_any(url("b").key), store.tables.aliases.has_any(url("c").key)) == (True, False)
    assert store.tables.aliases.take_released(10) == [], "none was let go"
    store.tables.aliases.release(url("b").key)
    freed = []
    while found := store.tables.aliases.take_released(3):
        freed.append(found)
        for key in found:
            store.tables.aliases.forget(key)
    assert freed == [keys[1:4], keys[4:]]
    assert not store.tables.aliases.is_releasing


def test_a_request_waits_with_a_number_and_a_name(store: Store) -> None:
    store.tables.queues.save_host(QUEUE, HostRecord(name="a.example", site="a.example"))
    probe = CrawlURL("https://a.example/xyzzy", "a.example", "https://a.example", url("xyzzy").key, purpose=Purpose.PROBE)
    seq = store.tables.requests.add(probe, Requester("soft_error", 2), 5.0)
    store.tables.queues.put(QUEUE, Entry(Lane.AHEAD, 0, seq, 0, probe))
    assert store.tables.queues.head(QUEUE, Lane.AHEAD, 1) == [Entry(Lane.AHEAD, 0, seq, 0, probe)]
    assert (store.tables.requests.pop(seq), store.tables.requests.pop(seq), store.tables.seen.row(probe.key)) == (
        Requester("soft_error", 2),
        None,
        None,
    )


def test_a_robots_file_that_many_share_is_stored_once(store: Store) -> None:
    body = b"User-agent: *\nDisallow: /private\n"
    for origin in (b"o" * 16, b"p" * 16):
        store.tables.robots.put(origin, RobotsRecord("https://a.example", "rules", 1.0, 2.0, 200, file_hash(body)), body)
    store.tables.robots.put(b"q" * 16, RobotsRecord("https://b.example", "allow", 1.0, 2.0, 404), b"")
    record = store.tables.robots.record(b"p" * 16)
    assert record is not None
    assert (store.tables.robots.body(record.file), len(store.scan("robots_files")), store.tables.robots.record(b"z" * 16)) == (
        body,
        1,
        None,
    )


def test_a_robots_file_is_read_whether_it_is_in_memory_unwritten_or_on_disk(store: Store) -> None:
    body = b"User-agent: *\nDisallow: /private\n"
    store.tables.robots.put(b"o" * 16, RobotsRecord("https://a.example", "rules", 1.0, 2.0, 200, file_hash(body)), body)
    assert (store.tables.robots.body(file_hash(body)), RobotsTable(store).body(file_hash(body))) == (body, body)
    store.flush().result()
    assert (store.tables.robots.body(file_hash(body)), RobotsTable(store).body(file_hash(body))) == (body, body)
    assert zstd.decompress(store.committed("robots_files", file_hash(body)) or b"") == body


def test_an_origin_is_looked_up_unless_it_certainly_has_no_record(store: Store) -> None:
    """A table that has rows when it is opened, or is written by another process, is always asked."""
    robots, reader = store.tables.robots, RobotsTable(store)
    assert not robots.may_have("https://a.example")
    robots.put(b"o" * 16, RobotsRecord("https://a.example", "allow", 1.0, 2.0, 404), b"")
    assert robots.may_have("https://a.example")
    store.flush().result()
    later = RobotsTable(store, writes=True)
    assert all(table.may_have(origin) for table in (later, reader) for origin in ("https://a.example", "https://b.example"))


def test_suspects_failures_and_revisions_are_remembered(store: Store) -> None:
    key = url("a").key
    assert (store.tables.suspects.any(), store.tables.suspects.crashes(key)) == (False, 0)
    assert [store.tables.suspects.add_crash(key) for _ in range(2)] == [1, 2]
    assert (store.tables.suspects.any(), [(k, record.crashes) for k, record in store.tables.suspects.all()]) == (True, [(key, 2)])
    store.tables.failures.put(key, FailureRecord("timeout_total", "60 s", 5.0, 4, True))
    failure = store.tables.failures.get(key)
    assert failure is not None
    assert (failure.reason, failure.final, store.tables.failures.get(url("b").key)) == ("timeout_total", True, None)
    for keep in (False, True):
        store.tables.verdicts.revise(key, Verdict("near_replica", keep=keep, reason=Reason.DUPLICATE_CONTENT, evidence={"of": "x"}), 9.0)
    assert [revision.verdict.keep for revision in store.tables.verdicts.revisions(key)] == [False, True]
    assert store.tables.verdicts.revisions(url("b").key) == []


def test_what_a_filter_drops_later_is_counted_by_its_newest_verdict(store: Store) -> None:
    """Seen to fail: with the first verdict counted beside the second; with a forgotten page still counted; with observers counted."""
    verdicts, drops, keeps = store.tables.verdicts, Verdict("soft_error", keep=False), Verdict("soft_error")
    for name in "abc":
        verdicts.revise(url(name).key, drops, 9.0, counts=True)
    verdicts.revise(url("a").key, drops, 10.0, counts=True)
    verdicts.revise(url("d").key, drops, 9.0)
    assert store.counters.all(DROPPED_LATER) == {"late:soft_error": 3}
    verdicts.revise(url("a").key, keeps, 11.0, counts=True)
    verdicts.forget(url("b").key)
    assert store.counters.all(DROPPED_LATER) == {"late:soft_error": 1}
