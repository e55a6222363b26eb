"""The batch on the labelled web: the short form of benchmarks/quality/replicas_demo.py (issue 5, proof 2)."""

from __future__ import annotations

from functools import cache

import pytest
from long import shortened

from benchmarks.quality.replicas_demo import CS, DS, best, replicas_of, sketched
from thresher.crawler.demo.demo_settings import profile
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.replicas import planted_mirrors
from thresher.filters.near_replica.batch import Space, Tolerance
from thresher.filters.near_replica.evaluate import LabelledPairs, judge
from thresher.filters.near_replica.indexes import same_children
from thresher.filters.near_replica.mirrors import mirrors
from thresher.filters.near_replica.sketching import Recipe


@cache
def _web() -> LabelledWeb:
    return LabelledWeb(profile("replicas", part_pages=100))


def _judged(k: int) -> LabelledPairs:
    sketches = sketched(_web(), Recipe(k=k))
    space = Space(sketches, Tolerance(d=max(DS), c=1.0, resemblance=0.6, rows=3))
    return judge(space.pairs(space.text_pairs()), replicas_of(_web(), sketches), set())


@pytest.mark.parametrize("k", shortened([10, 5], 1))
def test_text_and_neighbourhood_break_even_higher_than_text_alone(k: int) -> None:
    """Matrix row 12; the paper's .93 and .90."""
    judged = _judged(k)
    both, alone = best(judged, CS), best(judged, (1.0,))
    assert min(both.precision, both.recall) >= 0.93
    assert min(both.precision, both.recall) > min(alone.precision, alone.recall)


def test_planted_mirrors_and_indexes_are_found_and_nothing_else() -> None:
    web = _web()
    sketches = sketched(web, Recipe())
    space = Space(sketches, Tolerance())
    groups = [cluster.copies() for cluster in space.clusters(space.text_pairs())]
    found = mirrors(sketches.urls, sketches.hosts, sketches.texts, groups)
    assert {one.host.removeprefix("http://"): one.of.removeprefix("http://") for one in found} == planted_mirrors(web.parts["replicas"])
    indexes = [page for group in same_children(sketches, space.r, of_texts=0.8) for page in group]
    assert {web.label(sketches.urls[page]).kind for page in indexes} == {"index"}
    assert len(indexes) == sum(web.label(url).kind == "index" for url in sketches.urls)
