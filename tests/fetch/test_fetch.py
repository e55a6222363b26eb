"""What the fetcher sends, and its outcomes for ordinary answers."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl

import aiohttp
import pytest
import trustme
from aiohttp.client_reqrep import ConnectionKey
from edge import USER_AGENT, as_sent, bare, fetching, url
from hostile import DnsAnswer, Question, Talk, always, name_server, response, serve, until

from thresher.config.settings import DnsSettings
from thresher.crawler.core.model import Cause, Failed, Fetched
from thresher.crawler.fetch.address_guard import AddressGuard
from thresher.crawler.fetch.aiohttp_causes import blame_aiohttp
from thresher.crawler.fetch.dns import Resolver
from thresher.crawler.fetch.exchange import Exchange

pytestmark = pytest.mark.usefixtures("each_client")

# -- the request ------------------------------------------------------------------------------------------------------------------------


async def test_a_page_is_fetched_with_its_head_and_its_size() -> None:
    async with serve(always(response(b"<p>hello", "X-Odd:  two  words "))) as site, fetching() as fetcher:
        outcome = await fetcher.fetch(url(site.url("/a")))
    assert isinstance(outcome, Fetched)
    assert outcome.body == b"<p>hello"
    assert outcome.head.status == 200
    assert outcome.head.headers[-1] == (b"X-Odd", b"two  words")
    assert outcome.head.address == "127.0.0.1"
    assert outcome.wire_bytes == len(response(b"<p>hello", "X-Odd:  two  words "))
    assert 0 <= outcome.head.elapsed_s <= outcome.elapsed_s
    assert not outcome.flags


async def test_the_request_names_the_crawler_and_nothing_else() -> None:
    """S13: no Referer. S12: no credentials. P34, P35, P41."""
    async with serve(always(response(b"x"))) as site, fetching(from_header="ops@contact.test", headers={"X-Note": "hi"}) as fetcher:
        await fetcher.fetch(url(site.url("/a?b")))
    lines = site.requests[0].decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:] if line)
    assert lines[0] == "GET /a?b HTTP/1.1"
    assert set(headers) == {"Host", "User-Agent", "Accept", "Accept-Encoding", "From", "X-Note"}
    assert headers["User-Agent"] == USER_AGENT
    assert headers["From"] == "ops@contact.test"
    assert headers["Accept-Encoding"] == "gzip, deflate, br, zstd"


async def test_configured_headers_cannot_replace_the_identity() -> None:
    async with serve(always(response(b"x"))) as site, fetching(headers={"user-agent": "Mozilla/5.0"}) as fetcher:
        await fetcher.fetch(url(site.url()))
    assert b"Mozilla" not in site.requests[0]


async def test_one_connection_serves_many_requests() -> None:
    async with serve(always(response(b"x"))) as site, fetching() as fetcher:
        for i in range(5):
            outcome = await fetcher.fetch(url(site.url(f"/{i}")))
            assert isinstance(outcome, Fetched)
    assert site.n_connections == 1


TARGETS = [
    "/?", "/a?", "/a//b", "/%2e%2e/x", "/a/./b/../c", "/%7Ea?q=%20+&a=b&&=;", "/a?x?y=/z?", "/|^`{}", "//x", "/a;b=c,d'!*()@:$",
    "/%zz%4", "/caf%C3%A9?caf%E9", "/?%", "/a%2Fb%5C", "/\\a", "/[x]", "/a?b=\"<>'",
]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
async def test_the_text_of_the_url_is_what_is_sent(target: str) -> None:
    """S41, S51: scope and robots judge the very bytes that the server sees."""
    async with serve(always(response(b"x"))) as site, fetching() as fetcher:
        page = url(site.url(target))
        assert isinstance(await fetcher.fetch(page), Fetched)
    assert page.host + as_sent(site.requests[0]) == page.text


INJECTIONS = [
    "/\r\nX-Evil: 1", "/\nX-Evil: 1", "/\rX-Evil: 1", "/a b", "/\x00", "/ HTTP/1.1\r\nHost: evil.test\r\n\r\nGET /", "/é", "/\t",
    "/\x7f", "/\x85", "/\u2028x", "/?q=\r\n\r\nGET /evil HTTP/1.1",
]  # fmt: skip


@pytest.mark.parametrize("target", INJECTIONS)
async def test_a_url_cannot_write_a_second_line(target: str) -> None:
    """S16: neither a canonical URL nor any other."""
    async with serve(always(response(b"x"))) as site, fetching() as fetcher:
        await fetcher.fetch(url(site.url(target)))
        outcome = await fetcher.fetch(bare(site.url(target)))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.INTERNAL_ERROR
    assert len(site.requests) == 1
    first, *lines = site.requests[0].decode().split("\r\n")
    assert first.startswith("GET /")
    assert first.endswith(" HTTP/1.1")
    assert first.count(" ") == 2
    assert not any(line.startswith(("GET", "X-Evil", "Host: evil")) for line in lines)


async def test_host_and_server_name_are_those_of_the_url() -> None:
    """S17"""
    authority = trustme.CA()
    names: list[str] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("a.test", "b.test").configure_cert(context)
    context.sni_callback = lambda _sock, name, _context: names.append(name)
    with authority.cert_pem.tempfile() as ca_file:
        async with serve(always(response(b"x")), tls=context) as site, fetching(ca_file=ca_file) as fetcher:
            for host in ("a.test", "b.test"):
                outcome = await fetcher.fetch(url(site.url("/", host, "https")))
                assert isinstance(outcome, Fetched)
    assert names == ["a.test", "b.test"]
    assert [request.split(b"\r\n")[1] for request in site.requests] == [f"Host: {host}:{site.port}".encode() for host in names]


async def test_credentials_in_a_url_are_not_sent() -> None:
    """S11"""
    async with serve(always(response(b"x"))) as site, fetching() as fetcher:
        await fetcher.fetch(url(site.url().replace("//", "//user:secret@")))
    assert b"Authorization" not in site.requests[0]
    assert b"secret" not in site.requests[0]


async def test_a_proxy_of_the_environment_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """S7"""
    async with serve(always(response(b"proxy"))) as proxy, serve(always(response(b"direct"))) as site:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url("", "127.0.0.1"))
        async with fetching() as fetcher:
            outcome = await fetcher.fetch(url(site.url()))
    assert isinstance(outcome, Fetched)
    assert outcome.body == b"direct"
    assert proxy.n_connections == 0


async def test_cookies_are_never_sent_back() -> None:
    """F49, S14: 10,000 cookies in 100 responses leave nothing."""
    flood = [f"Set-Cookie: n{i}=v; Domain={'com' if i % 2 else 'test'}; Path=/" for i in range(100)]
    async with serve(always(response(b"x", *flood))) as site, fetching() as fetcher:
        for _ in range(100):
            assert isinstance(await fetcher.fetch(url(site.url())), Fetched)
    assert not any(b"Cookie" in request for request in site.requests)


# -- where it connects ------------------------------------------------------------------------------------------------------------------

NOTATIONS = [
    "0x7f.1", "2130706433", "0177.0.0.1", "127.1", "①②⑦.0.0.1", "127。0。0。1", "127.0.0.1.", "%31%32%37.0.0.1", "[::1]",
    "[::ffff:127.0.0.1]", "[::127.0.0.1]", "localhost.test", "0x7f000001", "0",
]  # fmt: skip


@pytest.mark.parametrize("host", NOTATIONS)
async def test_no_notation_of_loopback_passes_the_guard(host: str) -> None:
    """S4, S1: 0 connects."""
    async with serve(always(response(b"secret"))) as site, fetching(guard=AddressGuard([])) as fetcher:
        outcome = await fetcher.fetch(url(site.url("/", host)))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.BLOCKED_ADDRESS
    assert site.n_connections == 0


async def test_a_name_that_changes_its_address_does_not_reach_what_is_private() -> None:
    """F6, S5: TTL 0, the second answer is an address that the guard refuses."""

    def zone(question: Question) -> DnsAnswer:
        return DnsAnswer([(1, "127.0.0.1" if question.n == 0 else "127.0.0.9")] if question.kind == 1 else [], ttl=0)

    guard = AddressGuard(["127.0.0.1"])
    async with (
        name_server(zone) as dns,
        serve(always(response(b"x", "Connection: close"))) as site,
        fetching(guard=guard, dns=DnsSettings(servers=[dns.address], min_ttl=0)) as fetcher,
    ):
        first = await fetcher.fetch(url(site.url("/", "rebind.example")))
        second = await fetcher.fetch(url(site.url("/", "rebind.example")))
    assert isinstance(first, Fetched)
    assert isinstance(second, Failed)
    assert second.cause is Cause.BLOCKED_ADDRESS
    assert len(site.requests) == 1


async def test_the_socket_is_checked_whatever_the_resolver_says() -> None:
    """S5: the address checked is the address connected to."""
    lax = Resolver(DnsSettings(static={"a.test": "127.0.0.1"}), guard=AddressGuard(["127.0.0.0/8"]))
    async with serve(always(response(b"secret"))) as site, fetching(guard=AddressGuard([]), resolver=lax) as fetcher:
        outcome = await fetcher.fetch(url(site.url()))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.BLOCKED_ADDRESS
    assert site.n_connections == 0


class BrokenGuard(AddressGuard):
    """Fails every connect with an error of the operating system."""

    def __init__(self, number: int) -> None:
        super().__init__(["127.0.0.0/8"])
        self._number = number

    def open_socket(self, addr_info: object) -> socket.socket:
        raise OSError(self._number, "as the test says")


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (errno.ENETUNREACH, Cause.UNREACHABLE),
        (errno.ENETDOWN, Cause.UNREACHABLE),
        (errno.EHOSTUNREACH, Cause.CONN_TIMEOUT),
        (errno.EMFILE, Cause.NO_DESCRIPTORS),
        (errno.ENFILE, Cause.NO_DESCRIPTORS),
    ],
)
async def test_what_the_system_refuses_is_not_held_against_the_host(number: int, cause: Cause) -> None:
    """F13, F91: the cause is one that politeness.RETRIES does not count against the host."""
    async with fetching(guard=BrokenGuard(number)) as fetcher:
        outcome = await fetcher.fetch(url("http://a.test/"))
    assert isinstance(outcome, Failed)
    assert outcome.cause is cause


V4, V6 = "Connect call failed ('9.9.9.9', 80)", "Connect call failed ('2620:fe::fe', 80, 0, 0)"


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (OSError(f"Multiple exceptions: [Errno 111] {V4}, [Errno 101] {V6}"), Cause.CONN_REFUSED),
        (OSError(f"Multiple exceptions: [Errno 110] {V4}, [Errno 101] {V6}"), Cause.CONN_TIMEOUT),
        (OSError(101, f"Multiple exceptions: [Errno 101] {V4}, [Errno 101] {V6}"), Cause.UNREACHABLE),
        (OSError(101, f"Multiple exceptions: [Errno 101] {V6}, [Errno 101] {V6}"), Cause.CONN_TIMEOUT),
        (OSError(101, V4), Cause.UNREACHABLE),
        (OSError(101, V6), Cause.CONN_TIMEOUT),
        (OSError(104, V4), Cause.CONN_RESET),
        (OSError("something else"), Cause.CONN_REFUSED),
    ],
)  # fmt: skip
def test_of_several_addresses_the_one_that_got_furthest_decides(error: OSError, cause: Cause) -> None:
    """F13: a host that has only IPv6, on a network without IPv6, is no outage: otherwise it would be tried for ever."""
    key = ConnectionKey("a.test", 80, False, True, None, None, None)
    assert blame_aiohttp(aiohttp.ClientConnectorError(key, error), Exchange(0))[0] is cause


async def test_a_name_without_address_says_so() -> None:
    async with name_server(lambda _: DnsAnswer(rcode=3)) as dns, fetching(dns=DnsSettings(servers=[dns.address])) as fetcher:
        outcome = await fetcher.fetch(url("http://nowhere.example/"))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.DNS_NXDOMAIN


async def test_only_four_of_many_refusing_addresses_are_tried() -> None:
    """F5: at most 10 connects, 4+3+2+1."""
    sockets: list[object] = []

    class CountingGuard(AddressGuard):
        def open_socket(self, addr_info: tuple[int, int, int, str, tuple[str, int]]) -> socket.socket:  # type: ignore[override]  # addresses of IPv4 alone
            sockets.append(addr_info)
            return super().open_socket(addr_info)

    records = [(1, f"127.0.{i // 250}.{i % 250 + 1}") for i in range(30)]
    zone = lambda question: DnsAnswer(records if question.kind == 1 else [])  # noqa: E731 - it is the zone's one line
    with socket.socket() as held:  # no other program can listen there meanwhile
        held.bind(("0.0.0.0", 0))
        async with name_server(zone) as dns:
            names = DnsSettings(servers=[dns.address], timeout=300.0)
            async with fetching(guard=CountingGuard(["127.0.0.0/8"]), dns=names) as fetcher:
                outcome = await fetcher.fetch(url(f"http://many.example:{held.getsockname()[1]}/"))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.CONN_REFUSED
    assert len(sockets) <= 10


# -- connections ------------------------------------------------------------------------------------------------------------------------


async def test_a_connection_closed_while_idle_is_replaced_without_a_failure() -> None:
    """RFC 9112 9.3.1: the second request goes out once more, on a new connection."""
    closing = asyncio.Event()

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.send(response(b"x"))
        if site.n_connections == 1:
            await talk.request()  # the request is read, and the connection closed without an answer
            closing.set()
        else:
            await talk.gone()

    async with serve(script) as site, fetching() as fetcher:
        for _ in range(2):
            assert isinstance(await fetcher.fetch(url(site.url())), Fetched)
    assert closing.is_set()
    assert site.n_connections == 2


async def test_a_request_is_cancelled_from_outside_and_leaves_nothing_open() -> None:
    async with serve(lambda talk: talk.gone()) as site, fetching() as fetcher:
        task = asyncio.create_task(fetcher.fetch(url(site.url())))
        await until(lambda: site.n_connections == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: fetcher._connections.n_open == 0)


@pytest.mark.parametrize("n_rounds", range(1, 12))
async def test_connecting_is_cancelled_at_whatever_step_and_leaves_nothing_open(n_rounds: int) -> None:
    """n_rounds: rounds of the loop before the request is cancelled."""
    async with serve(lambda talk: talk.gone()) as site, fetching() as fetcher:
        task = asyncio.create_task(fetcher.fetch(url(site.url())))
        for _ in range(n_rounds):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: fetcher._connections.n_open == 0)


async def test_past_the_limit_of_descriptors_no_connection_is_kept() -> None:
    async with serve(always(response(b"x"))) as site, fetching() as fetcher:
        fetcher._connections.at_most = 0
        for _ in range(3):
            assert isinstance(await fetcher.fetch(url(site.url())), Fetched)
    assert site.n_connections == 3


@pytest.mark.parametrize("is_limit_first", [True, False])
async def test_a_cancellation_from_outside_wins_over_a_limit_that_breaks_at_the_same_time(*, is_limit_first: bool) -> None:
    """This happens if the loop is blocked until both are due."""
    async with serve(lambda talk: talk.gone()) as site, fetching() as fetcher:
        task = asyncio.create_task(fetcher.fetch(url(site.url())))
        await until(lambda: site.n_connections == 1)
        (watch,) = fetcher._watches._running
        for end in (watch._expire, task.cancel) if is_limit_first else (task.cancel, watch._expire):
            end()
        with pytest.raises(asyncio.CancelledError):
            await task


def test_the_guards_hold_on_the_standard_loop_too() -> None:
    """F19, F38, F46, and an ordinary page: commands that fetch without an agent run on it."""
    start = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"

    async def main() -> None:
        async def late(talk: Talk) -> None:
            await talk.request()
            await talk.send(response(b"asked"))
            await talk.send(response(b"POISONED"))
            await talk.gone()

        async def breaks(talk: Talk) -> None:
            await talk.request()
            await talk.send(start)
            await talk.send(b"first half")

        async with fetching(first_byte_timeout=0.2) as fetcher, serve(lambda talk: talk.gone()) as site:
            silent = await fetcher.fetch(url(site.url()))
            assert isinstance(silent, Failed)
            assert silent.cause is Cause.TIMEOUT_FIRST_BYTE
        async with fetching() as fetcher:
            async with serve(always(response(b"x"))) as site:
                assert isinstance(await fetcher.fetch(url(site.url())), Fetched)
            async with serve(breaks) as site:
                broken = await fetcher.fetch(url(site.url()))
                assert isinstance(broken, Failed)
                assert (broken.cause, broken.body) == (Cause.INCOMPLETE, b"first half")
            async with serve(late) as site:
                for _ in range(20):
                    outcome = await fetcher.fetch(url(site.url()))
                    assert isinstance(outcome, Fetched)
                    assert outcome.body == b"asked"
                    await until(lambda: fetcher._connections.n_open == 0)

    asyncio.run(main())
