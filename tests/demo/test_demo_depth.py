"""The part "depth": real pages are finite and listed, traps never end."""

from __future__ import annotations

from collections import Counter

import pytest
from labelling import check_purity, check_truth, fetch, labelled, links, words

from thresher.crawler.demo.demo_settings import PROFILES
from thresher.crawler.demo.depth import N_CHAPTERS, N_LEVELS
from thresher.crawler.demo.labelled import LabelledWeb

SMALL = {"part_pages": 80}


def test_truth_is_what_an_independent_walk_over_the_pages_finds() -> None:
    check_truth(labelled("depth", **SMALL))


def test_it_is_pure() -> None:
    check_purity("depth", **SMALL)


def test_the_real_pages_are_some_1650_of_every_variant() -> None:
    truth = LabelledWeb(PROFILES["depth"]).truth()
    assert len(truth.documents()) == 1665
    variants = Counter(label.variant for label in truth.urls.values())
    assert variants == {"tree": 1093, "product": 300, "docs": 121, "note": 81, "novel": 40, "category": 31}
    assert {trap.kind for trap in truth.traps} == {"calendar", "facet", "session"}


def test_real_pages_show_different_words() -> None:
    web = labelled("depth", **SMALL)
    shown = [" ".join(words(web, document)) for document in web.truth().documents()]
    assert len(set(shown)) == len(shown)


def test_the_chain_and_the_tree_are_as_deep_as_said() -> None:
    urls = labelled("depth", **SMALL).truth().urls.values()
    assert [label.depth for label in urls if label.variant == "novel"] == list(range(1, N_CHAPTERS + 1))
    levels = Counter(label.depth for label in urls if label.variant == "tree")
    assert levels == {level: 2**level for level in range(N_LEVELS)}


@pytest.mark.parametrize("kind", ["calendar", "facet", "session"])
def test_a_trap_never_ends(kind: str) -> None:
    web = labelled("depth", **SMALL)
    trap = next(trap for trap in web.traps() if trap.kind == kind)
    entry = next(link for _, out in web.graph() for link in out if trap.holds(link))
    met, latest = {entry}, entry
    for _ in range(60):
        assert web.label(latest).kind == kind
        assert web.label(latest).is_endless
        assert fetch(web, latest).status == 200
        latest = next(link for link in reversed(links(latest, fetch(web, latest))) if trap.holds(link) and link not in met)
        met.add(latest)
    documents = {web.label(url).document for url in met}
    assert documents == {""} if kind != "session" else documents <= web.truth().documents().keys()


def test_a_session_s_page_is_the_page_without_one() -> None:
    web = labelled("depth", **SMALL)
    sessions = web.truth().of_kind("session")
    assert len(sessions) >= 16
    for label in sessions:
        assert words(web, label.url) == words(web, label.canonical)
        assert web.label(label.canonical).kind == "page"


def test_products_are_reached_through_categories_without_any_facet() -> None:
    web = labelled("depth", **SMALL)
    truth = web.truth()
    products = {label.url for label in truth.urls.values() if label.variant == "product"}
    listed = {link for url, out in web.graph() if truth.urls[url].variant == "category" for link in out}
    assert len(products) == 60
    assert products <= listed


def test_what_is_not_linked_is_gone() -> None:
    web = labelled("depth", **SMALL)
    paths = (
        "/docs/999/",
        "/novel/chapter-41",
        "/cal/2024/13/",
        "/c/3?f.size=huge",
        "/c/3?page=99",
        "/note?id=9999&sid=1",
        "/0/",
        "/99999/",
    )
    for host in web.hosts():
        assert {web.respond(host, path).status for path in paths} == {404}
