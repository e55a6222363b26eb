"""Thresholds from proxy labels, and what the score is worth on a log of known truth [LEE09]."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.demo.redirect_truth import Simulated, simulated
from thresher.filters.soft_error.calibrate import Labels, area, best_threshold, best_weights, quality, roc
from thresher.filters.soft_error.log import RedirectLog
from thresher.filters.soft_error.score import ONE_EACH, THRESHOLD, PairCounts, Weights, count
from thresher.filters.soft_error.url_kind import ERRORS, url_kinds


class Judged(NamedTuple):
    counts: PairCounts
    truth: Labels
    proxy: Labels
    kinds: list[str]


def judge(log: Sequence[Simulated]) -> Judged:
    redirects = RedirectLog()
    for pair in log:
        redirects.add(pair.original, pair.target)
    named = redirects.finish()
    counts = count(named.columns)
    numbers = zip(counts.originals.tolist(), counts.targets.tolist(), strict=True)
    known = {(pair.original, pair.target): pair for pair in log}
    pairs = [known[named.originals[i], named.targets[j]] for i, j in numbers]
    kinds = url_kinds(named.originals, named.targets, counts.originals, counts.targets)
    proxy = np.array([kind in ERRORS for kind in kinds])
    return Judged(counts, np.array([pair.is_soft for pair in pairs]), proxy, [pair.kind for pair in pairs])


@pytest.fixture(scope="module")
def log() -> list[Simulated]:
    return simulated()


@pytest.fixture(scope="module")
def large(log: list[Simulated]) -> Judged:
    return judge(log)


def area_of(judged: Judged, weights: Weights = ONE_EACH) -> float:
    return area(roc(judged.counts.score(weights), judged.truth))


@pytest.mark.long
def test_the_score_separates_soft_errors_on_a_large_log(large: Judged) -> None:
    """The paper reports AUC .95, and at threshold 3 recall .736 and false-positive rate .039."""
    assert area_of(large) >= 0.95
    found = quality(large.counts.score(), large.truth, THRESHOLD)
    assert found.recall >= 0.70
    assert found.false_positive_rate <= 0.04


@pytest.mark.parametrize("weights", [Weights(1, 0, 0), Weights(0, 1, 0), Weights(1, 1, 0)])
def test_no_part_of_the_score_does_better_than_all_of_it(weights: Weights, large: Judged) -> None:
    assert area_of(large) >= area_of(large, weights) - 0.005


def test_the_spread_of_targets_clears_directories_that_list_popular_pages(large: Judged) -> None:
    """Mutation: the third term with the opposite sign."""
    is_directory = np.array([kind == "directory" for kind in large.kinds])
    shares = [float((large.counts.score(weights)[is_directory] >= 1).mean()) for weights in (Weights(1, 1, 0), ONE_EACH)]
    assert shares[0] > 0.1
    assert shares[1] < shares[0] / 5


@pytest.mark.parametrize("share", [0.1, 0.01])
def test_on_a_small_log_the_calibrated_threshold_finds_what_3_does_not(share: float, log: list[Simulated], large: Judged) -> None:
    """Mutation: `_FLAT` of 1 falls short at .1."""
    of_all = quality(large.counts.score(), large.truth, THRESHOLD).recall
    rng = random.Random(3)
    small = judge([pair for pair in log if rng.random() < share])
    scores = small.counts.score()
    assert quality(scores, small.truth, best_threshold(roc(scores, small.proxy))).recall >= 0.9 * of_all
    assert quality(scores, small.truth, THRESHOLD).recall < 0.5 * of_all


def test_where_soft_errors_are_rare_a_smaller_weight_of_the_target_is_found() -> None:
    """Popular portals look like targets of many: k1 shrinks, and precision rises by half."""
    rare = judge(simulated(scale=0.1))
    weights = best_weights(rare.counts, rare.proxy)
    assert weights == Weights(0.25, 1, 1)
    before, after = (
        quality(scores, rare.truth, best_threshold(roc(scores, rare.proxy))) for scores in (rare.counts.score(), rare.counts.score(weights))
    )
    assert before.precision < 0.65
    assert after.precision > 0.9
    assert after.recall > 0.8


scored = st.lists(st.tuples(st.integers(-3, 6), st.booleans()), min_size=1, max_size=60)


@given(scored)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_area_is_the_chance_that_a_labelled_pair_outscores_another(pairs: list[tuple[int, bool]]) -> None:
    scores, labels = np.array([float(score) for score, _ in pairs]), np.array([label for _, label in pairs])
    soft, other = scores[labels], scores[~labels]
    found = area(roc(scores, labels))
    if not len(soft) or not len(other):
        assert math.isnan(found)
        return
    wins = [(1.0 if s > o else 0.5 if s == o else 0.0) for s in soft for o in other]
    assert found == pytest.approx(sum(wins) / len(wins))


@given(scored)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_curve_is_the_quality_of_each_threshold(pairs: list[tuple[int, bool]]) -> None:
    scores, labels = np.array([float(score) for score, _ in pairs]), np.array([label for _, label in pairs])
    curve = roc(scores, labels)
    assert (np.diff(curve.thresholds) < 0).all()
    for i, threshold in enumerate(curve.thresholds.tolist()):
        found = quality(scores, labels, threshold)
        assert curve.precision[i] == pytest.approx(found.precision)
        if labels.any():
            assert curve.recall[i] == pytest.approx(found.recall)
        if not labels.all():
            assert curve.false_positive_rate[i] == pytest.approx(found.false_positive_rate)


def of(labelled: list[float], others: list[float]) -> float:
    return best_threshold(roc(np.array(labelled + others), np.array([True] * len(labelled) + [False] * len(others))))


def test_the_threshold_separates_the_labelled_from_the_others() -> None:
    assert of([2.0] * 20, [1.0] * 20) == 2.0
    assert of([2.0] * 10 + [4.0] * 10, [0.0] * 20) == 2.0


def test_labels_that_teach_nothing_leave_the_threshold_of_the_paper() -> None:
    """Too few; none of one kind; no better than chance; only what scores 0."""
    assert of([2.0] * 9, [1.0] * 20) == THRESHOLD
    assert of([], [1.0] * 20) == of([1.0] * 20, []) == THRESHOLD
    assert of([1.0, 2.0] * 20, [1.0, 2.0] * 20) == of([1.0] * 20, [2.0] * 20) == THRESHOLD
    assert of([0.0] * 20, [-1.0] * 20) == THRESHOLD


def test_without_labels_the_weights_stay_as_they_are(large: Judged) -> None:
    assert best_weights(large.counts, np.zeros(len(large.truth), dtype=np.bool_)) == ONE_EACH
