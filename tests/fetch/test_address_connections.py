"""At most `politeness.address_connections` connections are open at an address, with idle ones: the server counts them.

Mutation for each: a client that keeps idle connections without a place for them (`AddressConnections._take` returns True).
"""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from counting import CountingServer
from edge import CLIENTS, fetching, url
from harness import AGENT, CONTACT, crawl, findings, write_config
from hostile import Talk, response, serve, until
from long import shortened

from thresher.config.settings import DnsSettings
from thresher.crawler.cluster.address_file import create
from thresher.crawler.cluster.shared_addresses import SharedAddresses, strike
from thresher.crawler.core.model import Fetched, Outcome
from thresher.crawler.fetch.address_guard import AddressGuard
from thresher.crawler.fetch.dns import LookupFailed, Resolver
from thresher.crawler.fetch.fetcher import Fetcher
from thresher.crawler.fetch.lean_connection import LeanConnection

HOSTS = [f"h{n}.test" for n in range(12)]


def answer(host: str, path: str) -> bytes:
    return response(f"<title>{host}{path}</title>".encode())


async def take(fetcher: Fetcher, server: CountingServer, hosts: Sequence[str], path: str = "/") -> list[Outcome]:
    """Request a page of each host, all at once."""
    return list(await asyncio.gather(*(fetcher.fetch(url(f"http://{host}:{server.port}{path}")) for host in hosts)))


@pytest.mark.parametrize("client", CLIENTS)
async def test_idle_connections_count_and_the_longest_idle_is_closed_first(client: str) -> None:
    with CountingServer(answer) as server:
        async with fetching(client=client, address_connections=3) as fetcher:
            outcomes = [outcome for i in range(0, 12, 2) for outcome in await take(fetcher, server, HOSTS[i : i + 2])]
            assert server.most_open == 3, "as many are kept as may be"
            again = await take(fetcher, server, HOSTS[10:], "/again")
    assert all(isinstance(outcome, Fetched) for outcome in (*outcomes, *again))
    assert server.most_open == 3
    assert server.n_accepted == 12, "the last two hosts' connections were kept"


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_request_waits_for_a_place(client: str) -> None:
    """More requests at once than places, as when a name is reached at another address than the reserved one."""
    with CountingServer(answer) as server:
        async with fetching(client=client, address_connections=2) as fetcher:
            outcomes = await take(fetcher, server, HOSTS)
    assert all(isinstance(outcome, Fetched) for outcome in outcomes)
    assert server.most_open == 2


async def test_a_connection_that_has_ended_is_gone_without_the_garbage_collector() -> None:
    """Mutation: a connection that keeps its parser, which knows it. (aiohttp keeps its own for 15 s.)"""
    ends = asyncio.Event()

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.send(response(b"x"))
        await ends.wait()

    async with serve(script) as site, fetching(client="lean") as fetcher:
        gc.disable()
        try:
            assert isinstance(await fetcher.fetch(url(site.url())), Fetched)
            (connection,) = [weakref.ref(one) for one in fetcher._connections._open]
            ends.set()
            await until(lambda: connection() is None)
        finally:
            gc.enable()


async def test_a_connection_that_is_idle_keeps_nothing_of_its_last_response() -> None:
    """A crawl keeps thousands of connections for the next request to their hosts."""

    async def script(talk: Talk) -> None:
        for _ in range(2):
            await talk.request()
            await talk.send(response(b"x"))

    async with serve(script) as site, fetching(client="lean") as fetcher:
        for _ in range(2):
            outcome = await fetcher.fetch(url(site.url()))
            assert isinstance(outcome, Fetched)
            assert outcome.head.headers
            (connection,) = fetcher._connections._open
            assert isinstance(connection, LeanConnection)
            assert (connection.raw_headers, connection._parser, connection._exchange) == ((), None, None)


class _Two(Resolver):
    """Knows two addresses of every name; nothing listens at the first."""

    async def resolve(self, hostname: str) -> tuple[str, ...] | LookupFailed:
        return ("127.0.0.3", "127.0.0.1")


@pytest.mark.parametrize("client", CLIENTS)
async def test_an_address_that_a_name_has_beside_counts_too(client: str) -> None:
    """Requests reserve the first address and connect to the second, which never has more connections than it may."""
    guard = AddressGuard(["127.0.0.0/8"])
    with CountingServer(answer) as server:
        async with fetching(client=client, address_connections=2, guard=guard, resolver=_Two(DnsSettings(), guard=guard)) as fetcher:
            for host in HOSTS:
                assert isinstance((await take(fetcher, server, [host]))[0], Fetched)
    assert server.most_open == 2


