"""A set of pages: replicas and mirrors are found, twins with other children are told apart, templates do no harm."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest
from replica_pages import Web, edited, site, sketched, words

from thresher.filters.near_replica.batch import Candidates, Neighbours, Space, Tolerance
from thresher.filters.near_replica.evaluate import break_even, curve, judge
from thresher.filters.near_replica.indexes import same_children
from thresher.filters.near_replica.mirrors import mirrors
from thresher.filters.near_replica.random_projection import Counting
from thresher.filters.near_replica.sketching import Recipe

N = 40


def _texts(seed: int, n: int = N, length: int = 300) -> list[list[str]]:
    rng = random.Random(seed)
    return [words(rng, length) for _ in range(n)]


def _mirrored(share: float) -> Web:
    """Two hosts with the same tree; a share of each page's words differs."""
    texts, rng = _texts(1), random.Random(2)
    return site("a.test", texts) + site("b.test", [edited(text, share, rng) for text in texts])


def _pairs(space: Space) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for block in space.pairs(space.text_pairs()) for i, j in block.pages}


@pytest.mark.parametrize("candidates", list(Candidates))
def test_an_edited_mirror_is_found_page_by_page(candidates: Candidates) -> None:
    space = Space(sketched(_mirrored(0.01)), Tolerance(d=0.15, c=0.15, candidates=candidates))
    assert _pairs(space) == {(i, N + i) for i in range(N)}
    clusters = space.clusters(space.text_pairs())
    assert [cluster.copies(0.0) for cluster in clusters] == [[i, N + i] for i in range(N)]
    assert all(0 < one.random_projection < 0.15 and one.hyperlink_map < 0.15 for cluster in clusters for one in cluster.members)


@pytest.mark.parametrize("counting", list(Counting))
def test_the_grid_finds_all_pairs_within_both_tolerances(counting: Counting) -> None:
    """The result is compared with that of looking at each pair. The tolerances D and C alone decide, and no pair within them is missed."""
    texts = _texts(5, 30)
    web = (
        site("a.test", texts)
        + site("b.test", texts[:15] + _texts(6, 15))
        + site("c.test", [edited(t, 0.05, random.Random(7)) for t in texts])
    )
    paper = Tolerance(d=0.1, c=0.1, candidates=Candidates.GRID, resemblance=0.0, neighbours=Neighbours.ALL)
    space = Space(sketched(web, Recipe(counting=counting)), paper)
    expected = {
        (i, j)
        for i, j in combinations(range(len(web)), 2)
        if np.abs(space.r[i] - space.r[j]).max() < 0.1 and np.abs(space.x[i] - space.x[j]).max() < 0.1
    }
    assert _pairs(space) == expected
    assert expected


def test_bands_and_grid_agree_where_texts_resemble() -> None:
    found = [_pairs(Space(sketched(_mirrored(0.02)), Tolerance(d=0.05, candidates=candidates))) for candidates in Candidates]
    assert found[0] == found[1]


