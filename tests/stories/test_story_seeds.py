"""The outcome of each seed, read from the store of a crawl whose seeds are of all kinds."""

from __future__ import annotations

from pathlib import Path

import msgspec
from little_web import LittleWeb, crawl, settings

from thresher.config.settings import LimitSettings, ScopeSettings
from thresher.crawler.analysis.seed_outcomes import SeedOutcome, seed_outcomes
from thresher.crawler.explain.explain import Explainer
from thresher.storage.export.reading import reading


def outcomes(path: Path, web: LittleWeb) -> dict[str, SeedOutcome]:
    with reading(path) as view:
        return {web.place(one.seed): one for one in seed_outcomes(view)}


async def test_each_seed_has_its_outcome_and_what_lies_under_it(tmp_path: Path) -> None:
    """Mutation: pages counted under the seed's host and not its directory: `a.test/docs/` had them all."""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1", "a.test/docs/x", "a.test/gone")
        web.page("a.test/1")
        web.page("a.test/docs/", "a.test/docs/x", "a.test/docs/deep/y")
        web.page("a.test/docs/x")
        web.page("a.test/docs/deep/y")
        web.page("a.test/gone", status=404)
        web.redirect("b.test/", "a.test/docs/")
        web.page("c.test/", status=404)
        web.robots("d.test", "User-agent: *\nDisallow: /")
        seeds = ["a.test/", "a.test/docs/", "b.test/", "c.test/", "d.test/"]
        await crawl(tmp_path / "x", settings(web, seeds=seeds))
        found = outcomes(tmp_path / "x", web)
    assert {seed: one.outcome for seed, one in found.items()} == {
        "a.test/": "fetched", "a.test/docs/": "fetched", "b.test/": "redirected", "c.test/": "failed", "d.test/": "refused",
    }  # fmt: skip
    assert (found["a.test/"].pages, found["a.test/"].failed, found["a.test/docs/"].pages) == (5, 1, 3)
    assert (web.place(found["b.test/"].target or ""), found["b.test/"].status, found["b.test/"].pages) == ("a.test/docs/", 200, 3)
    assert "404" in (found["c.test/"].detail or "") + str(found["c.test/"].status)
    assert found["d.test/"].not_fetched == {"robots_denied": 1}
    assert found["d.test/"].why == "the seed itself was refused"
    assert found["a.test/docs/"].why == "nothing is left under it"


async def test_what_waits_is_counted(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", *(f"a.test/{i}" for i in range(9)))
        for i in range(9):
            web.page(f"a.test/{i}")
        limited = msgspec.structs.replace(settings(web, seeds=["a.test/"]), limits=LimitSettings(max_pages=3, min_free_disk=0))
        await crawl(tmp_path / "x", limited)
        found = outcomes(tmp_path / "x", web)["a.test/"]
    assert (found.pages, found.waiting, found.why) == (3, 7, "7 URLs wait")


async def test_a_seed_whose_target_is_out_of_scope_says_so(tmp_path: Path) -> None:
    """Seen to fail: "nothing is left under it", and `explain` said that the chain ends at a target that is unknown.

    With no depth, only the seeds and what they redirect to are fetched: the recipe of config/README.md.
    """
    async with LittleWeb() as web:
        web.redirect("a.test/old", "a.test/docs/p3")
        web.page("a.test/docs/p3", "a.test/docs/p4")
        only = msgspec.structs.replace(settings(web, seeds=["a.test/old"]), scope=ScopeSettings(type="page"))
        await crawl(tmp_path / "x", only)
        found = outcomes(tmp_path / "x", web)["a.test/old"]
        with reading(tmp_path / "x") as view:
            story = Explainer(view, view.settings, 0.0).story(only.seeds[0])
        followed = msgspec.structs.replace(settings(web, seeds=["a.test/old"]), limits=LimitSettings(max_depth=0, min_free_disk=0))
        await crawl(tmp_path / "y", followed)
        with reading(tmp_path / "y") as view:
            fetched = {web.place(url.text) for url, row in view.all_urls() if row.visit}
    assert (found.outcome, found.detail) == ("redirected", "target refused: out_of_scope (scope.type, scope.include)")
    assert found.why == found.detail
    assert "; target refused: out_of_scope (scope.type, scope.include)." in story.answer
    assert fetched == {"a.test/old", "a.test/docs/p3"}
