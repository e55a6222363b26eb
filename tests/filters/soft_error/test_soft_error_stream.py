"""The score as a stream equals that of the whole log, in bounded memory, whatever is replayed."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from dict_memory import DictMemory
from hypothesis import given, settings
from hypothesis import strategies as st
from subjects import SPACE

from thresher.filters.soft_error import stream
from thresher.filters.soft_error.log import RedirectLog
from thresher.filters.soft_error.score import Weights, count
from thresher.filters.soft_error.stream import PairKeys, RedirectEvidence

Pairs = list[tuple[str, str]]


def keys_of(original: str, target: str) -> PairKeys:
    return stream.pair_keys(SPACE.url(original), SPACE.url(target))


def observed(pairs: Pairs, memory: DictMemory | None = None) -> DictMemory:
    memory = memory or DictMemory()
    for pair in pairs:
        stream.observe(memory, keys_of(*pair))
    return memory


def batch(pairs: Pairs) -> dict[tuple[str, str], tuple[float, ...]]:
    log = RedirectLog()
    for pair in pairs:
        log.add(*pair)
    columns, originals, targets, *_ = log.finish()
    counts = count(columns)
    texts = [(originals[i], targets[j]) for i, j in zip(counts.originals.tolist(), counts.targets.tolist(), strict=True)]
    return dict(zip(texts, zip(counts.score().tolist(), *(column.tolist() for column in counts[2:]), strict=True), strict=True))


def to_error(n: int, host: str = "a") -> Pairs:
    return [(f"http://{host}.example/{i}", "http://e.example/error") for i in range(n)]


url = st.builds(lambda host, path: f"http://h{host}.example/{path}", st.integers(0, 3), st.integers(0, 6))
# one target an original, as a crawl has it
pairs_ = st.dictionaries(url, url, max_size=60).map(lambda to: [pair for pair in to.items() if pair[0] != pair[1]])


@given(pairs_)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_while_cells_are_exact_the_stream_equals_the_whole_log(pairs: Pairs) -> None:
    """Mutation: the target's cell keyed by its site alone."""
    memory = observed(pairs)
    for pair, (score, *counts) in batch(pairs).items():
        found = stream.standing(memory, keys_of(*pair))
        assert found is not None
        assert found.score == pytest.approx(score, abs=1e-9)
        assert list(found[1:5]) == counts


@given(pairs_, st.integers(0, 60))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_a_replayed_pair_counts_nothing_twice(pairs: Pairs, again: int) -> None:
    once = observed(pairs).rows
    assert observed(pairs[:again], observed(pairs)).rows == once
    assert observed(pairs).rows == once


@given(pairs_, url, url)
@settings(max_examples=50, deadline=None, derandomize=True)
def test_deciding_says_what_observing_would_and_changes_nothing(pairs: Pairs, original: str, target: str) -> None:
    memory = observed(pairs)
    before = dict(memory.rows)
    keys = keys_of(original, target)
    decided = stream.evidence(memory, keys)
    assert memory.rows == before
    assert stream.evidence(memory, keys) == decided
    assert stream.observe(memory, keys) == decided
    assert stream.standing(memory, keys) == decided._replace(rescore=False)


def test_beyond_the_exact_cells_the_stream_stays_within_a_twentieth() -> None:
    """A host of 3,000 missing pages and 1,200 moves to 700 hosts; a farm of 1,500 hosts: every count is far beyond 511 somewhere."""
    moves = [(f"http://a.example/old/{i}", f"http://t{i % 700}.example/{i}") for i in range(1200)]
    farm = [(f"http://lapsed{i}.example/", "http://spam.example/p") for i in range(1500)]
    pairs = [*to_error(3000), *moves, *farm]
    random.Random(1).shuffle(pairs)
    memory = observed(pairs)
    expected = batch(pairs)
    for pair in random.Random(2).sample(pairs, 300):
        found = stream.standing(memory, keys_of(*pair))
        assert found is not None
        assert abs(found.score - expected[pair][0]) < 0.05
    assert max(len(row) for row in memory.rows.values()) <= 3 * 4096 + 6


def test_a_target_is_scored_again_at_each_power_of_two() -> None:
    memory = DictMemory()
    rescored = [n for n, pair in enumerate(to_error(40), 1) if stream.observe(memory, keys_of(*pair)).rescore]
    assert rescored == [1, 2, 4, 8, 16, 32]
    assert not stream.observe(memory, keys_of(*to_error(1)[0])).rescore


def test_between_two_scorings_of_a_target_its_count_at_most_doubles() -> None:
    memory, at = DictMemory(), []
    for i in range(1500):
        found = stream.observe(memory, keys_of(f"http://h{i % 90}.example/{i}", "http://e.example/error"))
        at += [found.n_to_target] if found.rescore else []
    assert len(at) == 11
    assert all(later <= 2.2 * earlier for earlier, later in pairwise(at))


def test_late_evidence_reaches_the_originals_that_came_first() -> None:
    pairs = [*to_error(32), ("http://b.example/moved", "http://e.example/error"), ("http://b.example/x", "http://c.example/x2")]
    memory = observed(pairs)
    target = SPACE.key("http://e.example/error")
    relabelled = dict(stream.relabels(memory, target))
    assert set(relabelled) == {SPACE.key(original) for original, to in pairs if to.endswith("error")}
    expected = batch(pairs)
    for pair in pairs[:-1]:
        assert relabelled[SPACE.key(pair[0])].score == pytest.approx(expected[pair][0], abs=1e-9)


def test_originals_that_are_scored_again_are_bounded() -> None:
    memory = observed(to_error(stream.MAX_ORIGINALS + 200))
    target = SPACE.key("http://e.example/error")
    n_stored = len(list(stream.originals(memory, target)))
    assert stream.MAX_ORIGINALS - 60 <= n_stored <= stream.MAX_ORIGINALS + 60  # the count that bounds it is an estimate there
    assert len(list(stream.relabels(memory, target))) == n_stored
    assert stream.n_to_target(memory, target) == pytest.approx(stream.MAX_ORIGINALS + 200, rel=0.06)


def test_what_was_evicted_speaks_against_nobody() -> None:
    memory = observed(to_error(8))
    keys = keys_of(*to_error(1)[0])
    for row in [row for row in memory.rows if row[8:9] == b"h"]:
        memory.delete(row)
    assert stream.standing(memory, keys) is None
    assert list(stream.relabels(memory, keys.target)) == []
    assert stream.observe(memory, keys)[1:5] == (8, 1, 1, 1)


def test_weights_apply_as_to_the_whole_log() -> None:
    memory = observed(to_error(10))
    keys = keys_of(*to_error(1)[0])
    assert stream.evidence(memory, keys, weights=Weights(2, 0, 0)) == RedirectEvidence(2.0, 10, 10, 1, 1)
    assert stream.standing(memory, keys, weights=Weights(0, 3, 0)) == RedirectEvidence(3.0, 10, 10, 1, 1)


def test_a_pair_that_was_never_met_has_no_standing() -> None:
    assert stream.standing(DictMemory(), keys_of(*to_error(1)[0])) is None
    assert stream.n_to_target(DictMemory(), SPACE.key("http://e.example/error")) == 0
