"""The fetcher's outcomes for redirects, statuses, gates and limits."""

from __future__ import annotations

import pytest
from edge import as_sent, bare, fetching, url
from hostile import Talk, always, chunked, response, serve

from thresher.crawler.core.model import Cause, Failed, Fetched, Flag, Head, Reason, Redirect
from thresher.crawler.fetch.heads import retry_after_s

pytestmark = pytest.mark.usefixtures("each_client")

# -- answers that are no pages ----------------------------------------------------------------------------------------------------------

LOCATIONS = [
    b"/next", b"//b.test/", b"https://b.test/x", b"javascript:alert(1)", b"data:text/html,x", b"file:///etc/passwd", b"ftp://b.test/",
    b"http://", b"http:///x", b"http://b.test:99999/", b"http://user:pw@b.test/", b"?q", b"#f", b"http:ok", b"\\\\b.test\\x", b"/a b",
    b"mailto:x@b.test", b"HTTP://B.TEST/", b"/%zz", b"::",
]  # fmt: skip


@pytest.mark.parametrize("location", LOCATIONS)
async def test_a_location_is_passed_on_as_it_came(location: bytes) -> None:
    """F52: it is judged as a link is; nothing is requested for it, no Authorization is sent."""
    answer = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location + b"\r\n\r\n"
    async with serve(always(answer)) as site, fetching() as fetcher:
        outcome = await fetcher.fetch(url(site.url()))
    assert isinstance(outcome, Redirect)
    assert outcome.target == location.decode()
    assert outcome.head.status == 302
    assert len(site.requests) == 1


async def test_latin1_bytes_of_a_location_are_percent_encoded() -> None:
    """F53"""
    answer = "HTTP/1.1 301 Moved\r\nContent-Length: 0\r\nLocation: /café\r\n\r\n".encode("latin-1")
    async with serve(always(answer, response(b"x"))) as site, fetching() as fetcher:
        outcome = await fetcher.fetch(url(site.url()))
        assert isinstance(outcome, Redirect)
        await fetcher.fetch(url(site.url(outcome.target)))
    assert as_sent(site.requests[1]) == "/caf%E9"


async def test_the_first_of_two_locations_wins() -> None:
    answer = b"HTTP/1.1 301 Moved\r\nContent-Length: 0\r\nLocation: /1\r\nLocation: /2\r\n\r\n"
    async with serve(always(answer)) as site, fetching() as fetcher:
        outcome = await fetcher.fetch(url(site.url()))
    assert isinstance(outcome, Redirect)
    assert outcome.target == "/1"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_small_redirect_keeps_its_connection(status: int) -> None:
    redirect = response(b"moved", "Location: /x", status=f"{status} Moved")
    async with serve(always(redirect, response(b"x"))) as site, fetching() as fetcher:
        assert isinstance(await fetcher.fetch(url(site.url())), Redirect)
        assert isinstance(await fetcher.fetch(url(site.url("/x"))), Fetched)
    assert site.n_connections == 1


