"""The score of a whole log is the paper's: worked values, a brute-force oracle, its bounds, and what real moves score."""

from __future__ import annotations

import gzip
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.core.url import URLRules, URLSpace
from thresher.filters.soft_error.log import RedirectLog
from thresher.filters.soft_error.score import ONE_EACH, PairCounts, Weights, count, sigma

REAL = Path(__file__).parents[3] / "../shared/data/redirects/govuk-half.tsv.gz"
Pairs = list[tuple[str, str]]


def counted(pairs: Pairs) -> PairCounts:
    log = RedirectLog()
    for original, target in pairs:
        log.add(original, target)
    return count(log.finish().columns)


def scores(pairs: Pairs) -> list[float]:
    return [float(score) for score in counted(pairs).score()]


def to_one(n: int, host: str = "a", target: str = "http://e.example/error") -> Pairs:
    return [(f"http://{host}.example/{i}", target) for i in range(n)]


@pytest.mark.parametrize(
    ("n", "expected"), [(1, 0.0), (10, 2.0), (31, 2.0 * math.log10(31)), (32, 3.010299956639812), (100, 4.0), (1000, 6.0)]
)
def test_a_lone_host_that_sends_n_urls_to_one_page_scores_twice_the_logarithm(n: int, expected: float) -> None:
    assert scores(to_one(n)) == pytest.approx([expected] * n, abs=1e-9)


def test_a_directory_of_a_thousand_hosts_scores_minus_three() -> None:
    pairs = [(f"http://dir.example/{i}", f"http://h{i}.example/p") for i in range(1000)]
    assert scores(pairs) == pytest.approx([-3.0] * 1000, abs=1e-9)


def test_two_thousand_hosts_with_one_url_each_that_end_at_one_page() -> None:
    pairs = [(f"http://lapsed{i}.example/", "http://spam.example/p") for i in range(2000)]
    assert scores(pairs) == pytest.approx([math.log10(2000)] * 2000, abs=1e-9)


def test_an_innocent_host_shares_a_target_with_a_guilty_one() -> None:
    pairs = [*to_one(200, "drug", "http://www.g.example/"), ("http://g.example/start", "http://www.g.example/")]
    assert scores(pairs) == pytest.approx([math.log10(201 * 200)] * 200 + [math.log10(201)], abs=1e-9)
    assert [round(score, 4) for score in scores(pairs)[-2:]] == [4.6042, 2.3032]


def test_a_host_with_missing_pages_and_moved_ones() -> None:
    moved = [(f"http://m.example/old{i}", f"http://m.example/new{i}") for i in range(20)]
    pairs = [*to_one(80, "m", "http://m.example/404"), *moved]
    assert scores(pairs) == pytest.approx([math.log10(80 * 100 / 21)] * 80 + [math.log10(100 / 21)] * 20, abs=1e-9)


def test_three_urls_to_an_error_and_one_elsewhere() -> None:
    pairs = [*to_one(3), ("http://a.example/4", "http://b.example/p")]
    assert scores(pairs) == pytest.approx([math.log10(3)] * 3 + [0.0], abs=1e-9)


def test_weights_weigh_the_three_terms() -> None:
    pairs = [*to_one(3), ("http://a.example/4", "http://b.example/p")]
    counts = counted(pairs)
    for weights, expected in ((Weights(1, 0, 0), math.log10(3)), (Weights(0, 1, 0), math.log10(2)), (Weights(0, 0, 2), -2 * math.log10(2))):
        assert counts.score(weights)[0] == pytest.approx(expected, abs=1e-12)
        assert sigma(3, 4, 2, 2, weights) == pytest.approx(expected, abs=1e-12)


def test_spellings_of_one_page_are_no_redirects_and_pairs_are_counted_once() -> None:
    log = RedirectLog()
    for pair in [*to_one(10), *to_one(10), ("http://a.example/0", "https://www.a.example/0/")]:
        log.add(*pair)
    assert log.spellings == {"slash": 1}
    assert count(log.finish().columns).n_to_target.tolist() == [10] * 10


