"""Scope and limits in whole crawls: what is fetched, how deep, in which order, how much of a host and of a site."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from little_web import LittleWeb, crawl, settings
from planted import PageScript

from thresher.config.settings import LimitSettings, Override, ScopeSettings
from thresher.crawler.core.model import Mode, Reason, State
from thresher.filters.spec import FilterSpec
from thresher.storage.view import View

# -- scope


def scope_web(web: LittleWeb) -> list[str]:
    """Put a seed that links to all kinds of places; return all of them but the seed. Each links to further ones."""
    places = [
        "a.test/docs/1",
        "a.test/docs/x/2",
        "a.test/docs",
        "a.test/other",
        "www.a.test/3",
        "sub.a.test/4",
        "b.test/5",
        "b.test/docs/6",
    ]
    web.page("a.test/docs/", *places)
    for place in places:
        web.page(place)
    return ["a.test/docs/", *places]


@pytest.mark.parametrize(
    ("scope", "outside"),
    [
        (
            {"type": "page"},
            {
                "a.test/docs/1",
                "a.test/docs/x/2",
                "a.test/docs",
                "a.test/other",
                "www.a.test/3",
                "sub.a.test/4",
                "b.test/5",
                "b.test/docs/6",
            },
        ),
        ({"type": "prefix"}, {"a.test/docs", "a.test/other", "www.a.test/3", "sub.a.test/4", "b.test/5", "b.test/docs/6"}),
        ({"type": "host"}, {"sub.a.test/4", "b.test/5", "b.test/docs/6"}),
        ({"type": "domain"}, {"b.test/5", "b.test/docs/6"}),
        ({"type": "any"}, set()),
        ({"type": "host", "include": [r"^http://b\.test:\d+/docs/"]}, {"sub.a.test/4", "b.test/5"}),
        ({"type": "any", "exclude": [r"/docs/."]}, {"a.test/docs/1", "a.test/docs/x/2", "b.test/docs/6"}),
        (
            {"type": "page", "include": [r"/docs/"], "exclude": [r"/x/"]},
            {"a.test/docs/x/2", "a.test/docs", "a.test/other", "www.a.test/3", "sub.a.test/4", "b.test/5"},
        ),
    ],
    ids=lambda value: "-".join(f"{k}" if k != "type" else v for k, v in value.items()) if isinstance(value, dict) else "",
)
async def test_a_crawl_fetches_its_scope_and_nothing_else(tmp_path: Path, scope: dict[str, Any], outside: set[str]) -> None:
    async with LittleWeb() as web:
        everything = scope_web(web)
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/docs/"], scope=ScopeSettings(**scope)))
    assert sorted(web.requests) == sorted(set(everything) - outside)
    assert crawled.rows.keys() == {web.url(place) for place in web.requests}, "what is outside costs no row"
    assert sum(crawled.status.skipped.values()) == len(outside)


async def test_a_link_that_does_something_is_counted_and_never_asked_for(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/docs/logout", "a.test/logout", "a.test/?add-to-cart=42", "a.test/away")
        web.page("a.test/docs/logout", "a.test/logout?next=/docs/")
        web.redirect("a.test/away", "a.test/post/7/upvote")
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"]))
    assert sorted(web.requests) == ["a.test/", "a.test/away", "a.test/docs/logout"]
    assert crawled.status.skipped == {Reason.UNSAFE: 4}


async def test_what_a_link_announces_as_no_page_is_not_asked_for_unless_another_link_names_it(tmp_path: Path) -> None:
    """As in the heads of WordPress's pages. One link calls /archive a feed, another does not."""
    head = """
      <link rel="alternate" type="application/rss+xml" href="/feed/"><link rel="alternate" type="application/json" href="/wp-json/1">
      <link rel="alternate" type="application/json+oembed" href="/wp-json/oembed?url=1"><link rel="alternate" hreflang="de" href="/de">
      <link rel="alternate" type="text/xml+oembed" href="/wp-json/oembed?url=1&format=xml"><link rel="next" type="text/html" href="/page/2">
      <link rel="alternate" type="application/atom+xml" href="/archive">"""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/post", head=head)
        web.page("a.test/post", "a.test/archive", head=head)
        for place in ("a.test/de", "a.test/page/2", "a.test/archive"):
            web.page(place)
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"]))
    assert sorted(web.requests) == ["a.test/", "a.test/archive", "a.test/de", "a.test/page/2", "a.test/post"]
    assert crawled.status.skipped == {Reason.ANNOUNCED_TYPE: 10}


async def test_a_redirect_out_of_scope_is_not_followed(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/away")
        web.redirect("a.test/away", "b.test/")
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], scope=ScopeSettings(type="host")))
    assert web.requests == ["a.test/", "a.test/away"]
    assert crawled.edges == {web.url("a.test/away"): web.url("b.test/")}


