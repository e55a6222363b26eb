"""Rows of ACCEPTANCE.md in whole crawls: redirects that lead nowhere, statuses that ask the crawler to wait or to stop."""

from __future__ import annotations

import time
from email.utils import formatdate
from pathlib import Path

import pytest
from faulty import Web, crawl, faulty_web, page, redirect, robots
from hostile import Talk, response

DELAY_S = 0.03
SPACED = {"min_delay": DELAY_S}


# -- redirects ------------------------------------------------------------------------------------------------------------------------


async def test_a_redirect_that_never_arrives_ends_after_five_hops(tmp_path: Path) -> None:
    """F50: a chain of ever new URLs, two URLs that redirect to each other, a query that changes. Each ends after six requests at most, with
    the host's delay between them.
    """
    async with faulty_web() as web:
        for i in range(12):
            web.say(f"chain.test/{i}", redirect(f"/{i + 1}"))
            web.say(f"query.test/?n={i}", redirect(f"/?n={i + 1}", "301 Moved Permanently"))
        web.say("pair.test/a", redirect("/b", "307 Temporary Redirect"))
        web.say("pair.test/b", redirect("/a", "308 Permanent Redirect"))
        found = await crawl(tmp_path, web, "chain.test/0", "query.test/?n=0", "pair.test/a", politeness=SPACED)
    assert web.pages("chain.test") == [f"/{i}" for i in range(6)]
    assert web.pages("query.test") == [f"/?n={i}" for i in range(6)]
    assert web.pages("pair.test") == ["/a", "/b"]
    for host in ("chain.test", "query.test", "pair.test"):
        assert min(web.gaps(host)) >= DELAY_S
    assert found["chain.test/5"].row.reason == "redirect_limit"
    assert found["query.test/?n=5"].row.reason == "redirect_limit"
    assert "chain.test/6" not in found
    assert found["chain.test/5"].edge is not None  # the last redirect is recorded all the same
    assert found["chain.test/5"].edge.to_text == web.url("chain.test/6")
    assert found.counters["skip:redirect_limit"] == 2


async def test_a_page_that_sets_a_cookie_and_leads_to_itself_is_asked_for_once(tmp_path: Path) -> None:
    """F51: the crawler keeps no cookie, so the answer would always be the same."""
    async with faulty_web() as web:
        web.say("a.test/", redirect("/", "302 Found", "Set-Cookie: visited=1"))
        found = await crawl(tmp_path, web, "a.test/", politeness=SPACED)
    assert web.pages("a.test") == ["/"]
    assert found["a.test/"].row.reason == "redirect_limit"


INVALID = [
    "javascript:alert(1)", "data:text/html,<a href=/x>x</a>", "file:///etc/passwd", "ftp://b.test/x", "mailto:a@b.test", "gopher://b.test/",
    "ws://b.test/", "about:blank", "http://", "http:///", "http://b.test:99999/", "http://[::1/", "http://b..test/", "https://",
    "http://%00/", "view-source:http://b.test/", "http://" + "b" * 64 + ".test/", "tel:+49",
]  # fmt: skip


async def test_a_redirect_to_no_url_of_ours_is_recorded_as_it_came(tmp_path: Path) -> None:
    """F52: eighteen values of Location. Nothing but http and https is requested, and the record of the redirect has the raw value and a
    reason.
    """
    async with faulty_web() as web:
        for i, location in enumerate(INVALID):
            web.say(f"a.test/{i}", redirect(location))
        found = await crawl(tmp_path, web, *(f"a.test/{i}" for i in range(len(INVALID))))
    assert len(web.pages("a.test")) == len(INVALID)
    assert {seen.host for seen in web.log} == {"a.test"}
    for i, location in enumerate(INVALID):
        known = found[f"a.test/{i}"]
        assert (location, known.state, known.row.reason) == (location, "done", "redirect_invalid")
        assert known.edge is not None
        assert (known.edge.to_text, known.edge.to_key) == (location, b"")
    assert found.counters["skip:redirect_invalid"] == len(INVALID)


