"""Sitemaps from outside: which are requested, what they may announce, when that is fetched; judged by the server's log."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from little_web import Crawled, LittleWeb, crawl, settings

from thresher.config.settings import FrontierSettings, LimitSettings, RobotsSettings, Settings
from thresher.crawler.core.model import Purpose, State
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.report.sitemaps import read_sitemaps, section
from thresher.storage.export.sitemaps import announced, orphans, unannounced
from thresher.storage.records import SitemapRecord
from thresher.storage.store import Store
from thresher.storage.view import View

XML = "application/xml"


def urlset(web: LittleWeb, places: Iterable[str], lastmod: str = "") -> bytes:
    """Return a sitemap of places."""
    date = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    urls = "".join(f"<url><loc>{web.url(place)}</loc>{date}</url>" for place in places)
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'.encode()


def index(web: LittleWeb, places: Iterable[str]) -> bytes:
    """Return an index of sitemaps."""
    sitemaps = "".join(f"<sitemap><loc>{web.url(place)}</loc></sitemap>" for place in places)
    return f"<sitemapindex>{sitemaps}</sitemapindex>".encode()


def options(web: LittleWeb, *seeds: str, **sections: Any) -> Settings:
    return settings(web, seeds, **{"sitemaps": "robots", **sections})


def sitemap_of(crawled: Crawled, url: str) -> SitemapRecord:
    """Return the record of a sitemap."""
    with View(crawled.path) as view:
        record = view.tables.sitemaps.sitemap(URLSpace(view.secret, url_rules(view.settings)).key(url))
    assert record is not None, f"{url} is no sitemap"
    return record


def reported(view: View) -> str:
    """Return the part of the report about sitemaps."""
    found = section(read_sitemaps(view))
    assert found is not None
    return str(found.html())


async def test_of_many_sitemaps_eight_are_read_at_once_and_the_others_behind_what_links_name(tmp_path: Path) -> None:
    """robots.txt names twenty. Mutations: all are requested with the home page's links; those that wait are never requested."""
    async with LittleWeb() as web:
        feeds = [f"a.test/feed{i}.xml" for i in range(20)]
        web.robots("a.test", "User-agent: *\nDisallow:\n" + "".join(f"Sitemap: {web.url(feed)}\n" for feed in feeds))
        for i, feed in enumerate(feeds):
            web.file(feed, XML, urlset(web, [f"a.test/c{i}", f"a.test/orphan{i}"]))
            web.page(f"a.test/orphan{i}")
        web.page("a.test/", *(f"a.test/c{i}" for i in range(20)))
        for i in range(20):
            web.page(f"a.test/c{i}", f"a.test/d{i}")
            web.page(f"a.test/d{i}")
        await crawl(tmp_path / "c", options(web, "a.test/", frontier=FrontierSettings(announced_share=0.0)))
        kinds = [re.sub(r"\d+", "", place.removeprefix("a.test/")) for place in web.requests]
        last_linked = max(at for at, kind in enumerate(kinds) if kind in ("c", "d"))
        assert (kinds[:last_linked].count("feed.xml"), kinds[last_linked:].count("feed.xml")) == (8, 12)
        assert "orphan" not in kinds[:last_linked]
        assert kinds.count("orphan") == 20


async def test_what_a_sitemap_names_is_fetched_and_waits_behind_what_links_name(tmp_path: Path) -> None:
    """P61: robots.txt names an index of a compressed and a plain sitemap. Each is requested once, and the URLs that only they name are
    fetched last.
    """
    async with LittleWeb() as web:
        web.robots("a.test", f"User-agent: *\nDisallow: /no\nSitemap: {web.url('a.test/index.xml')}\n")
        web.file("a.test/index.xml", XML, index(web, ["a.test/1.xml.gz", "a.test/2.xml"]))
        web.file("a.test/1.xml.gz", "application/gzip", gzip.compress(urlset(web, ["a.test/orphan", "a.test/no", "a.test/b"])))
        web.file("a.test/2.xml", XML, urlset(web, ["a.test/deep/er/orphan", "a.test/orphan"]))
        web.page("a.test/", "a.test/b")
        web.page("a.test/b", *(f"a.test/c{i}" for i in range(30)))
        for i in range(30):
            web.page(f"a.test/c{i}", f"a.test/d{i}")
            web.page(f"a.test/d{i}")
        web.page("a.test/orphan", "a.test/e")
        web.page("a.test/e")
        web.page("a.test/deep/er/orphan")
        crawled = await crawl(tmp_path / "c", options(web, "a.test/", frontier=FrontierSettings(announced_share=0.0)))
        asked = web.requests
        assert [asked.count(place) for place in ("a.test/index.xml", "a.test/1.xml.gz", "a.test/2.xml", "a.test/sitemap.xml")] == [
            1,
            1,
            1,
            0,
        ]
        pages = [place for place in asked if place != "a.test/2.xml"]  # it may be read late
        assert set(pages[-3:]) == {"a.test/orphan", "a.test/e", "a.test/deep/er/orphan"}
        assert pages.index("a.test/orphan") < pages.index("a.test/e")
        assert "a.test/no" not in asked
        row = crawled.rows[web.url("a.test/orphan")]
        assert (row.state, row.purpose, row.seed_distance) == (State.DONE, Purpose.ANNOUNCED, 1)
        assert crawled.rows[web.url("a.test/b")].purpose is Purpose.PAGE  # a link names it, too
        assert sitemap_of(crawled, web.url("a.test/1.xml.gz")).counts == {"new": 2, "known": 1}
        assert sitemap_of(crawled, web.url("a.test/index.xml")).counts == {"sitemaps": 2}


