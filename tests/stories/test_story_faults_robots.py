"""Rows of ACCEPTANCE.md in whole crawls: the server sees that its robots.txt is obeyed; if a robots.txt cannot be fetched, nothing is
allowed.
"""

from __future__ import annotations

import ssl
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import trustme
from faulty import Reply, crawl, faulty_web, hang_up, page, redirect, reset, robots, silence
from hostile import Talk, response, serve

CHECK_S = 0.1


def text(body: bytes) -> bytes:
    """Return a robots.txt of exactly these bytes."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def _fed(start: bytes, block: bytes, times: int) -> Reply:
    """Return a robots.txt that begins with `start` and goes on without end."""

    async def script(talk: Talk) -> None:
        await talk.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + start)
        await talk.flood(block, times)

    return script


# -- no answer ------------------------------------------------------------------------------------------------------------------------


async def _not_http(talk: Talk) -> None:
    await talk.send(b"SSH-2.0-OpenSSH_9.2\r\n")


UNREACHABLE: dict[str, Reply] = {
    "error": response(status="500 Internal Server Error"),
    "busy": response(status="503 Service Unavailable"),
    "silent": silence,
    "reset": reset,
    "closed": hang_up,
    "ssh": _not_http,
    "html": response(b"<!doctype html><title>Welcome</title><p>Disallow: nothing"),
    "partial": text(b"User-agent: *")[:-2].replace(b"Length: 13", b"Length: 14"),
    "odd": response(b"User-agent: *\nDisallow:", status="204 No Content")[:-23],
}


async def _checks_of_unreachable(path: Path) -> dict[str, list[float]]:
    """Crawl the hosts whose robots.txt is answered at the fourth check; return the waits between the checks of each."""
    async with faulty_web() as web:
        for host, reply in UNREACHABLE.items():
            web.say(f"{host}.test/robots.txt", reply, reply, reply, robots("User-agent: *", "Allow: /"))
            web.say(f"{host}.test/", page())
        limits = {"error_ttl": CHECK_S, "timeout": 0.4}
        found = await crawl(path, web, *(f"{host}.test/" for host in UNREACHABLE), robots=limits)
    waits = {}
    for host in UNREACHABLE:
        paths = web.paths(f"{host}.test")
        n_checks = max(4, len(paths) - 1)  # more where a busy machine needs longer for an answer than `robots.timeout`
        assert paths == ["/robots.txt"] * n_checks + ["/"]
        began = [seen.began for seen in web.seen(f"{host}.test", "/robots.txt")]  # the server sees late that the client has hung up
        waits[host] = [after - before for before, after in pairwise(began)]
    assert found.causes() == {}
    return waits


async def test_no_answer_forbids_everything_until_there_is_one(tmp_path: Path) -> None:
    """F74, P13: no page is requested. The robots.txt is, after 5 minutes (here 0.1 s), then after twice that, and so on, until it is
    answered. A request through which this machine has slept is no check; then the test tries again.
    """
    for n in range(5):
        waits = await _checks_of_unreachable(tmp_path / str(n))
        early = {host: of for host, of in waits.items() if any(wait < CHECK_S * 2**i for i, wait in enumerate(of))}
        if not early:
            break
    assert early == {}


async def test_a_certificate_that_does_not_fit_forbids_everything(tmp_path: Path) -> None:
    """F74: nothing is sent. The checks become rarer until the next is later than `limits.max_wait` allows; the URL still waits then."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("a.test").configure_cert(context)
    async with faulty_web(tls=context) as web:
        found = await crawl(tmp_path, web, "a.test/", robots={"error_ttl": CHECK_S}, limits={"max_wait": 0.5})
        record = found.robots[web.url("a.test")]
    assert web.site.requests == []
    assert (record.kind, record.errors >= 4) == ("unreachable", True), "more where a busy machine lets most of a wait pass before it looks"
    assert record.expires_at - record.fetched_at == pytest.approx(CHECK_S * 2 ** (record.errors - 1))
    assert found["a.test/"].state == "queued"


