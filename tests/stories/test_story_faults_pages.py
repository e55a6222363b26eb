"""Rows of ACCEPTANCE.md in whole crawls: pages of another type than they say, pages that would block a parser, links to impossible URLs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from faulty import Found, Seen, Web, crawl, faulty_web, page
from hostile import A, DnsAnswer, Question, Talk, name_server, response
from long import shortened
from planted import PageScript, SeenPage

from thresher.crawler.core.model import Mode, Page
from thresher.filters.spec import FilterSpec

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 8


def document(body: bytes, *headers: str) -> bytes:
    """Return a page under exactly these headers."""
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


# -- what it is -----------------------------------------------------------------------------------------------------------------------


async def test_an_image_that_says_it_is_a_page_has_no_links(tmp_path: Path) -> None:
    """F61: it is stored with a flag, and not parsed."""
    async with faulty_web() as web:
        web.say("a.test/", response(PNG + b'<a href="/link">link</a>'))
        found = await crawl(tmp_path, web, "a.test/")
    assert web.pages("a.test") == ["/"]
    assert found["a.test/"].flags == {"not_html"}
    assert found["a.test/"].page is not None
    assert found["a.test/"].page.n_links == 0


LINKED = '<title>t</title><meta charset="{}"><a href="/straße">ä</a>'
ENCODED: dict[str, tuple[bytes, str]] = {
    "bom8": (b"\xef\xbb\xbf" + LINKED.format("latin-1").encode(), "text/html; charset=iso-8859-1"),
    "bom16": (LINKED.format("utf-16").encode("utf-16"), "text/html"),
    "utf16be": (LINKED.format("utf-16be").encode("utf-16-be"), "text/html; charset=utf-16be"),
    "header": (LINKED.format("utf-8").encode("cp1252"), "text/html; charset=windows-1252"),
    "meta": (LINKED.format("iso-8859-1").encode("latin-1"), "text/html"),
    "unknown": (LINKED.format("klingon").encode(), "text/html; charset=no-such-thing"),
    "nothing": (LINKED.replace('<meta charset="{}">', "").encode(), "text/html"),
    "quoted": (LINKED.format("x").encode("cp1250"), 'text/html; charset="windows-1250"'),
}


async def test_every_encoding_yields_the_same_link(tmp_path: Path) -> None:
    """F62: said by a byte order mark, the header, or a meta element; unknown labels; UTF-16."""
    async with faulty_web() as web:
        for host, (body, content_type) in ENCODED.items():
            web.say(f"{host}.test/", document(body, f"Content-Type: {content_type}"))
        await crawl(tmp_path, web, *(f"{host}.test/" for host in ENCODED))
    assert {host: web.pages(f"{host}.test") for host in ENCODED} == {host: ["/", "/stra%C3%9Fe"] for host in ENCODED}


async def test_zero_bytes_become_replacement_characters(tmp_path: Path) -> None:
    """F63"""
    body = b"<title>t</title>" + b" " * 1100 + b'<a href="/nul\0l">x</a> wo\0rds <a href="/next">y</a>'
    async with faulty_web() as web:
        web.say("a.test/", response(body))
        found = await crawl(tmp_path, web, "a.test/")
    assert web.pages("a.test") == ["/", "/nul%EF%BF%BDl", "/next"]
    assert found["a.test/"].body == body


# -- what would block or kill a parser ---------------------------------------------------------------------------------------------

BOMBS: dict[str, Callable[[], bytes]] = {
    "divs": lambda: b"<div>" * 100_000,
    "lists": lambda: b"<ul><li>" * 50_000,
    "attributes": lambda: b"<a " + b"".join(b"a%d " % i for i in range(50_000)) + b">",
    "adoption": lambda: b"<a><div>" * 100_000,
    "templates": lambda: b"<template>" * 100_000,
}


@pytest.mark.parametrize("names", shortened([["divs", "templates", "attributes"], ["divs", "lists", "adoption"]], 1))
async def test_pages_that_hang_a_parser_cost_nobody_else_anything(tmp_path: Path, names: list[str]) -> None:
    """F64, F65, F66: each page is stored with a flag, links at its beginning are followed, and other hosts are fetched meanwhile."""
    async with faulty_web() as web:

        def endless(seen: Seen) -> bytes:
            """Answer with a page that links to another one, as long as one of the hostile pages is being parsed."""
            is_over = all(web.seen(f"{name}.test", "/after") for name in names)
            return page() if is_over else page(f"/{len(web.seen('well.test'))}")

        web.say_all("well.test", endless)
        for name in names:
            web.say(f"{name}.test/", response(b'<a href="/after">x</a>' + BOMBS[name]()))
        seeds = ("well.test/", *(f"{name}.test/" for name in names))
        found = await crawl(tmp_path, web, *seeds, parse={"timeout": 0.4}, politeness={"min_delay": 0.01})
    for name in names:
        assert web.pages(f"{name}.test") == ["/", "/after"]
        assert found[f"{name}.test/"].flags <= {"parse_timeout", "parse_crash"}
        assert found[f"{name}.test/"].body.startswith(b'<a href="/after">')
    assert found["divs.test/"].flags == {"parse_timeout"}
    n_meanwhile = []
    for name in names:
        served, followed = web.seen(f"{name}.test", "/")[0].ended, web.seen(f"{name}.test", "/after")[0].began
        n_meanwhile.append(sum(served < seen.began < followed for seen in web.seen("well.test")))
    assert max(n_meanwhile) >= 10, "of one of them, as this process may stand still during another"
    assert all(known.cause == "" for known in found.urls.values())


async def test_an_attribute_without_end_is_cut_with_its_page(tmp_path: Path) -> None:
    """F67: what is read, stored and parsed is bounded by the size limit."""

    async def endless(talk: Talk) -> None:
        await talk.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + b'<a href="/first">x</a><a href="')
        await talk.flood(b"x" * 1024)

    async with faulty_web() as web:
        web.say("a.test/", endless)
        found = await crawl(tmp_path, web, "a.test/", fetch={"max_body": 2 << 20}, parse={"timeout": 10.0})
    assert web.pages("a.test") == ["/", "/first"]
    assert (len(found["a.test/"].body), found["a.test/"].flags) == (2 << 20, {"truncated_size"})


async def test_a_page_full_of_links_to_one_victim_does_not_hurt_it(tmp_path: Path) -> None:
    """F68, S48: only a limited number of a page's links is taken. They wait in the queue of the host that they name, which gets one request
    in each delay.
    """
    async with faulty_web() as web:
        web.say("a.test/", page(*(web.url(f"victim.test/{i}") for i in range(4_000)), "/own"))
        web.say_all("victim.test", lambda seen: page())
        found = await crawl(
            tmp_path, web, "a.test/",
            limits={"max_links_per_page": 1_000, "max_pages": 8}, politeness={"min_delay": 0.1}, parse={"timeout": 10.0},
        )  # fmt: skip
    assert "links_truncated" in found["a.test/"].flags
    assert sum("victim.test" in url for url in found.urls) == 1_000
    assert found.counters["skip:link_limit"] == 1
    assert len(web.pages("victim.test")) >= 5
    assert min(web.gaps("victim.test")) >= 0.1
    assert web.most_at_once["victim.test"] == 1


# -- what it links to -----------------------------------------------------------------------------------------------------------------

SCHEMES = [
    "javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,<a href=/x>", "mailto:a@b.test", "tel:+491", "ftp://c.test/", "file:///etc/passwd",
    "gopher://c.test/", "ws://c.test/", "wss://c.test/", "about:blank", "blob:http://c.test/1", "view-source:http://c.test/", "vbscript:x",
    "irc://c.test/", "chrome://settings/", "jar:http://c.test!/", "ldap://c.test/", "s3://c/d", "java\tscript:alert(1)",
]  # fmt: skip
PORTS = [0, 1, 21, 22, 25, 110, 445, 3306, 5432, 6379, 8080, 9200, 11211, 65535, 99999]
HOSTS = [
    "http://" + ".".join(["l"] * 10_000) + "/", "http://" + "l" * 64 + ".test/", "http://a..test/", "http://.test/", "http://x.test../",
    "http://" + "l." * 130 + "test/", "http://exa mple.test/", "http://exa%00mple.test/", "http://[::1/", "http://[v1.x]/", "http://a_b|c.test/",
    "http:///", "http://?", "http://#", "http://%/",
]  # fmt: skip
NAMES = [
    "http://xn--pokxncvks.test/",
    "http://xn--a.test/",
    "http://\u05d0a.test/",
    "http://a\u200d.test/",
    "http://xn--.test/",
    "http://\ufffd.test/",
]


async def _linked(tmp_path: Path, web: Web, links: list[str], *, head: str = "") -> tuple[Found, list[str]]:
    """Crawl a page with these links; return what was found and the names that were looked up."""

    def zone(question: Question) -> DnsAnswer:
        return DnsAnswer([(A, "127.0.0.1")] if question.kind == A else [])

    web.say("a.test/", page(*links, "/good", head=head))
    async with name_server(zone) as names:
        found = await crawl(
            tmp_path, web, "a.test/", dns={"static": {}, "servers": [names.address]}, fetch={"allow_ports": [web.site.port]}
        )
    return found, sorted({question.name for question in names.questions})


@pytest.mark.parametrize("base", ["", "javascript:alert(1)//", "data:text/html,x", "mailto:a@b.test"])
async def test_links_of_other_schemes_and_ports_are_never_queued(tmp_path: Path, base: str) -> None:
    """F70, S9, S10: also if <base> has such a scheme. None of fifteen forbidden ports reaches the address guard."""
    links = [*SCHEMES, *(f"http://c.test:{port}/" for port in PORTS), *(f"https://c.test:{port}/" for port in PORTS)]
    async with faulty_web() as web:
        found, names = await _linked(tmp_path, web, links, head=f'<base href="{base}">' if base else "")
    assert names == ["a.test"]
    assert {url for url in found.urls if "//a.test:" not in url} == set()
    if "mailto" not in base:  # browsers take it for a base too, so no relative link can be resolved
        assert web.pages("a.test") == ["/", "/good"]
    assert {seen.host for seen in web.log} == {"a.test"}


async def test_links_that_no_host_can_have_ask_no_name_server(tmp_path: Path) -> None:
    """F71, F72, F73: names that are too long, have too many, too long or empty labels, or wrong IDNA are refused before DNS. The page and
    its other links are taken.
    """
    links = [*HOSTS, *NAMES, "/" + "x" * 1_000_000, web_long := "/" + "x" * 3_000, "//" + "h" * 10_000 + ".test/"]
    async with faulty_web() as web:
        links = [link.replace(".test/", f".test:{web.site.port}/") for link in links]
        found, names = await _linked(tmp_path, web, links)
    assert names == ["a.test"]
    assert web.pages("a.test") == ["/", "/good"]
    assert set(found.urls) == {web.url("a.test/"), web.url("a.test/good")}
    assert found.counters["skip:too_long"] >= 2
    assert found.counters["skip:bad_url"] >= len(NAMES)
    assert all(len(line.url) <= 2_048 for line in found.skipped)
    assert web_long not in {line.url for line in found.skipped}


async def test_names_in_other_scripts_are_asked_for_and_shown_in_ascii(tmp_path: Path) -> None:
    """F73: by UTS 46, in lower case. A name that only looks like another one (a homograph) is another host, and is shown so that nobody
    takes it for the real one.
    """
    async with faulty_web() as web:
        port = web.site.port
        links = [f"http://{name}.test:{port}/" for name in ("Bücher", "faß", "аpple", "日本語", "xn--bcher-kva")]
        found, names = await _linked(tmp_path, web, links)
    expected = {"xn--bcher-kva", "xn--fa-hia", "xn--pple-43d", "xn--wgv71a119e"}
    assert set(names) == {"a.test"} | {f"{name}.test" for name in expected}
    assert {url for url in found.urls if "//a.test:" not in url} == {f"http://{name}.test:{port}/" for name in expected}
    assert all(seen.header("host").isascii() for seen in web.log)


async def test_nothing_is_ever_submitted_or_logged_out(tmp_path: Path) -> None:
    """S49, P58: only GET; forms are no links; links that change something at the server are not followed."""
    forms = '<form action="/post" method=post><input name=q><button formaction="/button">x</button></form><form action="/search"></form>'
    unsafe = ["/logout", "/account/sign-out/", "/x?action=delete", "/x?delete=1", "/cart/add-to-cart/5", "/x?do=remove", "/LogOut.php"]
    async with faulty_web() as web:
        web.say("a.test/", page(*unsafe, "/logouts-explained", text=forms))
        found = await crawl(tmp_path, web, "a.test/")
    assert web.pages("a.test") == ["/", "/logouts-explained"]
    assert {seen.head.split(b" ")[0] for seen in web.log} == {b"GET"}
    assert found.counters["skip:unsafe"] == len(unsafe)


# -- pages that ask not to be taken ------------------------------------------------------------------------------------------------


async def test_a_file_nobody_wants_costs_its_headers(tmp_path: Path) -> None:
    """P43, P41: a file of an unwanted type is not requested if its name says so. If only its header says so, the body is not read: of 100
    MB at most 256 KiB arrive. Requests offer encodings.
    """

    async def archive(talk: Talk) -> None:
        await talk.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\nContent-Length: 104857600\r\n\r\n")
        await talk.flood(b"PK" * 512, 1600)

    async with faulty_web() as web:
        web.say("a.test/", page("/file.zip", "/download"))
        web.say("a.test/download", archive)
        found = await crawl(tmp_path, web, "a.test/")
    assert web.pages("a.test") == ["/", "/download"]
    assert found["a.test/download"].row.reason == "bad_type"
    assert found.counters["wire_bytes"] < 256 << 10
    assert {seen.header("accept-encoding") for seen in web.log} == {"gzip, deflate, br, zstd"}


async def test_a_page_may_ask_that_its_links_are_not_followed(tmp_path: Path) -> None:
    """P45, P46, P47: by a meta element, by a header, by a header for our name, by rel of the link. Directives for other crawlers are
    ignored. Statements about AI are recorded.
    """
    asked = {
        "meta": page("/x", head="<meta name=robots content='noindex, nofollow'>"),
        "ours": page("/x", head="<meta name=thresher content=none>"),
        "theirs": page("/x", head="<meta name=otherbot content=nofollow>"),
        "header": document(page("/x").partition(b"\r\n\r\n")[2], "Content-Type: text/html", "X-Robots-Tag: nofollow"),
        "scoped": document(page("/x").partition(b"\r\n\r\n")[2], "Content-Type: text/html", "X-Robots-Tag: thresher: nofollow"),
        "others": document(page("/x").partition(b"\r\n\r\n")[2], "Content-Type: text/html", "X-Robots-Tag: otherbot: nofollow"),
        "link": page(text='<a href="/x" rel="nofollow ugc">x</a>'),
        "noai": page("/x", head="<meta name=robots content=noai>"),
    }
    async with faulty_web() as web:
        for host, answer in asked.items():
            web.say(f"{host}.test/", answer)
        found = await crawl(tmp_path, web, *(f"{host}.test/" for host in asked))
        assert {host for host in asked if "/x" in web.paths(f"{host}.test")} == {"theirs", "others", "noai"}
        assert {host for host in asked if found[f"{host}.test/"].page.noindex} == {"meta", "ours"}  # type: ignore[union-attr]  # None fails the test
        assert found["noai.test/"].page.signals == ["noai"]  # type: ignore[union-attr]  # None fails the test
        web.log.clear()
        bold = {"meta": False, "x_robots_tag": False, "nofollow_links": True}
        await crawl(tmp_path / "bold", web, *(f"{host}.test/" for host in asked), robots=bold)
        assert all("/x" in web.paths(f"{host}.test") for host in asked)


async def test_a_fault_of_our_own_in_one_page_ends_that_page_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """F83: it is logged with its traceback and recorded as our fault; the answer is stored and not requested again, and the crawl goes on.
    Seen to fail: the host was asked for the page twice more, and no log said why.
    """

    class Broken(PageScript):
        def measure(self, page: Page, /) -> SeenPage:
            if page.url.text.endswith("/bad"):
                raise ZeroDivisionError("a bug")
            return super().measure(page)

    async with faulty_web() as web:
        web.say("a.test/", page("/bad", "/good"))
        web.say("a.test/bad", page("/never"))
        web.say("a.test/good", page("/better"))
        found = await crawl(tmp_path, web, "a.test/", filters=[FilterSpec("broken", Mode.ENFORCE, page=Broken("broken"))])
    assert found.causes() == {"bad": "internal_error"}
    assert "ZeroDivisionError: a bug" in found["a.test/bad"].detail
    assert len(found["a.test/bad"].detail) <= 2_000
    assert found["a.test/bad"].flags == {"internal_error"}
    assert found["a.test/bad"].body == page("/never").partition(b"\r\n\r\n")[2]
    assert web.pages("a.test").count("/bad") == 1
    assert "/bad: internal_error, a fault of Thresher's: ZeroDivisionError: a bug" in caplog.text
    assert "Traceback" in caplog.text
    assert found["a.test/good"].page is not None
    assert found["a.test/better"].page is not None
    assert found.ending.code == 0


async def test_a_link_that_is_not_followed_and_no_url_is_skipped_for_that(tmp_path: Path) -> None:
    """Seen to fail: with rel=nofollow, or an announced type, it was in no log and no counter."""
    links = ('href="http://a.test:1/plain"', 'href="http://a.test:1/no" rel=nofollow', 'href="http://a.test:1/zip" type=application/zip')
    async with faulty_web() as web:
        web.say("a.test/", response("".join(f"<a {link}>link</a>" for link in (*links, 'href="/no" rel=nofollow')).encode()))
        found = await crawl(tmp_path, web, "a.test/", fetch={"allow_ports": [web.site.port]})
    said = {line.url.removeprefix("http://a.test"): str(line.reason) for line in found.skipped}
    assert said == {":1/plain": "bad_port", ":1/no": "bad_port", ":1/zip": "bad_port", f":{web.site.port}/no": "nofollow"}
    assert found.counters["skip:bad_port"] == 3