def test_an_original_with_several_targets_counts_with_the_last_one_in_every_count() -> None:
    """A log of years: what led to x leads to y today. Mutation: it was one of N, and both its targets were among M."""
    log = RedirectLog()
    for original, target in (("1", "x"), ("2", "y"), ("1", "y"), ("3", "z"), ("2", "y")):
        log.add(f"http://a.example/{original}", f"http://{target}.example/")
    named = log.finish()
    counts = count(named.columns)
    assert named.n_moved == 1
    pairs = zip(counts.originals.tolist(), counts.targets.tolist(), strict=True)
    assert [(named.originals[i][-1], named.targets[j][7]) for i, j in pairs] == [("2", "y"), ("1", "y"), ("3", "z")]
    assert [column.tolist() for column in counts[2:]] == [[2, 2, 1], [3] * 3, [2] * 3, [2] * 3]


def test_scheme_and_www_are_one_host_and_ports_are_others() -> None:
    pairs = [
        (f"{host}/{i}", "http://e.example/error")
        for i, host in enumerate(("http://a.example", "https://www.a.example", "http://a.example:8080"))
    ]
    assert counted(pairs).n_from_host.tolist() == [2, 2, 1]


def test_an_empty_log_has_no_scores() -> None:
    assert scores([]) == []


host = st.integers(0, 3)
url = st.builds(lambda host, path: f"http://h{host}.example/{path}", host, st.integers(0, 6))


def brute_force(pairs: Pairs) -> dict[tuple[str, str], tuple[int, int, int, int]]:
    """The definition, in sets."""
    to, sent, targets, target_hosts = defaultdict(set), defaultdict(set), defaultdict(set), defaultdict(set)
    for u, v in pairs:
        h = u.split("/")[2]
        to[v].add(u)
        sent[h].add(u)
        targets[h].add(v)
        target_hosts[h].add(v.split("/")[2])
    of = {(u, v): u.split("/")[2] for u, v in pairs}
    return {(u, v): (len(to[v]), len(sent[h]), len(targets[h]), len(target_hosts[h])) for (u, v), h in of.items()}


@given(st.lists(st.tuples(url, url).filter(lambda pair: pair[0] != pair[1]), max_size=60))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_counts_are_those_of_the_definition(pairs: Pairs) -> None:
    """Mutation: N counted by pairs, H by targets, or M over all hosts; the first target of an original instead of its last."""
    last = dict(pairs)
    expected = brute_force([pair for pair in pairs if last[pair[0]] == pair[1]])
    counts = counted(pairs)
    assert list(zip(*(column.tolist() for column in counts[2:]), strict=True)) == list(expected.values())
    assert counts.score().tolist() == pytest.approx([sigma(*four) for four in expected.values()], abs=1e-12)


@given(st.dictionaries(url, url, max_size=30))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_score_keeps_its_bounds(log: dict[str, str]) -> None:
    counts = counted([pair for pair in log.items() if pair[0] != pair[1]])
    score = counts.score(ONE_EACH)
    assert (counts.n_from_host >= counts.n_targets).all()
    assert (counts.n_targets >= counts.n_target_hosts).all()
    assert (score >= -np.log10(counts.n_target_hosts) - 1e-12).all()
    assert (score <= np.log10(counts.n_to_target) + np.log10(counts.n_from_host) + 1e-12).all()


def test_one_to_one_moves_of_real_sites_score_below_one() -> None:
    if not REAL.is_file():
        pytest.skip(f"{REAL} is not there")
    space = URLSpace(bytes(16), URLRules(ports=None, max_length=8192))
    with gzip.open(REAL, "rt") as file:
        lines = file.read().splitlines()[::2]
    pairs = [(space.canonical(original), space.canonical(target)) for original, target in (line.split("\t") for line in lines)]
    counts = counted(pairs)
    is_move = (counts.n_to_target == 1) & (np.bincount(counts.originals)[counts.originals] == 1)
    assert is_move.sum() > 20_000
    assert (counts.score()[is_move] < 1).mean() >= 0.99
