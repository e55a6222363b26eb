"""The frontier's operations, one by one."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from fake_queues import Addresses, Queues
from frontier_world import START, URLS, World, configured, failure, page

from crawler.core.frontier import Lease, Retry, Wait
from crawler.core.model import Cause, CrawlURL, Outcome, Purpose, Reason
from crawler.core.ports import HostRecord, Lane
from crawler.core.waiting import WaitingHosts

CALM = {"jitter": 0.0, "delay_factor": 0.0}


def leased(world: World) -> Lease:
    popped = world.pop()
    assert isinstance(popped, Lease), popped
    return popped


def waited(world: World) -> Wait:
    popped = world.pop()
    assert isinstance(popped, Wait), popped
    return popped


def finished(world: World, lease: Lease, outcome: Outcome | None = None, *, is_page: bool = True) -> Retry | None:
    return world.frontier.finish(lease, outcome or page(lease.entry.url), world.now, is_page=is_page)


def queue_of(text: str) -> bytes:
    return URLS.queue_key(URLS.url(text).host)


def record_of(world: World, text: str) -> HostRecord:
    record = world.store.host(queue_of(text))
    assert record is not None
    return record


# -- leases


def test_http_https_www_and_bare_of_a_name_share_one_queue_and_one_clock() -> None:
    """P26."""
    world = World(configured(politeness=CALM))
    for text in ("http://a.example/1", "https://a.example/2", "http://www.a.example/3", "https://www.a.example/4"):
        world.push(text)
    lease = leased(world)
    assert "in flight" in waited(world).why
    finished(world, lease)
    assert waited(world).until == world.now + 1.0
    assert len(world.store.records) == 1


def test_a_url_pushed_now_can_be_popped_now() -> None:
    world = World()
    for n in range(100):
        world.push(f"http://h{n}.example/")
    assert len([leased(world) for _ in range(100)]) == 100


def test_a_lease_is_settled_once() -> None:
    world = World()
    world.push("http://a.example/1")
    world.push("http://a.example/2")
    lease = leased(world)
    finished(world, lease)
    with pytest.raises(ValueError, match="not in force"):
        finished(world, lease)


def test_a_skipped_url_costs_neither_its_host_nor_its_address_a_delay() -> None:
    world = World()
    world.push("http://a.example/1")
    world.push("http://a.example/2")
    world.frontier.skip(leased(world), world.now)
    assert leased(world).entry.url.text == "http://a.example/2"
    assert record_of(world, "http://a.example/").n_requests == 0


def test_an_empty_frontier_waits_for_nothing() -> None:
    assert waited(World()) == Wait(None, "nothing is queued")


def test_a_wait_says_in_words_what_is_waited_for() -> None:
    """Design law F."""
    world = World(configured(politeness=CALM), addresses=Addresses(unknown={"b.example"}))
    for text in ("http://a.example/1", "http://a.example/2", "http://b.example/", "http://c.example/"):
        world.push(text)
    finished(world, leased(world))
    leased(world)
    assert waited(world).why == "1 host in delay, next in 1.0 s; 1 host being looked up; 1 in flight"


def test_probes_and_audits_go_ahead_of_the_queue_under_the_same_delay() -> None:
    world = World(configured(politeness=CALM))
    world.push("http://a.example/page")
    finished(world, leased(world))
    world.push("http://a.example/next")
    world.push("http://a.example/probe", lane=Lane.AHEAD, purpose=Purpose.PROBE)
    assert waited(world).until == world.now + 1.0
    world.now += 1.0
    lease = leased(world)
    assert lease.entry.url.purpose is Purpose.PROBE
    finished(world, lease, is_page=False)
    assert record_of(world, "http://a.example/").n_pages == 1


# -- given back, blocked, woken


def test_a_host_that_is_given_back_waits_and_wakes() -> None:
    world = World(configured(politeness=CALM))
    world.push("http://a.example/")
    world.frontier.give_back(leased(world), world.now, until=world.now + 600.0, why="robots.txt redirected")
    assert waited(world).until == world.now + 600.0
    assert next(world.frontier.hosts(world.now)).state == "robots.txt redirected"
    world.frontier.wake(queue_of("http://a.example/"), world.now)
    assert leased(world).entry.url.text == "http://a.example/"


def test_a_robots_txt_fetched_in_a_urls_place_starts_the_hosts_clock_and_costs_the_url_no_try() -> None:
    """P1, P23: the URL comes again after the host's delay."""
    world = World(configured(politeness=CALM))
    world.push("http://a.example/")
    lease = leased(world)
    world.frontier.give_back(lease, world.now, requested=page(replace(lease.entry.url, purpose=Purpose.ROBOTS)))
    assert waited(world).until == world.now + 1.0
    world.now += 1.0
    assert leased(world).entry == lease.entry
    assert record_of(world, "http://a.example/").n_pages == 0


