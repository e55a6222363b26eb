"""The labelled web of aliases: every planted rule is found, no decoy is, and the rules save what is redundant without losing a document."""

from __future__ import annotations

from functools import cache, lru_cache

import pytest
from long import shortened

from thresher.crawler.core.url import hostname_of, origin_of, site_of
from thresher.crawler.demo.aliases import KINDS, AliasPart
from thresher.crawler.demo.demo_settings import profile
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.filters.dust.canonize import Canonizer, applier
from thresher.filters.dust.mine import mine
from thresher.filters.dust.rules import LearnedRule, Rule
from thresher.filters.dust.urllist import Sighting, UrlList
from thresher.filters.dust.validate import judge

SITES = (0, 1, 2)


@lru_cache
def web() -> LabelledWeb:
    return LabelledWeb(profile("aliases"), port=80)


@lru_cache
def urls_of(number: int) -> tuple[str, ...]:
    """Return the reachable URLs of one of the sites."""
    sites: dict[str, list[str]] = {}
    for url in web().truth().urls:
        sites.setdefault(site_of(hostname_of(origin_of(url))), []).append(url)
    return tuple(sorted(sites.items())[number][1])


def seen(urls: tuple[str, ...]) -> list[Sighting]:
    labels = [web().label(url) for url in urls]
    return [Sighting(url, label.status, None, label.document) for url, label in zip(urls, labels, strict=True)]


@lru_cache
def likely(number: int) -> tuple[LearnedRule, ...]:
    return tuple(mine(UrlList.of(seen(urls_of(number)))))


@lru_cache
def valid(number: int) -> tuple[Rule, ...]:
    return validated(urls_of(number), likely(number))


def validated(urls: tuple[str, ...], rules: tuple[LearnedRule, ...] = ()) -> tuple[Rule, ...]:
    """Return the rules that are valid once the pages they lack were looked at, as a crawl would."""
    sightings = seen(urls)
    rules = rules or tuple(mine(UrlList.of(sightings)))
    for _ in range(5):
        judged = judge(rules, UrlList.of(sightings))
        if not judged.wanted:
            break
        sightings += seen(tuple(judged.wanted))
    return tuple(learned.rule for learned in judged.rules if learned.standing == "valid")


@cache
def shown(url: str) -> str:
    """Return the document that a URL shows, "" for none."""
    return web().label(url).document


def is_right(rule: Rule, urls: tuple[str, ...]) -> bool:
    """Return whether a rule leads every URL that it changes to the same document."""
    step = applier(rule)
    return all(shown(changed) == shown(url) for url in urls if (changed := step(url)) != url)


@pytest.mark.parametrize("site", shortened(SITES, 1))
def test_nine_of_the_ten_best_rules_hold_for_every_url_of_the_site(site: int) -> None:
    """Matrix row 7."""
    assert sum(is_right(learned.rule, urls_of(site)) for learned in likely(site)[:10]) >= 9


@pytest.mark.parametrize("site", shortened(SITES, 1))
def test_every_rule_that_was_validated_is_right(site: int) -> None:
    assert [rule for rule in valid(site) if not is_right(rule, urls_of(site))] == []


@pytest.mark.parametrize("site", shortened(SITES, 1))
def test_every_planted_kind_is_found(site: int) -> None:
    canonical = Canonizer(valid(site))
    names: dict[str, set[str]] = {}
    for url in urls_of(site):
        names.setdefault(shown(url), set()).add(url)
    found: dict[str, list[bool]] = {}
    for url in urls_of(site):
        kind, others = web().label(url).kind, names[shown(url)] - {url}
        if kind in KINDS and others:
            found.setdefault(kind, []).append(canonical(url) in {canonical(other) for other in others})
    assert set(found) == KINDS
    assert {kind for kind, joined in found.items() if sum(joined) < 0.9 * len(joined)} == set()


@pytest.mark.parametrize("site", shortened(SITES, 1))
def test_the_rules_save_the_redundancy_and_lose_no_document(site: int) -> None:
    """Matrix row 9, the part that needs no crawl: canonizing all URLs leaves nearly one for each document."""
    canonical = Canonizer(valid(site))
    documents = {shown(url) for url in urls_of(site)}
    left = {canonical(url) for url in urls_of(site)}
    assert len(urls_of(site)) - len(left) >= 0.9 * (len(urls_of(site)) - len(documents))
    assert len(documents - {shown(url) for url in left}) <= 0.005 * len(documents)


def test_no_decoy_is_joined() -> None:
    part = web().parts["aliases"]
    assert isinstance(part, AliasPart)
    for decoy in part.decoys():
        for site in SITES:
            canonical = Canonizer(valid(site))
            for url in urls_of(site):
                if decoy.source in url:
                    twin = url.replace(decoy.source, decoy.target)
                    assert canonical(url) != canonical(twin), decoy


def test_rules_learnt_from_half_of_a_site_cover_the_other_half() -> None:
    """Matrix row 10."""
    every = urls_of(0)
    rules = validated(every[::2])
    canonical = Canonizer(rules)
    applied = every[1::2]
    n_documents = len({shown(url) for url in applied})
    before, after = len(applied) - n_documents, len({canonical(url) for url in applied}) - n_documents
    changed = [url for url in applied if canonical(url) != url]
    right = sum(shown(canonical(url)) == shown(url) for url in changed)
    assert (before - after) / before >= 0.45
    assert right / len(changed) >= 0.95
