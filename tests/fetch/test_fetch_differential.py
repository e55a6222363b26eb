"""Both clients get the same bytes from a server, in any pieces, and must have the same outcome."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from edge import CLIENTS, fetching, url
from hostile import Script, Talk, chunked, serve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thresher.crawler.core.model import Cause, Failed, Fetched, Outcome, Redirect

STATUSES = """HTTP/1.1 200 OK|HTTP/1.0 200 OK|HTTP/1.1 404 No|HTTP/1.1 302 Found|HTTP/1.1 204 None|HTTP/1.1 304 Same|HTTP/1.1 503 Busy
HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK|HTTP/1.1 200|HTTP/1.1 700 High|HTTP/2.0 200 OK|SSH-2.0-x"""
HEADERS = """X-A: b|X-A:b |x-a:\tb|Location: /next|Content-Type: text/html|Connection: close|Connection: keep-alive|X-Empty:
Content-Encoding: gzip|X-Caf\u00e9: \u00e9|X A: b|No colon|X-Fold: a\r\n b|X-Ctl: \x01|X-Nul: \x00|Transfer-Encoding: chunked
Transfer-Encoding: gzip|Content-Length: 3|Content-Length: 5|Content-Length: -1|Retry-After: 5"""
BODIES = st.one_of(
    st.binary(max_size=40).map(lambda body: (f"Content-Length: {len(body)}", body)),
    st.binary(max_size=40).map(lambda body: (f"Content-Length: {len(body) + 3}", body)),
    st.lists(st.binary(min_size=1, max_size=9), max_size=4).map(lambda parts: ("Transfer-Encoding: chunked", chunked(*parts))),
    st.binary(max_size=40).map(lambda body: ("Transfer-Encoding: chunked", body)),
    st.binary(max_size=40).map(lambda body: ("X-Until: close", body)),
)


def each(lines: str) -> list[str]:
    return [line for row in re.split("(?<!\r)\n(?=[A-Z])", lines) for line in row.split("|")]


@st.composite
def answers(draw: st.DrawFn) -> list[bytes]:
    """A mostly valid response, cut into pieces, and maybe cut off."""
    framing, body = draw(BODIES)
    status = draw(st.sampled_from(each(STATUSES)))
    body = b"" if " 204 " in status or " 304 " in status else body  # aiohttp calls bytes after such an answer a fault
    lines = [status, *draw(st.lists(st.sampled_from(each(HEADERS)), max_size=3)), framing]
    lengths = [int(line.split(":")[1]) for line in lines if line.startswith("Content-Length")]
    body = body[: max(0, min(lengths, default=len(body)))]  # as it calls what lies behind any answer; the connection is closed by either
    end = draw(st.sampled_from(["\r\n", "\r\n", "\r\n", "\n"]))
    data = (end.join(lines) + 2 * end).encode("latin-1") + body
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=3)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, draw(st.sampled_from([len(data), len(data), len(data) - 2]))], strict=True)]


def says(pieces: list[bytes]) -> Script:
    async def script(talk: Talk) -> None:
        await talk.request()
        for piece in pieces:
            await talk.send(piece)
            await asyncio.sleep(0)

    return script


def seen(outcome: Outcome) -> dict[str, Any]:
    """Return what a crawl would use of an outcome. Of two faults in one answer, either may be named."""
    match outcome:
        case Fetched():
            return {"page": outcome.head.status, "headers": outcome.head.headers, "body": outcome.body, "flags": outcome.flags}
        case Redirect():
            return {"redirect": outcome.target, "headers": outcome.head.headers}
        case Failed():
            return {
                "cause": "protocol" if outcome.cause.startswith("protocol") else outcome.cause,
                "body": outcome.body,
                "retry": outcome.retry_after_s,
            }


@given(answers())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_both_clients_make_the_same_of_an_answer(pieces: list[bytes]) -> None:
    async def main() -> list[dict[str, Any]]:
        found = []
        for client in CLIENTS:
            async with serve(says(pieces)) as site, fetching(client=client, read_timeout=0.5) as fetcher:
                found.append(seen(await fetcher.fetch(url(site.url()))))
        return found

    lean, aiohttp = asyncio.run(main())
    if not _agree(lean, aiohttp) and Cause.TOO_SLOW in (lean.get("cause"), aiohttp.get("cause")):
        lean, aiohttp = asyncio.run(main())  # a busy machine may have delayed one of them: a real difference is there each time
    assert _agree(lean, aiohttp), (lean, aiohttp)


def _agree(lean: dict[str, Any], aiohttp: dict[str, Any]) -> bool:
    knows_more = "redirect" in lean or lean.get("cause") == Cause.HTTP_5XX  # about an answer whose body is broken
    notices = lean.get("cause") == "protocol" and aiohttp.get("cause") == Cause.TOO_SLOW  # a bad chunk in a segment of its own
    return lean == aiohttp or notices or (knows_more and aiohttp.get("cause") == "protocol")
