"""Which addresses are pinned as one's own site, and that nothing else is reached through them: real servers on loopback.

Loopback is private. Where a test needs a public address it says which loopback address is to count as one.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from itertools import pairwise

import msgspec
import pytest
from hostile import DnsAnswer, Question, Site, Talk, hosts, name_server, response, serve

from thresher.config.load import load
from thresher.config.settings import Settings
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import Cause
from thresher.crawler.core.own_site import OwnSite
from thresher.crawler.fetch.address_guard import AddressGuard, BlockedAddress
from thresher.crawler.fetch.dns import LookupFailed, Resolver
from thresher.crawler.start.pinning import TOKEN_PATH, Pinned, is_public, pin

PUBLIC = "127.0.0.5"
TOKEN = b"# who may crawl here fast\nthresher me@example.org\n"
NOT_HERE = response(b"", status="404 Not Found")


def settings(**static: str) -> Settings:
    names = {name.replace("_", "."): address for name, address in static.items()}
    sets = ["identity.contact=me@example.org", "profile=own-site", "politeness.min_delay=0.05", "politeness.max_delay=0.1"]
    own = load(
        [],
        sets=[
            *sets,
            "fetch.allow_addresses=[127.0.0.0/8]",
            "politeness.delay_factor=0",
            "politeness.address_delay=0",
            "robots.timeout=300",
        ],
    ).settings
    return msgspec.structs.replace(own, dns=msgspec.structs.replace(own.dns, static=names))


def plain(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def paths(site: Site) -> list[str]:
    return [head.split(b" ")[1].decode() for head in site.requests]


async def pinned(
    answers: dict[str, bytes], *, public: Callable[[str], bool] = lambda address: address == PUBLIC
) -> tuple[Pinned, Site, list[tuple[float, float]]]:
    """Pin a site at the public address that answers like this; return when each of its requests came, too."""
    times: list[tuple[float, float]] = []

    async def script(talk: Talk) -> None:
        while head := await talk.request():
            began = time.monotonic()
            times.append((began, time.monotonic()))
            await talk.send(answers.get(head.split(b" ")[1].decode(), NOT_HERE))

    async with serve(script, host=PUBLIC) as site:
        found = await pin(settings(a_test=PUBLIC), [site.url()], public=public)
    return found, site, times


# -- private addresses


async def test_a_name_with_private_addresses_alone_is_pinned_without_a_question() -> None:
    found = await pin(settings(a_test="10.1.2.3"), ["http://a.test:8000/x", "https://a.test/"])
    assert found.addresses == {"a.test:8000": "10.1.2.3", "a.test:443": "10.1.2.3"}
    assert found.notes == []


async def test_literals_are_pinned_as_they_are() -> None:
    found = await pin(settings(), ["http://127.0.0.1:8000/", "http://[::1]:9/"])
    assert found.addresses == {"127.0.0.1:8000": "127.0.0.1", "[::1]:9": "::1"}


async def test_a_bare_seed_is_pinned_for_both_schemes() -> None:
    found = await pin(settings(a_test="10.1.2.3"), ["https://a.test/"], ["https://a.test/"])
    assert set(found.addresses) == {"a.test:443", "a.test:80"}


METADATA = ["169.254.169.254", "fd00:ec2::254", "::ffff:169.254.169.254", "64:ff9b::169.254.169.254", "169.254.170.2", "192.0.0.192"]
RESERVED = ["100.100.100.200", "168.63.129.16", "fe80::1", "169.254.1.1", "224.0.0.1"]


@pytest.mark.parametrize("address", [*METADATA, *RESERVED])
async def test_what_clouds_keep_for_themselves_is_never_ones_own(address: str) -> None:
    """Mutation: empty NEVER_OWN, and each is pinned."""
    found = await pin(settings(a_test=address), ["http://a.test/"])
    assert found.addresses == {}
    assert "not pinned as your own site" in found.notes[0]
    guard = AddressGuard([], OwnSite({"a.test:80": [address]}))  # nor if it came to be pinned all the same
    assert guard.refuses(address, "a.test")
    with pytest.raises(BlockedAddress):
        guard.open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 80)))


async def test_a_name_that_does_not_resolve_is_told() -> None:
    async with name_server(lambda _: DnsAnswer(rcode=3)) as server:
        base = settings()
        own = msgspec.structs.replace(base, dns=msgspec.structs.replace(base.dns, servers=[server.address]))
        found = await pin(own, ["http://a.example/"])
    assert found.addresses == {}
    assert "not pinned as your own site" in found.notes[0]


async def test_what_an_earlier_life_pinned_stays_whatever_the_name_resolves_to_now() -> None:
    base = settings(a_test="10.9.9.9")
    own = msgspec.structs.replace(base, own_site=msgspec.structs.replace(base.own_site, pinned={"a.test:80": "10.1.2.3"}))
    found = await pin(own, ["http://a.test/"])
    assert found.addresses == {"a.test:80": "10.1.2.3"}


# -- rebinding


async def test_a_name_that_is_bound_to_another_inner_address_later_does_not_reach_it() -> None:
    """Mutation: let `has_name` look at the name alone."""
    addresses = iter(["10.0.0.1"])

    def zone(question: Question) -> DnsAnswer | None:
        return hosts(next(addresses, "10.0.0.99"))(question) if question.kind == 1 else DnsAnswer([])

    async with name_server(zone) as server:
        base = settings()
        dns = msgspec.structs.replace(base.dns, servers=[server.address], min_ttl=0.0)
        own = msgspec.structs.replace(base, dns=dns)
        found = await pin(own, ["http://a.example:8000/"])
        assert found.addresses == {"a.example:8000": "10.0.0.1"}
        guard = AddressGuard([], OwnSite({name: value.split() for name, value in found.addresses.items()}))
        resolver = Resolver(dns, guard=guard)
        answer = await resolver.resolve("a.example")
        await resolver.close()
    assert isinstance(answer, LookupFailed)
    assert (answer.cause, answer.detail) == (Cause.BLOCKED_ADDRESS, "10.0.0.99: private")


async def test_another_name_for_a_pinned_address_is_refused_and_so_is_another_port_there() -> None:
    own = OwnSite({"a.test:8000": ["10.0.0.1"]})
    guard = AddressGuard([], own)
    resolver = Resolver(settings(a_test="10.0.0.1", evil_test="10.0.0.1").dns, guard=guard)
    assert await resolver.resolve("a.test") == ("10.0.0.1",)
    assert isinstance(await resolver.resolve("evil.test"), LookupFailed)
    assert isinstance(await resolver.resolve("10.0.0.1"), LookupFailed)
    guard.open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("10.0.0.1", 8000))).close()
    for port in (80, 443, 6379):
        with pytest.raises(BlockedAddress):
            guard.open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("10.0.0.1", port)))


def test_a_pinned_port_is_open_at_the_pinned_address_alone_public_ones_included() -> None:
    """The name comes to mean a public address: its port was nobody's leave to ask there."""
    guard = AddressGuard([], OwnSite({"a.test:8000": ["10.0.0.1"]}), frozenset({80, 443}))
    guard.open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("9.9.9.9", 443))).close()
    guard.open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("10.0.0.1", 8000))).close()
    with pytest.raises(BlockedAddress, match="port 8000 was pinned for another address"):
        guard.open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("9.9.9.9", 8000)))