async def test_a_429_forbids_everything_for_as_long_as_it_asks(tmp_path: Path) -> None:
    """F76, P18, P28: nothing of the host is requested until Retry-After is over."""
    async with faulty_web() as web:
        web.say("a.test/robots.txt", response(b"", "Retry-After: 1", status="429 Too Many Requests"), response(status="404 Not Found"))
        await crawl(tmp_path, web, "a.test/", robots={"error_ttl": 0.01})
    assert web.paths("a.test") == ["/robots.txt", "/robots.txt", "/"]
    assert web.gaps("a.test")[0] >= 1.0


async def test_a_file_that_is_not_there_allows_everything(tmp_path: Path) -> None:
    """F75, P12: 401, 403, 404 and 410. By an option 401 and 403 forbid everything."""
    statuses = (400, 401, 403, 404, 410, 451)
    async with faulty_web() as web:
        for status in statuses:
            web.say(f"h{status}.test/robots.txt", response(b"User-agent: *\nDisallow: /", status=f"{status} No"))
        await crawl(tmp_path, web, *(f"h{status}.test/" for status in statuses))
        assert all(web.paths(f"h{status}.test") == ["/robots.txt", "/"] for status in statuses)
        web.log.clear()
        await crawl(tmp_path / "strict", web, *(f"h{status}.test/" for status in statuses), robots={"on_403": "disallow"})
        assert {status for status in statuses if web.pages(f"h{status}.test")} == {400, 404, 410, 451}


# -- a robots.txt that redirects --------------------------------------------------------------------------------------------------


async def test_five_hops_are_followed_and_bind_the_host_that_was_asked(tmp_path: Path) -> None:
    """F77, P11: over three hosts, whatever their own robots.txt say, with each host's delay."""
    async with faulty_web() as web:
        hops = ["b.test/1", "c.test/2", "a.test/3", "b.test/4", "c.test/5"]
        for place, to in zip(["a.test/robots.txt", *hops], hops, strict=False):
            web.say(place, redirect(web.url(to), "301 Moved Permanently"))
        web.say("c.test/5", robots("User-agent: *", "Disallow: /private/"))
        web.say("b.test/robots.txt", robots("User-agent: *", "Disallow: /"))
        found = await crawl(
            tmp_path, web, "a.test/private/", "a.test/open", "b.test/page", "c.test/private/", politeness={"min_delay": 0.05}
        )
    assert web.pages("a.test") == ["/3", "/open"]
    assert set(web.pages("b.test")) == {"/1", "/4"}
    assert set(web.pages("c.test")) == {"/2", "/5", "/private/"}
    assert found["a.test/private/"].row.reason == "robots_denied"
    assert found["b.test/page"].row.reason == "robots_denied"
    for host in ("a.test", "b.test", "c.test"):
        assert min(web.gaps(host)) >= 0.05
    assert web.paths("a.test")[0] == web.paths("b.test")[0].replace("/1", "/robots.txt")


async def test_what_leads_nowhere_forbids_everything(tmp_path: Path) -> None:
    """F77, S6: six hops, a circle, a redirect to itself, another scheme, no Location, and a private address, to which no connection is
    opened.
    """
    async with faulty_web() as web, serve(lambda talk: talk.gone(), host="127.0.0.9") as inner:
        for i in range(6):
            web.say("six.test/robots.txt" if i == 0 else f"six.test/{i}", redirect(f"/{i + 1}"))
        web.say("six.test/6", robots("User-agent: *", "Allow: /"))
        web.say("circle.test/robots.txt", redirect("/again"))
        web.say("circle.test/again", redirect("/robots.txt"))
        web.say("itself.test/robots.txt", redirect("/robots.txt"))
        web.say("ftp.test/robots.txt", redirect("ftp://itself.test/robots.txt"))
        web.say("lost.test/robots.txt", response(status="302 Found"))
        web.say("inner.test/robots.txt", redirect(inner.url("/robots.txt", host="127.0.0.9")))
        web.say("named.test/robots.txt", redirect(inner.url("/robots.txt", host="private.test")))
        hosts = ("six", "circle", "itself", "ftp", "lost", "inner", "named")
        found = await crawl(
            tmp_path, web, *(f"{host}.test/" for host in hosts),
            fetch={"allow_addresses": ["127.0.0.1/32"]}, dns={"static": {"private.test": "127.0.0.9", ".test": "127.0.0.1"}},
        )  # fmt: skip
        assert inner.n_connections == 0
        for host in hosts:
            assert found.robots[web.url(f"{host}.test")].kind == "unreachable", host
            assert found[f"{host}.test/"].state == "queued", host
            assert "/" not in web.paths(f"{host}.test")
            assert len(web.paths(f"{host}.test")) <= 6


