"""Rows of ACCEPTANCE.md in whole crawls: no link and no redirect leads to a private address; the URL that robots.txt was asked about is the
one that is sent.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from faulty import Found, Web, crawl, faulty_web, page, redirect, robots, slowly
from hostile import AAAA, A, DnsAnswer, Question, Site, Talk, name_server, response, serve

from thresher.crawler.core.robots import Rules

ROOT = Path(__file__).parents[2]
INNER = "127.0.0.9"  # stands for a server behind our own firewall: it is not among the addresses that the crawl may reach


# -- addresses ------------------------------------------------------------------------------------------------------------------------


def _ways_in(inner: Site) -> dict[str, str]:
    """Return spellings of the inner server's address, each under what is unusual about it."""
    port = inner.port
    return {
        "plain": f"http://{INNER}:{port}/plain",
        "https": f"https://{INNER}:{port}/https",
        "number": f"http://2130706441:{port}/number",
        "octal": f"http://0177.0.0.011:{port}/octal",
        "hex": f"http://0x7f.0.0.0x9:{port}/hex",
        "short": f"http://127.9:{port}/short",
        "dot": f"http://{INNER}.:{port}/dot",
        "mapped": f"http://[::ffff:{INNER}]:{port}/mapped",
        "nat64": f"http://[64:ff9b::7f00:9]:{port}/nat64",
        "circled": f"http://①②⑦.0.0.⑨:{port}/circled",
        "ideographic": f"http://127。0。0。9:{port}/ideographic",
        "userinfo": f"http://a.test@{INNER}:{port}/userinfo",
        "named": f"http://inner.test:{port}/named",
        "any": f"http://0.0.0.0:{port}/any",
    }


async def _inside(tmp_path: Path, web: Web, *seeds: str) -> Found:
    """Crawl with one address allowed, and a name that stands for the other one."""
    return await crawl(
        tmp_path, web, *seeds,
        fetch={"allow_addresses": ["127.0.0.1/32"]}, dns={"static": {"inner.test": INNER, ".test": "127.0.0.1"}},
    )  # fmt: skip


async def test_no_entry_point_leads_to_a_private_address(tmp_path: Path) -> None:
    """S6, S4: by a seed, link, redirect, canonical, meta refresh, base, frame, alternate, in each spelling: no connection. (By robots.txt:
    F77)
    """
    async with faulty_web() as web, serve(lambda talk: talk.gone(), host=INNER) as inner:
        ways = _ways_in(inner)
        plain = ways["plain"]
        web.say("a.test/", page(*ways.values(), *(f"/to/{name}" for name in ways), "/refresh", "/canonical", "/base", "/frame", "/next"))
        for name, url in ways.items():
            web.say(f"a.test/to/{name}", redirect(url.encode()))
        web.say("a.test/refresh", page(head=f'<meta http-equiv=refresh content="0;url={plain}?refresh">'))
        web.say("a.test/canonical", page(head=f'<link rel=canonical href="{plain}?canonical">'))
        web.say("a.test/base", page("relative", head=f'<base href="{plain}/based/">'))
        web.say("a.test/frame", page(text=f'<iframe src="{plain}?frame"></iframe>'))
        web.say("a.test/next", page(head=f'<link rel=next href="{plain}?next"><link rel=icon href="{plain}?icon">'))
        found = await _inside(tmp_path, web, "a.test/", plain + "?seed")
        assert inner.n_connections == 0
    blocked = {url for url, known in found.urls.items() if known.cause == "blocked_address"}
    assert {url for url in found.urls if "a.test" not in url} == blocked
    assert {url.partition("?")[2] for url in blocked if "?" in url} == {"seed", "canonical", "refresh", "frame", "next"}
    assert len(web.pages("a.test")) == 1 + len(ways) + 5
    assert all(found[f"a.test/to/{name}"].edge is not None for name in ways)


async def test_a_name_that_turns_into_a_private_address_is_not_followed_there(tmp_path: Path) -> None:
    """F6, S5: the name has a public address for two pages, and a private one when it is looked up after them. No connection goes there."""

    def zone(question: Question) -> DnsAnswer:
        address = INNER if question.name == "b.test" or len(web.pages("a.test")) >= 2 else "127.0.0.1"
        return DnsAnswer([(A, address)] if question.kind == A else [], ttl=0)

    async def answer(talk: Talk) -> None:
        """Answer and close the connection, so that the next request needs a new one."""
        await talk.send(page(f"/{len(web.log)}") if len(web.log) < 8 else page())

    async with faulty_web() as web, serve(lambda talk: talk.gone(), host=INNER) as inner, name_server(zone) as names:
        web.say_all("a.test", lambda seen: answer)
        found = await crawl(
            tmp_path, web, "a.test/", "b.test/", fetch={"allow_addresses": ["127.0.0.1/32"]},
            dns={"static": {}, "servers": [names.address], "min_ttl": 0.1, "negative_ttl": 0.01}, politeness={"min_delay": 0.12},
        )  # fmt: skip
        assert inner.n_connections == 0
    assert found["b.test/"].cause == "blocked_address"
    assert {known.cause for url, known in found.urls.items() if "a.test" in url} == {"", "blocked_address"}