def test_a_robots_redirect_hop_goes_through_though_its_host_is_blocked() -> None:
    """P11, P32: the hop keeps the target's clock and nothing else."""
    world = World(configured(politeness=CALM))
    world.push("http://a.example/page")
    lease = leased(world)
    redirected = page(replace(lease.entry.url, purpose=Purpose.ROBOTS))
    world.frontier.give_back(lease, world.now, until=world.now + 600.0, why="robots.txt redirected", requested=redirected)
    assert world.frontier.request_ahead(URLS.url("http://www.a.example/robots.txt", purpose=Purpose.ROBOTS), world.now)
    assert waited(world).until == world.now + 1.0
    world.now += 1.0
    hop = leased(world)
    assert (hop.entry.seq, hop.entry.lane, hop.entry.url.purpose) == (0, Lane.AHEAD, Purpose.ROBOTS)
    assert finished(world, hop, failure(hop.entry.url, Cause.CONN_REFUSED), is_page=False) is None
    world.frontier.wake(hop.queue, world.now)
    world.now += 10.0
    assert leased(world).entry.url.text == "http://a.example/page"
    world.check()


def test_a_hop_to_a_host_with_nothing_queued_leaves_no_trace_in_due() -> None:
    world = World()
    world.frontier.request_ahead(URLS.url("http://new.example/robots.txt", purpose=Purpose.ROBOTS), world.now)
    finished(world, leased(world), is_page=False)
    world.check()
    assert not world.store.due_rows
    assert record_of(world, "http://new.example/").n_requests == 1


def test_a_url_queued_at_a_host_that_is_there_for_a_hop_only_survives_a_crash() -> None:
    world = World()
    world.frontier.request_ahead(URLS.url("http://new.example/robots.txt", purpose=Purpose.ROBOTS), world.now)
    leased(world)
    world.push("http://new.example/page")
    world.check()
    world.crash()
    world.run()
    assert [request.entry.url.text for request in world.log] == ["http://new.example/page"]


# -- retries


def test_a_refused_connection_is_tried_four_times() -> None:
    """F11."""
    world = World(answer=lambda url, rng: failure(url, Cause.CONN_REFUSED))
    world.push("http://a.example/")
    world.run()
    assert len(world.log) == 4
    gaps = [round(b.start - a.end) for a, b in zip(world.log, world.log[1:], strict=False)]
    assert gaps == [30, 300, 3600]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 407, 410, 451])
def test_a_4xx_is_an_answer(status: int) -> None:
    """F59."""
    world = World(answer=lambda url, rng: page(url, status=status))
    world.push("http://a.example/")
    world.run()
    assert len(world.log) == 1


def test_a_host_that_fails_again_and_again_is_parked_and_tried_once_an_hour() -> None:
    """P30."""
    world = World(configured(politeness={**CALM, "dead_after": 5}), answer=lambda url, rng: failure(url, Cause.CONN_RESET))
    for n in range(50):
        world.push(f"http://a.example/{n}")
    world.run(until=START + 3_000.0)
    assert len(world.log) == 5
    assert world.frontier.snapshot(world.now).parked == {"host_dead": 1}
    wait = waited(world)
    assert wait.until is not None
    assert wait.until > START + 3_600.0
    world.run(until=START + 7_000.0)
    assert len(world.log) == 6
    assert world.frontier.snapshot(world.now).parked == {"host_dead": 1}