def _twins() -> Web:
    """Ten pages of one text; five lead to one part of the site, five to another."""
    texts = _texts(3, 22)
    parts = [f"http://t.test/part{number}" for number in range(2)]
    web = [(f"http://t.test/empty{i}", " ".join(texts[0]), [parts[i // 5]]) for i in range(10)]
    return web + [(part, " ".join(text), []) for part, text in zip(parts, texts[1:], strict=False)]


def test_pages_of_equal_text_with_different_children_are_kept_apart() -> None:
    """Pages of equal text are kept apart by their neighbourhoods [DDGMP03]. Mutation: equal texts merged before HM is asked."""
    space = Space(sketched(_twins(), Recipe(strip=False)), Tolerance())
    clusters = space.clusters(space.text_pairs())
    assert [(c.representative, [member.page for member in c.members]) for c in clusters] == [(0, [1, 2, 3, 4]), (5, [6, 7, 8, 9])]
    alone = Space(sketched(_twins(), Recipe(strip=False)), Tolerance(c=1.0))
    assert [len(c.members) for c in alone.clusters(alone.text_pairs())] == [9]


def test_a_mirror_is_named_once_with_the_share_that_it_copies() -> None:
    web = _mirrored(0.0) + site("c.test", _texts(9))
    sketches = sketched(web)
    space = Space(sketches, Tolerance())
    groups = [cluster.copies() for cluster in space.clusters(space.text_pairs())]
    [mirror] = mirrors(sketches.urls, sketches.hosts, sketches.texts, groups)
    assert (mirror.host, mirror.of, mirror.pages, mirror.replicas, mirror.share) == ("b.test", "a.test", N, N, 1.0)


def test_a_mirror_is_of_the_version_that_it_copies_to_the_word() -> None:
    urls = [f"http://{host}/{i}" for host in ("old", "new", "mirror") for i in range(6)]
    hosts, texts = [url.split("/")[2] for url in urls], [b"old"] * 6 + [b"new"] * 12
    found = mirrors(urls, hosts, texts, [[i, 6 + i, 12 + i] for i in range(6)])
    assert {(mirror.host, mirror.of) for mirror in found} == {("new", "old"), ("mirror", "new")}


def test_few_replicas_make_no_mirror() -> None:
    urls = [f"http://{host}/{i}" for host in ("a", "b") for i in range(20)]
    hosts, texts = ["a"] * 20 + ["b"] * 20, [b"same"] * 40
    assert mirrors(urls, hosts, texts, [[i, 20 + i] for i in range(15)]) == []
    assert len(mirrors(urls, hosts, texts, [[i, 20 + i] for i in range(16)])) == 1
    assert mirrors(urls, hosts, texts, [[i, 39 - i] for i in range(16)]) == [], "not at the same paths"


def test_indexes_of_one_archive_are_reported_although_their_texts_differ() -> None:
    texts = _texts(11, 30)
    messages = [f"http://l.test/m{i}" for i in range(30)]
    menu = ["http://l.test/home", "http://l.test/help", "http://l.test/imprint"]
    web: Web = [(url, " ".join(text), menu) for url, text in zip(messages, texts, strict=True)]
    for name, text in zip(("date", "thread", "author"), _texts(12, 3), strict=True):
        web.append((f"http://l.test/{name}", " ".join(text), [*menu, *messages, "http://l.test/thread"]))
    sketches = sketched(web)
    assert same_children(sketches, Space(sketches, Tolerance()).r, of_texts=0.8) == [[30, 31, 32]]


def test_pages_without_words_replicate_nothing() -> None:
    space = Space(sketched([("http://a.test/1", "", []), ("http://a.test/2", "", [])]), Tolerance())
    assert space.clusters(space.text_pairs()) == []
    assert _pairs(space) == set()


@pytest.mark.parametrize("web", [[], [("http://a.test/", "word", [])]])
def test_nothing_to_compare_is_no_fault(web: Web) -> None:
    space = Space(sketched(web), Tolerance())
    assert space.clusters(space.text_pairs()) == []
    assert mirrors([], [], [], []) == []
    assert same_children(space.sketches, space.r, of_texts=0.8) == []


def _templated(strip: bool) -> float:
    """Return the precision on two copies of five hosts, each of 20 short articles under its template, which is ten times as long."""
    web: Web = []
    replicas = set()
    for number in range(5):
        texts, template = _texts(20 + number, 20, 40), words(random.Random(40 + number), 400)
        replicas |= {(len(web) + i, len(web) + 20 + i) for i in range(20)}
        web += site(f"a{number}.test", texts, template) + site(f"b{number}.test", texts, template)
    space = Space(sketched(web, Recipe(strip=strip)), Tolerance(d=2.0, c=1.0, resemblance=0.7))
    judged = judge(space.pairs(space.text_pairs()), replicas, set())
    assert judged.at(2.0, 1.0).recall == 1.0
    return judged.at(2.0, 1.0).precision


def test_templates_cost_precision_until_they_are_removed() -> None:
    """Matrix row 14: shingles alone on one host, the weakness that Henzinger found."""
    assert _templated(strip=True) - _templated(strip=False) >= 0.2


def test_a_sharper_tolerance_gives_up_recall_for_precision() -> None:
    """002.c-9. The break-even lies on the curve."""
    space = Space(sketched(_mirrored(0.05)), Tolerance(d=0.5, c=0.5, candidates=Candidates.GRID, resemblance=0.0))
    judged = judge(space.pairs(space.text_pairs()), {(i, N + i) for i in range(N)}, set())
    points = [judged.at(d, 1.0) for d in (0.01, 0.03, 0.1, 0.3, 0.5)]
    assert [p.returned for p in points] == sorted(p.returned for p in points)
    assert [p.recall for p in points] == sorted(p.recall for p in points)
    assert break_even(curve(judged, 0.3, (0.01, 0.03, 0.1, 0.5, 1.0))) > break_even([judged.at(0.5, 1.0)])