async def test_a_redirect_without_a_location_is_a_page_that_leads_nowhere(tmp_path: Path) -> None:
    """F52: Location is missing, or empty. There is no raw value; the answer is stored under its status, with the reason."""
    async with faulty_web() as web:
        web.say("a.test/1", response(b"<p>moved</p>", status="302 Found"))
        web.say("a.test/2", response(b"<p>moved</p>", "Location: ", status="301 Moved Permanently"))
        found = await crawl(tmp_path, web, "a.test/1", "a.test/2")
    for path, status in ((1, 302), (2, 301)):
        known = found[f"a.test/{path}"]
        assert known.page is not None
        assert (known.page.status, known.row.reason, known.edge) == (status, "redirect_invalid", None)


async def test_userinfo_in_a_location_goes_nowhere(tmp_path: Path) -> None:
    """F52, S11: user and password are removed before anything is queued, sent or written. Nothing shows that there were any."""
    async with faulty_web() as web:
        web.say("a.test/", redirect(web.url("b.test/x").replace("://", "://user:s3cret@")))
        web.say("b.test/x", page(web.url("c.test/y").replace("://", "://u:s3cret@"), "ftp://u:s3cret@c.test/z", "/bad"))
        web.say("b.test/bad", redirect("ftp://u:s3cret@c.test/z"))
        found = await crawl(tmp_path, web, "a.test/", web.url("d.test/").replace("://", "://u:s3cret@"), store={"bodies": False})
    assert {seen.host + seen.path for seen in web.log if seen.path != "/robots.txt"} == {
        "a.test/", "b.test/x", "b.test/bad", "c.test/y", "d.test/",
    }  # fmt: skip
    assert all(seen.header("authorization") == "" for seen in web.log)
    assert found["a.test/"].edge is not None
    assert found["a.test/"].edge.to_text == web.url("b.test/x")
    assert found["b.test/bad"].edge is not None
    assert found["b.test/bad"].edge.to_text == "ftp://c.test/z"
    assert "ftp://c.test/z" in {line.url for line in found.skipped}
    for file in (tmp_path / "crawl").rglob("*"):
        assert not file.is_file() or b"s3cret" not in file.read_bytes(), file
    assert all("s3cret" not in line.url for line in found.skipped)  # the log is compressed


async def test_locations_mean_what_browsers_take_them_for(tmp_path: Path) -> None:
    """F53: raw Latin-1 bytes are percent-encoded, a TAB is dropped, of two Locations the first counts, "http:x" is relative."""
    two = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /first\r\nLocation: /second\r\n\r\n"
    async with faulty_web() as web:
        web.say("a.test/1", redirect(b"/caf\xe9"))
        web.say("a.test/2", redirect("/t\tab"))
        web.say("a.test/3", two)
        web.say("a.test/4", redirect("http:ok"))
        web.say("a.test/5", redirect("/with space?q=ü"))
        await crawl(tmp_path, web, *(f"a.test/{i}" for i in range(1, 6)))
    assert set(web.pages("a.test")) - {f"/{i}" for i in range(1, 6)} == {
        "/caf%E9", "/tab", "/first", "/ok", "/with%20space?q=%C3%BC",
    }  # fmt: skip


async def test_the_endless_body_of_a_redirect_is_not_read(tmp_path: Path) -> None:
    """F54: the crawl goes on at the target. The server could not send more than the buffers of the sockets hold."""
    sent: list[int] = []

    async def endless(talk: Talk) -> None:
        try:
            await talk.send(b"HTTP/1.1 302 Found\r\nLocation: /there\r\nTransfer-Encoding: chunked\r\n\r\n")
            await talk.flood(b"400\r\n" + b"x" * 1024 + b"\r\n")
        finally:
            sent.append(talk.n_sent)

    async with faulty_web() as web:
        web.say("a.test/", endless)
        web.say("a.test/there", page())
        found = await crawl(tmp_path, web, "a.test/")
    assert found["a.test/there"].page is not None
    assert found["a.test/"].edge is not None
    assert sent[0] < 16 << 20


