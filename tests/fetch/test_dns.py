"""The resolver against a name server with scripted answers."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hostile import CNAME, A, DnsAnswer, NameServer, Question, Zone, hosts, name_server

from thresher.config.settings import DnsSettings
from thresher.crawler.core.model import Cause
from thresher.crawler.fetch.address_guard import AddressGuard
from thresher.crawler.fetch.dns import FAILURE_TTL_S, LookupFailed, Resolver


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@contextlib.asynccontextmanager
async def resolving(zone: Zone, *, clock: Callable[[], float] | None = None, **settings: Any) -> AsyncIterator[tuple[Resolver, NameServer]]:
    """Open a resolver that asks a name server which answers by `zone`."""
    async with name_server(zone) as server:
        patient = {"timeout": 300.0, **settings}  # a busy machine may be slow to answer itself
        resolver = Resolver(
            DnsSettings(servers=[server.address], **patient), guard=AddressGuard(["127.0.0.0/8", "10.0.0.0/8"]), clock=clock
        )
        try:
            yield resolver, server
        finally:
            await resolver.close()


def failing(**answer: Any) -> Zone:
    return lambda _: DnsAnswer(**answer)


# -- answers ----------------------------------------------------------------------------------------------------------------------------


async def test_an_answer_is_remembered_for_its_ttl() -> None:
    time = Time()
    async with resolving(hosts("127.0.0.1", ttl=100), clock=time) as (resolver, server):
        assert resolver.address("a.example", time.now) is None
        assert await resolver.resolve("a.example") == ("127.0.0.1",)
        n_asked = len(server.questions)
        time.now += 99
        assert resolver.address("a.example", time.now) == "127.0.0.1"
        assert await resolver.resolve("a.example") == ("127.0.0.1",)
        assert len(server.questions) == n_asked
        time.now += 2
        assert resolver.address("a.example", time.now) is None


@pytest.mark.parametrize(("ttl", "kept_s"), [(0, 60.0), (1, 60.0), (300, 300.0), (86_400, 3600.0), (2**31 - 1, 3600.0)])
async def test_lifetimes_are_kept_within_bounds(ttl: int, kept_s: float) -> None:
    """P60: at least a minute, at most an hour."""
    time = Time()
    async with resolving(hosts("127.0.0.1", ttl=ttl), clock=time) as (resolver, _):
        await resolver.resolve("a.example")
        assert resolver.address("a.example", time.now + kept_s - 1) is not None
        assert resolver.address("a.example", time.now + kept_s + 1) is None


async def test_only_four_of_3000_addresses_are_kept() -> None:
    """F5: the datagram has as many as fit; the resolver's own memory is bounded."""
    many = [f"10.{i // 250}.{i % 250}.1" for i in range(2000)]
    async with resolving(hosts(*many)) as (resolver, _):
        answer = await resolver.resolve("many.example")
    assert isinstance(answer, tuple)
    assert len(answer) == 4


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        (["2a00::1", "2a00::2", "2a00::3", "9.9.9.1", "9.9.9.2", "9.9.9.3"], ("9.9.9.1", "9.9.9.2", "2a00::1", "2a00::2")),
        (["2a00::1", "2a00::2", "2a00::3", "9.9.9.1"], ("9.9.9.1", "2a00::1", "2a00::2", "2a00::3")),
        (["2a00::1", "9.9.9.1", "9.9.9.2", "9.9.9.3", "9.9.9.4"], ("9.9.9.1", "9.9.9.2", "9.9.9.3", "2a00::1")),
        (["2a00::1"], ("2a00::1",)),
        (["9.9.9.1", "9.9.9.1"], ("9.9.9.1",)),
    ],
)
async def test_two_of_each_kind_are_kept_ipv4_first(found: list[str], kept: tuple[str, ...]) -> None:
    async with resolving(hosts(*found)) as (resolver, _):
        assert await resolver.resolve("both.example") == kept


async def test_a_chain_of_30_names_resolves_and_a_loop_ends() -> None:
    """F4"""

    def zone(question: Question) -> DnsAnswer:
        if question.name == "loop.example":
            return DnsAnswer([(CNAME, "pool.example"), (CNAME, "loop.example")])
        chain = [(CNAME, f"n{i}.example") for i in range(30)]
        return DnsAnswer([*chain, (A, "127.0.0.1")] if question.kind == A else chain)

    async with resolving(zone) as (resolver, _):
        assert await resolver.resolve("chain.example") == ("127.0.0.1",)
        loop = await resolver.resolve("loop.example")
    assert isinstance(loop, LookupFailed)
    assert loop.cause is Cause.DNS_NODATA