# -- public addresses


def test_what_is_public_is_what_the_guard_lets_through() -> None:
    assert is_public("9.9.9.9")
    assert is_public("2606:4700:4700::1111")
    assert not any(map(is_public, ("127.0.0.1", "10.0.0.1", "::1", "fd00::1", "169.254.169.254", "192.0.2.1")))


async def test_a_public_site_that_serves_the_token_is_pinned_after_robots_txt_and_at_its_pace() -> None:
    """Mutation: ask for the token without `_rest` in between."""
    found, site, times = await pinned({TOKEN_PATH: plain(TOKEN)})
    assert found.addresses == {f"a.test:{site.port}": PUBLIC}
    assert found.notes == []
    assert paths(site) == ["/robots.txt", TOKEN_PATH]
    assert all(after[0] - before[1] >= 0.05 for before, after in pairwise(times))
    assert b"User-Agent: thresher/" in site.requests[1]
    assert b"(+me@example.org)" in site.requests[1]


@pytest.mark.parametrize(
    ("answers", "says", "asked"),
    [
        ({}, "it has no token file (status 404)", 2),
        ({TOKEN_PATH: plain(b"thresher you@example.org\n")}, "its token file names another crawl", 2),
        ({TOKEN_PATH: plain(b"thresher/0.1 (+me@example.org)\n")}, "its token file names another crawl", 2),  # an echo of our User-Agent
        ({TOKEN_PATH: response(TOKEN)}, "what it serves as token file is none (text/html)", 2),
        ({TOKEN_PATH: plain(b"\n<html><body>\n" + TOKEN + b"</body>")}, "what it serves as token file is none (text/plain)", 2),
        ({TOKEN_PATH: response(b"", "Location: /elsewhere", status="302 Found"), "/elsewhere": plain(TOKEN)}, "redirect to /elsewhere", 2),
        ({TOKEN_PATH: plain(b"x\n" * 9_000 + TOKEN)}, "truncated_size", 2),
        ({"/robots.txt": plain(b"User-agent: *\nDisallow: /.well-known/\n"), TOKEN_PATH: plain(TOKEN)}, "its robots.txt denies", 1),
        ({"/robots.txt": response(b"", status="500 No"), TOKEN_PATH: plain(TOKEN)}, "its robots.txt cannot be read", 1),
        ({"/robots.txt": plain(b"User-agent: *\nCrawl-delay: 100\n")}, "asks for 100 s between requests", 1),
    ],
    ids=["none", "of another", "echo", "html", "undeclared html", "redirect", "long", "denied", "robots unreachable", "crawl delay"],
)
async def test_a_public_site_without_the_token_is_not_and_says_why(answers: dict[str, bytes], says: str, asked: int) -> None:
    found, site, _ = await pinned(answers)
    assert found.addresses == {}
    assert says in found.notes[0]
    assert "The ordinary politeness holds there" in found.notes[0]
    assert f'{TOKEN_PATH} be a file with the line "thresher me@example.org"' in found.notes[0]
    assert len(site.requests) == asked