async def test_a_skip_override_holds_for_seeds_links_and_redirects(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "b.test/1", "a.test/away", "a.test/old/1")
        web.redirect("a.test/away", "sub.b.test/")
        rules = [Override(match="b.test", skip=True), Override(match=web.url("a.test/old/"), skip=True)]
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/", "b.test/"], overrides=rules))
    assert web.requests == ["a.test/", "a.test/away"]
    assert crawled.rows[web.url("b.test/")].reason is Reason.EXCLUDED
    assert "b.test/robots.txt" not in web.robots_requests


# -- limits


async def test_max_depth_counts_clicks_from_the_nearest_seed(tmp_path: Path) -> None:
    """A redirect is no click. Another host counts as a click, like any other link."""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1", "a.test/moved")
        web.page("a.test/1", "b.test/x/y/2")
        web.page("b.test/x/y/2", "b.test/3")
        web.redirect("a.test/moved", "b.test/also-1")
        web.page("b.test/also-1", "b.test/also-2")
        web.page("b.test/also-2", "b.test/also-3")
        web.page("c.test/", "c.test/1")
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/", "c.test/"], limits=LimitSettings(min_free_disk=0, max_depth=2)))
    by_depth = {
        0: ["a.test/", "c.test/"],
        1: ["a.test/1", "a.test/moved", "b.test/also-1", "c.test/1"],
        2: ["b.test/also-2", "b.test/x/y/2"],
    }
    for depth, places in by_depth.items():
        assert sorted(web.place(url) for url, row in crawled.rows.items() if row.seed_distance == depth) == places
    assert len(crawled.rows) == 8
    assert crawled.status.skipped == {"depth_limit": 2}


@pytest.mark.parametrize("place", ["b.test/x/target", "b.test/"])
async def test_a_waiting_url_that_is_found_nearer_to_a_seed_leads_as_far_as_if_it_had_been_found_there_first(
    tmp_path: Path, place: str
) -> None:
    """The long way is found first: the seed that links to the URL directly answers only when the URL's host is busy with another page."""
    async with LittleWeb() as web:
        web.page("slow.test/", place)
        web.page("a.test/", "a.test/1")
        web.page("a.test/1", "a.test/2")
        web.page("a.test/2", "b.test/first", place)
        web.page(place, "b.test/3")
        late, busy = web.stall("slow.test/"), web.stall("b.test/first")
        web.on_request = lambda place: late.set() if place == "b.test/first" else None
        clerk = PageScript("clerk")
        clerk.on_learn = lambda url: busy.set() if url == web.url("slow.test/") else None
        configuration = settings(web, ["slow.test/", "a.test/"], limits=LimitSettings(min_free_disk=0, max_depth=3))
        crawled = await crawl(tmp_path / "c", configuration, [FilterSpec("clerk", Mode.OBSERVE, page=clerk)])
    assert crawled.rows[web.url(place)].seed_distance == crawled.pages[web.url(place)].seed_distance == 1
    assert crawled.rows[web.url("b.test/3")].seed_distance == 2
    assert web.requests[-1] == "b.test/3"


async def test_a_url_found_nearer_while_robots_txt_is_asked_for_in_its_name_leads_as_far_as_if_found_there_first(tmp_path: Path) -> None:
    """b.test is asked for its robots.txt because of the URL. Meanwhile two pages that link to it answer: one nearer to a seed, one of a
    second site.
    """
    async with LittleWeb() as web:
        web.page("slow.test/", "b.test/x/target")
        web.page("late.test/", "late.test/1")
        web.page("late.test/1", "b.test/x/target")
        web.page("a.test/", "a.test/1")
        web.page("a.test/1", "a.test/2")
        web.page("a.test/2", "b.test/x/target")
        web.page("b.test/x/target", "b.test/3")
        slow, late, robots = web.stall("slow.test/"), web.stall("late.test/1"), web.stall("b.test/robots.txt")
        web.on_request = lambda place: slow.set() if place == "b.test/robots.txt" else None
        clerk = PageScript("clerk")
        next_gate = {web.url("slow.test/"): late, web.url("late.test/1"): robots}
        clerk.on_learn = lambda url: next_gate[url].set() if url in next_gate else None
        configuration = settings(web, ["slow.test/", "late.test/", "a.test/"], limits=LimitSettings(min_free_disk=0, max_depth=3))
        crawled = await crawl(tmp_path / "c", configuration, [FilterSpec("clerk", Mode.OBSERVE, page=clerk)])
    target = web.url("b.test/x/target")
    assert (crawled.rows[target].seed_distance, crawled.rows[target].site_depth) == (1, 0)
    assert crawled.pages[target].seed_distance == 1
    assert crawled.rows[web.url("b.test/3")].seed_distance == 2


