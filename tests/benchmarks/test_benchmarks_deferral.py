"""The short form of `python -m benchmarks.quality.deferral`: deferral gains on redundant sites, loses nothing to adversaries."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from long import shortened

from benchmarks.quality.deferral import generated
from benchmarks.quality.deferral.__main__ import Measured, measure, missed
from benchmarks.quality.deferral.graph import read
from benchmarks.quality.deferral.opinions import Beliefs
from benchmarks.quality.deferral.replay import crawled, filters_of, plain
from thresher.crawler.analysis.recorded_graph import RecordedGraph
from thresher.filters.tail.records import TailPolicy

REAL = filters_of(["pattern_yield", "depth_cutoff", "path_trap"])
SMALL = {
    "forum": partial(generated.forum, 120),
    "first_barren": partial(generated.first_barren, 500),
    "unique_words": partial(generated.unique_words, 1_000),
    "empty_months": partial(generated.empty_months, 300),
    "behind_indexes": partial(generated.behind_indexes, 240),
    "alias_hosts": partial(generated.alias_hosts, 80),
    "sessions": partial(generated.sessions, 24),
    "facets": partial(generated.facets, 60),
    "outage": partial(generated.outage, 400),
    "many_hosts": partial(generated.many_hosts, 9),
}


def measured(make: Callable[[], RecordedGraph], policy: TailPolicy | None = None) -> Measured:
    return measure(make(), policy or TailPolicy(), Beliefs())


@pytest.mark.parametrize("name", SMALL)
def test_nothing_is_lost_and_plain_is_nowhere_better(name: str) -> None:
    """Mutation: classes that are closed when they are held lose on four of them."""
    found = measured(SMALL[name])
    assert found.lost <= 0.005 * found.documents
    assert not found.is_below


def test_most_of_the_oracles_gain_is_had_on_a_forum() -> None:
    """Mutation: without alias families the goal is missed."""
    found = measured(SMALL["forum"])
    assert missed([found], []) == []
    assert found.n_requests < found.n_plain


@pytest.mark.parametrize("name", shortened(["behind_indexes", "first_barren", "outage", "empty_months", "forum", "facets"], 3))
def test_the_real_filters_lose_nothing_either_and_are_nowhere_below_plain(name: str) -> None:
    """Their own panel, aliases aside. Mutation: `Opinion` never forgot a draw; `pattern_yield` released on one good draw."""
    found = measure(SMALL[name](), TailPolicy(), Beliefs(has_shapes=False, has_families=False), REAL)
    assert found.lost <= 0.005 * found.documents
    assert not found.is_below


def test_most_of_the_oracles_gain_on_a_forum_is_had_by_the_real_filters_alone() -> None:
    """Cause 6. Mutation: a proof in place of eight barren fetches."""
    found = measure(SMALL["forum"](), TailPolicy(), Beliefs(has_shapes=False, has_families=False, has_lineage=False), REAL)
    assert missed([found], []) == []


def test_an_endless_space_is_left_alone() -> None:
    found = measured(SMALL["unique_words"])
    assert found.n_requests < 0.9 * found.n_plain


def test_with_tail_yield_zero_the_documents_are_those_of_the_plain_crawl() -> None:
    for name in ("forum", "first_barren", "behind_indexes", "sessions"):
        graph = SMALL[name]()
        policy = TailPolicy(tail_yield=0.0, cap=20)
        assert crawled(graph, policy, Beliefs()).documents == plain(graph).documents


def test_under_a_budget_no_tail_is_served_while_any_host_has_fresh_urls() -> None:
    """A tail may be served only after the last fresh fetch of all hosts that are not down."""
    graph = SMALL["many_hosts"]()
    n = len(plain(graph).texts)
    capped = crawled(graph, TailPolicy(audit_share=0.0), Beliefs(), max_pages=n)
    free = crawled(graph, TailPolicy(audit_share=0.0), Beliefs())
    assert capped.found(n // 2) > free.found(n // 2)


def test_a_crawl_is_the_same_twice_and_another_with_another_secret() -> None:
    graph = SMALL["first_barren"]()
    first, again, other = (crawled(graph, TailPolicy(), Beliefs(), secret=secret).texts for secret in (b"a", b"a", b"b"))
    assert first == again != other


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    rows = [
        {"u": "http://a.test/", "d": 0, "s": 200, "t": "home", "n": ["http://a.test/1", "http://a.test/never"], "l": [1, 2]},
        {"u": "http://a.test/1", "d": 1, "s": 404, "t": "gone", "n": [], "l": [0]},
    ]
    with gzip.open(tmp_path / "site.jsonl.gz", "wt") as out:
        out.write("".join(json.dumps(row) + "\n" for row in rows))
    graph = read(tmp_path / "site.jsonl.gz")
    assert (graph.name, graph.urls, graph.texts) == ("site", ["http://a.test/", "http://a.test/1"], ["home", ""])
    assert graph.links == [(1,), (0,)]
