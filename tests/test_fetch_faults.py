"""FAULTS.md 5.1 against real sockets: whatever a server does ends by our own rule, in a cause that says what it was."""

from __future__ import annotations

import datetime
import gzip
import socket
import ssl
import sys
import zlib
from collections.abc import Iterator
from typing import Any

import brotli
import pytest
import trustme
from edge import fetching, url
from hostile import Script, Site, Talk, always, chunked, make_peak_memory, once, response, serve, until

from crawler.core.model import Cause, Failed, Fetched, Flag, Outcome

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MIB = 1 << 20
PAGE = b"".join(b"<p>line %d of a page</p>\n" % i for i in range(900))
PATIENCE: dict[str, Any] = {"connect_timeout": 0.2, "first_byte_timeout": 0.2, "read_timeout": 0.2}


async def fetch(script: Script, *, tls: ssl.SSLContext | None = None, **settings: Any) -> tuple[Outcome, Site]:
    """Fetch one page from a server that plays `script`."""
    async with serve(script, tls=tls) as site, fetching(**settings) as fetcher:
        return await fetcher.fetch(url(site.url(scheme="https" if tls else "http"))), site


async def failure(script: Script, **settings: Any) -> Failed:
    outcome, _ = await fetch(script, **settings)
    assert isinstance(outcome, Failed), outcome
    return outcome


async def page(script: Script, **settings: Any) -> Fetched:
    outcome, _ = await fetch(script, **settings)
    assert isinstance(outcome, Fetched), outcome
    return outcome


def speaks(*parts: bytes, endless: bytes = b"") -> Script:
    """Return the script that answers a request with `parts`, then `endless` for ever, and closes."""

    async def script(talk: Talk) -> None:
        await talk.request()
        for part in parts:
            await talk.send(part)
        if endless:
            await talk.flood(endless)

    return script


def stalls(*parts: bytes) -> Script:
    """Return the script that answers a request with `parts` and says no more."""

    async def script(talk: Talk) -> None:
        await talk.request()
        for part in parts:
            await talk.send(part)
        await talk.gone()

    return script


