"""The part "aliases": every planted rule holds wherever it applies, no decoy does, and aliases show their document's text."""

from __future__ import annotations

import pytest
from labelling import check_purity, check_truth, fetch, labelled, links, words

from thresher.crawler.demo.aliases import KINDS, AliasPart, PlantedRule
from thresher.crawler.demo.demo_settings import PROFILES, profile
from thresher.crawler.demo.labelled import LabelledWeb

SMALL = {"part_pages": 90}


def _part(web: LabelledWeb) -> AliasPart:
    part = web.parts["aliases"]
    assert isinstance(part, AliasPart)
    return part


def _apply(rule: PlantedRule, url: str) -> str | None:
    """Apply a rule without wildcards to a URL."""
    source, target = rule.source.removesuffix("$"), rule.target.removesuffix("$")
    if rule.source.endswith("$"):
        return url.removesuffix(source) + target if url.endswith(source) else None
    return url.replace(source, target, 1) if source in url else None


def test_truth_is_what_an_independent_walk_over_the_pages_finds() -> None:
    check_truth(labelled("aliases", **SMALL))


def test_it_is_pure() -> None:
    check_purity("aliases", **SMALL)


def test_nine_kinds_are_planted_on_three_sites_and_most_urls_are_redundant() -> None:
    truth = LabelledWeb(PROFILES["aliases"]).truth()
    kinds = {kind for label in truth.urls.values() for kind in label.kind.split("+")}
    assert kinds == KINDS | {"page"}
    assert len(truth.documents()) == pytest.approx(1800, abs=20)
    assert len(truth.urls) > 2 * len(truth.documents())
    assert {label.status for label in truth.urls.values()} == {200}
    hidden = [urls for document, urls in truth.documents().items() if document not in urls]
    assert 0.03 < len(hidden) / len(truth.documents()) < 0.15, "documents linked under aliases only"


def test_an_alias_shows_the_words_and_links_of_its_document() -> None:
    web = labelled("aliases", **SMALL)
    sites = {site.domain: number for number, site in enumerate(_part(web).sites)}
    for alias, own in web.truth().aliases().items():
        shown, expected = words(web, alias), words(web, own)
        is_noisy = next(number for domain, number in sites.items() if domain in own) == 1
        assert (shown == expected) == (not is_noisy), alias
        assert sum(a != b for a, b in zip(shown, expected, strict=True)) <= 2
        assert links(alias, fetch(web, alias)) == links(own, fetch(web, own))


def test_a_planted_rule_holds_for_every_url_and_joins_many() -> None:
    web = LabelledWeb(profile("aliases", part_pages=300))
    urls = web.truth().urls
    for rule in _part(web).rules():
        if "*" not in rule.source:
            joined = [(url, to) for url in urls if rule.site in url and (to := _apply(rule, url)) is not None and to != url]
            assert len(joined) >= 6, rule
            assert all(web.label(to).document == urls[url].document for url, to in joined), rule


def test_tracking_and_session_parameters_may_be_dropped_anywhere() -> None:
    web = labelled("aliases", **SMALL)
    for label in web.truth().of_kind("tracking", "session"):
        bare, _, query = label.url.partition("?")
        kept = "&".join(query.split("&")[:-1])
        assert web.label(f"{bare}?{kept}" if kept else bare).url == label.canonical


def test_the_order_of_parameters_does_not_matter() -> None:
    orders = labelled("aliases", **SMALL).truth().of_kind("order")
    assert orders
    assert all(sorted(label.url.partition("?")[2].split("&")) == label.canonical.partition("?")[2].split("&") for label in orders)


def test_decoys_join_different_documents_of_equal_length() -> None:
    web = labelled("aliases", **SMALL)
    urls = web.truth().urls
    for decoy in _part(web).decoys():
        pairs = [(url, to) for url in urls if decoy.site in url and (to := _apply(decoy, url)) is not None and web.label(to).document]
        assert len(pairs) >= 3, decoy
        for url, to in pairs:
            assert web.label(to).document != urls[url].document
        if "sort" not in decoy.source:
            assert len({len(" ".join(web.locate(url)[1].text()).split()) for pair in pairs for url in pair}) == 1


def test_what_is_no_document_is_gone() -> None:
    web = labelled("aliases", **SMALL)
    for seed in web.seeds():
        for path in ("story_99999", "nothing", "lect3/notes-1", "view?item=x&cat=1"):
            assert web.label(seed + path).kind == "gone"