class _Beside(Resolver):
    """Knows a second address of every name."""

    async def resolve(self, hostname: str) -> tuple[str, ...] | LookupFailed:
        return ("127.0.0.1", "127.0.0.3")


@pytest.mark.parametrize("client", CLIENTS)
async def test_an_idle_connection_goes_before_another_address_is_asked(client: str) -> None:
    """Mutation: `place` takes the first address with a free place, which is not the reserved one."""
    guard = AddressGuard(["127.0.0.0/8"])
    with CountingServer(answer) as server, CountingServer(answer, "127.0.0.3", server.port) as beside:
        async with fetching(client=client, address_connections=2, guard=guard, resolver=_Beside(DnsSettings(), guard=guard)) as fetcher:
            for host in HOSTS:
                assert isinstance((await take(fetcher, server, [host]))[0], Fetched)
    assert (server.most_open, server.n_accepted, beside.n_accepted) == (2, 12, 0)


@asynccontextmanager
async def _two_agents(tmp_path: Path, client: str, *, at_most: int) -> AsyncIterator[tuple[Fetcher, Fetcher]]:
    path = tmp_path / "channels" / "addresses"
    create(path)
    one, other = (SharedAddresses(path, me, connections=at_most, gap_s=0.0) for me in (0, 1))
    async with (
        fetching(client=client, address_connections=at_most, elsewhere=one) as first,
        fetching(client=client, address_connections=at_most, elsewhere=other) as second,
    ):
        yield first, second
    await asyncio.sleep(0)  # the last transports are closed
    one.close()
    other.close()


@pytest.mark.parametrize("client", CLIENTS)
async def test_another_agents_idle_connection_is_closed_for_a_request(tmp_path: Path, client: str) -> None:
    with CountingServer(answer) as server:
        async with _two_agents(tmp_path, client, at_most=2) as (first, second):
            outcomes = await take(first, server, HOSTS[:2])
            outcomes += await take(second, server, HOSTS[2:4])
            outcomes += await take(first, server, HOSTS[4:6])
    assert all(isinstance(outcome, Fetched) for outcome in outcomes)
    assert (server.most_open, server.n_accepted) == (2, 6)


def test_connections_of_an_agent_that_died_are_struck(tmp_path: Path) -> None:
    path = tmp_path / "channels" / "addresses"
    create(path)
    one, other = (SharedAddresses(path, me, connections=2, gap_s=0.0) for me in (0, 1))
    assert one.connect("a")
    assert one.connect("a")
    assert not other.connect("a")
    assert one.has_calls()
    assert one.is_called_for("a")
    assert not one.has_calls()
    assert not one.is_called_for("b")
    strike(path, 0)
    assert other.connect("a")
    other.disconnect("a")
    one.close()
    other.close()


def _config(tmp_path: Path, port: int, n_agents: int, client: str) -> Path:
    sections: dict[str, Any] = {
        "agents": n_agents,
        "identity": {"agent": AGENT, "contact": CONTACT},
        "scope": {"type": "any"},
        "limits": {"min_free_disk": 0, "max_wait": 5},
        "politeness": {"min_delay": 0, "delay_factor": 0, "address_delay": 0, "address_connections": 3},
        "filters": {"soft_error": {"mode": "off"}},
        "sitemaps": "off",
        "fetch": {"allow_addresses": ["127.0.0.0/8"], "allow_ports": [port], "client": client},
        "dns": {"static": {".test": "127.0.0.1"}},
    }
    return write_config(tmp_path, sections, [f"http://{host}:{port}/" for host in HOSTS])


@pytest.mark.parametrize(("n_agents", "client"), shortened([(3, "lean"), (1, "aiohttp"), (1, "lean")], 1))
def test_a_crawl_of_many_names_at_one_address_has_three_connections_open(tmp_path: Path, n_agents: int, client: str) -> None:
    """P12: whole crawls, and several agents together."""

    def site(host: str, path: str) -> bytes:
        if path == "/robots.txt":
            return response(status="404 Not Found")
        following = HOSTS[(HOSTS.index(host) + 5) % len(HOSTS)]
        links = f'<a href="/a">a</a><a href="/b">b</a><a href="http://{following}:{server.port}/c">c</a>'
        return response(f"<title>{host}{path}</title>{links}".encode())

    with CountingServer(site) as server, crawl(tmp_path / "store", _config(tmp_path, server.port, n_agents, client)) as life:
        assert life.end() == 0, life.said
    pages = [path for path in server.paths if not path.endswith("/robots.txt")]
    assert sorted(pages) == sorted(f"{host}/{page}" for host in HOSTS for page in ("", "a", "b", "c"))
    assert server.most_open == 3
    assert findings(tmp_path / "store").n_queued == 0
