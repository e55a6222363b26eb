"""Rows of ACCEPTANCE.md in whole crawls: names that do not resolve, hosts that do not answer, an interrupted network."""

from __future__ import annotations

import asyncio
import errno
import gzip
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import trustme
from faulty import crawl, faulty_web, hang_up, page, reset, silence
from hostile import AAAA, A, DnsAnswer, NameServer, Question, Script, Talk, hosts, name_server, response, until

from thresher.crawler.agent.agent import Agent
from thresher.crawler.core.outage import Outage
from thresher.crawler.fetch.address_guard import AddressGuard, AddrInfo

NXDOMAIN, SERVFAIL, REFUSED = 3, 2, 5
HALF = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.socket() as held:  # no other program can listen there meanwhile
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def asks(server: NameServer, timeout_s: float = 300.0) -> dict[str, Any]:
    """Return the configuration that resolves names at a name server, and remembers no failure for longer than a retry waits."""
    return {"static": {}, "servers": [server.address], "timeout": timeout_s, "negative_ttl": 0.01}


class Stopwatches:
    """A DNS zone that notes when each name was asked for."""

    def __init__(self, say: Callable[[Question], DnsAnswer | None]) -> None:
        self._say = say
        self.times: dict[str, list[float]] = {}

    def __call__(self, question: Question) -> DnsAnswer | None:
        self.times.setdefault(question.name, []).append(time.monotonic())
        return self._say(question)

    def rounds(self, name: str, least_s: float) -> list[float]:
        """Return the waits between questions that are longer than `least_s`: these lie between two look-ups of a name, not within one."""
        times = self.times[name]
        return [b - a for a, b in pairwise(times) if b - a >= least_s]


async def test_a_name_that_does_not_exist_is_asked_for_twice_and_given_up(tmp_path: Path) -> None:
    """F1: two checks an hour apart (here 0.36 s), four questions, no connect, and both of its URLs end."""
    zone = Stopwatches(lambda question: DnsAnswer(rcode=NXDOMAIN))
    async with faulty_web() as web, name_server(zone) as names:
        found = await crawl(tmp_path, web, "gone.test/", "gone.test/2", dns=asks(names))
    assert {known.cause for known in found.urls.values()} == {"dns_nxdomain"}
    assert found["gone.test/"].tries == 2
    asked = zone.times["gone.test"]
    assert len(asked) <= 4
    assert asked[-1] - asked[0] >= 0.36
    assert web.log == []