def drips(start: bytes, drops: bytes) -> Script:
    """Return the script that answers a request with `start`, then a byte at a time."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.send(start)
        await talk.drip(drops)

    return script


def encoded(encoding: str, body: bytes) -> bytes:
    return response(body, f"Content-Encoding: {encoding}")


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


# -- connecting -------------------------------------------------------------------------------------------------------------------------


async def test_a_closed_port_refuses() -> None:
    """F11"""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    async with fetching() as fetcher:
        outcome = await fetcher.fetch(url(f"http://a.test:{port}/"))
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
        async with fetching(**PATIENCE) as fetcher:
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

    async with serve(script) as site, fetching(connect_timeout=2.0) as fetcher:
        outcome = await fetcher.fetch(url(site.url(scheme="https")))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.TLS_PROTO


async def test_a_server_that_says_nothing_in_the_handshake_times_out() -> None:
    """F17"""
    async with serve(lambda talk: talk.gone()) as site, fetching(**PATIENCE) as fetcher:
        outcome = await fetcher.fetch(url(site.url(scheme="https")))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.CONN_TIMEOUT


async def test_a_dripped_handshake_times_out() -> None:
    """F18"""
    async with serve(lambda talk: talk.drip(b"\x16\x03\x03\x40\x00" + bytes(500))) as site, fetching(**PATIENCE) as fetcher:
        outcome = await fetcher.fetch(url(site.url(scheme="https")))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.CONN_TIMEOUT


# -- time -------------------------------------------------------------------------------------------------------------------------------


async def test_a_silent_server_times_out_at_the_first_byte() -> None:
    """F19"""
    outcome = await failure(stalls(), **PATIENCE)
    assert outcome.cause is Cause.TIMEOUT_FIRST_BYTE


async def test_a_dripped_body_is_too_slow() -> None:
    """F20: nothing of it is kept."""
    outcome = await failure(drips(HEAD + b"\r\n", b"x" * 500), rate_grace_s=0.2)
    assert (outcome.cause, outcome.body) == (Cause.TOO_SLOW, b"")
    assert "bytes per second" in outcome.detail


async def test_a_rate_above_the_limit_is_let_through() -> None:
    outcome = await page(drips(HEAD + b"Content-Length: 30\r\n\r\n", b"x" * 30), rate_grace_s=0.1, min_rate=10)
    assert len(outcome.body) == 30


@pytest.mark.parametrize(
    "drops", [b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 500, b"HTTP/1.1 103 Early\r\n\r\n" * 20], ids=["headers", "interim"]
)
async def test_dripped_headers_time_out(drops: bytes) -> None:
    """F21"""
    outcome = await failure(drips(b"", drops), first_byte_timeout=0.2)
    assert outcome.cause is Cause.TIMEOUT_HEADERS


async def test_a_body_that_stalls_is_too_slow() -> None:
    outcome = await failure(stalls(HEAD + b"Content-Length: 1099511627776\r\n\r\nfirst"), **PATIENCE)
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
    monkeypatch.setattr("crawler.fetch.GLANCE_S", 0.1)
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


# -- encodings --------------------------------------------------------------------------------------------------------------------------


def raw_deflate(data: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-15)
    return squeeze.compress(data) + squeeze.flush()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("gzip", gzip.compress(PAGE)), ("x-gzip", gzip.compress(PAGE)), ("deflate", zlib.compress(PAGE)), ("deflate", raw_deflate(PAGE)),
     ("br", brotli.compress(PAGE)), ("zstd", zstd.compress(PAGE)), ("identity", PAGE)],
    ids=["gzip", "x-gzip", "deflate", "raw deflate", "br", "zstd", "identity"],
)  # fmt: skip
async def test_an_encoded_page_is_decoded(encoding: str, body: bytes) -> None:
    """F32, F37"""
    outcome = await page(always(encoded(encoding, body)))
    assert (outcome.body, outcome.flags) == (PAGE, frozenset())
    assert outcome.wire_bytes < len(body) + 200


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("gzip", gzip.compress(PAGE)), ("deflate", zlib.compress(PAGE)), ("br", brotli.compress(PAGE)), ("zstd", zstd.compress(PAGE))],
    ids=["gzip", "deflate", "br", "zstd"],
)
async def test_half_a_stream_with_the_right_length_is_truncated(encoding: str, body: bytes) -> None:
    """F34: 4 of 4."""
    outcome = await failure(always(encoded(encoding, body[: len(body) // 2])))
    assert outcome.cause is Cause.TRUNCATED_ENCODING
    assert PAGE.startswith(outcome.body)
    assert outcome.head is not None


async def test_half_a_million_members_are_a_bad_encoding() -> None:
    """F30"""
    outcome = await failure(always(encoded("gzip", gzip.compress(b"x") * 50_000)))
    assert outcome.cause is Cause.BAD_ENCODING


@pytest.mark.parametrize("encoding", ["gzip, gzip", "compress", "aes128gcm"])
async def test_an_encoding_that_is_not_ours_is_kept_raw(encoding: str) -> None:
    """F31, F33"""
    outcome = await page(always(encoded(encoding, b"\x01raw")))
    assert (outcome.body, set(outcome.flags)) == (b"\x01raw", {Flag.UNSUPPORTED_ENCODING})


async def test_two_encoding_headers_are_two_layers() -> None:
    """F31"""
    outcome = await page(always(response(b"\x01raw", "Content-Encoding: gzip", "Content-Encoding: br")))
    assert outcome.flags == {Flag.UNSUPPORTED_ENCODING}


async def test_a_plain_body_called_gzip_is_taken_as_it_is() -> None:
    """F36"""
    outcome = await page(always(encoded("gzip", PAGE)))
    assert (outcome.body, set(outcome.flags)) == (PAGE, {Flag.NOT_ENCODED})


@pytest.mark.parametrize(
    "body", [gzip.compress(PAGE)[:-8] + bytes(4) + gzip.compress(PAGE)[-4:], gzip.compress(PAGE) + b"<!-- -->"], ids=["bad CRC", "garbage"]
)
async def test_an_odd_end_of_a_stream_costs_no_content(body: bytes) -> None:
    """F35"""
    outcome = await page(always(encoded("gzip", body)))
    assert (outcome.body, set(outcome.flags)) == (PAGE, {Flag.TRAILING_GARBAGE})


async def test_a_broken_stream_is_a_bad_encoding() -> None:
    outcome = await failure(always(encoded("gzip", gzip.compress(PAGE)[:20] + b"\xff" * 500)))
    assert outcome.cause is Cause.BAD_ENCODING


# -- responses that break off -----------------------------------------------------------------------------------------------------------


def breaks(data: bytes, *, reset: bool = False) -> Script:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.send(data)
        if reset:
            talk.reset()

    return script


@pytest.mark.parametrize(
    ("data", "reset", "kept"),
    [
        (HEAD + b"Content-Length: 100\r\n\r\nfirst half", False, b"first half"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n64\r\n half", False, b"first half"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n", False, b"first"),
        (HEAD + b"Content-Length: 100\r\n\r\nfirst half", True, None),
        (HEAD + b"\r\nuntil close", True, None),
    ],
    ids=["length", "in a chunk", "between chunks", "reset", "reset, until close"],
)
async def test_a_body_that_breaks_off_is_incomplete(data: bytes, reset: bool, kept: bytes | None) -> None:
    """F38: what came is kept for when tries run out; a reset may take it along."""
    outcome, site = await fetch(breaks(data, reset=reset))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.INCOMPLETE or (reset and outcome.cause is Cause.CONN_RESET)
    assert kept is None or outcome.body == kept
    assert site.n_connections == 1


async def test_what_came_of_an_encoded_body_is_decoded() -> None:
    """F38"""
    packed = gzip.compress(PAGE)
    outcome = await failure(breaks(HEAD + b"Content-Encoding: gzip\r\nContent-Length: 9999\r\n\r\n" + packed))
    assert (outcome.cause, outcome.body) == (Cause.INCOMPLETE, PAGE)


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 200 OK\r\nContent-Ty"], ids=["at once", "in the headers"])
async def test_a_connection_closed_before_an_answer_is_one_request(data: bytes) -> None:
    """F39: repeating it is the frontier's, under politeness."""
    outcome, site = await fetch(speaks(data))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.DISCONNECTED
    assert (site.n_connections, len(site.requests)) == (1, 1)


