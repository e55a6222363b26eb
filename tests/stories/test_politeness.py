"""Politeness, judged from the server's log alone (ACCEPTANCE.md). Long form: `python -m benchmarks.proofs.politeness_test`."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from harness import AGENT, CONTACT, crawl, demo, options, write_config
from judging import TOLERANCE_S, crowded_addresses, crowded_queues, forbidden, n_gaps, short_gaps
from server_log import n_robots, refetches, unlabelled
from witness import ReceivedRequest, Witness, links, page, text

from thresher.crawler.demo.atlas import RobotsKind
from thresher.crawler.demo.log import ServerLog
from thresher.crawler.demo.truth import Truth
from thresher.crawler.demo.web import Web
from thresher.crawler.version import VERSION
from thresher.storage.export.scans import hosts
from thresher.storage.shards import ShardsView, open_view

MIN_DELAY_S, ADDRESS_DELAY_S, ADDRESS_CONNECTIONS = 0.2, 0.03, 2


class Story(NamedTuple):
    """One polite crawl."""

    log: ServerLog
    web: Web
    truth: Truth
    code: int
    said: str


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    """A crawl of some 70 hosts to its end: sites with several hosts, addresses with several sites, all kinds of robots.txt, hosts that only
    redirect.
    """
    directory = tmp_path_factory.mktemp("story")
    web: dict[str, Any] = {
        "n_sites": 30,
        "pages_per_host": [3, 5],
        "n_seeds": 30,
        "crawl_delay_share": 0.3,
        "crawl_delay_s": [1, 1],
        "fanout": 6,
    }
    polite = {"min_delay": MIN_DELAY_S, "address_delay": ADDRESS_DELAY_S, "address_connections": ADDRESS_CONNECTIONS}
    unprobed = {"soft_error": {"max_probes": 0}}  # probes are requests like others, and would keep the slowest hosts busy for longest
    with demo("story", directory, **web, error_statuses=[500, 502], forward_share=0.4) as server:
        config = write_config(directory, options(server, politeness=polite, filters=unprobed), server.web.seeds())
        with crawl(directory / "store", config) as life:
            code = life.end()
            said = life.said
        served = unlabelled(server.web)
        truth = served.truth()
    return Story(server.read_log(), served, truth, code, said)


def test_the_crawl_ends_by_itself_and_names_the_hosts_it_left(story: Story) -> None:
    """F74: hosts whose robots.txt is broken are named at the end."""
    assert story.code == 0, story.said
    assert "nothing is due within" in story.said
    assert story.log.requests


def test_no_gap_at_a_host_is_shorter_than_its_delay(story: Story) -> None:
    """P19, P20, P21, P26, P31: the gap is from the end of an answer to the next request; www and the bare name are one host; a Crawl-delay
    counts once robots.txt was served.
    """
    assert short_gaps(story.log, story.web, MIN_DELAY_S) == []
    assert n_gaps(story.log) > 250


def test_never_two_requests_at_once_at_a_host(story: Story) -> None:
    """P23, P26."""
    assert crowded_queues(story.log) == []


def test_an_address_has_no_more_connections_and_no_faster_pace_than_configured(story: Story) -> None:
    """P24: many names on one address."""
    by_address = story.log.by(lambda request: request.address)
    assert max(len({request.queue for request in requests}) for requests in by_address.values()) > 5
    assert crowded_addresses(story.log, ADDRESS_CONNECTIONS, ADDRESS_DELAY_S) == []


def test_two_agents_keep_the_rules_of_an_address_together(tmp_path: Path) -> None:
    """P24: all names lie on a few addresses, and each address has sites of both agents. Mutation: agents do not share their addresses."""
    polite = {"min_delay": 0.0, "address_delay": 0.05, "address_connections": 1}
    n = 20  # sites, so that it is one in half a million that an agent has none
    with demo("story", tmp_path, n_sites=n, n_seeds=n, pages_per_host=[3, 3], shared_address_share=1.0) as server:
        config = write_config(tmp_path, {"agents": 2, **options(server, politeness=polite)}, server.web.seeds())
        with crawl(tmp_path / "store", config, "--set", "limits.max_pages=40") as life:
            assert life.end() == 0, life.said
        log = server.read_log()
    assert crowded_addresses(log, 1, 0.05) == []
    assert crowded_queues(log) == []
    with open_view(tmp_path / "store") as view:
        assert isinstance(view, ShardsView)
        one, other = ({record.name for _, record in hosts(shard) if record.n_requests} for shard in view.shards)
        assert sum(1 for _ in view.all_pages()) == 40
    assert one
    assert other
    assert not one & other


def test_robots_txt_comes_first_at_every_origin_and_once(story: Story) -> None:
    """P1, P15."""
    assert story.log.origins_without_robots_first() == []
    assert set(n_robots(story.log).values()) == {1}


def test_what_robots_txt_forbids_is_never_asked_for(story: Story) -> None:
    """P9, P13, P57, F74: what Disallow names is not requested, nor anything where robots.txt is broken. The test checks that such URLs were
    known.
    """
    assert forbidden(story.log, story.web) == []
    assert len(story.truth.denied) > 10
    kinds = {host.robots for host in story.web._atlas.hosts}
    assert {RobotsKind.CLOSED, RobotsKind.BROKEN, RobotsKind.DISALLOW} <= kinds


def test_every_request_says_who_asks(story: Story) -> None:
    """P33, P34, P36."""
    assert story.log.agents() == {f"{AGENT}/{VERSION} (+{CONTACT})"}


def test_no_url_is_fetched_twice(story: Story) -> None:
    """P40."""
    assert refetches(story.log, story.truth) == {}
    assert len(story.log) > 400


# -- what only the headers tell, and servers that push back --------------------------------------------------------------------------------

SLOW_S = 0.1


def _answer(request: ReceivedRequest) -> bytes:
    port = request.header("host").partition(":")[2]
    match request.host, request.path:
        case "robots.test", "/robots.txt":
            return text("User-agent: *\nDisallow: /no\n")
        case _, "/robots.txt":
            return text("", "404 Not Found")
        case "seed.test", "/":
            there = [f"http://{host}.test:{port}/" for host in ("throttled", "busy", "dated", "off")]
            return page(
                links("/a", "/b", "/pay", "/no", "/law", "/away", *there), "200 OK", "set-cookie: session=1; path=/", "set-cookie: b=2"
            )
        case "seed.test", "/pay" | "/no" | "/law":
            return page("", {"/pay": "402 Payment Required", "/no": "403 Forbidden", "/law": "451 Unavailable"}[request.path])
        case "seed.test", "/away":
            return page("", "302 Found", f"location: http://robots.test:{port}/no")
        case "throttled.test", "/" if request.number == 1:
            return page("", "429 Too Many Requests", "retry-after: 1")
        case "busy.test", "/" if request.number == 1:
            return page("", "503 Service Unavailable", "retry-after: 1")
        case "dated.test", "/" if request.number == 1:
            at = time.time() + 2
            return page("", "503 Service Unavailable", f"date: {_date(at - 2)}", f"retry-after: {_date(at)}")
        case "throttled.test" | "busy.test" | "dated.test", "/":
            return page(links("/1", "/2"))
    return page()


def _date(at: float) -> str:
    return email.utils.formatdate(at, usegmt=True)


@pytest.fixture(scope="module")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Witness]:
    """A crawl of six small hosts; off.test is out of scope."""
    directory = tmp_path_factory.mktemp("witness")

    with Witness(_answer) as server:
        sections: dict[str, Any] = {
            "identity": {"agent": AGENT, "contact": CONTACT, "from_header": "bot@example.org"},
            "scope": {"type": "host"},
            "limits": {"min_free_disk": 0, "max_wait": 10},
            "politeness": {"min_delay": SLOW_S, "delay_factor": 0, "address_delay": 0, "address_connections": 100, "backoff_initial": 5},
            "fetch": {"allow_addresses": ["127.0.0.0/8"], "allow_ports": [server.port]},
            "dns": {"static": {".test": "127.0.0.1"}},
            "sitemaps": "off",
            "retry": {"scale": 0.01},
            "filters": {"soft_error": {"max_probes": 0}},  # requests for canaries would be among those that are counted here
        }
        seeds = [server.url(f"{host}.test") for host in ("seed", "robots", "throttled", "busy", "dated")]
        with crawl(directory / "store", write_config(directory, sections, seeds)) as life:
            assert life.end() == 0, life.said
        yield server


def test_every_request_carries_name_and_contact_and_nothing_that_tracks(witness: Witness) -> None:
    """P33, P34, P35, P36, P41, P58, S13: one identity on robots.txt and pages; no Cookie though one was set, no Referer; GET only."""
    assert {request.method for request in witness.requests} == {"GET"}
    assert {request.header("user-agent") for request in witness.requests} == {f"{AGENT}/{VERSION} (+{CONTACT})"}
    assert {request.header("from") for request in witness.requests} == {"bot@example.org"}
    assert {name for request in witness.requests for name, _ in request.headers}.isdisjoint({"cookie", "referer", "authorization"})
    assert {request.header("accept-encoding") for request in witness.requests} == {witness.requests[0].header("accept-encoding")}
    assert {"gzip", "br", "zstd"} <= {name.strip() for name in witness.requests[0].header("accept-encoding").split(",")}


def test_a_host_outside_the_scope_is_never_asked_for_anything(witness: Witness) -> None:
    """P54: not even for its robots.txt."""
    assert witness.of("off.test") == []


@pytest.mark.parametrize(("host", "asked_s"), [("throttled.test", 1.0), ("busy.test", 1.0), ("dated.test", 1.0)])
def test_retry_after_makes_the_whole_host_wait_and_slows_it_afterwards(witness: Witness, host: str, asked_s: float) -> None:
    """P27, P28: with 429 and 503, in seconds and as a date (which has whole seconds, so it may end up to a second early); afterwards the
    host is asked half as often.
    """
    assert witness.paths(host) == ["/robots.txt", "/", "/", "/1", "/2"]
    gaps = witness.gaps(host)
    assert gaps[0] >= SLOW_S - TOLERANCE_S
    assert gaps[1] >= asked_s - TOLERANCE_S
    assert min(gaps[2:]) >= 2 * SLOW_S - TOLERANCE_S


def test_a_refusal_is_taken_at_its_word(witness: Witness) -> None:
    """P48: a URL that answers 402, 403 or 451 is requested once only."""
    asked = witness.paths("seed.test")
    assert [asked.count(path) for path in ("/pay", "/no", "/law")] == [1, 1, 1]


def test_a_redirect_obeys_the_robots_txt_of_its_target(witness: Witness) -> None:
    """P32, P57: the target waits in the queue of its own host, whose robots.txt forbids it."""
    assert "/away" in witness.paths("seed.test")
    assert witness.paths("robots.test") == ["/robots.txt", "/"]


def test_an_origin_whose_robots_txt_fails_holds_up_no_other_of_its_queue(tmp_path: Path) -> None:
    """P13, P26: www and the bare name share one clock, not their rules. The bare name's robots.txt fails, so nothing of it is fetched until
    it answers; the www host is crawled.
    """

    def answer(request: ReceivedRequest) -> bytes:
        if request.path == "/robots.txt":
            return text("", "503 Service Unavailable" if request.host == "a.test" else "404 Not Found")
        return page(links("/1", "/2", f"http://a.test:{server.port}/3"))

    with Witness(answer) as server:
        sections: dict[str, Any] = {
            "identity": {"agent": AGENT, "contact": CONTACT},
            "limits": {"min_free_disk": 0, "max_wait": 10},
            "politeness": {"min_delay": 0.05, "delay_factor": 0, "backoff_initial": 0.2},
            "fetch": {"allow_addresses": ["127.0.0.0/8"], "allow_ports": [server.port]},
            "dns": {"static": {".test": "127.0.0.1"}},
            "sitemaps": "off",
        }
        seeds = [server.url("a.test"), server.url("www.a.test")]
        with crawl(tmp_path / "store", write_config(tmp_path, sections, seeds)) as life:
            assert life.end() == 0, life.said
    assert server.paths("a.test") == ["/robots.txt"]
    assert server.paths("www.a.test") == ["/robots.txt", "/", "/1", "/2"]
