"""What filters ask for beside a verdict, carried out by a real crawl of a real server; the store is sound after each."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from little_web import LittleWeb, crawl, no_held_url_is_fetched, settings, space
from planted import LinkScript, PageScript

from thresher.config.settings import LimitSettings, ScopeSettings
from thresher.crawler.core.effects import Effect, FetchAgain, Hold, Release, Request, Revise, Rewrite
from thresher.crawler.core.model import Mode, Purpose, Reason, State, Verdict
from thresher.filters.registry import specs
from thresher.filters.spec import FilterSpec
from thresher.storage.packing import pack_u64
from thresher.storage.schema import RULES
from thresher.storage.store import Store
from thresher.storage.tables.rules import ROWS_PER_RULE
from thresher.storage.view import View

RULE = "same page"


def pages(script: PageScript, mode: Mode = Mode.ENFORCE) -> FilterSpec:
    return FilterSpec(script.name, mode, page=script, prober=script)


def links(script: LinkScript, mode: Mode = Mode.ENFORCE) -> FilterSpec:
    return FilterSpec(script.name, mode, learned=script)


def skipped(path: Path) -> set[tuple[str, str]]:
    with View(path) as view:
        return {(line.url, line.reason) for line in view.all_skipped()}


# -- Rewrite


def without_ref(web: LittleWeb) -> LinkScript:
    """A filter that rewrites URLs with `?ref=…` to those without."""

    def asks(url: str) -> Iterable[Effect]:
        return [Rewrite(url, url.partition("?")[0], RULE)] if "?ref=" in url else []

    return LinkScript("dust", asks=asks)


async def test_a_new_link_that_is_rewritten_is_an_alias_and_its_target_is_queued_once(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1?ref=x", "a.test/1?ref=y", "a.test/2?ref=x", "a.test/2")
        web.page("a.test/1", "a.test/3")
        web.page("a.test/2", "a.test/1?ref=z")
        web.page("a.test/3")
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"]), [links(without_ref(web))])
    assert sorted(web.requests) == ["a.test/", "a.test/1", "a.test/2", "a.test/3"]
    assert {web.place(url): web.place(to) for url, to in crawled.aliases.items()} == {
        "a.test/1?ref=x": "a.test/1",
        "a.test/1?ref=y": "a.test/1",
        "a.test/1?ref=z": "a.test/1",
        "a.test/2?ref=x": "a.test/2",
    }
    assert {crawled.rows[url].reason for url in crawled.aliases} == {Reason.REWRITTEN}
    assert crawled.rows[web.url("a.test/3")].seed_distance == 2, "the target takes its alias's place in the crawl"
    assert crawled.status.saved == {"dust": 4}


async def test_a_waiting_url_that_is_rewritten_leaves_its_queue(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1", "a.test/2")
        web.page("a.test/1")
        web.page("a.test/canonical")
        script = PageScript("dust", asks={web.url("a.test/1"): (Rewrite(web.url("a.test/2"), web.url("a.test/canonical"), RULE),)})
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"]), [pages(script)])
    assert web.requests == ["a.test/", "a.test/1", "a.test/canonical"]
    assert crawled.aliases == {web.url("a.test/2"): web.url("a.test/canonical")}
    assert crawled.state(web.url("a.test/2")) is State.ALIAS


async def test_what_is_in_flight_or_done_is_not_rewritten(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "b.test/slow", "a.test/1")
        web.page("a.test/1")
        web.page("b.test/slow")
        late = web.stall("b.test/slow")
        rewrites = tuple(Rewrite(web.url(place), web.url("a.test/never"), RULE) for place in ("b.test/slow", "a.test/", "c.test/unknown"))
        script = PageScript("dust", asks={web.url("a.test/1"): rewrites})
        script.on_learn = lambda url: late.set() if url == web.url("a.test/1") else None
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"]), [pages(script)])
    assert sorted(web.requests) == ["a.test/", "a.test/1", "b.test/slow"]
    assert not crawled.aliases
    assert crawled.state(web.url("b.test/slow")) is State.DONE


async def test_a_target_is_queued_although_its_rule_s_rows_are_used_up(tmp_path: Path) -> None:
    """Beyond its cap of rows a rule's aliases are only counted, not stored. The URL that they are rewritten to is queued all the same."""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1?ref=x")
        web.page("a.test/1")
        configuration = settings(web, ["a.test/"])
        with Store.create(tmp_path / "c", configuration, 0.0) as store:
            store.put(RULES, f"dust:{RULE}".encode(), pack_u64(ROWS_PER_RULE))
        crawled = await crawl(tmp_path / "c", configuration, [links(without_ref(web))])
    assert web.requests == ["a.test/", "a.test/1"]
    assert not crawled.aliases
    assert crawled.state(web.url("a.test/1?ref=x")) is None


