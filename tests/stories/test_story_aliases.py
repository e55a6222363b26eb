"""An alias depends on the URL that it was rewritten to: if no page comes of that one, the alias is fetched after all. The store stays
sound.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from little_web import Crawled, LittleWeb, crawl, no_held_url_is_fetched, settings
from planted import LinkScript, PageScript

from thresher.config.settings import LimitSettings
from thresher.crawler.core.effects import Effect, Hold, Request, Rewrite
from thresher.crawler.core.model import Mode, Purpose, State
from thresher.filters.spec import FilterSpec, always

ALIASES = ("a.test/1?ref=x", "a.test/1?ref=y")


def without_ref(*, again: bool = False) -> FilterSpec:
    """A filter that rewrites URLs with `?ref=…` to those without. again: whether it is asked again when a URL's turn comes"""

    def asks(url: str) -> Iterable[Effect]:
        return [Rewrite(url, url.partition("?")[0], "rule")] if "?ref=" in url else []

    script = LinkScript("dust", asks=asks)
    return FilterSpec("dust", Mode.ENFORCE, learned=script, again=always if again else None)


async def crawled(path: Path, web: LittleWeb, *others: FilterSpec, again: bool = False, **sections: Any) -> Crawled:
    configuration = no_held_url_is_fetched(settings(web, ["a.test/"], **sections))
    return await crawl(path, configuration, [without_ref(again=again), *others])


def site(web: LittleWeb) -> None:
    web.page("a.test/", *ALIASES)
    for alias in ALIASES:
        web.page(alias)
    web.page("a.test/1")


def spoil(web: LittleWeb, how: str) -> None:
    """Let no page come of the canonical URL."""
    match how:
        case "an error":
            web.page("a.test/1", status=404)
        case "a redirect":
            web.page("a.test/elsewhere")
            web.redirect("a.test/1", "a.test/elsewhere")
        case "refused by robots.txt":
            web.robots("a.test", "User-agent: *\nDisallow: /1$")


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("how", ["an error", "a redirect", "refused by robots.txt"])
async def test_every_alias_is_fetched_when_its_canonical_url_is(how: str, again: bool, tmp_path: Path) -> None:
    """Also if the rule is asked again when the turn of an alias comes. Mutations: no alias is released; the rewrite to a URL that has
    failed is kept.
    """
    async with LittleWeb() as web:
        site(web)
        spoil(web, how)
        found = await crawled(tmp_path / "c", web, again=again)
        assert {found.state(web.url(alias)) for alias in ALIASES} == {State.DONE}
        assert {web.place(url) for url in found.pages} >= set(ALIASES)
        assert sorted(web.requests).count("a.test/1") <= 1


async def test_aliases_stay_aliases_of_a_page_that_was_kept(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        site(web)
        found = await crawled(tmp_path / "c", web)
        assert {found.state(web.url(alias)) for alias in ALIASES} == {State.ALIAS}
        assert sorted(web.requests) == ["a.test/", "a.test/1"]


async def test_a_link_that_would_be_an_alias_of_what_has_failed_is_an_ordinary_url(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        site(web)
        web.page("a.test/", "a.test/1", "a.test/2")
        web.page("a.test/1", status=404)
        web.page("a.test/2", *ALIASES)
        found = await crawled(tmp_path / "c", web)
        assert {found.state(web.url(alias)) for alias in ALIASES} == {State.DONE}


async def test_aliases_of_a_url_that_comes_to_be_held_go_on_as_ordinary_urls(tmp_path: Path) -> None:
    """If another filter holds an alias, too, it stays held, and is no audit. Mutation: aliases are queued as audits."""
    async with LittleWeb() as web:
        site(web)
        web.page("a.test/", *ALIASES, "a.test/0")
        web.page("a.test/0")

        def holds(url: str) -> Iterable[Effect]:
            return [Hold(url, "later pattern")] if url in (web.url("a.test/1"), web.url(ALIASES[1])) else []

        later = FilterSpec("later", Mode.ENFORCE, learned=LinkScript("later", asks=holds), again=always)
        found = await crawled(tmp_path / "c", web, later)
        assert found.state(web.url("a.test/1")) is State.HELD
        assert [found.state(web.url(alias)) for alias in ALIASES] == [State.DONE, State.HELD]


async def test_aliases_of_a_page_that_is_dropped_as_an_error_are_fetched(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        site(web)
        script = PageScript("soft_error", drops=lambda url: url == web.url("a.test/1"))
        found = await crawled(tmp_path / "c", web, FilterSpec("soft_error", Mode.ENFORCE, page=script))
        assert {found.state(web.url(alias)) for alias in ALIASES} == {State.DONE}


async def test_more_aliases_than_one_commit_takes_are_all_released(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        many = [f"a.test/1?ref={n}" for n in range(520)]
        web.page("a.test/", *many)
        web.page("a.test/1", status=404)
        limits = LimitSettings(min_free_disk=0, max_wait=5.0, max_pages=6)
        found = await crawled(tmp_path / "c", web, limits=limits)
        assert State.ALIAS not in {row.state for row in found.rows.values()}


# -- requests of a filter


async def test_a_page_that_is_asked_for_takes_the_place_of_the_url_for_whose_sake_it_is(tmp_path: Path) -> None:
    """Its links are as deep as those of the URL for which the filter asked for it. Mutation: it enters at depth 0."""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1")
        web.page("a.test/1", "a.test/2")
        web.page("a.test/2", "a.test/3?s=1")
        web.page("a.test/3?s=1")
        web.page("a.test/3", "a.test/4")
        web.page("a.test/4")

        async def run(path: Path) -> Crawled:
            request = AskBeside(web.url("a.test/3?s=1"), web.url("a.test/3"))
            return await crawl(path, settings(web, ["a.test/"]), [FilterSpec("dust", Mode.ENFORCE, page=request)])

        found = await run(tmp_path / "c")
        place = {web.place(url): (row.seed_distance, row.site_depth) for url, row in found.rows.items()}
        assert place["a.test/3"] == place["a.test/3?s=1"] == (3, 3)
        assert place["a.test/4"] == (4, 4)


class AskBeside(PageScript):
    """A filter that asks for one page when it sees another."""

    def __init__(self, seen: str, wanted: str) -> None:
        super().__init__("dust")
        self._seen, self._wanted = seen, wanted

    def observe(self, measure: Any, judgement: Any, memory: Any, /) -> tuple[Effect, ...]:
        super().observe(measure, judgement, memory)
        return (Request(self._wanted, Purpose.AUDIT, measure.key),) if measure.url == self._seen else ()
