"""Pattern yield in whole crawls, judged by the requests that the server received."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from little_web import Crawled, LittleWeb, crawl, settings

from thresher.config.settings import FilterSettings, PatternYieldSettings
from thresher.crawler.analysis.tails import classes
from thresher.crawler.core.model import State
from thresher.storage.view import View

LOGIN = "Log in to see this page. " + " ".join(f"form{i}" for i in range(30))
N = 120
KEPT = {"media", "exact_duplicate", "pattern_yield"}


def filters(mode: Any = "enforce", **of: Any) -> FilterSettings:
    """Return pattern yield, the type gate and exact copies; other filters would end some of these webs before it does."""
    default = FilterSettings(audit_share=0.0, tail_yield=1.0, pattern_yield=PatternYieldSettings(mode=mode, **of))
    others = {name for name in default.__struct_fields__ if hasattr(getattr(default, name), "mode")} - KEPT
    return msgspec.structs.replace(default, **{name: msgspec.structs.replace(getattr(default, name), mode="off") for name in others})


def forum(web: LittleWeb) -> None:
    """Put threads, each with a login form that returns to it; all forms show the same text."""
    web.page("a.test/", *[f"a.test/thread/{i}" for i in range(N)])
    for i in range(N):
        web.page(f"a.test/thread/{i}", f"a.test/login?return={_word(i)}")
        web.page(f"a.test/login?return={_word(i)}", text=LOGIN)


def _word(i: int) -> str:
    return "".join(chr(97 + int(digit)) for digit in f"{i:04}")


async def test_a_barren_pattern_is_held_its_queued_urls_too_and_nothing_else_is_lost(tmp_path: Path) -> None:
    """Threads come before all forms in breadth-first order. Mutation: the filter was not asked again when a URL's turn came."""
    async with LittleWeb() as web:
        forum(web)
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=filters()))
    logins = [place for place in web.requests if place.startswith("a.test/login")]
    assert 8 <= len(logins) < 60
    assert len(set(web.requests) - set(logins)) == N + 1
    held = {url for url, row in crawled.rows.items() if row.state is State.HELD}
    assert len(held) == N - len(logins) == crawled.status.held_by["pattern_yield"]
    name = web.url("a.test/").removeprefix("http://")
    assert {holder for url in held for holder in crawled.held_by[url]} == {f"pattern_yield {name}login?return=<w>"}
    assert "held by filters" in crawled.ending.why


async def test_observing_says_what_would_be_saved_and_changes_nothing(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        forum(web)
        off = await crawl(tmp_path / "off", settings(web, ["a.test/"], filters=filters("off")))
        observe = await crawl(tmp_path / "observe", settings(web, ["a.test/"], filters=filters("observe")))
    assert len(web.requests) == 2 * (2 * N + 1)
    assert {url: row.state for url, row in off.rows.items()} == {url: row.state for url, row in observe.rows.items()}
    assert off.held_by == observe.held_by == {}
    assert observe.status.held_by == {}
    assert 50 < observe.status.would_save["pattern_yield"] <= N - 8


async def test_a_pattern_that_comes_to_yield_is_released_and_nothing_of_it_is_lost(tmp_path: Path) -> None:
    """The first 100 items show one notice, the others are documents; each list links to twenty items. Mutation: the filter asks for no
    release.
    """
    n = 300
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/list/0")
        for at in range(0, n, 20):
            web.page(f"a.test/list/{at}", *[f"a.test/items/{i}" for i in range(at, at + 20)], f"a.test/list/{at + 20}")
        for i in range(n):
            web.page(f"a.test/items/{i}", text=LOGIN if i < 100 else "")
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=msgspec.structs.replace(filters(), tail_yield=0.02)))
    with View(tmp_path / "c") as view:
        assert sum(of.known for of in classes(view)) > 0, "it was held for a while"
    missing = [i for i in range(100, n) if f"a.test/items/{i}" not in web.requests]
    assert missing == []
    assert crawled.status.held == 0


def redirecting(web: LittleWeb) -> None:
    """Put pages, each with a short link that redirects to a post which nothing else links to, and one that redirects to the login form."""
    web.page("a.test/", "a.test/login", *[f"a.test/page/{i}" for i in range(N)])
    web.page("a.test/login", text=LOGIN)
    for i in range(N):
        web.page(f"a.test/page/{i}", f"a.test/?p={i}", f"a.test/edit/{i}")
        web.redirect(f"a.test/?p={i}", f"a.test/post/{_word(i)}")
        web.page(f"a.test/post/{_word(i)}")
        web.redirect(f"a.test/edit/{i}", "a.test/login")


async def test_redirects_to_what_is_known_are_cut_and_those_that_discover_are_not(tmp_path: Path) -> None:
    """Mutation: a redirect does not count as useful when its target is new."""
    async with LittleWeb() as web:
        redirecting(web)
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=filters()))
    by_kind = {kind: sum(place.startswith(f"a.test/{kind}") for place in web.requests) for kind in ("?p=", "post/", "edit/")}
    assert by_kind["?p="] == by_kind["post/"] == N
    assert by_kind["edit/"] < N / 2
    assert all("page" not in url and "post" not in url for url in crawled.held_by), "whatever their pattern is called"


async def test_feeds_whose_bodies_are_refused_are_cut(tmp_path: Path) -> None:
    """Mutation: the filter does not learn that a head gate refused a body."""
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/page/{i}" for i in range(N)])
        for i in range(N):
            web.page(f"a.test/page/{i}", f"a.test/feed?of={i}")
            web.file(f"a.test/feed?of={i}", "application/rss+xml", b"<rss/>")
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=filters()))
    assert sum(place.startswith("a.test/feed") for place in web.requests) < 80
    assert _holders(crawled) == {"/feed?of=<n>"}


async def test_what_was_learned_outlives_the_process(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        forum(web)
        await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=filters()))
        n_before = len(web.requests)
        web.page("a.test/more", *[f"a.test/login?return=more{_word(i)}" for i in range(100)])
        await crawl(tmp_path / "c", settings(web, ["a.test/", "a.test/more"], filters=filters()))
    again = web.requests[n_before:]
    assert again[0] == "a.test/more"
    assert len(again) < 15, "only audits"
    with View(tmp_path / "c") as view:
        assert sum(1 for _ in view.all_urls(State.HELD)) > 100


def _holders(crawled: Crawled) -> set[str]:
    return {"/" + holder.partition("/")[2] for holders in crawled.held_by.values() for holder in holders}