async def test_a_url_that_would_be_rewritten_out_of_the_scope_is_fetched_itself(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1")
        script = LinkScript("dust", asks=lambda url: [Rewrite(url, web.url("b.test/1"), RULE)])
        configuration = settings(web, ["a.test/"], scope=ScopeSettings(type="host"))
        crawled = await crawl(tmp_path / "c", configuration, [*specs(configuration, configuration.seeds), links(script)])
    assert web.requests == ["a.test/", "a.test/1"]
    assert not crawled.aliases
    assert crawled.state(web.url("b.test/1")) is None


# -- Hold and Release


async def test_a_held_url_is_fetched_once_its_last_holder_releases_it(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/held", "a.test/kept-back", *[f"a.test/{i}" for i in range(4)])
        for i in range(4):
            web.page(f"a.test/{i}")
        web.page("a.test/held")
        one = LinkScript(
            "one",
            asks=lambda url: [Hold(url, "rule 1")] if url.endswith("held") else [Hold(url, "rule 3")] if url.endswith("back") else [],
        )
        two = PageScript(
            "two",
            asks={
                web.url("a.test/0"): (Hold(web.url("a.test/held"), "rule 2"),),
                web.url("a.test/1"): (Release("rule 1"),),
                web.url("a.test/2"): (Release("rule 2"),),
            },
        )
        crawled = await crawl(tmp_path / "c", no_held_url_is_fetched(settings(web, ["a.test/"])), [links(one), pages(two)])
    assert web.requests == ["a.test/", "a.test/0", "a.test/1", "a.test/2", "a.test/held", "a.test/3"]
    assert crawled.state(web.url("a.test/held")) is State.DONE
    assert crawled.held_by == {web.url("a.test/kept-back"): ["rule 3"]}
    assert crawled.state(web.url("a.test/kept-back")) is State.HELD
    assert "held by filters: 1 URL" in crawled.ending.why
    assert (crawled.status.held, crawled.status.saved) == (1, {})


async def test_a_waiting_url_that_is_held_leaves_its_queue_and_comes_back_to_its_place(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/{i}" for i in range(5)])
        for i in range(5):
            web.page(f"a.test/{i}")
        script = PageScript(
            "holder",
            asks={web.url("a.test/0"): (Hold(web.url("a.test/1"), "rule"),)},
            asks_later={web.url("a.test/2"): (Release("rule"),)},
        )
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"]), [pages(script)])
    assert web.requests == ["a.test/", "a.test/0", "a.test/2", "a.test/1", "a.test/3", "a.test/4"]
    assert {row.state for row in crawled.rows.values()} == {State.DONE}


async def test_what_was_held_in_one_life_is_released_in_the_next(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/held", "a.test/last")
        web.page("a.test/held")
        web.page("a.test/last")
        script = LinkScript("holder", asks=lambda url: [Hold(url, "rule")] if url.endswith("held") else [])
        first = await crawl(tmp_path / "c", settings(web, ["a.test/"], limits=LimitSettings(min_free_disk=0, max_pages=1)), [links(script)])
        assert first.held_by == {web.url("a.test/held"): ["rule"]}
        releaser = PageScript("holder", asks={web.url("a.test/last"): (Release("rule"),)})
        second = await crawl(tmp_path / "c", settings(web, ["a.test/"]), [pages(releaser)])
    assert web.requests == ["a.test/", "a.test/last", "a.test/held"]
    assert not second.held_by


# -- Revise


async def test_a_revised_verdict_stands_beside_the_stored_one(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1", "a.test/2")
        web.page("a.test/1")
        web.page("a.test/2")
        configuration = settings(web, ["a.test/"])
        with Store.create(tmp_path / "c", configuration, 0.0):
            pass
        key = space(web, tmp_path / "c").key(web.url("a.test/1"))
        later = Verdict("reviser", keep=False, follow=False, score=0.9, reason=Reason.DUPLICATE_CONTENT, evidence={"copy_of": "2"})
        script = PageScript("reviser", asks={web.url("a.test/2"): (Revise(key, later),)})
        crawled = await crawl(tmp_path / "c", configuration, [pages(script)])
        with View(tmp_path / "c") as view:
            revisions = view.tables.verdicts.revisions(key)
    assert crawled.revised == {web.url("a.test/1"): ["reviser"]}
    assert crawled.status.dropped_later == {"reviser": 1}
    assert [(r.verdict.keep, r.verdict.score, r.verdict.reason, r.verdict.evidence) for r in revisions] == [
        (False, 0.9, "duplicate_content", {"copy_of": "2"})
    ]
    stored = crawled.pages[web.url("a.test/1")]
    assert (stored.keep, stored.has_body) == (True, True), "what was stored stays as it was"


@pytest.mark.parametrize("is_held", [False, True])
async def test_a_verdict_on_a_page_that_is_to_be_fetched_again_is_dropped(tmp_path: Path, *, is_held: bool) -> None:
    """It is about an answer that was forgotten: the page that comes in its place is judged for itself."""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1", "a.test/2")
        web.page("a.test/1")
        web.page("a.test/2")
        configuration = settings(web, ["a.test/"])
        with Store.create(tmp_path / "c", configuration, 0.0):
            pass
        urls, text = space(web, tmp_path / "c"), web.url("a.test/1")
        key, queue = urls.key(text), urls.queue_key(text.removesuffix("/1"))
        held = [Hold(text, "reviser 1")] if is_held else []
        later = Verdict("reviser", keep=False, follow=False, reason=Reason.DUPLICATE_CONTENT)
        script = PageScript("reviser", asks={web.url("a.test/2"): (FetchAgain(queue, (key,)), *held, Revise(key, later))})
        crawled = await crawl(tmp_path / "c", configuration, [pages(script)])
    assert web.requests == ["a.test/", "a.test/1", "a.test/2", "a.test/1"]
    assert (crawled.revised, crawled.status.dropped_later) == ({}, {})
    assert crawled.pages[text].keep


async def test_the_canonical_copy_is_preferred_whichever_came_first(tmp_path: Path) -> None:
    words = " ".join(f"word{i}" for i in range(40))
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1?ref=x", "a.test/1", "a.test/2", text="home " + words)
        web.page("a.test/1?ref=x", text=words)
        web.page("a.test/1", text=words, head=f'<link rel="canonical" href="{web.url("a.test/1")}">')
        web.page("a.test/2", text=words)
        configuration = settings(web, ["a.test/"])
        crawled = await crawl(tmp_path / "c", configuration)
    assert crawled.revised == {web.url("a.test/1?ref=x"): ["exact_duplicate"]}
    kept = {web.place(url): (page.keep, page.follow) for url, page in crawled.pages.items()}
    assert kept == {"a.test/": (True, True), "a.test/1?ref=x": (True, True), "a.test/1": (True, True), "a.test/2": (False, True)}
    key = space(web, tmp_path / "c").key(web.url("a.test/1")).hex()
    assert crawled.pages[web.url("a.test/2")].verdicts[0].evidence == {"copy_of": key}


# -- observe


async def test_an_observing_filter_s_effects_are_dropped(tmp_path: Path) -> None:
    def web_of(web: LittleWeb) -> None:
        web.page("a.test/", *[f"a.test/{i}" for i in range(6)])
        for i in range(6):
            web.page(f"a.test/{i}")

    async with LittleWeb() as web:
        web_of(web)
        url = [web.url(f"a.test/{i}") for i in range(6)]
        script = PageScript(
            "observer",
            asks={url[0]: (Hold(url[3], "rule"), Rewrite(url[4], url[1], RULE), Request(web.url("a.test/probe"), Purpose.PROBE))},
            asks_later={url[1]: (Hold(url[5], "rule"),)},
            drops=lambda _: True,
        )
        on_links = LinkScript("observer", refuses=lambda url: url.endswith("2"), asks=lambda url: [Hold(url, "rule")])
        spec = FilterSpec("observer", Mode.OBSERVE, page=script, learned=on_links, prober=script)
        watched = await crawl(tmp_path / "watched", settings(web, ["a.test/"]), [spec])
        seen, web.requests = web.requests, []
        alone = await crawl(tmp_path / "alone", settings(web, ["a.test/"]), [])
    assert seen == web.requests
    assert {row.state for row in watched.rows.values()} == {State.DONE}
    assert (watched.held_by, watched.aliases) == ({}, {})
    assert watched.links == alone.links
    assert (watched.status.saved, watched.status.skipped) == ({}, {})
    assert watched.status.would_save == {"observer": 8}, "a link refused, and seven pages dropped"
    assert {page.keep for page in watched.pages.values()} == {True}
    assert {verdict.filter for page in watched.pages.values() for verdict in page.verdicts} == {"observer"}, "its verdicts are recorded"
