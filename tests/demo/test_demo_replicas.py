"""The part "replicas": pairs differ by the share of words that is said, and by the children that are said."""

from __future__ import annotations

from collections import Counter

import pytest
from labelling import check_purity, check_truth, labelled, words

from thresher.crawler.demo.demo_settings import PROFILES
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.replicas import MANNERS, REPLICA_SHARE, SHARES, Pair, planted_mirrors, planted_pairs
from thresher.crawler.demo.truth import split

SMALL = {"part_pages": 45}


def _pairs(web: LabelledWeb) -> list[Pair]:
    return planted_pairs(web.parts["replicas"])


def _mirrors(web: LabelledWeb) -> dict[str, str]:
    return planted_mirrors(web.parts["replicas"])


def _paragraphs(web: LabelledWeb, url: str) -> str:
    return "\n".join(web.locate(url)[1].text())


def _children(web: LabelledWeb, url: str) -> list[str]:
    return [anchor.url for anchor in web.locate(url)[1].links]


def test_truth_is_what_an_independent_walk_over_the_pages_finds() -> None:
    check_truth(labelled("replicas", **SMALL))


def test_it_is_pure() -> None:
    check_purity("replicas", **SMALL)


def test_every_kind_of_pair_is_planted_on_nine_hosts() -> None:
    web = LabelledWeb(PROFILES["replicas"])
    truth, pairs = web.truth(), _pairs(web)
    assert len(web.hosts()) == 9
    assert Counter(pair.manner for pair in pairs).keys() == {*MANNERS, "mirror", "twin", "empty", "index"}
    assert min(Counter(pair.manner for pair in pairs).values()) >= 19
    assert {round(pair.share, 2) for pair in pairs if pair.manner == "scattered"} == set(SHARES)
    assert {url for pair in pairs for url in (pair.first, pair.second)} <= truth.urls.keys()


def test_a_pair_is_a_replica_where_its_pages_have_one_document() -> None:
    web = labelled("replicas", **SMALL)
    for pair in _pairs(web):
        assert pair.is_replica == (web.label(pair.first).document == web.label(pair.second).document), pair
    assert any(REPLICA_SHARE < pair.share < 1 for pair in _pairs(web))


def test_the_share_of_changed_words_is_the_one_that_is_said() -> None:
    web = labelled("replicas", **SMALL)
    english = [pair for pair in _pairs(web) if pair.manner in MANNERS and split(pair.first)[0] == web.hosts()[0]]
    assert len(english) == SMALL["part_pages"]
    for pair in english:
        first, second = _paragraphs(web, pair.first).split(), _paragraphs(web, pair.second).split()
        changed = [a != b for a, b in zip(first, second, strict=True)]
        assert sum(changed) / len(changed) == pytest.approx(pair.share, abs=1e-9), pair
        if pair.manner == "block" and any(changed):
            assert sum(changed) == len(changed) - changed[::-1].index(True) - changed.index(True), "in one block"
        around = Counter(words(web, pair.first)) - Counter(first)
        assert around == Counter(words(web, pair.second)) - Counter(second) or sum(changed), "the template is the same"


def test_mirrors_show_equal_words_at_equal_paths_and_link_to_themselves() -> None:
    web = labelled("replicas", **SMALL)
    mirrors = _mirrors(web)
    assert len(mirrors) == 2
    for pair in _pairs(web):
        if pair.manner == "mirror":
            (host, path), (mirror, same) = split(pair.first), split(pair.second)
            assert (path, mirrors[mirror]) == (same, host)
            assert words(web, pair.first) == words(web, pair.second)
            assert [split(url)[1] for url in _children(web, pair.first)] == [split(url)[1] for url in _children(web, pair.second)]
            assert {split(url)[0] for url in _children(web, pair.second)} <= {mirror}


def test_the_second_mirror_has_gaps_and_older_versions() -> None:
    web = LabelledWeb(PROFILES["replicas"])
    kinds = {
        mirror: Counter(label.kind for label in web.truth().urls.values() if split(label.url)[0] == mirror) for mirror in _mirrors(web)
    }
    whole, partial = kinds.values()
    assert whole == {"mirror": 200}
    assert partial["gone"] >= 5
    assert partial["edited"] == 10


def test_twins_have_equal_words_and_other_children_empty_pages_none() -> None:
    web = labelled("replicas", **SMALL)
    pairs = [pair for pair in _pairs(web) if pair.manner in ("twin", "empty")]
    for pair in pairs:
        assert words(web, pair.first) == words(web, pair.second)
        first, second = _children(web, pair.first), _children(web, pair.second)
        assert set(first).isdisjoint(second)
        assert bool(first) == bool(second) == (pair.manner == "twin")
    items = [" ".join(words(web, label.url)) for label in web.truth().urls.values() if "/item/" in label.url]
    assert len(set(items)) == len(items)


def test_indexes_of_a_volume_have_equal_children_and_other_words() -> None:
    web = labelled("replicas", **SMALL)
    pairs = [pair for pair in _pairs(web) if pair.manner == "index"]
    assert len(pairs) == 9
    for pair in pairs:
        assert sorted(_children(web, pair.first)) == sorted(_children(web, pair.second))
        first, second = Counter(words(web, pair.first)), Counter(words(web, pair.second))
        assert sum((first & second).values()) < 0.6 * sum(first.values())


def test_a_pair_beyond_the_replica_share_is_none() -> None:
    assert Pair("a", "b", "block", REPLICA_SHARE).is_replica
    assert not Pair("a", "b", "block", REPLICA_SHARE + 0.01).is_replica
    assert not Pair("a", "b", "twin", 0.0).is_replica
