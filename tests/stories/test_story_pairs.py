"""The redirect gate in a real crawl: every URL that redirects counts, whatever became of its target, and whichever of the two was met
first.
"""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from little_web import Crawled, LittleWeb, crawl, settings
from planted import PageScript, PairWitness

from thresher.config.settings import FrontierSettings, LimitSettings, ScopeSettings
from thresher.crawler.core.effects import Rewrite
from thresher.crawler.core.model import Mode, Reason
from thresher.filters.registry import specs
from thresher.filters.spec import FilterSpec


async def crawl_pairs(tmp_path: Path, web: LittleWeb, *seeds: str, **sections: Any) -> tuple[Crawled, PairWitness]:
    witness = PairWitness()
    configuration = settings(web, seeds or ["a.test/"], **sections)
    every = specs(configuration, configuration.seeds)
    crawled = await crawl(tmp_path / "c", configuration, [*every, FilterSpec("witness", Mode.ENFORCE, redirect=witness)])
    told = {pair.original: (pair.target, pair.hops, pair.status) for pair in witness.pairs}
    assert len(told) == len(witness.pairs), "each pair is shown once"
    assert told == crawled.pairs, "what the filter is shown is what is stored"
    return crawled, witness


def places(web: LittleWeb, crawled: Crawled) -> dict[str, tuple[str, int, int]]:
    return {web.place(original): (web.place(target), hops, status) for original, (target, hops, status) in crawled.pairs.items()}


async def test_every_original_counts_although_the_target_is_fetched_once(tmp_path: Path) -> None:
    n = 100
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/{i}" for i in range(n)])
        for i in range(n):
            web.redirect(f"a.test/{i}", "b.test/end", status=(301, 302, 303, 307, 308)[i % 5])
        web.page("b.test/end")
        crawled, _ = await crawl_pairs(tmp_path, web)
    assert web.requests.count("b.test/end") == 1
    assert places(web, crawled) == {f"a.test/{i}": ("b.test/end", 1, 200) for i in range(n)}


@pytest.mark.parametrize("first", ["links to the chain come first", "links to its end come first"])
async def test_chains_of_up_to_five_hops_are_followed_to_their_end(tmp_path: Path, first: str) -> None:
    chain = [f"{host}.test/{i}" for i, host in enumerate("abcabc")]
    order = chain if first.endswith("first") and "chain" in first else chain[::-1]
    async with LittleWeb() as web:
        web.page("z.test/", *order)
        for at, to in pairwise(chain):
            web.redirect(at, to)
        web.page(chain[-1])
        crawled, _ = await crawl_pairs(tmp_path, web, "z.test/")
    assert places(web, crawled) == {at: (chain[-1], 5 - i, 200) for i, at in enumerate(chain[:-1])}


async def test_a_chain_of_six_hops_is_cut(tmp_path: Path) -> None:
    """F50: the sixth hop is never asked for."""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/0")
        for i in range(6):
            web.redirect(f"a.test/{i}", f"a.test/{i + 1}")
        web.page("a.test/6")
        crawled, _ = await crawl_pairs(tmp_path, web)
    assert "a.test/6" not in web.requests
    assert places(web, crawled) == {f"a.test/{i}": ("a.test/6", 6 - i, 0) for i in range(1, 6)}
    assert crawled.rows[web.url("a.test/5")].reason is Reason.REDIRECT_LIMIT


async def test_loops_have_no_end_and_make_no_pairs(tmp_path: Path) -> None:
    """F50, F51."""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/self", "a.test/x", "b.test/into")
        web.redirect("a.test/self", "a.test/self")
        web.redirect("a.test/x", "b.test/y")
        web.redirect("b.test/y", "a.test/x")
        web.redirect("b.test/into", "a.test/x")
        crawled, _ = await crawl_pairs(tmp_path, web)
    assert len(web.requests) == len(set(web.requests)) == 5
    assert crawled.pairs == {}
    assert len(crawled.edges) == 4