# -- odd files ------------------------------------------------------------------------------------------------------------------------

RULES = b"User-agent: *\nDisallow: /private/\n"
ODD: dict[str, Reply] = {
    "huge": _fed(RULES, b"# nothing but words\n", 800),
    "endless": _fed(RULES, b"Disallow: /more/", 1 << 20),
    "binary": text(bytes(range(128, 256)) * 100 + b"\n" + RULES),
    "bom": text(b"\xef\xbb\xbf" + RULES),
    "cr": text(RULES.replace(b"\n", b"\r")),
    "nul": text(b"\0".join([b"", *RULES.split(b" ")]).replace(b"\0", b" \0") + b"\0"),
    "utf16": text(RULES.decode().encode("utf-16")),
    "late": text(RULES + b"#" * (511_900 - len(RULES) - 21) + b"\nDisallow: /late/\n" + b"#" * 200_000 + b"\nDisallow: /\n"),
}


async def test_an_odd_file_is_read_as_far_as_it_can_be(tmp_path: Path) -> None:
    """F78, P10, P16, P17: 50 MB, endless, binary, byte order mark, CR only, NUL; the first 500 KiB count, what follows does not."""
    async with faulty_web() as web:
        for host, reply in ODD.items():
            web.say(f"{host}.test/robots.txt", reply)
        places = [f"{host}.test/{path}" for host in ODD for path in ("private/1", "open", "late/1")]
        found = await crawl(tmp_path, web, *places)
    for host in ODD:
        assert (host, web.pages(f"{host}.test")) == (host, ["/open"] if host == "late" else ["/open", "/late/1"])
        assert found[f"{host}.test/private/1"].row.reason == "robots_denied"


# -- the rules ------------------------------------------------------------------------------------------------------------------------

FILES: dict[str, tuple[list[str], list[str], list[str]]] = {  # lines, what is fetched, what is not
    "P2: our token in any case": (["User-agent: THRESHER", "Disallow: /a", "User-agent: *", "Disallow: /b"], ["/b"], ["/a"]),
    "P2: not a prefix of it": (["User-agent: thresh", "Disallow: /a"], ["/a"], []),
    "P2: nor a longer name": (["User-agent: thresherx", "Disallow: /a", "User-agent: *", "Disallow: /b"], ["/a"], ["/b"]),
    "P2: version and comment": (["User-agent: thresher/2.0 # us", "Disallow: /a"], ["/b"], ["/a"]),
    "P2: everyone": (["User-agent: other", "Disallow: /", "User-agent: *", "Disallow: /a"], ["/b"], ["/a"]),
    "P2: no group": (["Disallow: /"], ["/a"], []),
    "P3: groups are merged": (
        ["User-agent: thresher", "Disallow: /a", "User-agent: x", "Disallow: /", "User-agent: thresher", "Disallow: /b"],
        ["/c"], ["/a", "/b"],
    ),
    "P4: the longest wins": (["User-agent: *", "Disallow: /a", "Allow: /a/b", "Disallow: /a/b/c"], ["/a/b/x"], ["/a/x", "/a/b/c"]),
    "P4: equal allows": (["User-agent: *", "Disallow: /a", "Allow: /a"], ["/a"], []),
    "P5: case": (["User-agent: *", "Disallow: /A"], ["/a"], ["/A"]),
    "P5: from the start": (["User-agent: *", "Disallow: /a"], ["/b/a"], ["/ab"]),
    "P6: escapes": (
        ["User-agent: *", "Disallow: /caf%c3%a9", "Disallow: /%62%61r", "Disallow: /a%3cd"], ["/foo"], ["/café", "/bar", "/a%3Cd"],
    ),
    "P6: in UTF-8": (["User-agent: *", "Disallow: /straße"], ["/stra"], ["/stra%C3%9Fe"]),
    "P7: wildcards": (["User-agent: *", "Disallow: /*.php$", "Disallow: /x*y"], ["/a.php5", "/xz"], ["/a.php", "/x/1/y"]),
    "P7: comments": (["User-agent: * # all", "Disallow: /a # not this", "#Disallow: /b"], ["/b"], ["/a"]),
    "P8: other records": (
        ["User-agent: thresher", "Sitemap: http://x.test/s.xml", "Crawl-delay: 0", "Noindex: /z", "Disallow: /a"], ["/z"], ["/a"],
    ),
    "P8: between the names": (["User-agent: thresher", "Crawl-delay: 0", "User-agent: other", "Disallow: /a"], ["/b"], ["/a"]),
    "P10: garbage": (["garbage", "User-agent *", "<garbage>", "::::", "Disallow /a", "\x00\x01", "disallow:/b"], ["/c"], ["/a", "/b"]),
    "P57: everything": (["User-agent: *", "Disallow: /"], [], ["/a", "/"]),
}  # fmt: skip