async def test_a_reset_before_an_answer_is_one_request() -> None:
    outcome, site = await fetch(breaks(b"", reset=True))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.CONN_RESET
    assert len(site.requests) == 1


# -- responses that are none ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 5\r\nContent-Length: 5", b"Content-Length: 5\r\nContent-Length: 6", b"Content-Length: -5", b"Content-Length: +5",
        b"Content-Length: 99999999999999999999999", b"Content-Length: 5\r\nTransfer-Encoding: chunked", b"Content-Length: five",
    ],
)  # fmt: skip
async def test_a_length_that_cannot_be_trusted_is_refused(headers: bytes) -> None:
    """F40, F41"""
    outcome = await failure(always(b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n\r\nhello"))
    assert outcome.cause is Cause.PROTOCOL


@pytest.mark.parametrize(
    ("banner", "cause"),
    [
        (b"<html>HTTP/0.9</html>", Cause.PROTOCOL),
        (b"ICY 200 OK\r\nicy-name: radio\r\n\r\n", Cause.PROTOCOL),
        (b"SSH-2.0-OpenSSH_9.6\r\n", Cause.PROTOCOL),
        (b"HTTP/3.7 200 OK\r\n\r\n", Cause.PROTOCOL),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Cause.PROTOCOL),
        (b"220 smtp.test ESMTP\r\n", Cause.PROTOCOL),
        (b"HTTP/1.1 099 Low\r\nContent-Length: 1\r\n\r\nx", Cause.PROTOCOL_STATUS),
        (b"HTTP/1.1 999 High\r\nContent-Length: 1\r\n\r\nx", Cause.PROTOCOL_STATUS),
        (b"HTTP/1.1 600 High\r\nContent-Length: 1\r\n\r\nx", Cause.PROTOCOL_STATUS),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n\x00\x01", Cause.PROTOCOL_STATUS),
        (b"HTTP/2.0 200 OK\r\nContent-Length: 1\r\n\r\nx", Cause.PROTOCOL_STATUS),
        (b"HTTP/1.1 200 OK\r\nNo colon\r\n\r\n", Cause.PROTOCOL),
        (b"HTTP/1.1 200 OK\r\nX-Nul: \x00\r\n\r\n", Cause.PROTOCOL),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n", Cause.PROTOCOL),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\nx\r\n0\r\n\r\n", Cause.PROTOCOL),
    ],
)  # fmt: skip
async def test_what_is_not_http_1_is_refused_and_the_next_request_is_clean(banner: bytes, cause: Cause) -> None:
    """F43, F44, S18"""
    async with serve(_first(banner)) as site, fetching() as fetcher:
        outcome = await fetcher.fetch(url(site.url("/1")))
        after = await fetcher.fetch(url(site.url("/2")))
    assert isinstance(outcome, Failed)
    assert outcome.cause is cause
    assert isinstance(after, Fetched)
    assert after.body == b"clean"
    assert site.n_connections == 2


