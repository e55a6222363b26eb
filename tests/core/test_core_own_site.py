"""One's own site in the core: which hosts are own, how fast they are asked; and that the pace of all others stays the same."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from fake_queues import Addresses
from frontier_world import ServerModel, World, configured, failure, page

from thresher.crawler.core.model import Cause, CrawlURL, Outcome, Purpose
from thresher.crawler.core.own_site import NOTHING_OWN, OwnSite
from thresher.crawler.core.url import queue_name

OWN = {"own.example:80": "10.0.0.1"}
CALM = {"jitter": 0.0, "delay_factor": 10.0}


def at_once(url: CrawlURL, rng: random.Random) -> Outcome:
    return page(url, 0.001)


def world(*, answer: ServerModel = at_once, pinned: dict[str, str] = OWN, known: dict[str, str] | None = None, **sections: Any) -> World:
    settings = configured(
        profile="own-site",
        own_site={"pinned": pinned},
        politeness={**CALM, **sections.pop("politeness", {})},
        **sections,
    )
    return World(settings, answer=answer, addresses=Addresses(known or {"own.example": "10.0.0.1", "other.example": "10.0.0.1"}))


def gaps(world: World, host: str) -> list[float]:
    made = sorted((request.start, request.end) for request in world.log if queue_name(request.entry.url.host) == host)
    return [after[0] - before[1] for before, after in pairwise(made)]


# -- who is own


def test_a_name_a_port_and_an_address_are_own_together_or_not_at_all() -> None:
    own = OwnSite({"a.example:8000": ["10.0.0.1", "fd00::1"], "[::1]:80": ["::1"]})
    assert own.holds("http://a.example:8000", "10.0.0.1")
    assert own.holds("https://a.example:8000", "fd00::1")
    assert own.holds("http://[::1]", "::1")
    assert not own.holds("http://a.example:8001", "10.0.0.1")
    assert not own.holds("http://a.example", "10.0.0.1")
    assert not own.holds("http://a.example:8000", "10.0.0.2")
    assert not own.holds("http://b.example:8000", "10.0.0.1")
    assert own.has_socket("10.0.0.1", 8000)
    assert not own.has_socket("10.0.0.1", 80)
    assert own.ports == {("a.example", 8000), ("::1", 80)}


def test_nothing_is_own_but_under_the_profile() -> None:
    assert not OwnSite.of(configured(own_site={"pinned": OWN}))
    assert OwnSite.of(configured(profile="own-site", own_site={"pinned": OWN}))
    assert not NOTHING_OWN


# -- the pace


def test_ones_own_site_waits_for_the_latency_factor_alone() -> None:
    """Mutation: without `own_delay` in `Pace._floor` the gaps are a second."""
    crawl = world()
    for n in range(20):
        crawl.push(f"http://own.example/{n}")
    crawl.run()
    assert all(0.01 - 1e-6 <= gap < 0.02 for gap in gaps(crawl, "own.example"))


def test_other_hosts_keep_their_delay_and_their_address_its_own_even_beside_ones_own_site() -> None:
    """Both names have the same address. Mutation: `Slots._start` moves `next_start` for an own host, so that others wait for it."""
    crawl = world()
    for n in range(20):
        crawl.push(f"http://own.example/{n}")
        crawl.push(f"http://other.example/{n}")
    crawl.run()
    assert min(gaps(crawl, "other.example")) >= 1.0 - 1e-6
    assert max(gaps(crawl, "own.example")) < 0.02


def test_names_that_are_not_own_keep_the_gap_of_an_address_among_themselves() -> None:
    crawl = world(known={"own.example": "10.0.0.1", **{f"h{n}.example": "10.0.0.1" for n in range(9)}})
    for n in range(9):
        crawl.push(f"http://h{n}.example/")
        crawl.push(f"http://own.example/{n}")
    crawl.run()
    starts = sorted(request.start for request in crawl.log if "own" not in request.entry.url.host)
    assert min(after - before for before, after in pairwise(starts)) >= 0.2 - 1e-6


@pytest.mark.parametrize(
    "moved", [{"own.example": "10.0.0.2"}, {"own.example": "8.8.8.8"}], ids=["another private address", "a public address"]
)
def test_a_name_that_resolves_elsewhere_is_asked_like_any_other(moved: dict[str, str]) -> None:
    crawl = world(known=moved)
    for n in range(4):
        crawl.push(f"http://own.example/{n}")
    crawl.run()
    assert min(gaps(crawl, "own.example")) >= 1.0 - 1e-6


@pytest.mark.parametrize(("address", "pause"), [("10.0.0.1", 0.0), ("10.0.0.2", 1.0)], ids=["its own", "elsewhere"])
def test_after_a_kill_ones_own_site_is_asked_at_once_unless_its_name_resolves_elsewhere(address: str, pause: float) -> None:
    """The host is own before its address is looked up again; if the address has changed, its delay holds."""
    crawl = world(known={"own.example": address})
    for n in range(3):
        crawl.push(f"http://own.example/{n}")
    crawl.now += 100.0
    crawl.crash()
    resumed_at = crawl.now
    crawl.run()
    assert min(request.start for request in crawl.log) - resumed_at == pytest.approx(pause, abs=0.2)


def test_another_port_of_the_same_name_is_asked_like_any_other() -> None:
    crawl = world()
    for n in range(4):
        crawl.push(f"https://own.example/{n}")  # port 443, in the same queue as port 80
    crawl.run()
    assert min(gaps(crawl, "own.example")) >= 1.0 - 1e-6


def test_back_off_and_retry_after_stay() -> None:
    """Mutation: `Pace._floor` ignores failures: the host is asked again after 10 ms."""
    answers = iter([(429, "7"), (503, "")])

    def answer(url: CrawlURL, rng: random.Random) -> Outcome:
        told = next(answers, None)
        if told is None:
            return page(url, 0.001)
        cause = Cause.HTTP_429 if told[0] == 429 else Cause.HTTP_5XX
        return failure(url, cause, 0.001, status=told[0], retry_after=told[1])

    crawl = world(answer=answer)
    for n in range(6):
        crawl.push(f"http://own.example/{n}")
    crawl.run()
    first, second, *rest = gaps(crawl, "own.example")
    assert first >= 7.0
    assert second >= 14.0  # doubled by the next incident
    assert min(rest) >= 0.02 - 1e-6  # twice the gap until an answer is good


def test_failures_slow_ones_own_site_as_any_other() -> None:
    crawl = world(answer=lambda url, rng: failure(url, Cause.HTTP_5XX, 0.001, status=500), politeness={"dead_after": 6})
    for n in range(5):
        crawl.push(f"http://own.example/{n}")
    crawl.run(until=crawl.now + 40.0)
    assert all(gap >= 2.0**n - 1e-6 for n, gap in enumerate(gaps(crawl, "own.example"), 1))


def test_crawl_delay_is_obeyed() -> None:
    crawl = world()
    for n in range(4):
        crawl.push(f"http://own.example/{n}")
    crawl.step()
    crawl.step()
    crawl.frontier.set_crawl_delay(crawl.log[0].queue, 3.0)
    crawl.run()
    assert min(gaps(crawl, "own.example")[1:]) >= 3.0


def test_an_override_of_its_delay_holds_at_ones_own_site() -> None:
    crawl = world(overrides=[{"match": "own.example", "options": {"politeness.min_delay": 0.5}}])
    for n in range(4):
        crawl.push(f"http://own.example/{n}")
    crawl.run()
    assert all(0.5 - 1e-6 <= gap < 0.6 for gap in gaps(crawl, "own.example"))


# -- what is waited for


def test_every_rule_is_named_with_its_figure() -> None:
    """Mutation: `Pace.respond` does not set `record.rule`: everything is min_delay."""

    def answer(url: CrawlURL, rng: random.Random) -> Outcome:
        match url.host.partition("://")[2].partition(".")[0]:
            case "slow":
                return page(url, 2.0)
            case "full":
                return failure(url, Cause.HTTP_429, 0.01, status=429)
            case "asks":
                return failure(url, Cause.HTTP_5XX, 0.01, status=503, retry_after="90")
            case "fails":
                return failure(url, Cause.CONN_RESET, 0.01)
            case _:
                return page(url, 0.01)

    settings = configured(politeness={"jitter": 0.0})
    crawl = World(settings, answer=answer)
    for name in ("slow", "full", "asks", "fails", "calm"):
        for n in range(2):
            crawl.push(f"http://{name}.example/{n}")
    words: dict[str, str] = {}
    for _ in range(5):
        crawl.start_all()
        crawl.end_one()
    for host in crawl.frontier._bench.hosts.values():
        words[host.record.name.partition(".")[0]] = crawl.frontier._bench._delay_of(host, crawl.now)
    assert words == {
        "slow": "delay_factor 10",
        "full": "back-off 60 s",
        "asks": "Retry-After",
        "fails": "failures in a row",
        "calm": "min_delay 1 s",
    }


def test_hosts_of_one_address_wait_for_address_delay_and_say_until_when() -> None:
    names = {f"h{n}.example": "192.0.2.1" for n in range(13)}
    crawl = World(configured(politeness={"jitter": 0.0}), answer=at_once, addresses=Addresses(names))
    for name in names:
        crawl.push(f"http://{name}/")
    crawl.start_all()
    assert crawl.frontier.why(crawl.now + 0.1) == "12 hosts: address_delay 0.2 s, next in 0.1 s; 1 in flight"


def test_what_a_line_waits_for_is_a_place_where_all_are_taken() -> None:
    names = {f"h{n}.example": "192.0.2.1" for n in range(3)}
    settings = configured(politeness={"jitter": 0.0, "address_connections": 1, "address_delay": 0.0})
    crawl = World(settings, answer=at_once, addresses=Addresses(names))
    for name in names:
        crawl.push(f"http://{name}/")
    crawl.start_all()
    assert crawl.frontier.why(crawl.now) == "2 hosts: address_connections 1; 1 in flight"


def test_another_try_of_a_filter_s_request_is_told_as_such() -> None:
    """No URL of the crawl waits then: the count of queued URLs is 0. Mutation: the purpose is ignored."""
    for purpose, rule in ((Purpose.PROBE, "retry of a filter's request that failed"), (Purpose.PAGE, "retry of what failed")):
        crawl = World(configured(politeness={"jitter": 0.0}), answer=lambda url, _: failure(url, Cause.DISCONNECTED, 0.01))
        crawl.push("http://a.example/", purpose=purpose)
        crawl.start_all()
        crawl.end_one()
        assert crawl.frontier.why(crawl.now).startswith(f"1 host: {rule}, next in ")