async def test_a_sitemap_is_asked_for_once_a_day_however_often_robots_txt_is_read(tmp_path: Path) -> None:
    """P61: here every request makes the crawler read robots.txt again, which names the sitemap again."""
    async with LittleWeb() as web:
        web.robots("a.test", f"Sitemap: {web.url('a.test/s.xml')}\n")
        web.file("a.test/s.xml", XML, urlset(web, ["a.test/1"]))
        web.page("a.test/", "a.test/2")
        web.page("a.test/1")
        web.page("a.test/2")
        await crawl(tmp_path / "c", options(web, "a.test/", robots=RobotsSettings(cache_ttl=0.0)))
        assert len(web.robots_requests) > 2
        assert web.requests.count("a.test/s.xml") == 1
        crawled = tmp_path / "c"
        with Store.open(crawled, None, 0.0) as store:  # two days later, by the store's clock, which stands at the last commit
            key = URLSpace(store.secret, url_rules(store.settings)).key(web.url("a.test/s.xml"))
            record = store.tables.sitemaps.sitemap(key)
            assert record is not None
            record.fetched_at -= 2 * 86_400
            store.tables.sitemaps.save_sitemap(key, record)
            store.end_visit()
        web.page("b.test/", "a.test/3")
        web.page("a.test/3")
        await crawl(crawled, options(web, "a.test/", "b.test/", robots=RobotsSettings(cache_ttl=0.0)))
        assert web.requests.count("a.test/s.xml") == 2