def _first(banner: bytes) -> Script:
    """Return the script that sends `banner` on the first connection and a page on every other."""
    is_first = True

    async def script(talk: Talk) -> None:
        nonlocal is_first
        is_now, is_first = is_first, False
        await talk.request()
        await talk.send(banner if is_now else response(b"clean"))
        await talk.gone()

    return script


@pytest.mark.parametrize("coding", ["xchunked", "gzip", "gzip, chunked"])
async def test_an_odd_transfer_coding_is_flagged(coding: str) -> None:
    """F42"""
    body = chunked(b"hello") if coding.endswith(", chunked") else b"hello"
    outcome = await page(once(HEAD + f"Transfer-Encoding: {coding}\r\n\r\n".encode() + body))
    assert (outcome.body, set(outcome.flags)) == (b"hello", {Flag.BAD_TRANSFER_ENCODING})


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
async def test_the_body_of_a_status_that_has_none_is_not_the_next_answer(status: str) -> None:
    """F45: the junk is a whole response."""
    junk = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\n\r\n".encode() + response(b"POISONED")
    async with serve(_first(junk)) as site, fetching() as fetcher:
        first = await fetcher.fetch(url(site.url("/1")))
        second = await fetcher.fetch(url(site.url("/2")))
    assert isinstance(first, Fetched)
    assert isinstance(second, Fetched)
    assert (first.body, second.body) == (b"", b"clean")


async def test_an_answer_behind_a_long_body_is_not_the_next_answer() -> None:
    """F45: the body ends in a later segment, with a second response right behind it."""
    long = response(PAGE * 20)
    async with serve(_first(long + response(b"POISONED"))) as site, fetching() as fetcher:
        first = await fetcher.fetch(url(site.url("/1")))
        second = await fetcher.fetch(url(site.url("/2")))
    assert isinstance(first, Fetched)
    assert isinstance(second, Fetched)
    assert (first.body, second.body) == (PAGE * 20, b"clean")


async def test_an_answer_that_nobody_asked_for_closes_the_connection() -> None:
    """F46: 0 of 300 poisoned."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.send(response(b"asked"))
        await until(lambda: len(site.requests) == n_fetched)
        await talk.send(response(b"POISONED"))
        await talk.gone()

    n_fetched = 0
    async with serve(script) as site, fetching() as fetcher:
        for i in range(300):
            outcome = await fetcher.fetch(url(site.url(f"/{i}")))
            assert isinstance(outcome, Fetched)
            assert outcome.body == b"asked"
            n_fetched += 1
            await until(lambda: fetcher._connections.n_open == 0)
    assert site.n_connections == 300


async def test_odd_bytes_in_headers_are_kept_as_bytes() -> None:
    """F48: Latin-1, ESC and 0x01, in names' order and case."""
    answer = b"HTTP/1.1 200 \x1b]0;evil\x07\r\nX-Latin: caf\xe9\r\nx-ESC: \x1b[31mred\r\nX-Ctrl: a\x01b\r\nContent-Length: 0\r\n\r\n"
    outcome = await page(always(answer))
    assert outcome.head.headers[:3] == ((b"X-Latin", b"caf\xe9"), (b"x-ESC", b"\x1b[31mred"), (b"X-Ctrl", b"a\x01b"))
    assert outcome.head.get(b"x-latin") == "café"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", b"HTTP/1.0 200 OK\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\nContent-Length: 5\r\n\r\nhello",
    ],
    ids=["bare LF", "no reason", "HTTP/1.0", "folded header"],
)  # fmt: skip
async def test_harmless_oddities_are_read(answer: bytes) -> None:
    assert (await page(once(answer))).body == b"hello"