async def test_a_file_means_what_the_rfc_says(tmp_path: Path) -> None:
    """P1, P2, P3, P4, P5, P6, P7, P8, P10, P57: what is denied is never requested, not even by HEAD, and is recorded as denied."""
    hosts = {name: f"{name.partition(':')[0].lower()}-{i}.test" for i, name in enumerate(FILES)}
    async with faulty_web() as web:
        seeds = []
        for name, (lines, allowed, denied) in FILES.items():
            web.say(f"{hosts[name]}/robots.txt", robots(*lines))
            seeds += [f"{hosts[name]}{path}" for path in (*allowed, *denied)]
        found = await crawl(tmp_path, web, *seeds)
        for name, (_, allowed, denied) in FILES.items():
            assert (name, web.paths(hosts[name])) == (name, ["/robots.txt", *allowed])
            refused = [known for url, known in found.urls.items() if hosts[name] in url and known.state == "refused"]
            assert [known.row.reason for known in refused] == ["robots_denied"] * len(denied)
    assert {seen.head.split(b" ")[0] for seen in web.log} == {b"GET"}


# -- as time goes by ------------------------------------------------------------------------------------------------------------


async def test_a_file_that_changes_is_read_again_and_binds_what_waits(tmp_path: Path) -> None:
    """F79, P15: after a day (here 0.3 s, or more on a machine that is slower than that) the file is requested again. Waiting URLs that are
    denied now are dropped at their turn.
    """
    for ttl_s in (0.3, 3.0, 30.0):
        async with faulty_web() as web:
            web.say("a.test/robots.txt", robots("User-agent: *", "Disallow:"), robots("User-agent: *", "Disallow: /private/"))
            web.say("a.test/", page(*(f"/{kind}/{i}" for i in range(25) for kind in ("private", "open"))))
            more: dict[str, Any] = {"politeness": {"min_delay": ttl_s / 15}, "limits": {"max_wait": 60.0}}
            found = await crawl(tmp_path / str(ttl_s), web, "a.test/", robots={"cache_ttl": ttl_s}, **more)
        asked = web.seen("a.test", "/robots.txt")
        before = [seen for seen in web.log if seen.path.startswith("/private") and seen.began < asked[1].began]
        if before:
            break
    assert asked[1].began - asked[0].ended >= ttl_s
    after = [seen for seen in web.log if seen.path.startswith("/private") and seen.began > asked[1].began]
    assert before
    assert after == []
    denied = [known for known in found.urls.values() if known.row.reason == "robots_denied"]
    assert len(denied) == 25 - len(before)
    assert sum(seen.path.startswith("/open") for seen in web.log) == 25


