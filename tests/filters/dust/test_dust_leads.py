"""Lists that say what others say, and name other documents, are no aliases."""

from __future__ import annotations

from subjects import SPACE, page
from test_dust_families import A, bench, held, teach

from thresher.crawler.core.effects import Release
from thresher.crawler.core.model import CrawlURL

DAYS = [f"/{year}/{day}/" for year in range(4) for day in range(5)]
OF_DAY = "sitting minutes votes of the house"


def url(path: str) -> CrawlURL:
    return SPACE.url(A + path, seed_distance=2)


def lists() -> dict[str, str]:
    return {path: f"{OF_DAY} {path[1]}" for path in DAYS[:18]}


def test_lists_that_lead_to_documents_are_aliases_no_longer() -> None:
    """Mutations: links decide nothing; pages of another kind count; the classes are not released."""
    at = bench()
    teach(at, lists())
    assert held(at, *DAYS[18:])
    asked = []
    for path in DAYS[1:3]:
        for item in range(2):
            judged = at.panel.page(page(f"{A}{path}item{item}", f"what was said in {path} of {item}, word for word", via=url(path)))
            asked += [effect for _, effect in (*judged.effects, *at.panel.learn(judged)[0])]
    assert not held(at, *DAYS[18:])
    released = [effect.holder for effect in asked if isinstance(effect, Release)]
    assert f"dust family segment 2 {A}/0/*/" in released


def test_lists_whose_links_show_what_is_known_stay_aliases() -> None:
    at = bench()
    teach(at, lists())
    teach(at, {"/said": "what was said in all of the sittings, word for word"})
    for path in DAYS[1:6]:
        at.tell([page(f"{A}{path}item{i}", "what was said in all of the sittings, word for word", via=url(path)) for i in range(3)])
    assert held(at, *DAYS[18:])


def test_one_new_page_among_many_known_ones_is_not_enough() -> None:
    at = bench()
    teach(at, lists())
    teach(at, {"/said": "what was said in all of the sittings, word for word"})
    for path in DAYS[1:6]:
        known = [page(f"{A}{path}item{i}", "what was said in all of the sittings, word for word", via=url(path)) for i in range(3)]
        at.tell([*known, page(f"{A}{path}new", f"only {path} has this page of so many words", via=url(path))])
    assert held(at, *DAYS[18:])
