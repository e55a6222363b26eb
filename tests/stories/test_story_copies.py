"""Links of copies in whole crawls: pages that only copies link to are found, and a space of copies without end is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from little_web import LittleWeb, crawl, settings

from thresher.config.settings import (
    DepthCutoffSettings,
    DustSettings,
    ExactDuplicateSettings,
    FilterSettings,
    PatternYieldSettings,
    SoftErrorSettings,
)

WORDS = " ".join(f"word{i}" for i in range(40))


OFF: dict[str, Any] = {
    "pattern_yield": PatternYieldSettings(mode="off"),
    "dust": DustSettings(mode="off"),
    "depth_cutoff": DepthCutoffSettings(mode="off"),
}


def limited(max_links: int) -> FilterSettings:
    of = FilterSettings(audit_share=0.0, tail_yield=1.0, soft_error=SoftErrorSettings(max_probes=0), **OFF)
    return msgspec.structs.replace(of, exact_duplicate=ExactDuplicateSettings(max_links=max_links))


async def test_a_page_that_only_copies_lead_to_is_found(tmp_path: Path) -> None:
    """A branch of a repository: its first page and its folder are copies of the trunk's, and one file in it differs."""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/tree/", "a.test/tree/?h=next", text=f"home {WORDS}")
        for branch in ("", "?h=next"):
            web.page(f"a.test/tree/{branch}", f"a.test/tree/src/{branch}", text=f"root {WORDS}")
            web.page(f"a.test/tree/src/{branch}", f"a.test/tree/src/x.py{branch}", text=f"folder {WORDS}")
            web.page(f"a.test/tree/src/x.py{branch}", text=f"file {branch} {WORDS}")
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=limited(50)))
        without = await crawl(tmp_path / "none", settings(web, ["a.test/"], filters=limited(0)))
    assert crawled.pages[web.url("a.test/tree/src/x.py?h=next")].keep
    assert not crawled.pages[web.url("a.test/tree/src/?h=next")].keep
    assert len(crawled.pages) - len(without.pages) == 2


async def test_a_space_of_copies_without_end_ends_within_its_budget(tmp_path: Path) -> None:
    """Session ids: five texts, each under new URLs without end. Mutation: `CopyLedger` counted nothing, and the crawl never ended."""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/doc/0?sid=1", "a.test/doc/real")
        web.page("a.test/doc/real")

        def put(place: str) -> None:
            number, _, session = place.removeprefix("a.test/doc/").partition("?sid=")
            links = [f"a.test/doc/{n}?sid={5 * int(session) + n}" for n in range(5)]
            web.page(place, *links, text=f"text {number} {WORDS}")

        web.missing["a.test/doc/"] = put
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=limited(50)))
    n_sessions = sum("sid=" in place for place in web.requests)
    assert 50 <= n_sessions <= 100
    assert crawled.pages[web.url("a.test/doc/real")].keep
    assert crawled.ending.why.startswith("nothing is left to do; held by filters: ")