@pytest.mark.parametrize("cause", [Cause.UNREACHABLE, Cause.CONN_TIMEOUT])
def test_nothing_is_held_against_anybody_while_the_network_is_down(cause: Cause) -> None:
    """F13: no URL becomes terminal, and the crawl goes on within 30 s of the network's return."""
    network = {"up": True}

    def answer(url: CrawlURL, rng: random.Random) -> Outcome:
        return page(url) if network["up"] else failure(url, cause, 0.001)

    world = World(configured(politeness={**CALM, "dead_after": 3}), answer=answer)
    for n in range(1_000):
        world.push(f"http://h{n % 50}.example/{n}")
    world.run(until=START + 5.0)
    network["up"] = False
    world.run(until=START + 7_200.0)
    n_done = len(world.ended)
    assert "network down" in waited(world).why
    assert world.frontier.snapshot(world.now).network_down_since is not None
    assert world.frontier.snapshot(world.now).parked == {}
    assert len(world.log) < n_done + 50 + 100 + 7_200 / 30 + 10
    network["up"] = True
    world.run(until=START + 7_230.0)
    assert len(world.ended) > n_done
    world.run()
    assert len(world.ended) == 1_000
    assert all(request.entry.attempt <= (cause is Cause.CONN_TIMEOUT) for request in world.log)


# -- names


def test_a_name_is_asked_for_once_and_its_hosts_wait() -> None:
    world = World(addresses=Addresses(unknown={"a.example"}))
    world.push("http://a.example/1")
    world.push("http://a.example:8080/2")
    waited(world)
    assert world.frontier.lookups() == ["a.example"]
    waited(world)
    assert world.frontier.lookups() == []
    world.addresses.unknown.clear()
    world.frontier.resolved("a.example", world.now)
    assert leased(world).entry.seq == 1
    world.now += 0.2
    assert leased(world).entry.seq == 2


def test_a_name_that_does_not_exist_is_checked_twice_an_hour_apart() -> None:
    """F1: no connection, every URL of it terminal, the host's other name unharmed."""
    world = World()
    world.addresses.unknown.add("a.example")
    world.unresolvable["a.example"] = Cause.DNS_NXDOMAIN
    gone = [world.push(f"http://a.example/{n}") for n in range(100)]
    there = world.push("http://www.a.example/")
    world.run(until=START + 3_599.0)
    assert [request.entry.seq for request in world.log] == [there and there.seq]
    assert not world.terminal_lookups
    world.run()
    assert sorted(entry.seq for entry in world.terminal_lookups) == sorted(entry.seq for entry in gone if entry)
    assert not world.store.queued()
    world.check()


def test_a_name_server_that_fails_is_asked_four_times() -> None:
    """F2: attempts 4, spaced as the table says."""
    world = World()
    world.addresses.unknown.add("a.example")
    world.unresolvable["a.example"] = Cause.DNS_FAIL
    world.push("http://a.example/")
    times = []
    lookups = world.frontier.lookups

    def counted() -> list[str]:
        names = lookups()
        times.extend(round(world.now - START) for _ in names)
        return names

    world.frontier.lookups = counted  # type: ignore[method-assign]
    world.run()
    assert times == [0, 30, 330, 3930]
    assert len(world.terminal_lookups) == 1


def test_a_hop_whose_name_does_not_resolve_is_returned() -> None:
    world = World(addresses=Addresses(unknown={"gone.example"}))
    world.frontier.request_ahead(URLS.url("http://gone.example/robots.txt", purpose=Purpose.ROBOTS), world.now)
    waited(world)
    assert world.frontier.lookups() == ["gone.example"]
    entries = world.frontier.unresolvable("gone.example", Cause.DNS_FAIL, "", world.now)
    assert [entry.seq for entry in entries] == [0]
    assert waited(world).until is None


# -- budgets and parking


def test_a_host_over_its_budget_is_parked_and_served_again_under_a_larger_one() -> None:
    """P42, F60: rows stay queued; the next life judges anew."""
    world = World(configured(limits={"max_pages_per_host": 3}))
    for n in range(10):
        world.push(f"http://a.example/{n}")
    world.run()
    assert len(world.log) == 3
    assert world.frontier.snapshot(world.now).parked == {"host_budget": 1}
    assert waited(world).until is None
    world.begin()
    world.run()
    assert len(world.log) == 3
    assert world.frontier.snapshot(world.now).parked == {"host_budget": 1}
    world.settings = configured(limits={"max_pages_per_host": 8})
    world.begin()
    world.run()
    assert len(world.log) == 8
    assert len(world.store.queued()) == 2
    world.check()