async def test_a_file_that_forbids_everything_does_not_forbid_itself(tmp_path: Path) -> None:
    """P9: when the crawl is resumed later, the file is out of date and is read again, and what it allows now is fetched. A file whose
    lifetime is 0 serves one URL.
    """
    async with faulty_web() as web:
        web.say("a.test/robots.txt", robots("User-agent: *", "Disallow: /"), robots("User-agent: *", "Allow: /"))
        await crawl(tmp_path, web, "a.test/1", robots={"cache_ttl": 0.0})
        assert web.paths("a.test") == ["/robots.txt"]
        found = await crawl(tmp_path, web, "a.test/1", "a.test/2", robots={"cache_ttl": 0.0})
    assert web.paths("a.test") == ["/robots.txt", "/robots.txt", "/2"]
    assert found["a.test/1"].row.reason == "robots_denied"


async def test_rules_in_date_are_taken_over_by_the_next_life(tmp_path: Path) -> None:
    """P15, P55: a resume requests no robots.txt that is less than a day old."""
    async with faulty_web() as web:
        web.say("a.test/robots.txt", robots("User-agent: *", "Disallow: /private/"))
        await crawl(tmp_path, web, "a.test/1")
        await crawl(tmp_path, web, "a.test/1", "a.test/2", "a.test/private/")
    assert web.paths("a.test") == ["/robots.txt", "/1", "/2"]


async def test_a_delay_asked_for_is_kept_and_an_absurd_one_parks_the_host(tmp_path: Path) -> None:
    """P19, S47: a Crawl-delay of .25 s holds for every request. A host with a Crawl-delay of a year or more is not crawled, and the crawl
    ends.
    """
    async with faulty_web() as web:
        web.say("slow.test/robots.txt", robots("User-agent: *", "Crawl-delay: 0.25"))
        for host, value in (("year", "31536000"), ("absurd", "1e308"), ("digits", "9" * 400)):
            web.say(f"{host}.test/robots.txt", robots("User-agent: *", f"Crawl-delay: {value}"))
        places = [f"{host}.test/{i}" for host in ("slow", "year", "digits", "absurd") for i in range(3)]
        found = await crawl(tmp_path, web, *places)
    assert web.pages("slow.test") == ["/0", "/1", "/2"]
    assert min(web.gaps("slow.test")) >= 0.25
    for host in ("year.test", "digits.test", "absurd.test"):
        assert web.pages(host) == []
        assert found.hosts[web.url(host)[7:]].parked == "crawl_delay_too_long"
        assert found[f"{host}/0"].state == "queued"


async def test_the_same_we_ask_for_everything(tmp_path: Path) -> None:
    """P1, P36, P34: robots.txt is the first request at every origin, and has the same User-Agent as those for pages."""
    async with faulty_web() as web:
        web.say("a.test/", page(web.url("b.test/"), web.url("www.a.test/"), "/1"))
        await crawl(tmp_path, web, "a.test/")
    for host in ("a.test", "b.test", "www.a.test"):
        assert web.paths(host)[0] == "/robots.txt"
        assert web.paths(host).count("/robots.txt") == 1
    names = {seen.header("user-agent") for seen in web.log}
    assert len(names) == 1
    assert names.pop().startswith("thresher/")


async def test_a_large_file_does_not_hold_up_other_hosts(tmp_path: Path) -> None:
    """F78: parsing half a megabyte of rules takes a while; pages of another host are fetched meanwhile."""
    lines = b"\n".join(b"Disallow: /" + "ä".encode() * 100 + b"%d" % i for i in range(2_300))
    async with faulty_web() as web:
        web.say("bad.test/robots.txt", text(b"User-agent: *\n" + lines))
        web.say_all("well.test", lambda seen: page() if web.pages("bad.test") else page(f"/{len(web.seen('well.test'))}"))
        await crawl(tmp_path, web, "well.test/", "bad.test/open")
    served, followed = web.seen("bad.test", "/robots.txt")[0].ended, web.seen("bad.test", "/open")[0].began
    assert sum(served < seen.began < followed for seen in web.seen("well.test")) >= 5