# -- failures ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "cause", "kept_s"),
    [
        (failing(rcode=3), Cause.DNS_NXDOMAIN, 600.0),
        (failing(), Cause.DNS_NODATA, 600.0),
        (failing(rcode=2), Cause.DNS_FAIL, FAILURE_TTL_S),
        (failing(rcode=5), Cause.DNS_FAIL, FAILURE_TTL_S),
        (failing(raw=b"\x81\x80garbage"), Cause.DNS_FAIL, FAILURE_TTL_S),
        (failing(is_truncated=True), Cause.DNS_FAIL, FAILURE_TTL_S),
    ],
    ids=["NXDOMAIN", "no data", "SERVFAIL", "REFUSED", "garbage", "truncated, no TCP"],
)
async def test_a_failure_has_its_cause_and_its_lifetime(zone: Zone, cause: Cause, kept_s: float) -> None:
    """F1, F2, F7: asked at most four times, then remembered."""
    time = Time()
    async with resolving(zone, clock=time, timeout=5.0) as (resolver, server):
        failure = await resolver.resolve("bad.example")
        n_asked = len(server.questions)
        again = await resolver.resolve("bad.example")
        assert isinstance(failure, LookupFailed)
        assert isinstance(again, LookupFailed)
        assert (failure.cause, failure.ttl_s, again.cause) == (cause, kept_s, cause)
        assert resolver.address("bad.example", time.now) is None
        assert len(server.questions) == n_asked
        assert n_asked <= 4 or cause not in (Cause.DNS_NXDOMAIN, Cause.DNS_NODATA)
        time.now += kept_s + 1
        await resolver.resolve("bad.example")
        assert len(server.questions) > n_asked or cause in (Cause.DNS_NXDOMAIN, Cause.DNS_NODATA)  # c-ares may remember those itself


@pytest.mark.parametrize(
    "zone",
    [
        lambda _: None,
        lambda question: DnsAnswer([(question.kind, "127.0.0.9")] if question.kind == A else [], id_shift=1),
        lambda question: DnsAnswer([(A, "127.0.0.9")], question="other.example"),
        lambda question: DnsAnswer([(A, "127.0.0.9")] if question.kind == A else [], delay_s=1.0),
    ],
    ids=["silence", "wrong id", "wrong question", "too late"],
)
async def test_no_answer_is_a_timeout_and_poisons_nothing(zone: Zone) -> None:
    """F3, F7"""
    async with resolving(zone, timeout=0.1) as (resolver, _):
        failure = await resolver.resolve("slow.example")
        assert isinstance(failure, LookupFailed)
        assert failure.cause in (Cause.DNS_TIMEOUT, Cause.DNS_FAIL)
        assert failure.ttl_s <= FAILURE_TTL_S
        assert resolver.address("other.example", 0.0) is None


async def test_a_silent_server_of_one_name_holds_nobody_else_up() -> None:
    """F3"""

    def zone(question: Question) -> DnsAnswer | None:
        return None if question.name == "dead.example" else hosts("127.0.0.1")(question)

    async with resolving(zone, timeout=60.0) as (resolver, _):
        dead = asyncio.create_task(resolver.resolve("dead.example"))
        answers = await asyncio.gather(*(resolver.resolve(f"n{i}.example") for i in range(50)))
        assert answers == [("127.0.0.1",)] * 50
        assert not dead.done()
        dead.cancel()


async def test_a_name_with_private_addresses_only_is_blocked() -> None:
    """F6, S5"""
    async with resolving(hosts("192.168.1.1", "169.254.169.254", "fd00::1")) as (resolver, _):
        failure = await resolver.resolve("inside.example")
        assert isinstance(failure, LookupFailed)
        assert failure.cause is Cause.BLOCKED_ADDRESS
        assert resolver.address("inside.example", 0.0) is None


async def test_private_addresses_among_public_ones_are_left_out() -> None:
    async with resolving(hosts("192.168.1.1", "9.9.9.9", "fe80::1")) as (resolver, _):
        assert await resolver.resolve("mixed.example") == ("9.9.9.9",)


# -- many at once -----------------------------------------------------------------------------------------------------------------------


async def test_a_name_is_asked_for_once_however_many_want_it() -> None:
    async with resolving(lambda question: DnsAnswer([(A, "127.0.0.1")] if question.kind == A else [], delay_s=0.05)) as (resolver, server):
        answers = await asyncio.gather(*(resolver.resolve("a.example") for _ in range(100)))
    assert answers == [("127.0.0.1",)] * 100
    assert len(server.questions) == 2