async def test_sitemaps_that_are_off_are_not_asked_for(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.robots("a.test", f"Sitemap: {web.url('a.test/s.xml')}\n")
        web.file("a.test/s.xml", XML, urlset(web, ["a.test/orphan"]))
        web.page("a.test/")
        await crawl(tmp_path / "c", options(web, "a.test/", sitemaps="off"))
        assert web.requests == ["a.test/"]


async def test_a_sitemap_is_guessed_for_seeds_alone_and_only_where_none_is_named(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/docs/x", "b.test/", "c.test/")
        web.page("b.test/")
        web.robots("c.test", f"Sitemap: {web.url('c.test/mine.txt')}\n")
        web.file("c.test/mine.txt", "text/plain", f"{web.url('c.test/told')}\n".encode())
        web.page("c.test/")
        web.page("c.test/told")
        crawled = await crawl(tmp_path / "c", options(web, "a.test/docs/x", "c.test/"))
        assert sorted(web.requests) == ["a.test/docs/x", "a.test/sitemap.xml", "b.test/", "c.test/", "c.test/mine.txt", "c.test/told"]
        assert sitemap_of(crawled, web.url("a.test/sitemap.xml")).notes == ["status 404"]
        with View(crawled.path) as view:
            news = read_sitemaps(view)
            assert news is not None
            assert news.states == {"read": 1}, "one that was only guessed is no failure"
        assert crawled.status.failed == 0


async def test_a_share_of_a_host_s_requests_goes_to_what_is_announced_while_links_wait(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.robots("a.test", f"Sitemap: {web.url('a.test/s.xml')}\n")
        web.file("a.test/s.xml", XML, urlset(web, [f"a.test/o{i}" for i in range(20)]))
        web.page("a.test/", *(f"a.test/l{i}" for i in range(60)))
        for i in range(60):
            web.page(f"a.test/l{i}")
        for i in range(20):
            web.page(f"a.test/o{i}")
        await crawl(tmp_path / "c", options(web, "a.test/", frontier=FrontierSettings(announced_share=0.1)))
        asked = web.requests
        last_link = max(i for i, place in enumerate(asked) if place.startswith("a.test/l"))
        early = [place for place in asked[:last_link] if place.startswith("a.test/o")]
        assert 4 <= len(early) <= 7
        assert len(set(asked)) == len(asked) == 82


async def test_a_link_moves_what_was_announced_among_what_links_name(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.robots("a.test", f"Sitemap: {web.url('a.test/s.xml')}\n")
        web.file("a.test/s.xml", XML, urlset(web, ["a.test/late", "a.test/orphan"]))
        web.page("a.test/", *(f"a.test/l{i}" for i in range(10)))
        for i in range(10):
            web.page(f"a.test/l{i}", "a.test/late", f"a.test/m{i}")
            web.page(f"a.test/m{i}", f"a.test/n{i}")
            web.page(f"a.test/n{i}")
        web.page("a.test/late")
        web.page("a.test/orphan")
        crawled = await crawl(tmp_path / "c", options(web, "a.test/", frontier=FrontierSettings(announced_share=0.0)))
        assert web.requests.index("a.test/late") < web.requests.index("a.test/n0")
        assert web.requests[-1] == "a.test/orphan"
        assert crawled.rows[web.url("a.test/late")].purpose is Purpose.PAGE
        assert crawled.rows[web.url("a.test/late")].site_depth == 2


async def test_a_sitemap_speaks_for_its_directory_and_for_hosts_whose_robots_txt_names_it(tmp_path: Path) -> None:
    """P61: URLs of another host are taken only if that host's robots.txt names the sitemap [sitemaps.org: cross submits]."""
    async with LittleWeb() as web:
        web.robots("a.test", f"Sitemap: {web.url('cdn.test/a/index.xml')}\n")
        web.file("cdn.test/a/index.xml", XML, index(web, ["cdn.test/a/1.xml", "evil.test/2.xml"]))
        web.file("cdn.test/a/1.xml", XML, urlset(web, ["a.test/x", "b.test/y", "cdn.test/a/in", "cdn.test/out"]))
        for place in ("a.test/", "a.test/x", "b.test/y", "b.test/", "cdn.test/a/in", "cdn.test/out"):
            web.page(place)
        crawled = await crawl(tmp_path / "c", options(web, "a.test/"))
        asked = ["a.test/", "a.test/x", "cdn.test/a/1.xml", "cdn.test/a/in", "cdn.test/a/index.xml"]
        assert sorted(web.requests) == asked
        assert sitemap_of(crawled, web.url("cdn.test/a/1.xml")).counts == {"not_its_host": 2, "new": 2}
        assert sitemap_of(crawled, web.url("cdn.test/a/index.xml")).counts == {"sitemaps": 1, "not_its_host": 1}
        assert crawled.status.skipped == {"not_its_host": 2}


async def test_indexes_are_read_one_level_deep_and_loops_end(tmp_path: Path) -> None:
    """F80: an index of itself, an index of indexes, a redirect in a circle: each is requested once."""
    async with LittleWeb() as web:
        web.robots("a.test", f"Sitemap: {web.url('a.test/r1')}\nSitemap: {web.url('a.test/i.xml')}\n")
        web.file("a.test/i.xml", XML, index(web, ["a.test/i.xml", *(f"a.test/i{n}.xml" for n in range(30))]))
        for n in range(30):
            web.file(f"a.test/i{n}.xml", XML, index(web, ["a.test/i.xml", f"a.test/deeper{n}.xml"]))
        web.redirect("a.test/r1", "a.test/r2")
        web.redirect("a.test/r2", "a.test/r1")
        web.page("a.test/")
        limits = LimitSettings(min_free_disk=0, max_wait=5.0, max_sitemaps_per_host=10)
        crawled = await crawl(tmp_path / "c", options(web, "a.test/", limits=limits))
        assert sorted(web.requests) == sorted(
            ["a.test/", "a.test/i.xml", "a.test/r1", "a.test/r2", *(f"a.test/i{n}.xml" for n in range(7))]
        )
        assert sitemap_of(crawled, web.url("a.test/i0.xml")).notes == ["an index in an index: its 2 sitemaps are not read"]
        assert crawled.status.skipped == {"sitemap_limit": 23}
        with View(crawled.path) as view:
            told = reported(view)
    assert "an index in an index: its 2 sitemaps are not read" in told
    assert re.search(r"Beyond the budget of their host\W.*?\b23\b", told)


async def test_what_is_announced_keeps_to_scope_robots_depth_and_budget(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        named = [
            "a.test/1",
            "a.test/d/2",
            "a.test/d/e/3",
            "a.test/d/e/f/4",
            "a.test/no/5",
            "a.test/pic.png",
            "a.test/6",
            "a.test/7",
            "a.test/8",
        ]
        web.robots("a.test", f"User-agent: *\nDisallow: /no\nSitemap: {web.url('a.test/s.xml')}\n")
        web.file("a.test/s.xml", XML, urlset(web, named))
        for place in ("a.test/", *named):
            web.page(place)
        limits = LimitSettings(min_free_disk=0, max_wait=5.0, max_depth=2, max_announced_per_host=5)
        crawled = await crawl(tmp_path / "c", options(web, "a.test/", limits=limits))
        assert sorted(web.requests) == ["a.test/", "a.test/1", "a.test/6", "a.test/d/2", "a.test/d/e/3", "a.test/s.xml"]
        assert crawled.status.skipped == {"bad_type": 1, "depth_limit": 1, "robots_denied": 1, "sitemap_limit": 2}


async def test_feeds_are_read_where_they_are_wanted(tmp_path: Path) -> None:
    for feeds in (False, True):
        async with LittleWeb() as web:
            web.robots("a.test", "Sitemap: /feed\n")
            web.file("a.test/feed", "application/rss+xml", b"<rss><channel><item><link>/new</link></item></channel></rss>")
            web.page("a.test/")
            web.page("a.test/new")
            await crawl(tmp_path / f"c{feeds}", options(web, "a.test/", feeds=feeds))
            assert ("a.test/new" in web.requests) is feeds


async def test_a_page_names_the_feed_of_its_host(tmp_path: Path) -> None:
    """It is requested once, though every page names it; only the first feed of a page, none of another host, and none where links are not
    followed.
    """
    async with LittleWeb() as web:
        rss = b'rel=alternate type="application/rss+xml" href=/feed/'
        comments = rss.replace(b"/feed/", b"/comments/feed/")
        foreign = f'rel="alternate home" type="application/atom+xml; charset=utf-8" href="{web.url("b.test/feed")}"'.encode()
        for place, head in (
            ("a.test/", b"<a href=/blog/one.html>1</a><a href=/quiet.html>2</a><link %b><link %b><link %b>" % (foreign, rss, comments)),
            ("a.test/blog/one.html", b"<link %b>" % rss),
            ("a.test/quiet.html", b"<meta name=robots content=nofollow><link rel=alternate type=application/rss+xml href=/quiet.xml>"),
            ("a.test/2024/new.html", b""),
        ):
            web.file(place, "text/html", b"<title>%b</title>%b words of %b" % (place.encode(), head, place.encode()))
        web.file("a.test/feed/", "application/rss+xml", b"<rss><channel><item><link>/2024/new.html</link></item></channel></rss>")
        crawled = await crawl(tmp_path / "c", options(web, "a.test/", feeds=True))
        assert sorted(place for place in web.requests if "robots" not in place and "sitemap" not in place) == [
            *("a.test/", "a.test/2024/new.html", "a.test/blog/one.html", "a.test/feed/", "a.test/quiet.html"),
        ]
        with View(crawled.path) as view:
            assert {row.url.text: row.sitemap for row in announced(view)} == {web.url("a.test/2024/new.html"): web.url("a.test/feed/")}


async def test_a_lastmod_that_lies_is_not_believed_and_one_that_holds_is(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        for host, lastmod in (("liar.test", "2024-06-01"), ("future.test", "2097-01-01"), ("honest.test", "2020-01-01")):
            web.robots(host, f"Sitemap: {web.url(f'{host}/s.xml')}\n")
            web.file(f"{host}/s.xml", XML, urlset(web, [f"{host}/{i}" for i in range(8)], lastmod))
            for i in ("", *range(8)):
                body = f"<title>{host}{i}</title>{host} {i} has a text of its own".encode()
                web.file(f"{host}/{i}", "text/html\r\nLast-Modified: Wed, 01 Jan 2020 08:00:00 GMT", body)
        crawled = await crawl(tmp_path / "c", options(web, "liar.test/", "future.test/", "honest.test/"))
        with View(crawled.path) as view:
            shares = {row.url.text.partition("/0")[0]: row.believed for row in announced(view) if row.url.text.endswith("/0")}
            told = reported(view)
        assert shares[web.url("liar.test/")[:-1]] == shares[web.url("future.test/")[:-1]] == 0.0
        assert 0.65 < shares[web.url("honest.test/")[:-1]] < 0.7
    assert re.search(r"8 of (16|24) that could be checked held", told)


async def test_orphans_and_unannounced_pages_are_listed(tmp_path: Path) -> None:
    """An orphan may link to itself, as most pages of blogs do. Mutation: such a link counted as any other."""
    async with LittleWeb() as web:
        web.robots("a.test", f"Sitemap: {web.url('a.test/s.xml')}\n")
        web.file("a.test/s.xml", XML, urlset(web, ["a.test/", "a.test/orphan", "a.test/both", "a.test/target"]))
        web.page("a.test/", "a.test/both", "a.test/left-out", "a.test/moved", "b.test/")
        web.redirect("a.test/moved", "a.test/target")
        for place in ("a.test/both", "a.test/left-out", "a.test/target", "b.test/"):
            web.page(place)
        web.page("a.test/orphan", "a.test/orphan", "a.test/")
        crawled = await crawl(tmp_path / "c", options(web, "a.test/"))
        with View(crawled.path) as view:
            assert [row.url.text for row in orphans(view)] == [web.url("a.test/orphan")]
            assert [page.url for page in unannounced(view)] == [web.url("a.test/left-out")]
            assert len(list(announced(view))) == 4
            told = reported(view)
    assert set(re.findall(r"a\.test:\d+/(orphan|left-out|both)", told)) == {"orphan", "left-out"}
    assert "4, of which 4 are fetched or given up" in told


async def test_a_kill_between_reading_and_admitting_loses_nothing(tmp_path: Path) -> None:
    """What was read waits in the store. If the process dies before the URLs are admitted, the next one admits them, and requests no sitemap
    again.
    """
    async with LittleWeb() as web:
        web.robots("a.test", f"Sitemap: {web.url('a.test/s.xml')}\n")
        web.file("a.test/s.xml", XML, urlset(web, [f"a.test/o{i}" for i in range(200)]))
        web.page("a.test/")
        for i in range(200):
            web.page(f"a.test/o{i}")
        limits = LimitSettings(min_free_disk=0, max_wait=5.0, max_pages=1)
        first = await crawl(tmp_path / "c", options(web, "a.test/", limits=limits))
        web.on_request = lambda place: None
        assert first.ending.code == 0
        crawled = await crawl(tmp_path / "c", options(web, "a.test/"))
        assert len(web.requests) == len(set(web.requests)) == 202
        assert sitemap_of(crawled, web.url("a.test/s.xml")).state == "read"


async def test_a_large_sitemap_is_read_in_a_child_and_a_bomb_harms_nobody(tmp_path: Path) -> None:
    """F80, S24: a gigabyte in a gzip, nested entities, and more honest URLs than allowed: each is cut with a note, and the crawl
    goes on.
    """
    async with LittleWeb() as web:
        names = ("bomb.gz", "laughs.xml", "large.xml", "lines.txt")
        web.robots("a.test", "".join(f"Sitemap: {web.url(f'a.test/{name}')}\n" for name in names))
        web.file("a.test/bomb.gz", "application/gzip", gzip.compress(b"<urlset>", 1) + gzip.compress(bytes(1 << 20), 1) * 1000)
        laughs = (
            b'<!DOCTYPE u [<!ENTITY a "'
            + b"ha" * 1000
            + b'"><!ENTITY b "'
            + b"&a;" * 1000
            + b'">]><urlset><url><loc>&b;</loc></url></urlset>'
        )
        web.file("a.test/laughs.xml", XML, laughs)
        web.file("a.test/large.xml", XML, urlset(web, [f"a.test/{i}/{'x' * 1000}" for i in range(600)]))
        web.file("a.test/lines.txt", "text/plain", "".join(web.url(f"other.test/{i}") + "\n" for i in range(25_000)).encode())
        web.page("a.test/")
        limits = LimitSettings(min_free_disk=0, max_wait=5.0, max_depth=0, max_sitemap_urls=500)
        crawled = await crawl(tmp_path / "c", options(web, "a.test/", limits=limits))
        said = {name: sitemap_of(crawled, web.url(f"a.test/{name}")) for name in names}
        assert said["bomb.gz"].n_urls == 0
        assert "not well-formed" in said["bomb.gz"].notes[0]
        assert said["laughs.xml"].notes == ["refused: it has a DTD"]
        assert (said["large.xml"].state, said["large.xml"].n_urls) == ("read", 500)
        assert said["large.xml"].counts == {"depth_limit": 500}
        assert said["large.xml"].notes == said["lines.txt"].notes == ["more than 500 URLs; what came before was taken"]
        assert said["lines.txt"].counts == {"not_its_host": 500}