def test_no_side_path_has_a_session_of_its_own() -> None:
    """S6: only one place for each of the fetcher's two clients opens HTTP sessions or sockets, and one in `cluster start`, which looks for
    the head.
    """
    session = re.compile(r"ClientSession\(|\b(?:urllib\.request|http\.client|requests\.get)\b|(?:create|open)_connection\(")
    files = [path for path in ROOT.joinpath("crawler").rglob("*.py") if path.parent.name != "demo"]
    places = [path.name for path in files if session.search(path.read_text())]
    assert sorted(places) == ["aiohttp_client.py", "cluster.py", "lean_client.py"]


# -- the URL that robots.txt was asked about is the one that is sent ------------------------------------------------------------------

ODD = [
    "/a/../private/1", "/./private/2", "/%70rivate/3", "//a.test/private/4", "\\private\\5", "/a/%2e%2e/private/6", "/private/./7",
    "/pri\tvate/8", " /private/9 ", "/private/10#open", "http:/private/11", "/%2Fprivate/12", "/private%2F13", "/PRIVATE/14", "/private;15",
    "/caf\u00e9", "/caf%c3%a9?q=%e4", "/a b", "/a%20b?c d", "/%7Euser/", "/?private/", "/x?a=/private/", "/a\u0001b", "/%zz", "/a|b",
    "/a'b\"c",
    "/ends?", "/x/?&&=", "/{a}", "/a^b`c", "/ü\u202e/x",
]  # fmt: skip


async def test_what_robots_judged_is_sent_byte_for_byte(tmp_path: Path) -> None:
    """S51, S41, S16: however a link is written, its canonical form is judged, stored and requested, and takes one request line."""
    rules = "User-agent: *\nDisallow: /private/\nDisallow: /caf%C3%A9$"
    async with faulty_web() as web:
        links = [link.replace("//a.test", f"//a.test:{web.site.port}") for link in ODD]
        web.say("a.test/robots.txt", robots(*rules.split("\n")))
        web.say("a.test/", page(*(link.replace('"', "&quot;") for link in links)))
        found = await crawl(tmp_path, web, "a.test/")
        judge = Rules(rules.encode(), "thresher")
        sent = {web.url(f"a.test{path}") for path in web.pages("a.test")}
    assert all(judge.allows(url) for url in sent)
    assert sent == {url for url, known in found.urls.items() if known.page is not None}
    denied = {url for url, known in found.urls.items() if known.row.reason == "robots_denied"}
    assert len(denied) == 12
    assert not any(judge.allows(url) for url in denied)
    for seen in web.log:
        assert seen.head.count(b" HTTP/1.1\r\n") == 1
        assert seen.head.isascii()
        assert seen.header("host") == f"a.test:{web.site.port}"
        assert seen.header("referer") == seen.header("cookie") == ""


# -- politeness, as the server sees it ------------------------------------------------------------------------------------------------


async def test_a_name_is_looked_up_once(tmp_path: Path) -> None:
    """P60: one question for each type of address, whatever lifetime the name server gives."""

    def zone(question: Question) -> DnsAnswer:
        return DnsAnswer([(A, "127.0.0.1")] if question.kind == A else [], ttl=0)

    async with faulty_web() as web, name_server(zone) as names:
        web.say("a.test/", page(*(f"/{i}" for i in range(30))))
        await crawl(tmp_path, web, "a.test/", dns={"static": {}, "servers": [names.address]})
    assert len(web.pages("a.test")) == 31
    assert sorted(question.kind for question in names.questions) == [A, AAAA]


async def test_each_url_is_asked_for_once(tmp_path: Path) -> None:
    """P40, P58: however many pages link to it, in however many spellings; by GET only."""
    links = [f"{spelling}/{i}" for i in range(10) for spelling in ("", "/x/..", "http://A.TEST:{port}", "/.")]
    async with faulty_web() as web:
        for i in range(10):
            web.say(f"a.test/{i}", page(*(link.format(port=web.site.port) for link in links)))
        found = await crawl(tmp_path, web, "a.test/0")
    assert sorted(web.pages("a.test")) == [f"/{i}" for i in range(10)]
    assert set(found.n_pages.values()) == {1}
    assert {seen.head.split(b" ")[0] for seen in web.log} == {b"GET"}