async def test_the_endless_body_of_a_redirect_is_left_alone() -> None:
    """F54: no more than 64 KiB of it are read, and one read from the socket."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.send(b"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n")
        await talk.flood(b"x" * 1024)

    async with serve(script) as site, fetching() as fetcher:
        outcome = await fetcher.fetch(url(site.url()))
    assert isinstance(outcome, Redirect)
    assert outcome.wire_bytes < 1 << 20


@pytest.mark.parametrize("status", ["300 Choices", "304 Not Modified", "302 Found", "301 Moved"])
async def test_a_3xx_without_location_is_a_page_with_its_status(status: str) -> None:
    async with serve(always(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())) as site, fetching() as fetcher:
        outcome = await fetcher.fetch(url(site.url()))
    assert isinstance(outcome, Fetched)
    assert outcome.head.status == int(status[:3])


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (429, Cause.HTTP_429), (503, Cause.HTTP_5XX), (500, Cause.HTTP_5XX), (502, Cause.HTTP_5XX), (599, Cause.HTTP_5XX),
        (408, Cause.HTTP_RETRY), (425, Cause.HTTP_RETRY),
    ],
)  # fmt: skip
async def test_a_status_that_asks_for_another_try_is_a_failure_with_head_and_body(status: int, cause: Cause) -> None:
    """F57, F58, F59"""
    async with serve(always(response(b"busy", status=f"{status} No"))) as site, fetching() as fetcher:
        outcome = await fetcher.fetch(url(site.url()))
    assert isinstance(outcome, Failed)
    assert outcome.cause is cause
    assert outcome.head is not None
    assert (outcome.head.status, outcome.body, outcome.retry_after_s) == (status, b"busy", None)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 407, 410, 418, 451])
async def test_other_4xx_are_pages(status: int) -> None:
    """F59: terminal, not failures; P48: one attempt."""
    async with serve(always(response(b"no", status=f"{status} No"))) as site, fetching() as fetcher:
        outcome = await fetcher.fetch(url(site.url()))
    assert isinstance(outcome, Fetched)
    assert (outcome.head.status, outcome.body) == (status, b"no")


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (429, {b"Retry-After": b"120"}, 120.0),
        (503, {b"Retry-After": b"Wed, 21 Oct 2026 07:30:00 GMT", b"Date": b"Wed, 21 Oct 2026 07:28:00 GMT"}, 120.0),
        (503, {b"Retry-After": b"Wed, 21 Oct 2026 07:28:00 GMT", b"Date": b"Wed, 21 Oct 2026 07:30:00 GMT"}, 0.0),
        (503, {b"Retry-After": b"Thu, 01 Jan 1970 01:00:00 GMT"}, 2600.0),
        (429, {b"Retry-After": b"soon"}, 60.0),
        (429, {b"Retry-After": b"-5"}, 60.0),
        (500, {b"Retry-After": b"soon"}, None),
        (503, {b"Retry-After": b"315360000"}, 86_400.0),
        (503, {b"Retry-After": b"9" * 400}, 60.0),
        (503, {}, None),
    ],
)
def test_retry_after_is_read_and_clamped(status: int, headers: dict[bytes, bytes], expected: float | None) -> None:
    """F58: seconds, dates, garbage, ten years; the wall clock says 1,000 s past the epoch."""
    head = Head(bare("http://a.test/"), status, tuple(headers.items()), "", 0.0)
    assert retry_after_s(head, 1000.0) == expected


async def test_a_refused_head_leaves_its_body_unread() -> None:
    """P43: of 100 MB no more is taken than one read from the socket."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\nContent-Length: 100000000\r\n\r\n")
        await talk.flood(b"x" * 1024, 1600)

    async with serve(script) as site, fetching() as fetcher:
        outcome = await fetcher.fetch(
            url(site.url()), head_gate=lambda head: (Reason.BAD_TYPE, "media") if head.mime_type == "application/zip" else None
        )
    assert isinstance(outcome, Fetched)
    assert (outcome.refused, outcome.body) == (Reason.BAD_TYPE, b"")
    assert outcome.wire_bytes <= 256 << 10


async def test_a_small_refused_body_keeps_the_connection() -> None:
    async with serve(always(response(b"small"))) as site, fetching() as fetcher:
        for _ in range(3):
            outcome = await fetcher.fetch(url(site.url()), head_gate=lambda _: (Reason.BAD_TYPE, "media"))
            assert isinstance(outcome, Fetched)
    assert site.n_connections == 1


async def test_a_body_is_cut_at_the_cap_and_flagged() -> None:
    async with serve(always(response(b"x" * 1000))) as site, fetching(max_body=999) as fetcher:
        outcome = await fetcher.fetch(url(site.url()))
        exact = await fetcher.fetch(url(site.url()), max_body=1000)
    assert isinstance(outcome, Fetched)
    assert isinstance(exact, Fetched)
    assert (outcome.body, outcome.flags) == (b"x" * 999, frozenset((Flag.TRUNCATED_SIZE,)))
    assert (exact.body, exact.flags) == (b"x" * 1000, frozenset())


async def test_a_chunked_body_is_put_together() -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(b"one ", b"two ", b"three")
    async with serve(always(answer)) as site, fetching() as fetcher:
        outcome = await fetcher.fetch(url(site.url()))
    assert isinstance(outcome, Fetched)
    assert (outcome.body, outcome.flags) == (b"one two three", frozenset())
