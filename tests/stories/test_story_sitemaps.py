"""Sitemaps from outside: which are asked for, what they may announce, when that is fetched; the server's log is the witness."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from little_web import Crawled, LittleWeb, crawl, settings

from thresher.config.settings import Frontier, Settings
from thresher.crawler.core.model import Purpose, State
from thresher.storage.schema import SitemapRecord
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
    from thresher.crawler.core.url import URLSpace
    from thresher.crawler.core.url_rules import url_rules

    with View(crawled.path) as view:
        record = view.sitemaps.sitemap(URLSpace(view.secret, url_rules(view.settings)).key(url))
    assert record is not None, f"{url} is no sitemap"
    return record


async def test_what_a_sitemap_names_is_fetched_and_waits_behind_what_links_name(tmp_path: Path) -> None:
    """P61: robots.txt names an index of a gzipped and a plain sitemap; both are asked for once, and their pages come last."""
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
        crawled = await crawl(tmp_path / "c", options(web, "a.test/", frontier=Frontier(announced_share=0.0)))
        asked = web.requests
        assert [asked.count(place) for place in ("a.test/index.xml", "a.test/1.xml.gz", "a.test/2.xml", "a.test/sitemap.xml")] == [
            1,
            1,
            1,
            0,
        ]
        assert asked[-3:] == ["a.test/orphan", "a.test/e", "a.test/deep/er/orphan"]
        assert "a.test/no" not in asked
        row = crawled.rows[web.url("a.test/orphan")]
        assert (row.state, row.purpose, row.seed_distance) == (State.DONE, Purpose.ANNOUNCED, 1)
        assert crawled.rows[web.url("a.test/b")].purpose is Purpose.PAGE  # a link names it, too
        assert sitemap_of(crawled, web.url("a.test/1.xml.gz")).counts == {"new": 2, "known": 1}
        assert sitemap_of(crawled, web.url("a.test/index.xml")).counts == {"sitemaps": 2}
