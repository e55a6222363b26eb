"""A static proxy and a bind address, by both clients, through a real proxy on loopback."""

from __future__ import annotations

import ssl
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from edge import fetching, url
from hostile import always, response, serve
from little_proxy import LittleProxy

from thresher.crawler.core.model import Cause, Failed, Fetched
from thresher.crawler.core.outage import Outage
from thresher.crawler.core.politeness import RETRIES
from thresher.crawler.fetch.address_guard import AddressGuard, BlockedAddress
from thresher.crawler.fetch.credentials import NO_CREDENTIALS
from thresher.crawler.fetch.proxy import Proxy, ProxyNames, ProxySockets, addr_info

pytestmark = pytest.mark.usefixtures("each_client")
NAMES = {"a.test": "127.0.0.1", "b.test": "127.0.0.1"}


@asynccontextmanager
async def proxied(proxy: str, **settings: Any) -> Any:
    """Open a fetcher behind a proxy, with a guard that allows no private address."""
    guard = AddressGuard([])
    async with fetching(guard=guard, resolver=ProxyNames({}, guard), proxy=proxy, **settings) as fetcher:
        yield fetcher


@pytest.fixture
def authority(tmp_path: Path) -> tuple[ssl.SSLContext, str]:
    ca = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ca.issue_cert("a.test").configure_cert(context)
    ca.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    return context, str(tmp_path / "ca.pem")


@pytest.mark.parametrize("kind", ["http", "socks5"])
async def test_plain_pages_come_through_the_proxy_and_no_name_is_looked_up_here(kind: str) -> None:
    async with serve(always(response(b"<p>hello"))) as site, LittleProxy(NAMES, kind=kind) as proxy, proxied(proxy.url) as fetcher:
        outcome = await fetcher.fetch(url(site.url("/a?b")))
    assert isinstance(outcome, Fetched), outcome
    assert outcome.body == b"<p>hello"
    assert outcome.head.address == ""  # the proxy's address says nothing about the host
    assert proxy.asked == ([f"GET {site.url('/a?b')}"] if kind == "http" else [f"SOCKS a.test:{site.port}"])
    assert site.requests[0].startswith(b"GET /a?b HTTP/1.1\r\nHost: a.test")


@pytest.mark.parametrize("kind", ["http", "socks5"])
async def test_https_goes_through_a_tunnel_and_the_certificate_is_the_host_s(kind: str, authority: tuple[ssl.SSLContext, str]) -> None:
    tls, ca_file = authority
    async with (
        serve(always(response(b"secret")), tls=tls) as site,
        LittleProxy(NAMES, kind=kind) as proxy,
        proxied(proxy.url, ca_file=ca_file) as fetcher,
    ):
        first = await fetcher.fetch(url(site.url("/1", scheme="https")))
        second = await fetcher.fetch(url(site.url("/2", scheme="https")))
        other = await fetcher.fetch(url(site.url("/", host="b.test", scheme="https")))
    assert isinstance(first, Fetched), first
    assert isinstance(second, Fetched), second
    assert isinstance(other, Failed)
    assert other.cause is Cause.TLS_CERT
    word = "CONNECT" if kind == "http" else "SOCKS"
    assert proxy.asked == [f"{word} a.test:{site.port}", f"{word} b.test:{site.port}"]  # one tunnel serves both pages


@pytest.mark.parametrize("kind", ["http", "socks5"])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_is_down_is_no_host_s_fault(kind: str, scheme: str) -> None:
    async with LittleProxy(NAMES, kind=kind) as proxy:
        where = proxy.url
    async with proxied(where) as fetcher:
        outcome = await fetcher.fetch(url(f"{scheme}://a.test/"))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.PROXY, outcome
    assert not RETRIES[outcome.cause].counts_against_host
    assert not RETRIES[outcome.cause].counts_as_try


@pytest.mark.parametrize("kind", ["http", "socks5"])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_the_proxy_s_password_comes_from_the_file_and_a_wrong_one_is_our_fault(kind: str, scheme: str, tmp_path: Path) -> None:
    async def hangs_up(_: Any) -> None:
        """End the connection."""

    script = hangs_up if scheme == "https" else always(response(b"x"))
    async with serve(script) as site, LittleProxy(NAMES, kind=kind, login="me:s3cret") as proxy:
        page = url(site.url(scheme=scheme))
        for password, is_right in (("s3cret", True), ("wrong", False)):
            file = tmp_path / password
            file.write_text(f"http://127.0.0.1:{proxy.port} basic me:{password}\n")
            file.chmod(0o600)
            async with proxied(proxy.url, credentials=str(file)) as fetcher:
                outcome = await fetcher.fetch(page)
            if not is_right:
                assert isinstance(outcome, Failed)
                assert outcome.cause is Cause.PROXY, outcome
                assert "wrong\n" not in outcome.detail
            elif scheme == "http":
                assert isinstance(outcome, Fetched), outcome
            else:
                assert isinstance(outcome, Failed)
                assert outcome.cause is not Cause.PROXY, outcome  # the tunnel was opened
                assert site.n_connections == 1
    assert all(b"Proxy-Authorization" not in request for request in site.requests)