@pytest.mark.parametrize("client", ["lean", "aiohttp"])
async def test_a_refresh_is_a_link_and_a_script_is_nothing(tmp_path: Path, client: str) -> None:
    """F55: the header Refresh is a link, too, with both of our HTTP clients."""
    async with faulty_web() as web:
        web.say(
            "a.test/",
            page(head='<meta http-equiv="refresh" content="0; url=/next">', text='<script>location = "/scripted"</script>words'),
        )
        web.say("a.test/next", page().replace(b"\r\n", b"\r\nRefresh: 5; URL='/last'\r\n", 1))
        web.say("a.test/last", page())
        found = await crawl(tmp_path, web, "a.test/", fetch={"client": client})
    assert web.pages("a.test") == ["/", "/next", "/last"]
    assert found["a.test/"].edge is None
    assert found["a.test/"].page is not None
    assert found["a.test/"].page.n_links == 1
    assert found["a.test/next"].row.hops == 0


async def test_two_pages_that_call_each_other_canonical_are_both_stored_once(tmp_path: Path) -> None:
    """F56: rel=canonical is only a hint. It keeps no page from being stored, and is no link."""
    async with faulty_web() as web:
        web.say("a.test/", page("/1", "/2"))
        web.say("a.test/1", page(head='<link rel=canonical href="/2">', text="one"))
        web.say("a.test/2", page(head='<link rel=canonical href="/1">', text="two"))
        found = await crawl(tmp_path, web, "a.test/")
    assert web.pages("a.test") == ["/", "/1", "/2"]
    assert [found[f"a.test/{i}"].page.canonical for i in (1, 2)] == [web.url("a.test/2"), web.url("a.test/1")]  # type: ignore[union-attr]  # None fails the test
    assert found.n_pages.total() == 3


# -- statuses that ask the crawler to wait -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["500 Internal Server Error", "502 Bad Gateway", "599 Odd"])
async def test_a_server_error_is_tried_four_times_ever_more_slowly(tmp_path: Path, status: str) -> None:
    """F57, P31: four attempts. The host's delay doubles with each, also for its other pages; the last answer is stored."""
    async with faulty_web() as web:
        web.say("a.test/", response(b"<p>sorry</p>", status=status))
        found = await crawl(tmp_path, web, "a.test/", politeness=SPACED)
    assert web.pages("a.test") == ["/"] * 4
    assert [gap >= DELAY_S * 2**n for n, gap in enumerate(web.gaps("a.test", "/"), 1)] == [True] * 3
    assert (found["a.test/"].cause, found["a.test/"].tries) == ("http_5xx", 4)
    assert found["a.test/"].page is not None
    assert found["a.test/"].page.status == int(status[:3])
    assert found["a.test/"].body == b"<p>sorry</p>"


async def test_each_503_doubles_the_wait_of_the_whole_host(tmp_path: Path) -> None:
    """F57, P27, P29: without Retry-After the wait has its first length, and doubles. The host's pages without errors wait, too."""
    step = 0.04
    async with faulty_web() as web:
        web.say("a.test/", page("/1", "/2"))
        web.say("a.test/1", response(status="503 Service Unavailable"))
        web.say("a.test/2", page())
        found = await crawl(tmp_path, web, "a.test/", politeness={"backoff_initial": step})
    after = [later.began - seen.ended for seen, later in zip(web.log, web.log[1:], strict=False) if seen.path == "/1"]
    assert [gap >= step * 2**n for n, gap in enumerate(after)] == [True] * len(after)
    assert len(after) >= 3
    assert (found["a.test/1"].cause, found["a.test/1"].tries) == ("http_5xx", 4)
    assert found["a.test/2"].cause == ""


def _patient(web: Web, host: str, *headers: str, status: str = "429 Too Many Requests") -> None:
    web.say(f"{host}/", response(b"", *headers, status=status), page())


