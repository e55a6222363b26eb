"""ACCEPTANCE.md against real sockets: everything that a server does ends by a rule of ours, with a cause that names it."""

from __future__ import annotations

import datetime
import socket
import ssl
import sys
import zlib
from collections.abc import Iterator
from typing import Any

import brotli
import pytest
import trustme
from edge import failure, fetch, fetching, page, url
from hostile import HEAD, Talk, always, drips, make_peak_memory, response, serve, speaks, stalls

from thresher.crawler.core.model import Cause, Failed, Flag

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

pytestmark = pytest.mark.usefixtures("each_client")

MIB = 1 << 20


# -- connecting -------------------------------------------------------------------------------------------------------------------------


async def test_a_closed_port_refuses() -> None:
    """F11"""
    with socket.socket() as held:  # no other program can listen there meanwhile
        held.bind(("127.0.0.1", 0))
        async with fetching() as fetcher:
            outcome = await fetcher.fetch(url(f"http://a.test:{held.getsockname()[1]}/"))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.CONN_REFUSED


async def test_a_full_backlog_times_out() -> None:
    """F12"""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        port = server.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]
        for sock in waiting:
            sock.setblocking(False)
            sock.connect_ex(("127.0.0.1", port))
        async with fetching(connect_timeout=0.2) as fetcher:
            outcome = await fetcher.fetch(url(f"http://a.test:{port}/"))
        for sock in waiting:
            sock.close()
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.detail) == (Cause.CONN_TIMEOUT, "not connected in 0.2 s")


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def ca_file(authority: trustme.CA) -> Iterator[str]:
    with authority.cert_pem.tempfile() as path:
        yield path


def server_tls(authority: trustme.CA, name: str, **options: Any) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, **options).configure_cert(context)
    return context


async def test_a_certificate_that_fits_is_accepted(authority: trustme.CA, ca_file: str) -> None:
    outcome = await page(always(response(b"x")), tls=server_tls(authority, "a.test"), ca_file=ca_file)
    assert outcome.body == b"x"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("expired", "certificate has expired"), ("self-signed", "unable to get local issuer"), ("wrong host", "Hostname mismatch")],
)
async def test_a_certificate_that_does_not_fit_ends_before_any_request(authority: trustme.CA, ca_file: str, kind: str, reason: str) -> None:
    """F15: 0 bytes of HTTP are sent."""
    past = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    match kind:
        case "expired":
            context = server_tls(authority, "a.test", not_after=past)
        case "wrong host":
            context = server_tls(authority, "b.test")
        case _:
            context = server_tls(trustme.CA(), "a.test")
    outcome, site = await fetch(always(response(b"x")), tls=context, ca_file=ca_file)
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.TLS_CERT
    assert reason in outcome.detail
    assert site.requests == []


@pytest.mark.parametrize(
    "hello",
    [
        b"\x15\x03\x01\x00\x02\x02\x46", b"\x15\x03\x01\x00\x02\x02\x28", b"\x16\x03\x02\x00\x04\x02\x00\x00\x00",
        b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff" * 64,
    ],
    ids=["TLS 1.1 only", "handshake failure", "bad hello", "plain HTTP", "garbage"],
)  # fmt: skip
async def test_a_server_without_our_tls_is_a_protocol_fault(hello: bytes) -> None:
    """F16"""

    async def script(talk: Talk) -> None:
        await talk.send(hello)
        await talk.gone()

    async with serve(script) as site, fetching(connect_timeout=300.0) as fetcher:
        outcome = await fetcher.fetch(url(site.url(scheme="https")))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.TLS_PROTO


async def test_a_server_that_says_nothing_in_the_handshake_times_out() -> None:
    """F17"""
    async with serve(lambda talk: talk.gone()) as site, fetching(connect_timeout=0.2) as fetcher:
        outcome = await fetcher.fetch(url(site.url(scheme="https")))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.CONN_TIMEOUT


async def test_a_dripped_handshake_times_out() -> None:
    """F18"""
    async with serve(lambda talk: talk.drip(b"\x16\x03\x03\x40\x00" + bytes(500))) as site, fetching(connect_timeout=0.2) as fetcher:
        outcome = await fetcher.fetch(url(site.url(scheme="https")))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.CONN_TIMEOUT


# -- time -------------------------------------------------------------------------------------------------------------------------------


async def test_a_silent_server_times_out_at_the_first_byte() -> None:
    """F19"""
    outcome = await failure(stalls(), first_byte_timeout=0.2)
    assert outcome.cause is Cause.TIMEOUT_FIRST_BYTE


async def test_a_dripped_body_is_too_slow() -> None:
    """F20: nothing of it is kept."""
    outcome = await failure(drips(HEAD + b"\r\n", b"x" * 500), rate_grace_s=0.2)
    assert (outcome.cause, outcome.body) == (Cause.TOO_SLOW, b"")
    assert "bytes per second" in outcome.detail


async def test_a_rate_above_the_limit_is_let_through() -> None:
    """2,000 bytes at once, then a slow drip: so a machine that stands still for a while stays above the limit, too."""
    start = HEAD + b"Content-Length: 2030\r\n\r\n" + b"x" * 2000
    outcome = await page(drips(start, b"x" * 30), rate_grace_s=0.1, min_rate=1)
    assert len(outcome.body) == 2030


@pytest.mark.parametrize(
    "drops", [b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 500, b"HTTP/1.1 103 Early\r\n\r\n" * 20], ids=["headers", "interim"]
)
async def test_dripped_headers_time_out(drops: bytes) -> None:
    """F21. If the machine stands still before the first byte, the cause is another one, and the test tries again with more time."""
    for patience_s in (0.5, 3.0, 9.0):
        outcome = await failure(drips(b"", drops), first_byte_timeout=patience_s)
        if outcome.cause is not Cause.TIMEOUT_FIRST_BYTE:
            break
    assert outcome.cause is Cause.TIMEOUT_HEADERS


