"""A replay requests URLs in the order of the crawl itself: fresh, released, audited and drawn ones, and targets of redirects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from little_web import LittleWeb, crawl, settings
from planted import LinkScript

from thresher.config.settings import FilterSettings
from thresher.crawler.analysis.recorded_store import read_graph
from thresher.crawler.analysis.replayed_crawl import ReplayedCrawl
from thresher.crawler.analysis.replayed_panel import ReplayedPanel
from thresher.crawler.core.effects import Effect, Hold, Release
from thresher.crawler.core.model import Mode
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.filters.spec import FilterSpec
from thresher.filters.tail.records import TailPolicy
from thresher.storage.view import View


def holding(**holders: str) -> Callable[[], list[FilterSpec]]:
    """Return what makes a filter that holds pages in classes, by their names, and releases a class "free" once it sees /free."""

    def asks(url: str) -> list[Effect]:
        name = url.rpartition("/")[2]
        if name == "free":
            return [Release("script free")]
        return [Hold(url, f"script {holders[name]}")] if name in holders else []

    return lambda: [FilterSpec("script", Mode.ENFORCE, learned=LinkScript("script", asks=asks))]


def broad(web: LittleWeb) -> None:
    """Pages of four depths, of which some are named by many, some again and nearer, and some by a redirect."""
    web.page("a.test/", "a.test/1", "a.test/2", "a.test/3", "a.test/go")
    web.page("a.test/1", "a.test/11", "a.test/12", "a.test/13", "a.test/14")
    web.page("a.test/2", "a.test/13", "a.test/21", "a.test/22")
    web.page("a.test/3", "a.test/21", "a.test/13", "a.test/31")
    web.page("a.test/11", "a.test/111", "a.test/112", "a.test/", "a.test/1")
    web.page("a.test/13", "a.test/112", "a.test/131")
    web.redirect("a.test/go", "a.test/gone")
    web.page("a.test/gone", "a.test/deep", "a.test/111")
    web.page("a.test/deep", "a.test/deeper", "a.test/free")
    for name in ("12", "14", "21", "22", "31", "111", "112", "131", "deeper", "free"):
        web.page(f"a.test/{name}")


def moved(web: LittleWeb) -> None:
    """Three redirects to pages, and three links to nothing."""
    web.page("a.test/", *[f"a.test/{name}{i}" for i in range(3) for name in ("moved", "lost")])
    for i in range(3):
        web.redirect(f"a.test/moved{i}", f"a.test/target{i}")
        web.page(f"a.test/target{i}", "a.test/lost1")


SCRIPTS = {
    "nothing held": holding(),
    "released": holding(**{"2": "free", "31": "free", "12": "free"}),
    "drawn": holding(**{"3": "tail", "13": "tail"}),
    "a redirect is drawn": holding(go="tail"),
}


async def orders(path: Path, web: LittleWeb, script: Callable[[], list[FilterSpec]], *, audit_share: float) -> tuple[list[str], list[str]]:
    """Return the requests of a crawl, and those of its replay, in order."""
    filters = FilterSettings(tail_yield=0.0, audit_share=audit_share)
    await crawl(path, settings(web, ["a.test/"], filters=filters), script())
    with View(path) as view:
        space = URLSpace(view.secret, url_rules(view.settings))
        graph = read_graph(view, space, limit=100).graph
    policy = TailPolicy(tail_yield=0.0, audit_share=audit_share)
    result = ReplayedCrawl(graph, policy, filters=ReplayedPanel(graph, script(), space), trusts_filters=True).run()
    return web.requests, [web.place(graph.urls[number]) for number, _ in result.asked]


@pytest.mark.parametrize("name", SCRIPTS)
async def test_a_replay_goes_in_the_order_of_the_crawl(tmp_path: Path, name: str) -> None:
    """Mutations: first in, first out; what is released goes behind everything; a worth that grows, a nearer link, moves nothing."""
    async with LittleWeb() as web:
        broad(web)
        crawled, replayed = await orders(tmp_path / "c", web, SCRIPTS[name], audit_share=0.0)
    assert replayed == crawled


async def test_an_audit_takes_the_place_of_its_depth(tmp_path: Path) -> None:
    """Mutation: audits are requested at once."""
    async with LittleWeb() as web:
        broad(web)
        crawled, replayed = await orders(tmp_path / "c", web, holding(**{"11": "tail", "131": "tail"}), audit_share=0.99)
    assert replayed == crawled


async def test_the_draw_of_a_redirect_is_worth_what_its_target_is(tmp_path: Path) -> None:
    """Which of a class is drawn first is chance; which class is drawn from follows from what its redirects led to.

    Mutations: a redirect counts as barren; its target is held in its class.
    """
    classes = {f"{name}{i}": f"tail {of}" for i in range(3) for name, of in (("moved", "b"), ("lost", "d"))}
    async with LittleWeb() as web:
        moved(web)
        crawled, replayed = await orders(tmp_path / "c", web, holding(**classes), audit_share=0.0)
    assert [place.rstrip("012") for place in replayed] == [place.rstrip("012") for place in crawled]