@pytest.mark.parametrize("rcode", [SERVFAIL, REFUSED])
async def test_a_name_server_that_fails_is_asked_again_three_times(tmp_path: Path, rcode: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """F2: attempts = 4, spaced by the schedule of 30 s, 5 min and 1 h (here 3 ms, 30 ms and 0.36 s)."""
    monkeypatch.setattr("thresher.crawler.fetch.dns.FAILURE_TTL_S", 0.0)
    zone = Stopwatches(lambda question: DnsAnswer(rcode=rcode))
    async with faulty_web() as web, name_server(zone) as names:
        found = await crawl(tmp_path, web, "ill.test/", dns=asks(names))
    assert found["ill.test/"].cause == "dns_fail"
    assert found["ill.test/"].tries == 4
    waits = sorted(zone.rounds("ill.test", 0.003))
    assert len(waits) >= 3
    assert waits[-1] >= 0.36
    assert waits[-2] >= 0.03


async def test_a_name_that_takes_long_holds_up_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F3: for one host the name server answers only after all pages of a second host are fetched; for a third host it never answers."""
    monkeypatch.setattr("thresher.crawler.fetch.dns.FAILURE_TTL_S", 0.0)
    n_pages = 5

    def zone(question: Question) -> DnsAnswer | None:
        if question.name == "silent.test" or (question.name == "slow.test" and len(web.pages("quick.test")) < n_pages + 1):
            return None
        return hosts("127.0.0.1")(question)

    async with faulty_web() as web, name_server(zone) as names:
        web.say("quick.test/", page(*(f"/{i}" for i in range(n_pages))))
        seeds, limits, retry = ("slow.test/", "silent.test/", "quick.test/"), {"max_wait": 5.0}, {"scale": 5e-4}
        found = await crawl(tmp_path, web, *seeds, dns=asks(names, 1.0), limits=limits, retry=retry)
    assert len(web.pages("quick.test")) == n_pages + 1
    assert web.pages("slow.test") == ["/"]
    assert web.paths("silent.test") == []
    assert (found["silent.test/"].cause, found["silent.test/"].tries) == ("dns_timeout", 4)


async def test_a_host_that_refuses_is_tried_four_times(tmp_path: Path, closed_port: int) -> None:
    """F11: four attempts. With robots.txt obeyed no page is requested at all, since a robots.txt that cannot be fetched forbids everything
    (F74).
    """
    async with faulty_web() as web:
        found = await crawl(tmp_path, web, f"http://a.test:{closed_port}/", robots={"obey": False})
        assert found[f"http://a.test:{closed_port}/"].cause == "conn_refused"
        assert found[f"http://a.test:{closed_port}/"].tries == 4
        found = await crawl(tmp_path / "polite", web, f"http://a.test:{closed_port}/")
        assert found[f"http://a.test:{closed_port}/"].state == "queued"
        assert found.robots[f"http://a.test:{closed_port}"].kind == "unreachable"
        assert "conn_refused" in found.robots[f"http://a.test:{closed_port}"].detail


async def test_a_full_backlog_is_tried_four_times(tmp_path: Path) -> None:
    """F12"""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        port = server.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]
        for sock in waiting:
            sock.setblocking(False)
            sock.connect_ex(("127.0.0.1", port))
        async with faulty_web() as web:
            found = await crawl(tmp_path, web, f"http://a.test:{port}/", robots={"obey": False}, fetch={"connect_timeout": 0.1})
        for sock in waiting:
            sock.close()
    known = found[f"http://a.test:{port}/"]
    assert (known.cause, known.tries) == ("conn_timeout", 4)


class Cable:
    """Stands for this machine's network cable: while it is pulled, no socket can be opened."""

    def __init__(self) -> None:
        self.is_pulled = False
        self.n_refused = 0
        self._open_socket = AddressGuard.open_socket

    def open_socket(self, guard: AddressGuard, addr_info: AddrInfo) -> socket.socket:
        """Take the place of the address guard's method; refuse while the cable is pulled."""
        if self.is_pulled:
            self.n_refused += 1
            raise OSError(errno.ENETUNREACH, "Network is unreachable")
        return self._open_socket(guard, addr_info)


# URLs that fail before the outage is noticed must have tries left
_SLOWLY: dict[str, Any] = {"politeness": {"min_delay": 0.3}, "retry": {"scale": 0.01}, "limits": {"max_wait": 60.0}}


async def test_an_outage_of_our_own_network_costs_no_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F13: when no host answers any more the whole crawl pauses. No URL is given up, no try counts, and the crawl goes on when the network
    works again.
    """
    cable = Cable()
    monkeypatch.setattr(AddressGuard, "open_socket", lambda guard, addr_info: cable.open_socket(guard, addr_info))
    monkeypatch.setattr("thresher.crawler.core.outage.FIRST_TRIAL_S", 0.05)
    monkeypatch.setattr("thresher.crawler.core.outage.TRIAL_MAX_S", 0.2)
    trials: list[float] = []
    try_again = Outage.try_again

    def note_trial(outage: Outage, now: float) -> None:
        trials.append(now)
        try_again(outage, now)

    monkeypatch.setattr(Outage, "try_again", note_trial)
    names = [f"h{i}.test" for i in range(60)]
    refused: list[int] = []

    async def pull_the_plug(agent: Agent) -> None:
        def is_at_rest() -> bool:
            return not agent._frontier.snapshot(0.0).in_flight

        await until(lambda: agent._frontier.snapshot(0.0).network_down_since is not None and is_at_rest())
        trials.clear()
        before = cable.n_refused
        await until(lambda: cable.n_refused >= before + 3)
        refused.append(cable.n_refused - before)
        cable.is_pulled = False

    async with faulty_web() as web:
        answer = _cut_off(page("/2", "/3"), cable, len(names))
        for name in names:
            web.say(f"{name}/", answer)
        slowly = {**_SLOWLY, "fetch": {"concurrency": len(names)}}
        found = await crawl(tmp_path, web, *(f"{name}/" for name in names), meanwhile=pull_the_plug, **slowly)
    assert refused[0] <= len(trials)  # no other host is requested
    assert all(after - before >= 0.05 for before, after in pairwise(trials))  # one trial at a time, not one for each of sixty hosts
    assert found.causes() == {}
    assert all(found[f"{name}/{path}"].page is not None for name in names for path in (2, 3))
    assert found.ending.code == 0


def _cut_off(answer: bytes, cable: Cable, n_hosts: int) -> Script:
    """Return a script that answers once every host was requested, and pulls the cable then, when each host still has pages to be fetched.

    Each connection is closed after its answer, so that the next request needs a new one.
    """
    asked, all_asked = set[asyncio.Task[None] | None](), asyncio.Event()

    async def script(talk: Talk) -> None:
        asked.add(asyncio.current_task())
        if len(asked) == n_hosts:
            cable.is_pulled = True
            all_asked.set()
        await all_asked.wait()
        await talk.send(answer)

    return script


@pytest.mark.parametrize("obeys", [True, False])
async def test_a_certificate_that_does_not_fit_is_never_talked_to(tmp_path: Path, obeys: bool) -> None:
    """F15: no byte of HTTP is sent, there is no second try, and never one without verification. If robots.txt is obeyed, the host counts as
    unreachable (F74).
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("a.test").configure_cert(context)
    async with faulty_web(tls=context) as web:
        found = await crawl(tmp_path, web, "a.test/", robots={"obey": obeys})
        assert web.site.requests == []
        assert web.site.n_connections == 0  # no handshake was ever completed
        if obeys:
            record = found.robots[web.url("a.test")]
            assert (record.kind, record.detail.partition(":")[0]) == ("unreachable", "tls_cert")
            assert found["a.test/"].state == "queued"
        else:
            assert (found["a.test/"].cause, found["a.test/"].tries) == ("tls_cert", 1)
            assert "unable to get local issuer" in found["a.test/"].detail


async def _half_then_close(talk: Talk) -> None:
    await talk.send(HALF + b"Content-Length: 1000\r\n\r\n<p>the first half</p>")


async def _half_a_chunk(talk: Talk) -> None:
    await talk.send(HALF + b"Transfer-Encoding: chunked\r\n\r\nff\r\n<p>the first half</p>")


async def _half_then_reset(talk: Talk) -> None:
    await talk.send(HALF + b"Content-Length: 1000\r\n\r\n<p>the first half</p>")
    await asyncio.sleep(0.05)  # a RST discards what the peer has not read yet
    talk.reset()


TRIES: dict[str, tuple[Script, str, int]] = {
    "silent.test": (silence, "timeout_first_byte", 4),
    "hangup.test": (hang_up, "disconnected", 3),
    "reset.test": (reset, "conn_reset", 4),
    "close.test": (_half_then_close, "incomplete", 3),
    "chunk.test": (_half_a_chunk, "incomplete", 3),
    "rst.test": (_half_then_reset, "incomplete", 3),
}


async def test_a_fault_on_the_wire_has_its_number_of_tries(tmp_path: Path) -> None:
    """F19, F38, F39: each host has another fault; a host without a fault is not disturbed."""
    async with faulty_web() as web:
        for host, (script, _, _) in TRIES.items():
            web.say(f"{host}/", script)
        web.say("well.test/", page("/1"))
        others = (f"{host}/" for host in TRIES if host != "silent.test")
        found = await crawl(tmp_path / "others", web, *others, "well.test/", robots={"obey": False})
        # in a crawl of its own, since a busy machine may be as silent as this host
        silent = await crawl(tmp_path / "silent", web, "silent.test/", robots={"obey": False}, fetch={"first_byte_timeout": 1.0})
    for host, (_, cause, tries) in TRIES.items():
        crawled = silent if host == "silent.test" else found
        known = crawled[f"{host}/"]
        assert (host, known.cause, known.tries) == (host, cause, tries)
        n_slept = crawled.counters.get("cause:slept", 0) if crawled is silent else 0  # this machine stood still: such a request is no try
        assert len(web.seen(host)) == tries + n_slept
    assert found["well.test/1"].cause == ""


async def test_what_came_of_a_broken_body_is_kept_with_its_flag(tmp_path: Path) -> None:
    """F38: after three tries the part that was received is stored, with a flag and with the failure."""
    async with faulty_web() as web:
        web.say("a.test/", _half_then_close)
        found = await crawl(tmp_path, web, "a.test/")
    known = found["a.test/"]
    assert known.page is not None
    assert (known.body, known.flags, known.page.failed_cause) == (b"<p>the first half</p>", {"incomplete"}, "incomplete")
    assert found.n_pages.total() == 1


async def test_one_whole_answer_after_broken_ones_is_the_page(tmp_path: Path) -> None:
    """F38"""
    async with faulty_web() as web:
        web.say("a.test/", _half_then_close, _half_a_chunk, page("/1"))
        found = await crawl(tmp_path, web, "a.test/")
    assert found["a.test/"].flags == set()
    assert found["a.test/"].cause == ""
    assert "a.test/1" in found


async def test_an_endless_body_is_one_request_and_a_page_that_says_so(tmp_path: Path) -> None:
    """F22 in a whole crawl: the page is stored once, with a flag, and its links are followed."""

    async def endless(talk: Talk) -> None:
        await talk.send(HALF + b"\r\n<a href=/1>link</a>")
        await talk.flood(b"words and more words ")

    async with faulty_web() as web:
        web.say("a.test/", endless)
        found = await crawl(tmp_path, web, "a.test/", fetch={"max_body": 100_000})
    assert web.pages("a.test") == ["/", "/1"]
    assert (len(found["a.test/"].body), found["a.test/"].flags) == (100_000, {"truncated_size"})


async def test_half_an_encoded_stream_is_asked_for_twice_and_kept(tmp_path: Path) -> None:
    """F34"""
    whole = b"".join(b"<p>line %d</p>" % i for i in range(2000))
    squeezed = gzip.compress(whole)
    async with faulty_web() as web:
        web.say("a.test/", response(squeezed[: len(squeezed) // 2], "Content-Encoding: gzip"))
        found = await crawl(tmp_path, web, "a.test/")
    known = found["a.test/"]
    assert len(web.pages("a.test")) == 2
    assert known.flags == {"truncated_encoding"}
    assert known.cause == "truncated_encoding"
    assert whole.startswith(known.body)
    assert len(known.body) > 1000


async def test_a_name_without_ipv4_and_one_with_both_are_reached(tmp_path: Path) -> None:
    """F4: a chain of thirty CNAMEs leads to the page; a loop of CNAMEs counts as a name without an address."""

    def zone(question: Question) -> DnsAnswer:
        if question.name == "loop.test":
            return DnsAnswer([(5, "pool.test")])
        if question.name == "pool.test":
            return DnsAnswer([(5, "loop.test")])
        chain = [(5, f"c{i}.test") for i in range(30)]
        return DnsAnswer([*chain, (A, "127.0.0.1")] if question.kind != AAAA else chain)

    async with faulty_web() as web, name_server(zone) as names:
        found = await crawl(tmp_path, web, "long.test/", "loop.test/", dns=asks(names))
    assert web.pages("long.test") == ["/"]
    assert found["loop.test/"].cause in ("dns_nodata", "dns_nxdomain")


async def test_an_answer_without_any_lifetime_serves_the_request_it_was_asked_for(tmp_path: Path) -> None:
    """F6: with `dns.min_ttl` 0 a name is looked up once for each request, and not more often."""
    zone = Stopwatches(lambda question: DnsAnswer([(A, "127.0.0.1")] if question.kind == A else [], ttl=0))
    async with faulty_web() as web, name_server(zone) as names:
        web.say("a.test/", page("/1", "/2"))
        await crawl(tmp_path, web, "a.test/", dns=asks(names) | {"min_ttl": 0.0})
    assert web.pages("a.test") == ["/", "/1", "/2"]
    assert len(zone.times["a.test"]) <= 2 * (len(web.paths("a.test")) + 1)
