"""Depth cutoffs in whole crawls: endless spaces end, real pages that lie deep are fetched, what is held is counted and comes back."""

from __future__ import annotations

import random
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from harness import demo
from little_web import LittleWeb, crawl, settings

from benchmarks.quality.depth_crawl import crawl as crawl_labelled
from benchmarks.quality.depth_crawl import settings_of
from thresher.config.settings import DepthCutoffSettings, FilterSettings, NearReplicaSettings, PatternYieldSettings
from thresher.crawler.analysis.depth_evidence import read_evidence
from thresher.crawler.analysis.tails import classes
from thresher.crawler.core.model import State
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.process import ServerProcess
from thresher.storage.view import View

OTHERS_OFF: dict[str, Any] = {"near_replica": NearReplicaSettings(mode="off"), "pattern_yield": PatternYieldSettings(mode="off")}

N_PAGES = 48
BUDGET = 2_500


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A calendar, facets and session ids beside 287 real pages, a chain of 40 among them."""
    with demo("depth", tmp_path_factory.mktemp("demo"), part_pages=N_PAGES) as served:
        yield served


def web_of(server: ServerProcess) -> LabelledWeb:
    assert isinstance(server.web, LabelledWeb)
    return server.web


def test_traps_end_and_every_real_page_is_fetched(server: ServerProcess, tmp_path: Path) -> None:
    """The short form of `python -m benchmarks.quality.depth_crawl`. The chain of 40 chapters must not be taken for a part of the calendar
    beside it. Mutation: the filter looked only at what other filters said and not at new texts; the crawl then ended at its limit of pages.
    """
    web = web_of(server)
    found = crawl_labelled("", tmp_path / "c", web, settings_of(server, BUDGET, others=False, cutoff=DepthCutoffSettings(mode="enforce")))
    assert found.missed == {}
    assert found.documents == len(web.truth().documents())
    assert found.n_wasted <= 130 + 50 + 61  # the cost of finding out, whatever the size of the web: 50 are links of copies, 61 the days of
    # the two months that good pages name
    assert found.n_held > 200
    with View(tmp_path / "c") as view:
        sites = {site.name.partition("-depth")[2][:1]: site for site in read_evidence(view, DepthCutoffSettings()).sites}
        n_pages = sum(1 for _ in view.all_pages())
    assert all(sum(level.fetched for level in site.levels) == site.n_pages for site in sites.values()), "though a sample was looked at"
    assert sum(site.n_pages for site in sites.values()) == n_pages
    assert [level.new / level.fetched for level in sites["3"].levels] == [1.0] * 7, "the plain site"
    assert sites["2"].levels[2].drops.keys() == {"duplicate"}, "session ids"


def test_a_crawl_as_deep_as_visitors_go_keeps_nine_tenths_of_their_views(server: ServerProcess, tmp_path: Path) -> None:
    """Matrix row 21: visitors of model B, q = .6, on the tree. The calendar ends at level 4 or before, and 80 % of the requests of a crawl
    to depth 12 are saved, so more of one to depth 20. Audits are off, since they fetch deeper pages by lot.
    """
    web = web_of(server)
    calendar, tree = (next(seed for seed in web.seeds() if name in seed) for name in ("www.", "tree."))
    fetched = {}
    for name, cutoff, max_depth in (("q", DepthCutoffSettings(mode="enforce", q=0.6), None), ("12", DepthCutoffSettings(mode="off"), 12)):
        of = settings_of(server, 5_000, others=False, cutoff=cutoff, max_depth=max_depth)
        of = msgspec.structs.replace(of, seeds=[calendar, tree], filters=msgspec.structs.replace(of.filters, audit_share=0.0))
        crawl_labelled("", tmp_path / name, web, of)
        with View(tmp_path / name) as view:
            fetched[name] = {url.text: row.site_depth for url, row in view.all_urls(State.DONE)}
    assert max(depth for url, depth in fetched["q"].items() if "/cal/" in url) <= 4
    assert len(fetched["q"]) <= 0.2 * len(fetched["12"])
    assert kept_share(web, tree, fetched["q"].keys()) >= 0.9


def kept_share(web: LabelledWeb, home: str, fetched: Container[str]) -> float:
    """Simulate 20,000 page views of visitors who go one level deeper or return to the home page; return the share of them on pages that
    were fetched.
    """
    depths = {url: label.depth for url, label in web.truth().urls.items() if url.startswith(home)}
    deeper = {url: [to for to in links if depths.get(to) == depths[url] + 1] for url, links in web.graph() if url in depths}
    rng, at, kept, n = random.Random(2), home, 0, 20_000
    for _ in range(n):
        at = rng.choice(deeper[at]) if deeper.get(at) and rng.random() < 0.6 else home
        kept += at in fetched
    return kept / n


async def test_what_was_cut_is_fetched_when_later_pages_raise_the_limit(tmp_path: Path) -> None:
    """The first pages of a directory have one text apart from numbers, its later pages have new texts. The audited share finds that out.
    Mutation: nothing is released.
    """
    rng = random.Random(1)

    def prose() -> str:
        return " ".join(rng.choice("abcdefgh") + rng.choice("klmnop") * rng.randrange(1, 9) + rng.choice("uvwxyz") for _ in range(150))

    old, n = prose(), 300
    async with LittleWeb() as web:
        web.page("a.test/", *(f"a.test/items?of=w{i}" for i in range(45)), text=prose())
        for i in range(n):
            named = range(45 + i, n, 45) if i < 45 else ()
            web.page(f"a.test/items?of=w{i}", *(f"a.test/items?of=w{to}" for to in named), text=f"{old} {i}" if i < 45 else prose())
        filters = FilterSettings(audit_share=0.1, tail_yield=1.0, depth_cutoff=DepthCutoffSettings(mode="enforce"), **OTHERS_OFF)
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=filters))
    new = [crawled.rows[web.url(f"a.test/items?of=w{i}")].state for i in range(45, n)]
    assert State.HELD not in new
    with View(tmp_path / "c") as view:
        assert sum(of.known for of in classes(view)) > 5, "they had been held before"


async def test_what_a_worthless_page_named_is_fetched_once_a_good_page_names_it(tmp_path: Path) -> None:
    """Each page of numbers links to one more of its kind; a late chapter links to one of those. Mutation: only the first page that links to
    a URL counted.
    """
    rng = random.Random(1)

    def prose() -> str:
        return " ".join(rng.choice("abcdefgh") + rng.choice("klmnop") * rng.randrange(1, 9) + rng.choice("uvwxyz") for _ in range(150))

    old, n, n_lists = prose(), 40, 11
    async with LittleWeb() as web:
        web.page("a.test/", *(f"a.test/list/{i}" for i in range(n_lists)), "a.test/book/0", text=prose())
        for i in range(n_lists):
            web.page(f"a.test/list/{i}", f"a.test/list/{1000 + i}", text=f"{old} {i}")
            web.page(f"a.test/list/{1000 + i}", text=f"{old} {1000 + i}")
        for i in range(n):
            web.page(f"a.test/book/{i}", f"a.test/book/{i + 1}", *(["a.test/list/1010"] if i == n - 1 else []), text=prose())
        filters = FilterSettings(audit_share=0, tail_yield=1.0, depth_cutoff=DepthCutoffSettings(mode="enforce"), **OTHERS_OFF)
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=filters))
    assert crawled.rows[web.url("a.test/list/1009")].state is State.HELD
    assert crawled.rows[web.url("a.test/list/1010")].state is State.DONE