def test_bytes_have_a_budget_too() -> None:
    """P42."""
    world = World(configured(limits={"max_bytes_per_host": 2_500}))
    for n in range(10):
        world.push(f"http://a.example/{n}")
    world.run()
    assert len(world.log) == 3


def test_an_override_gives_one_domain_another_budget_and_delay() -> None:
    settings = configured(politeness=CALM, overrides=[{"match": "big.example", "max_pages": 2, "min_delay": 30.0}])
    world = World(settings)
    for n in range(5):
        world.push(f"http://www.big.example/{n}")
        world.push(f"http://sub.big.example/{n}")
        world.push(f"http://other.example/{n}")
    world.run()
    assert len(world.log) == 2 + 2 + 5
    assert [round(b.start - a.end) for a, b in zip(*[iter(world.by_queue()[queue_of("http://big.example/")])] * 2, strict=True)] == [30]


def test_a_site_takes_no_more_hosts_than_it_may() -> None:
    """F8: a wildcard farm."""
    world = World(configured(limits={"max_hosts_per_site": 10}))
    refusals = 0
    for n in range(100):
        refusals += world.push(f"http://x{n}.spam.test/") is None
    world.push("http://x5.spam.test/again")
    world.push("http://other.test/")
    world.run()
    assert refusals == 90
    assert len(world.log) == 12
    url = URLS.url("http://x99.spam.test/")
    assert world.frontier.push(world.pushed[0]._replace(seq=999, url=url), world.now) is Reason.SITE_HOST_LIMIT
    assert not world.frontier.request_ahead(url, world.now)


def test_a_crawl_delay_too_long_parks_the_host() -> None:
    """P19."""
    world = World()
    world.push("http://a.example/1")
    world.push("http://a.example/2")
    lease = leased(world)
    world.frontier.set_crawl_delay(lease.queue, 301.0)
    finished(world, lease)
    assert waited(world).until is None
    assert world.frontier.snapshot(world.now).parked == {"crawl_delay_too_long": 1}
    world.frontier.set_crawl_delay(lease.queue, 10.0)
    world.now += 400.0
    assert leased(world).entry.seq == 2


def test_a_crawl_delay_holds_from_the_request_that_found_it() -> None:
    """P19."""
    world = World(configured(politeness=CALM))
    world.push("http://a.example/1")
    lease = leased(world)
    world.frontier.set_crawl_delay(lease.queue, 7.0)
    world.frontier.give_back(lease, world.now, requested=page(lease.entry.url))
    assert waited(world).until == world.now + 7.0
    world.frontier.set_crawl_delay(lease.queue, None)
    world.now += 7.0
    finished(world, leased(world))


def test_an_operator_parks_a_host_at_once_even_while_it_is_asked() -> None:
    """P51."""
    world = World()
    for n in range(3):
        world.push(f"http://a.example/{n}")
        world.push(f"http://b.example/{n}")
    lease = leased(world)
    for text in ("http://a.example/", "http://b.example/"):
        assert world.frontier.park(queue_of(text), "operator", world.now)
    finished(world, lease)
    world.now += 100.0
    assert waited(world).until is None
    world.begin()
    world.now += 100.0
    assert waited(world).until is None, "an operator's word holds in the next life"
    assert world.frontier.unpark(queue_of("http://a.example/"), world.now)
    assert not world.frontier.unpark(queue_of("http://a.example/"), world.now)
    assert leased(world).entry.seq == 3
    world.check()


def test_a_host_on_the_bench_is_unparked_there() -> None:
    world = World(configured(politeness=CALM))
    world.push("http://a.example/1")
    world.push("http://a.example/2")
    lease = leased(world)
    world.frontier.park(lease.queue, "operator", world.now)
    world.frontier.unpark(lease.queue, world.now)
    finished(world, lease)
    world.now += 1.0
    finished(world, leased(world))
    world.check()


# -- the order of the queue