async def test_retry_after_is_obeyed_in_each_of_its_forms(tmp_path: Path) -> None:
    """F58, P28, S47: seconds, a date, garbage (taken as a minute), ten years (as a day), a date in the past. No request comes earlier. The
    test waits for two of them and looks at the server's log; of the others it reads the time in the store until which the host must wait.
    """
    now = time.time()
    async with faulty_web() as web:
        _patient(web, "seconds.test", "Retry-After: 1")
        _patient(web, "date.test", f"Date: {formatdate(now, usegmt=True)}", f"Retry-After: {formatdate(now + 1, usegmt=True)}")
        _patient(web, "busy.test", "Retry-After: 1", status="503 Service Unavailable")
        _patient(web, "past.test", "Retry-After: Thu, 01 Jan 1970 00:00:00 GMT")
        _patient(web, "garbage.test", "Retry-After: soon")
        _patient(web, "years.test", "Retry-After: 315360000")
        _patient(web, "long.test", "Retry-After: 600", status="302 Found\r\nLocation: /there")
        places = [f"{name}.test/" for name in ("seconds", "date", "busy", "past", "garbage", "years", "long")]
        found = await crawl(tmp_path, web, *places)
    for host in ("seconds.test", "date.test", "busy.test"):
        assert web.pages(host) == ["/", "/"]
        assert web.gaps(host, "/")[0] >= 1.0
    assert web.pages("past.test") == ["/", "/"]
    for host, least, most in (("garbage.test", 60, 590), ("years.test", 86_400, 87_000), ("long.test", 600, 1_200)):
        assert len(web.pages(host)) == 1
        assert least <= found.hosts[web.url(host)[7:]].next_at - now <= most
    assert found["years.test/"].state == "queued"  # and nobody waited that long: the crawl has ended
    assert found["long.test/there"].state == "queued"


FINAL = [400, 401, 402, 403, 404, 405, 406, 407, 409, 410, 411, 412, 414, 415, 416, 418, 421, 422, 423, 424, 426, 428, 431, 451, 499]


async def test_a_refusal_is_final(tmp_path: Path) -> None:
    """F59, P48: one request for each, none with credentials. 408 and 425 are repeated as a 5xx is."""
    async with faulty_web() as web:
        for status in (*FINAL, 408, 425):
            challenge = ("WWW-Authenticate: Basic realm=x",) if status in (401, 407) else ()
            web.say(f"h{status}.test/", response(b"<a href=/in-an-error>x</a>", *challenge, status=f"{status} No"))
        found = await crawl(tmp_path, web, *(f"h{status}.test/" for status in (*FINAL, 408, 425)))
    assert {status: len(web.pages(f"h{status}.test")) for status in FINAL} == dict.fromkeys(FINAL, 1)
    assert [found[f"h{status}.test/"].cause for status in FINAL] == [""] * len(FINAL)
    assert [known.page.status for known in (found[f"h{status}.test/"] for status in FINAL) if known.page is not None] == FINAL
    for status in (408, 425):
        assert web.pages(f"h{status}.test") == ["/"] * 4
        assert (found[f"h{status}.test/"].cause, found[f"h{status}.test/"].tries) == ("http_retry", 4)
    assert all(seen.header("authorization") == "" for seen in web.log)


async def test_a_target_is_fetched_under_its_own_host_s_rules(tmp_path: Path) -> None:
    """P32: the target of a redirect waits in the queue of its own host, after that host's robots.txt, and is not fetched if it is out of
    scope.
    """
    async with faulty_web() as web:
        web.say("a.test/", page("/x", "/y", "/out", "/denied"))
        web.say("a.test/x", redirect(web.url("b.test/1")))
        web.say("a.test/y", redirect(web.url("b.test/2")))
        web.say("a.test/out", redirect(web.url("c.test/")))
        web.say("a.test/denied", redirect(web.url("b.test/private/1")))
        web.say("b.test/robots.txt", robots("User-agent: *", "Disallow: /private/"))
        scope = {"type": "host", "include": [r"//b\.test"]}
        found = await crawl(tmp_path, web, "a.test/", politeness={"min_delay": 0.1}, scope=scope)
    assert web.paths("b.test") == ["/robots.txt", "/1", "/2"]
    assert min(web.gaps("b.test")) >= 0.1
    assert web.paths("c.test") == []
    assert found["b.test/private/1"].row.reason == "robots_denied"
    assert found.counters["skip:out_of_scope"] == 1
    assert found["a.test/out"].edge is not None
