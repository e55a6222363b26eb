"""Random projection against the paper's algebra [DDGMP03]."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from thresher.crawler.core.sketch import token_hashes
from thresher.filters.near_replica.random_projection import Counting, Scale, bucket_table, project, project_buckets, weights

BY_HAND = np.array([[2.5, -0.2], [-1.0, 0.4], [2.0, -1.8]])  # Π·D of 002.c-7


def test_the_scale_by_hand_per_component() -> None:
    """Matrix row 11, 002.c-7."""
    expected: list[list[float]] = [[1, 0.7272727], [0, 1], [0.8571429, 0]]
    assert np.allclose(Scale.of(BY_HAND)(BY_HAND), expected, atol=1e-6)


def test_the_scale_by_hand_with_one_width_for_all() -> None:
    """Matrix row 11, 002.c-7, the paper's other reading."""
    expected: list[list[float]] = [[1, 0.4571429], [0, 0.6285714], [0.8571429, 0]]
    assert np.allclose(Scale.of(BY_HAND, per_component=False)(BY_HAND), expected, atol=1e-6)


def test_a_projection_is_the_product_of_weights_and_counts() -> None:
    tokens = token_hashes("a b a c a b")
    counted = Counter(tokens.tolist())
    words = np.array(list(counted), dtype=np.uint64)
    counts = np.array(list(counted.values()), dtype=np.float64)
    log = 1 + np.log(counts)
    assert np.allclose(project(tokens, 5, Counting.RAW), weights(words, 5) @ counts)
    assert np.allclose(project(tokens, 5, Counting.LOG), weights(words, 5) @ log)
    assert np.allclose(project(tokens, 5, Counting.LOG_L2), weights(words, 5) @ log / np.linalg.norm(log))


def test_squared_lengths_and_distances_are_a_third_of_those_of_the_bags() -> None:
    """Matrix row 11, 002.c-8: E[R̂²] = ‖d‖²/3 and E[(R̂¹ − R̂²)²] = ‖d¹ − d²‖²/3, over 20,000 components."""
    first, second = token_hashes("a a b c"), token_hashes("a c c d e")
    r1, r2 = (project(tokens, 20_000, Counting.RAW) for tokens in (first, second))
    assert np.mean(r1**2) == pytest.approx(6 / 3, rel=0.03)
    assert np.mean((r1 - r2) ** 2) == pytest.approx((1 + 1 + 1 + 1 + 1) / 3, rel=0.03)


def test_weights_are_uniform_and_those_of_one_word_independent() -> None:
    """Mutation: both halves of a hash the same."""
    table = weights(np.arange(20_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15), 6)
    assert np.abs(table).max() <= 1.0
    assert np.abs(table.mean(axis=1)).max() < 0.02
    assert np.allclose(table.var(axis=1), 1 / 3, atol=0.01)
    assert np.abs(np.corrcoef(table) - np.eye(6)).max() < 0.03


def test_more_components_leave_the_first_ones_as_they_are() -> None:
    tokens = token_hashes("a few words")
    assert np.array_equal(project(tokens, 5), project(tokens, 10)[:5])


def test_the_order_of_words_does_not_count() -> None:
    assert np.allclose(project(token_hashes("x y z x"), 5), project(token_hashes("z x x y"), 5))


def test_a_page_without_words_is_projected_to_nought() -> None:
    for counting in Counting:
        assert project(token_hashes(""), 5, counting).tolist() == [0.0] * 5


def test_what_lies_outside_a_frozen_scale_is_clipped_and_a_flat_component_is_nought() -> None:
    scale = Scale.of(np.array([[0.0, 3.0], [2.0, 3.0]]))
    assert scale(np.array([5.0, 3.0])).tolist() == [1.0, 0.0]
    assert scale(np.array([-1.0, 3.0])).tolist() == [0.0, 0.0]


def test_buckets_tell_how_far_texts_lie_apart_as_words_do() -> None:
    """Mutation: every word in one bucket."""
    rng, table = np.random.default_rng(2), bucket_table(64)
    vocabulary = rng.integers(0, 1 << 64, 3_000, dtype=np.uint64)
    one = vocabulary[np.minimum(rng.zipf(1.3, 1_500), 3_000) - 1]
    for n_changed in (0, 15, 150, 1_500):
        other = one.copy()
        other[:n_changed] = vocabulary[np.minimum(rng.zipf(1.3, n_changed), 3_000) - 1]
        by_words = np.linalg.norm(project(one, 64) - project(other, 64))
        by_buckets = np.linalg.norm(np.subtract(project_buckets(one, table), project_buckets(other, table)))
        assert by_buckets == pytest.approx(by_words, rel=0.25, abs=1e-6)
    assert project_buckets(one[:0], table) == [0.0] * 64
