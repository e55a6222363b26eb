"""A replay asks the filters about a URL when its turn comes, as the crawl itself does, also about one that was released."""

from __future__ import annotations

from pathlib import Path

from little_web import LittleWeb, crawl, settings
from planted import LinkScript

from thresher.config.settings import FilterSettings
from thresher.crawler.analysis.recorded_store import read_graph
from thresher.crawler.analysis.replayed_crawl import ReplayedCrawl
from thresher.crawler.analysis.replayed_panel import ReplayedPanel
from thresher.crawler.analysis.tails import classes
from thresher.crawler.core.effects import Effect, Hold, Release
from thresher.crawler.core.model import Mode
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.filters.spec import FilterSpec, always
from thresher.filters.tail.records import TailPolicy
from thresher.storage.view import View


def two_opinions() -> list[FilterSpec]:
    """Return two filters: one holds drafts until it sees a link to /free, the other holds them once it has seen one to /known."""
    seen = set[str]()

    def first(url: str) -> list[Effect]:
        seen.add(url.rpartition("/")[2])
        if url.endswith("/free"):
            return [Release("first drafts")]
        return [Hold(url, "first drafts")] if "/draft" in url and "free" not in seen else []

    def second(url: str) -> list[Effect]:
        return [Hold(url, "second drafts")] if "/draft" in url and "known" in seen else []

    return [
        FilterSpec("first", Mode.ENFORCE, learned=LinkScript("first", asks=first)),
        FilterSpec("second", Mode.ENFORCE, learned=LinkScript("second", asks=second), again=always),
    ]


async def test_a_released_url_that_another_filter_holds_by_now_waits_in_its_class(tmp_path: Path) -> None:
    """The first filter holds drafts and releases them; the second holds them when their turn comes. What the crawl itself did is right.
    Mutation: a replay fetches released URLs without asking again.
    """
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1", *[f"a.test/draft{i}" for i in range(6)])
        web.page("a.test/1", "a.test/2", "a.test/known")
        web.page("a.test/2", "a.test/3", "a.test/free")
        web.page("a.test/3")
        web.page("a.test/known")
        web.page("a.test/free")
        await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=FilterSettings(tail_yield=1.0, audit_share=0.0)), two_opinions())
        with View(tmp_path / "c") as view:
            space = URLSpace(view.secret, url_rules(view.settings))
            graph = read_graph(view, space, limit=100).graph
            left = {of.holder: of.left for of in classes(view) if of.left}
    assert left == {"second drafts": 6}
    panel = ReplayedPanel(graph, two_opinions(), space)
    result = ReplayedCrawl(graph, TailPolicy(tail_yield=1.0, audit_share=0.0), filters=panel, trusts_filters=True).run()
    assert result.left == left
    assert sorted(web.place(graph.urls[number]) for number, _ in result.asked) == sorted(web.requests)