@pytest.mark.parametrize(
    ("kind", "scheme", "cause"),
    [
        ("http", "https", Cause.PROXY_REFUSED),
        ("socks5", "http", Cause.PROXY_REFUSED),
    ],
)
async def test_what_the_proxy_forbids_is_final_for_the_url_and_no_host_s_fault(kind: str, scheme: str, cause: Cause) -> None:
    async with LittleProxy(NAMES, kind=kind, forbids=frozenset({"a.test"})) as proxy, proxied(proxy.url) as fetcher:
        outcome = await fetcher.fetch(url(f"{scheme}://a.test/"))
    assert isinstance(outcome, Failed)
    assert outcome.cause is cause, outcome
    assert not RETRIES[cause].counts_against_host
    assert not RETRIES[cause].waits


@pytest.mark.parametrize(("kind", "cause"), [("http", Cause.CONN_REFUSED), ("socks5", Cause.CONN_TIMEOUT)])
async def test_a_host_that_the_proxy_cannot_reach_is_the_host_s_fault(kind: str, cause: Cause) -> None:
    async with LittleProxy({}, kind=kind) as proxy, proxied(proxy.url) as fetcher:
        outcome = await fetcher.fetch(url("https://gone.test/"))
    assert isinstance(outcome, Failed)
    assert outcome.cause is cause
    assert RETRIES[cause].counts_against_host


PRIVATE = ["10.0.0.1", "127.0.0.1", "[::1]", "169.254.169.254", "localhost", "x.localhost", "[::ffff:10.0.0.1]", "2130706433"]


@pytest.mark.parametrize("host", PRIVATE)
async def test_addresses_that_stand_in_a_url_are_judged_with_a_proxy_too(host: str) -> None:
    """S1: the guard still promises this: the proxy gets no request for them."""
    async with LittleProxy(NAMES) as proxy, proxied(proxy.url) as fetcher:
        for scheme in ("http", "https"):
            outcome = await fetcher.fetch(url(f"{scheme}://{host}/"))
            assert isinstance(outcome, Failed)
            assert outcome.cause is Cause.BLOCKED_ADDRESS, outcome
    assert proxy.asked == []


async def test_no_socket_is_opened_to_anything_but_the_proxy() -> None:
    """S1, P37: names in pages go to the proxy; even a site on an address that the guard would allow is not reached without it."""
    async with serve(always(response(b"x"))) as site, LittleProxy({}) as proxy:
        guard = AddressGuard(["127.0.0.0/8"])
        async with fetching(guard=guard, resolver=ProxyNames({}, guard), proxy=proxy.url) as fetcher:
            outcome = await fetcher.fetch(url(site.url()))
    assert isinstance(outcome, Failed)
    assert site.n_connections == 0
    assert len(proxy.asked) == 1


async def test_the_guard_opens_sockets_to_the_proxy_s_address_and_port_alone() -> None:
    proxy = Proxy("http://127.0.0.1:3128", NO_CREDENTIALS)
    await proxy.addresses()
    sockets = ProxySockets(proxy)
    sockets.open_socket(addr_info("127.0.0.1", 3128)).close()
    for address, port in (("127.0.0.1", 80), ("127.0.0.2", 3128), ("93.184.216.34", 443), ("::1", 3128)):
        with pytest.raises(BlockedAddress):
            sockets.open_socket(addr_info(address, port))


GARBAGE = [
    b"HTTP/1.1 2000 X\r\n\r\n",
    b"SSH-2.0-x\r\n\r\n",
    b"\0" * 40_000,
    b"",
    b"HTTP/1.1 200 OK\r\n\r\n\x15\x03\x01extra",
    b"HTTP/1.1 407 X\r\n\r\n",
]


@pytest.mark.parametrize("said", GARBAGE)
async def test_a_proxy_that_speaks_no_sense_is_our_fault(said: bytes) -> None:
    async def script(talk: Any) -> None:
        await talk.request()
        await talk.send(said)

    async with serve(script) as site, proxied(f"http://127.0.0.1:{site.port}") as fetcher:
        outcome = await fetcher.fetch(url("https://a.test/"))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.PROXY, outcome


async def test_connections_leave_from_the_bind_address() -> None:
    """P37: one address, with and without a proxy."""
    async with serve(always(response(b"x"))) as site, LittleProxy(NAMES) as proxy:
        async with fetching(bind=["127.0.0.7"]) as fetcher:
            outcome = await fetcher.fetch(url(site.url(host="127.0.0.1")))
            assert isinstance(outcome, Fetched), outcome
        async with proxied(proxy.url, bind=["127.0.0.8"]) as fetcher:
            assert isinstance(await fetcher.fetch(url(site.url())), Fetched)
    assert site.peers[0] == "127.0.0.7"
    assert proxy.peers == ["127.0.0.8"]


async def test_an_address_of_a_family_that_is_not_bound_has_no_route() -> None:
    guard = AddressGuard(["::1/128"])
    async with fetching(guard=guard, bind=["127.0.0.7"]) as fetcher:
        outcome = await fetcher.fetch(url("http://[::1]:9/"))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.CONN_TIMEOUT
    assert "fetch.bind names no address" in outcome.detail


def test_three_failures_of_the_proxy_in_a_row_pause_the_crawl_and_one_answer_heals_it() -> None:
    outage, page = Outage(), url("http://a.test/")
    failed = Failed(page, Cause.PROXY, "down")
    for i in range(3):
        assert not outage.is_down
        outage.note(bytes((i,)), failed, 10.0, answered_before=False)
    assert outage.is_down
    assert outage.what == "proxy"
    outage.note(b"x", Failed(page, Cause.HTTP_5XX, "", head=object()), 20.0, answered_before=False)  # type: ignore[arg-type]  # any head will do
    assert not outage.is_down