def test_a_url_found_again_nearer_moves_forward() -> None:
    world = World()
    far = world.push("http://a.example/far", depth=5)
    world.push("http://a.example/near", depth=2)
    assert far is not None
    world.frontier.raise_rank(far, 1)
    lease = leased(world)
    assert (lease.entry.url.text, lease.entry.url.site_depth, lease.entry.rank) == ("http://a.example/far", 1, 1)
    world.frontier.raise_rank(far, 0)
    finished(world, lease)
    assert len(world.store.queued()) == 1


@pytest.mark.parametrize("lane", [Lane.FRESH, Lane.RETRY, Lane.AHEAD])
def test_a_waiting_url_can_be_withdrawn_from_any_lane(lane: Lane) -> None:
    world = World()
    entry = world.push("http://a.example/", depth=3, lane=Lane.AHEAD if lane is Lane.AHEAD else Lane.FRESH)
    assert entry is not None
    if lane is Lane.RETRY:
        finished(world, leased(world), failure(entry.url, Cause.CONN_REFUSED))
    assert world.frontier.withdraw(entry.url, entry.seq)
    assert not world.frontier.withdraw(entry.url, entry.seq)
    assert waited(world).until is None
    world.check()


def test_a_url_in_flight_cannot_be_withdrawn() -> None:
    world = World()
    entry = world.push("http://a.example/")
    leased(world)
    assert entry is not None
    assert not world.frontier.withdraw(entry.url, entry.seq)


# -- lives


def test_in_a_new_life_every_host_first_waits_its_whole_delay() -> None:
    """P55: even if its last request was never recorded, and with its Crawl-delay."""
    world = World(configured(politeness={**CALM, "min_delay": 5.0}))
    world.push("http://a.example/")
    world.push("http://b.example/")
    lease = leased(world)
    world.frontier.set_crawl_delay(lease.queue, 50.0)
    world.frontier.give_back(lease, world.now)
    world.crash()
    world.now += 0.001
    assert waited(world).until == world.started_at + 5.0
    world.now += 5.0
    leased(world)
    assert waited(world).until == world.started_at + 50.0


def test_a_first_life_starts_at_once() -> None:
    world = World(configured(politeness={"min_delay": 60.0}))
    world.push("http://a.example/")
    leased(world)


def test_a_row_of_due_without_a_record_is_struck() -> None:
    world = World()
    world.store.file(b"0123456789abcdef", 0.0, START)
    world.begin()
    assert waited(world).until is None
    assert not world.store.due_rows


def test_a_record_from_a_wrong_clock_is_clamped() -> None:
    """F93."""
    world = World(configured(politeness=CALM))
    world.push("http://a.example/")
    record = record_of(world, "http://a.example/")
    record.next_at = START + 10**9
    world.store.save_host(queue_of("http://a.example/"), record)
    until = waited(world).until
    assert until is not None
    assert until < START + 3 * 86_400.0


def test_a_host_that_joins_comes_after_the_cursor_even_at_the_same_microsecond() -> None:
    store = Queues()
    hosts = WaitingHosts(store, START)
    late, early = HostRecord(name="late", site=""), HostRecord(name="early", site="")
    hosts.postpone(b"z" * 16, late, START + 5.0)
    assert [queue for _, queue in hosts.read(START + 5.0, 10)] == [b"z" * 16]
    hosts.join(b"a" * 16, early, START + 5.0)
    assert [queue for _, queue in hosts.read(START + 5.0, 10)] == [b"a" * 16]


def test_the_overview_counts_every_host_once() -> None:
    world = World(configured(frontier={"workbench": 10}, limits={"max_pages_per_host": 1}))
    for n in range(40):
        world.push(f"http://h{n % 20}.example/{n}")
    finished(world, leased(world))
    lease = leased(world)
    snapshot = world.frontier.snapshot(world.now)
    assert (snapshot.n_known_hosts, snapshot.in_flight, snapshot.parked) == (20, 1, {"host_budget": 1})
    assert snapshot.active + snapshot.backing_off + snapshot.waiting + 1 == 20
    finished(world, lease, failure(lease.entry.url, Cause.CONN_RESET))
    assert world.frontier.snapshot(world.now).backing_off == 1
    assert {view.state for view in world.frontier.hosts(world.now)} == {"waiting for its address or site", "in delay"}