async def test_a_waiting_url_that_a_link_finds_again_has_no_redirects_behind_it(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("t.test/")
        web.page("a.test/", "a.test/moved", "a.test/1")
        web.redirect("a.test/moved", "b.test/first")
        web.redirect("b.test/first", "t.test/x")
        web.page("a.test/1", "t.test/x")
        web.redirect("t.test/x", "t.test/end")
        web.page("t.test/end")
        late, busy = web.stall("a.test/1"), web.stall("t.test/")
        web.on_request = lambda place: late.set() if place == "b.test/first" else None
        clerk = PageScript("clerk")
        clerk.on_learn = lambda url: busy.set() if url == web.url("a.test/1") else None
        configuration = settings(web, ["t.test/", "a.test/"], limits=LimitSettings(min_free_disk=0, max_redirects=2))
        crawled = await crawl(tmp_path / "c", configuration, [FilterSpec("clerk", Mode.OBSERVE, page=clerk)])
    assert crawled.state(web.url("t.test/end")) is State.DONE


async def test_a_host_s_pages_come_by_their_depth_in_the_site_then_by_worth_then_by_discovery(tmp_path: Path) -> None:
    """Entries and pages one click from them are one level. A page with one link gives it all its cash: so `/` and `two-down` come before
    others.
    """
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1", "b.test/x/y/deep", "b.test/x/mid", "b.test/flat")
        web.page("a.test/1", "a.test/11", "a.test/12")
        web.page("a.test/11", "b.test/")
        web.page("a.test/12", "a.test/111")
        web.page("b.test/flat", "b.test/z/z/one-down")
        web.page("b.test/x/mid", "b.test/x/two-down")
        for place in ("a.test/111", "b.test/", "b.test/x/y/deep", "b.test/z/z/one-down", "b.test/x/two-down"):
            web.page(place)
        gate = web.stall("b.test/robots.txt")
        clerk = PageScript("clerk")
        clerk.on_learn = lambda url: gate.set() if url == web.url("a.test/111") else None
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"]), [FilterSpec("clerk", Mode.OBSERVE, page=clerk)])
    assert [place for place in web.requests if place.startswith("a")] == ["a.test/", "a.test/1", "a.test/11", "a.test/12", "a.test/111"]
    of_b = [place for place in web.requests if place.startswith("b")]
    assert of_b == ["b.test/", "b.test/x/mid", "b.test/flat", "b.test/z/z/one-down", "b.test/x/two-down", "b.test/x/y/deep"]
    depths = [crawled.rows[web.url(place)].site_depth for place in of_b]
    assert depths == [0, 1, 0, 1, 2, 2]


async def test_a_second_site_s_link_brings_a_page_to_the_front_of_its_site(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "b.test/x/y/deep", "b.test/flat", "a.test/1")
        web.page("a.test/1")
        web.page("c.test/", "b.test/x/y/deep")
        web.page("b.test/flat")
        web.page("b.test/x/y/deep")
        gate = web.stall("b.test/robots.txt")
        clerk, heard = PageScript("clerk"), set[str]()

        def hear(url: str) -> None:
            heard.add(web.place(url))
            if {"a.test/1", "c.test/"} <= heard:
                gate.set()

        clerk.on_learn = hear
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/", "c.test/"]), [FilterSpec("clerk", Mode.OBSERVE, page=clerk)])
    assert [place for place in web.requests if place.startswith("b")] == ["b.test/x/y/deep", "b.test/flat"]
    assert crawled.rows[web.url("b.test/x/y/deep")].site_depth == 0


async def test_links_beyond_the_cap_of_a_page_are_counted_and_not_queued(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/{i}" for i in range(50)])
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], limits=LimitSettings(min_free_disk=0, max_links_per_page=20)))
    assert sorted(web.requests) == sorted(["a.test/", *[f"a.test/{i}" for i in range(20)]])
    assert crawled.pages[web.url("a.test/")].flags == ["links_truncated"]
    with View(tmp_path / "c") as view:
        assert [(line.url, line.reason) for line in view.all_skipped()] == [(web.url("a.test/"), "link_limit")]


async def test_budgets_of_pages_hold_for_each_host_and_for_each_site(tmp_path: Path) -> None:
    """www and the bare name, http and https are one host. The hosts of a site share its budget. URLs that are left wait, parked, and are
    listed.
    """
    async with LittleWeb() as web:
        hosts = ["a.test", "www.a.test", "x.b.test", "y.b.test", "z.b.test", "c.test"]
        for host in hosts:
            web.page(f"{host}/", *[f"{host}/{i}" for i in range(10)])
            for i in range(10):
                web.page(f"{host}/{i}")
        limits = LimitSettings(min_free_disk=0, max_pages_per_host=6, max_pages_per_site=9)
        crawled = await crawl(tmp_path / "c", settings(web, [f"{host}/" for host in hosts], limits=limits))
    pages = Counter(place.partition("/")[0].removeprefix("www.") for place in web.requests)
    assert pages["a.test"] == pages["c.test"] == 6
    assert sum(n for host, n in pages.items() if host.endswith("b.test")) == 9
    assert max(pages.values()) == 6
    assert crawled.ending.code == 0
    assert crawled.status.hosts_parked.keys() == {"host_budget", "site_budget"}
    assert crawled.status.queued == len(crawled.rows) - sum(pages.values())