async def test_a_token_file_may_begin_with_a_byte_order_mark() -> None:
    """As editors write it. Mutation: decode it as plain UTF-8."""
    found, site, _ = await pinned({TOKEN_PATH: plain(b"\xef\xbb\xbf" + TOKEN.splitlines()[1])})
    assert found.addresses == {f"a.test:{site.port}": PUBLIC}


async def test_a_public_site_that_asks_for_rest_stops_the_start() -> None:
    with pytest.raises(UsageError, match="answered 503 and asks for a pause of 3600 s"):
        await pinned({"/robots.txt": response(b"", "Retry-After: 3600", status="503 Busy")})


async def test_private_addresses_beside_a_public_one_are_none_of_the_site_s() -> None:
    async with name_server(hosts(PUBLIC, "127.0.0.9")) as server, serve(_token_everywhere, host=PUBLIC) as site:
        base = settings()
        dns = msgspec.structs.replace(base.dns, servers=[server.address])
        own = msgspec.structs.replace(base, dns=dns, fetch=msgspec.structs.replace(base.fetch, allow_addresses=[f"{PUBLIC}/32"]))
        found = await pin(own, [f"http://a.example:{site.port}/"], public=lambda address: address == PUBLIC)
    assert found.addresses == {f"a.example:{site.port}": PUBLIC}


async def _token_everywhere(talk: Talk) -> None:
    while head := await talk.request():
        await talk.send(plain(TOKEN) if TOKEN_PATH.encode() in head else NOT_HERE)


async def test_the_token_is_fetched_behind_the_ordinary_guard() -> None:
    """A public name whose answer is not let through by the guard is not asked at all."""
    base = settings(a_test=PUBLIC)
    own = msgspec.structs.replace(base, fetch=msgspec.structs.replace(base.fetch, allow_addresses=[]))
    async with serve(_token_everywhere, host=PUBLIC) as site:
        found = await pin(own, [site.url()], public=lambda _: True)
    assert found.addresses == {}
    assert site.n_connections == 0