async def test_a_thousand_names_at_once_are_asked_for_64_at_a_time() -> None:
    """F9: no false timeout."""

    def zone(question: Question) -> DnsAnswer:
        return DnsAnswer([(A, "127.0.0.1")] if question.kind == A else [], delay_s=0.005)

    async with resolving(zone, timeout=60.0) as (resolver, server):  # also on a machine with other work
        answers = await asyncio.gather(*(resolver.resolve(f"n{i}.example") for i in range(1000)))
    assert answers == [("127.0.0.1",)] * 1000
    assert server.max_open <= 64


async def test_a_name_may_take_its_whole_time_where_others_are_answered_at_once() -> None:
    """F3, F9: Seen to fail: c-ares gave up after five times the server's usual time, here three quarters of a second. Mutation: two
    tries.
    """

    def zone(question: Question) -> DnsAnswer:
        return DnsAnswer([(A, "127.0.0.1")] if question.kind == A else [], delay_s=1.0 if question.name == "slow.example" else 0.0)

    async with resolving(zone) as (resolver, _):
        for i in range(5):
            assert await resolver.resolve(f"n{i}.example") == ("127.0.0.1",)
        assert await resolver.resolve("slow.example") == ("127.0.0.1",)


async def test_the_one_who_asks_may_go_away() -> None:
    async with resolving(lambda question: DnsAnswer([(A, "127.0.0.1")] if question.kind == A else [], delay_s=0.05)) as (resolver, _):
        first = asyncio.create_task(resolver.resolve("a.example"))
        others = [asyncio.create_task(resolver.resolve("a.example")) for _ in range(5)]
        await asyncio.sleep(0)
        first.cancel()
        others[0].cancel()
        assert await asyncio.gather(*others[1:]) == [("127.0.0.1",)] * 4


async def test_cancelled_lookups_leave_the_resolver_whole() -> None:
    """F10"""
    rng = random.Random(1)
    async with resolving(lambda question: DnsAnswer([(A, "127.0.0.1")] if question.kind == A else [], delay_s=0.01)) as (resolver, _):
        tasks = [asyncio.create_task(resolver.resolve(f"n{i % 300}.example")) for i in range(1000)]
        await asyncio.sleep(0.01)
        for task in rng.sample(tasks, 900):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert await resolver.resolve("later.example") == ("127.0.0.1",)


# -- what needs no question -------------------------------------------------------------------------------------------------------------


def make(static: dict[str, str], *allow: str) -> Resolver:
    return Resolver(DnsSettings(static=static), guard=AddressGuard(allow))


def test_literals_are_answered_at_once() -> None:
    resolver = make({}, "127.0.0.0/8")
    assert resolver.address("9.9.9.9", 0.0) == "9.9.9.9"
    assert resolver.address("2a00::1", 0.0) == "2a00::1"
    assert resolver.address("127.0.0.1", 0.0) == "127.0.0.1"


async def test_a_refused_literal_is_blocked() -> None:
    resolver = make({})
    assert resolver.address("10.0.0.1", 0.0) is None
    failure = await resolver.resolve("10.0.0.1")
    assert isinstance(failure, LookupFailed)
    assert (failure.cause, failure.detail) == (Cause.BLOCKED_ADDRESS, "10.0.0.1: private")


def test_the_static_map_knows_names_and_suffixes() -> None:
    resolver = make({"a.demo": "127.0.0.5", ".demo": "127.0.0.6", ".deep.demo": "127.0.0.7", "V6.demo.": "::1"}, "127.0.0.0/8", "::1")
    names = ["a.demo", "b.demo", "x.a.demo", "x.deep.demo", "deep.demo", "v6.demo"]
    assert [resolver.address(name, 0.0) for name in names] == ["127.0.0.5", "127.0.0.6", "127.0.0.6", "127.0.0.7", "127.0.0.6", "::1"]
    assert resolver.address("demo", 0.0) is None
    assert resolver.address("a.demo.example", 0.0) is None


def test_the_static_map_is_under_the_guard_too() -> None:
    assert make({".demo": "127.0.0.1"}).address("a.demo", 0.0) is None


def test_a_suffix_spreads_its_names_over_addresses() -> None:
    resolver = make({".demo": "127.9.0.1#", ".six": "fd00::1#"}, "127.0.0.0/8", "fd00::/8")
    spread = {resolver.address(f"n{i}.demo", 0.0) for i in range(200)}
    assert len(spread) > 190
    assert all(address is not None and address.startswith("127.9.") for address in spread)
    assert resolver.address("n1.demo", 0.0) == resolver.address("n1.demo", 5000.0)
    assert str(resolver.address("a.six", 0.0)).startswith("fd00::")