async def test_a_target_that_settled_before_completes_the_pair_at_once(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/back", "a.test/to-error", "a.test/error")
        web.redirect("a.test/back", "a.test/")
        web.redirect("a.test/to-error", "a.test/error")
        web.page("a.test/error", status=404)
        crawled, _ = await crawl_pairs(tmp_path, web)
    assert places(web, crawled) == {"a.test/back": ("a.test/", 1, 200), "a.test/to-error": ("a.test/error", 1, 404)}


@pytest.mark.parametrize("first", ["originals", "ends"])
async def test_what_is_not_fetched_as_a_page_is_final_as_it_stands(tmp_path: Path, first: str) -> None:
    """Out of scope, denied by robots.txt, failed, no document, no URL at all: each original counts, whichever end was met first."""
    originals = ["out", "far-out", "denied", "failing", "media", "before-nowhere"]
    ends = ["private/1", "error", "picture", "nowhere"]
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/{place}" for place in (originals + ends if first == "originals" else ends + originals)])
        for place, to in zip(originals, ["b.test/outside", "a.test/out", *[f"a.test/{end}" for end in ends]], strict=True):
            web.redirect(f"a.test/{place}", to)
        web.redirect("a.test/nowhere", "http://[bad/")
        web.robots("a.test", "User-agent: *\nDisallow: /private/")
        web.page("a.test/error", status=500)
        web.file("a.test/picture", "image/png", b"\x89PNG")
        crawled, _ = await crawl_pairs(tmp_path, web, scope=ScopeSettings(type="host"))
    assert places(web, crawled) == {
        "a.test/out": ("b.test/outside", 1, 0),
        "a.test/far-out": ("b.test/outside", 2, 0),
        "a.test/denied": ("a.test/private/1", 1, 0),
        "a.test/failing": ("a.test/error", 1, 500),
        "a.test/media": ("a.test/picture", 1, 200),
        "a.test/before-nowhere": ("a.test/nowhere", 1, 301),
    }


async def test_a_target_that_becomes_an_alias_while_it_waits_is_final(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/0", "a.test/1")
        web.redirect("a.test/0", "a.test/2")
        web.page("a.test/1")
        witness = PairWitness()
        dust = PageScript("dust", asks={web.url("a.test/1"): (Rewrite(web.url("a.test/2"), web.url("a.test/1"), "same page"),)})
        crawled = await crawl(
            tmp_path / "c",
            settings(web, ["a.test/"], frontier=FrontierSettings(order="fifo")),
            [FilterSpec("dust", Mode.ENFORCE, page=dust), FilterSpec("witness", Mode.ENFORCE, redirect=witness)],
        )
    assert places(web, crawled) == {"a.test/0": ("a.test/2", 1, 0)}
    assert len(witness.pairs) == 1


@pytest.mark.parametrize("seed", range(3))
async def test_pairs_of_a_random_web_are_what_following_by_hand_gives(tmp_path: Path, seed: int) -> None:
    """Mutation: `after_redirect` forgot the originals that lead to its own; `after_end` looked one hop back."""
    rng = random.Random(seed)
    names = [f"{rng.choice('abc')}.test/{i}" for i in range(40)]
    to = {name: rng.choice(names) for name in rng.sample(names, 28)}
    async with LittleWeb() as web:
        web.page("z.test/", *rng.sample(names, len(names)))
        for name in names:
            if name in to:
                web.redirect(name, to[name])
            else:
                web.page(name, status=rng.choice((200, 200, 404)))
        crawled, _ = await crawl_pairs(tmp_path, web, "z.test/", limits=LimitSettings(min_free_disk=0, max_wait=5.0, max_redirects=20))
    expected = {}
    for name, first in to.items():
        end, hops = first, 1
        while end in to and hops <= 5:
            end, hops = to[end], hops + 1
        if end not in to and hops <= 5:
            expected[name] = (end, hops, crawled.pages[web.url(end)].status)
    assert places(web, crawled) == expected
    assert len(web.requests) == 41
