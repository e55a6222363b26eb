"""What the frontier does with hosts that fail, have no address, or have used up their budget."""

from __future__ import annotations

import random

import pytest
from fake_queues import Addresses
from frontier_world import CALM, START, URLS, World, configured, failure, finished, leased, page, queue_of, waited

from thresher.crawler.core.model import Cause, CrawlURL, Outcome, Purpose, Reason

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
    """F13: no URL becomes terminal, and the crawl goes on within 30 s after the network is back."""
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
    waited(world)
    assert "network down" in world.frontier.why(world.now)
    assert world.frontier.snapshot(world.now).network_down_since is not None
    assert world.frontier.snapshot(world.now).parked == {}
    assert len(world.log) < n_done + 50 + 100 + 7_200 / 30 + 10
    network["up"] = True
    world.run(until=START + 7_230.0)
    assert len(world.ended) > n_done
    world.run()
    assert len(world.ended) == 1_000
    assert all(request.entry.attempt <= 1 for request in world.log)


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
    world.frontier.on_resolved("a.example", world.now)
    assert leased(world).entry.seq == 1
    world.now += 0.2
    assert leased(world).entry.seq == 2


def test_a_name_that_does_not_exist_is_checked_twice_an_hour_apart() -> None:
    """F1: no connection is made, every URL of it is terminal, and the host's other name is not affected."""
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
    times: list[int] = []
    lookups = world.frontier.lookups

    def counted() -> list[str]:
        names = lookups()
        times.extend(round(world.now - START) for _ in names)
        return names

    world.frontier.lookups = counted  # type: ignore[method-assign]  # notes when each was asked
    world.run()
    assert times == [0, 30, 330, 3930]
    assert len(world.terminal_lookups) == 1


def test_a_hop_whose_name_does_not_resolve_is_returned() -> None:
    world = World(addresses=Addresses(unknown={"gone.example"}))
    world.frontier.request_ahead(URLS.url("http://gone.example/robots.txt", purpose=Purpose.ROBOTS), world.now)
    waited(world)
    assert world.frontier.lookups() == ["gone.example"]
    entries = world.frontier.unresolvable("gone.example", Cause.DNS_FAIL, world.now)
    assert [entry.seq for entry in entries] == [0]
    assert waited(world).until is None


# -- budgets and parking


def test_a_host_over_its_budget_is_parked_and_served_again_under_a_larger_one() -> None:
    """P42, F60: rows stay queued; the next life decides again."""
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
    settings = configured(
        politeness=CALM, overrides=[{"match": "big.example", "options": {"limits.max_pages_per_host": 2, "politeness.min_delay": 30.0}}]
    )
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


def test_new_hosts_of_a_page_are_met_until_their_site_is_full() -> None:
    world = World(configured(limits={"max_hosts_per_site": 3}))
    world.push("http://x0.spam.test/")
    found = ["http://x1.spam.test", "https://x1.spam.test", "http://x2.spam.test", "http://x3.spam.test", "http://x0.spam.test"]
    for _ in range(2):
        assert world.frontier.meet(dict.fromkeys(found, "spam.test")) == {"http://x3.spam.test"}
        assert world.frontier.snapshot(world.now).n_known_hosts == 3
    world.push_links(["http://x2.spam.test/a", "http://x1.spam.test/b"], [0, 0])
    world.run()
    assert sorted({queue_of(f"{origin}/") for origin in found[:3]}) == sorted({*world.by_queue()} - {queue_of("http://x0.spam.test/")})


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
    world.frontier.defer(lease, world.now, requested=page(lease.entry.url))
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


def test_hosts_are_loaded_a_round_at_a_time_while_others_are_ready() -> None:
    """A crawl of thousands of hosts begins without holding the loop: its workers' first requests do not wait for all hosts to be read."""
    world = World()
    for n in range(1_000):
        world.push(f"http://h{n}.example/")
    leases = [leased(world) for _ in range(40)]
    first = len(list(world.frontier.hosts(world.now)))
    assert first < 200, "a round of hosts, not one for each request"
    world.now += 0.05
    leases.append(leased(world))
    assert first < len(list(world.frontier.hosts(world.now))) < 200 + first
    leases += [leased(world) for _ in range(959)]
    assert [lease.entry.url.text for lease in leases] == [f"http://h{n}.example/" for n in range(1_000)]