async def test_a_host_is_served_one_request_at_a_time_and_rests_after_each(tmp_path: Path) -> None:
    """P20, P21, P23, P26: www and the bare name are one host; the delay counts from the end of an answer, however long that took."""
    delay_s = 0.1

    async def answer(talk: Talk) -> None:
        await slowly(talk, page("/2", "/3"), n_drops=100, every_s=0.001)

    async with faulty_web() as web:
        web.say("a.test/", answer)
        web.say("www.a.test/", answer)
        await crawl(tmp_path, web, "a.test/", "www.a.test/", politeness={"min_delay": delay_s})
    for seen in web.log:
        seen.host = seen.host.removeprefix("www.")
    assert len(web.pages("a.test")) == 6
    assert min(web.gaps("a.test")) >= delay_s
    assert max(web.most_at_once.values()) == 1


async def test_a_slow_answer_makes_the_host_s_delay_longer(tmp_path: Path) -> None:
    """P22: to `politeness.delay_factor` times what the answer took."""

    async def answer(talk: Talk) -> None:
        await slowly(talk, page("/2"), n_drops=50, every_s=0.002)

    async with faulty_web() as web:
        web.say("a.test/", answer)
        await crawl(tmp_path, web, "a.test/", politeness={"delay_factor": 3.0}, limits={"max_wait": 60.0})
    slow = web.seen("a.test", "/")[0]
    after = web.seen("a.test", "/2")[0]
    assert after.began - slow.ended >= 3.0 * 0.08


async def test_names_that_share_an_address_or_a_site_take_turns(tmp_path: Path) -> None:
    """P24, P25: twenty names of one address have together no more connections than one address may; so have ten hosts of one site."""
    hosts = [f"h{i}.test" for i in range(20)]
    ours = [f"h{i}.one.test" for i in range(10)]
    narrow = {"address_connections": 2, "address_delay": 0.02}
    open_now, most = 0, 0

    async def count(talk: Talk) -> None:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await slowly(talk, page(), n_drops=20, every_s=0.003)
        open_now -= 1

    async with faulty_web() as web:
        for host in (*hosts, *ours):
            web.say(f"{host}/", count)
        await crawl(tmp_path / "address", web, *(f"{host}/" for host in hosts), politeness=narrow)
        assert most == 2
        assert (
            web.log[-1].began - web.log[0].began >= 30 * 0.02
        )  # of 39 gaps one may be short: the server may have noticed the first request late
        most = 0
        await crawl(tmp_path / "site", web, *(f"{host}/" for host in ours), politeness={"site_connections": 3})
        assert most == 3


async def test_a_host_that_keeps_failing_is_parked(tmp_path: Path) -> None:
    """P30: after a number of failures in a row nothing more is requested of the host; its URLs wait."""
    async with faulty_web() as web:
        web.say_all("a.test", lambda seen: response(status="500 Oops"))
        found = await crawl(tmp_path, web, *(f"a.test/{i}" for i in range(20)), politeness={"dead_after": 5})
    assert len(web.pages("a.test")) == 5
    assert found.hosts[web.url("a.test")[7:]].parked == "host_dead"
    assert sum(known.state == "queued" for known in found.urls.values()) == 20


async def test_a_host_s_budget_and_the_scope_are_kept(tmp_path: Path) -> None:
    """P42, P54, P44: of an endless host only the budgeted number of pages is fetched, and by default none of another host."""
    async with faulty_web() as web:
        web.say_all("a.test", lambda seen: page(*(f"{seen.path.rstrip('/')}/{i}" for i in range(3)), web.url("b.test/")))
        found = await crawl(tmp_path, web, "a.test/", limits={"max_pages_per_host": 12}, scope={"type": "host"})
    assert len(web.pages("a.test")) == 12
    assert web.paths("b.test") == []
    assert found.counters["skip:out_of_scope"] >= 1
    assert found.hosts[web.url("a.test")[7:]].parked == "host_budget"


async def test_a_connection_that_rests_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P59: after 15 s (here 0.1 s) without a request the crawler closes it, while it crawls other hosts."""
    monkeypatch.setattr("thresher.crawler.fetch.lean_client.KEEP_ALIVE_S", 0.1)
    is_closed = False

    async def patient(talk: Talk) -> None:
        nonlocal is_closed
        await talk.send(page())
        await talk.gone()
        is_closed = True

    async with faulty_web() as web:
        web.say("a.test/", patient)
        web.say_all("b.test", lambda seen: page() if is_closed else page(f"/{len(web.seen('b.test'))}"))
        await crawl(tmp_path, web, "a.test/", "b.test/", politeness={"min_delay": 0.01})
    assert is_closed