async def test_a_body_that_stalls_is_too_slow() -> None:
    outcome = await failure(stalls(HEAD + b"Content-Length: 1099511627776\r\n\r\nfirst"), read_timeout=0.2)
    assert (outcome.cause, outcome.detail) == (Cause.TOO_SLOW, "no byte for 0.2 s")


async def test_the_total_time_bounds_what_every_phase_allows() -> None:
    outcome = await failure(drips(HEAD + b"\r\n", b"x" * 500), total_timeout=0.3, min_rate=0)
    assert outcome.cause is Cause.TIMEOUT_TOTAL


async def test_a_caller_may_be_less_patient() -> None:
    async with serve(stalls()) as site, fetching() as fetcher:
        outcome = await fetcher.fetch(url(site.url()), total_timeout=0.1)
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.TIMEOUT_TOTAL


async def test_a_redirect_whose_body_stalls_is_a_redirect_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """F54"""
    monkeypatch.setattr("thresher.crawler.fetch.fetcher.GLANCE_S", 0.1)
    outcome, _ = await fetch(stalls(b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 10\r\n\r\nmov"))
    assert getattr(outcome, "target", "") == "/x"


# -- too much ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coding", ["chunked", "until close"])
async def test_an_endless_body_is_cut_at_the_cap(coding: str) -> None:
    """F22: with the cap of the defaults."""
    script = speaks(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", endless=b"400\r\n" + b"x" * 1024 + b"\r\n")
    if coding == "until close":
        script = speaks(HEAD + b"\r\n", endless=b"x" * 1024)
    grown = make_peak_memory()
    outcome = await page(script)
    assert (len(outcome.body), set(outcome.flags)) == (10 * MIB, {Flag.TRUNCATED_SIZE})
    assert outcome.wire_bytes <= 10 * MIB + (256 << 10) + 10 * MIB // 100
    assert grown() < 30 * MIB


@pytest.mark.parametrize(
    ("start", "endless"),
    [
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2;ext=", b"e" * 1000),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["1-byte chunks", "chunk extensions", "103", "100"],
)
async def test_bytes_that_are_no_content_have_a_budget(start: bytes, endless: bytes) -> None:
    """F23, F24, F26: the cap plus 2 MiB on the wire, 20 interim responses."""
    outcome = await failure(speaks(start, endless=endless), max_body=MIB)
    assert outcome.cause is Cause.PROTOCOL_WIRE_BUDGET
    assert outcome.wire_bytes <= 3 * MIB + (256 << 10)


async def test_twenty_interim_responses_are_allowed() -> None:
    """F26"""
    outcome = await page(always(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 20 + response(b"x")))
    assert (outcome.body, outcome.head.status) == (b"x", 200)
    assert (await failure(always(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 21 + response(b"x")))).cause is Cause.PROTOCOL_WIRE_BUDGET


async def test_a_flood_of_trailers_is_a_fault_of_the_headers() -> None:
    """F25"""
    outcome = await failure(speaks(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", endless=b"X-Trailer: t\r\n"))
    assert outcome.cause is Cause.PROTOCOL_HEADERS


@pytest.mark.parametrize(
    ("headers", "endless"),
    [
        (b"X-Long: " + b"x" * 40_000 + b"\r\n\r\n", b""), (b"X-A: b\r\n" * 300 + b"\r\n", b""), (b"", b"X-A: b\r\n"),
        (b"X-Long: ", b"x"), (b"", b"x"),
    ],
    ids=["32 KiB", "256 lines", "endless lines", "endless value", "endless name"],
)  # fmt: skip
async def test_too_many_or_too_long_headers_are_refused(headers: bytes, endless: bytes) -> None:
    """F47"""
    outcome = await failure(speaks(HEAD + headers, endless=endless))
    assert outcome.cause is Cause.PROTOCOL_HEADERS
    assert outcome.wire_bytes <= MIB


async def test_long_and_many_headers_of_real_sites_are_read() -> None:
    headers = [f"Content-Security-Policy: {'x' * 30_000}", *(f"X-{i}: v" for i in range(200))]
    outcome = await page(always(response(b"x", *headers)))
    assert len(outcome.head.headers) == 203


def bomb(encoding: str) -> tuple[bytes, bytes]:
    """Return the start of a stream and what repeats it for ever, or a whole one of 256 MiB: no test waits for 10 GB."""
    mib = bytes(MIB)
    if encoding == "gzip":
        deflate = zlib.compressobj(wbits=31)
        return deflate.compress(mib) + deflate.flush(zlib.Z_FULL_FLUSH), deflate.compress(mib) + deflate.flush(zlib.Z_FULL_FLUSH)
    squeeze: Any = brotli.Compressor(quality=1) if encoding == "br" else zstd.ZstdCompressor()
    feed = squeeze.process if encoding == "br" else squeeze.compress
    whole = b"".join(feed(mib) for _ in range(256))
    return whole + (squeeze.finish() if encoding == "br" else squeeze.flush()), b""


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
async def test_a_decompression_bomb_is_dropped(encoding: str) -> None:
    """F27, F28, F29, S19: nothing of it is kept, memory stays flat."""
    start, endless = bomb(encoding)
    grown = make_peak_memory()
    outcome = await failure(speaks(HEAD + f"Content-Encoding: {encoding}\r\n\r\n".encode() + start, endless=endless))
    assert (outcome.cause, outcome.body) == (Cause.BOMB, b"")
    assert grown() < 30 * MIB
