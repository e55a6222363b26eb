"""ACCEPTANCE.md: encodings, responses that break off, and responses that are none, each against a real socket."""

from __future__ import annotations

import gzip
import sys
import zlib

import brotli
import pytest
from edge import failure, fetch, fetching, page, url
from hostile import HEAD, Script, Talk, always, chunked, response, serve, speaks, until

from thresher.crawler.core.model import Cause, Failed, Fetched, Flag

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

pytestmark = pytest.mark.usefixtures("each_client")

PAGE = b"".join(b"<p>line %d of a page</p>\n" % i for i in range(900))


def encoded(encoding: str, body: bytes) -> bytes:
    """Return a response with this Content-Encoding."""
    return response(body, f"Content-Encoding: {encoding}")


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
    ("body", "flag"),
    [
        (gzip.compress(PAGE)[:-8] + bytes(4) + gzip.compress(PAGE)[-4:], Flag.BAD_CHECKSUM),
        (gzip.compress(PAGE) + b"<!-- -->", Flag.TRAILING_GARBAGE),
    ],
    ids=["bad CRC", "garbage"],
)
async def test_an_odd_end_of_a_stream_costs_no_content(body: bytes, flag: Flag) -> None:
    """F35: each fault under its own name."""
    outcome = await page(always(encoded("gzip", body)))
    assert (outcome.body, set(outcome.flags)) == (PAGE, {flag})


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
    """F38: what was received is kept for the last try; a reset can lose it."""
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
    """F39: only the frontier repeats it, with politeness."""
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
    outcome = await page(speaks(HEAD + f"Transfer-Encoding: {coding}\r\n\r\n".encode() + body))
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
    assert (await page(speaks(answer))).body == b"hello"
