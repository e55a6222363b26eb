"""Measures of a crawl, against counting by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.graph import measures

RANKS = np.array([4.0, 0.5, 3.0, 0.5, 1.0, 3.0])
ORDER = np.array([0, 5, 2, 1])  # 3 and 4 were only seen


def test_slices_hold_equal_parts_of_the_crawl() -> None:
    assert measures.mean_by_slice(RANKS, ORDER, 2).tolist() == [3.5, 1.75]
    assert measures.mean_by_slice(RANKS, ORDER).tolist() == [4.0, 3.0, 3.0, 0.5]
    assert measures.mean_by_slice(RANKS, ORDER[:0]).tolist() == []


def test_the_best_pages_came_in_these_slices() -> None:
    assert measures.mean_slice_of_top(RANKS, ORDER, [1, 3, 4, 100], 4) == [1.0, 2.0, 2.5, 2.5]


def test_what_is_captured_is_a_share_of_all_rank_crawled_or_not() -> None:
    assert measures.captured(RANKS, ORDER, [0, 0.25, 0.5, 1]) == pytest.approx([0, 4 / 12, 7 / 12, 10.5 / 12])
    assert measures.captured(RANKS, ORDER, [0.5, 1], n_pages=6) == pytest.approx([10 / 12, 10.5 / 12])


def test_overlap_counts_the_same_pages_among_the_best() -> None:
    assert measures.overlap(RANKS, RANKS[::-1].copy(), [1, 3, 6, 100]) == [0.0, 2 / 3, 1.0, 1.0]


@given(st.lists(st.integers(0, 40), max_size=40))
def test_inversions_of_depth_are_those_counted_by_hand(depths: list[int]) -> None:
    """Mutation: ones of the group before are counted too."""
    found = measures.breadth_first_fidelity(np.array(depths, dtype=np.int64))
    assert found.n_inversions == sum(a > b for a, b in combinations(depths, 2))
    assert found.n_pairs == sum(a != b for a, b in combinations(depths, 2))


def test_breadth_first_is_faithful_and_its_reverse_is_not() -> None:
    assert measures.breadth_first_fidelity(np.array([0, 1, 1, 2])).share == 1.0
    assert measures.breadth_first_fidelity(np.array([2, 1, 1, 0])).share == 0.0
    assert measures.breadth_first_fidelity(np.array([1, 1])).share == 1.0


def test_concentration_tells_one_host_from_many() -> None:
    assert measures.concentration(np.array([7, 7, 7, 7])) == (1, 1.0, 1.0, 1.0)
    assert measures.concentration(np.arange(20)) == pytest.approx((20, 0.05, 0.5, 20.0))
    assert measures.concentration(np.zeros(0, dtype=np.int64)) == (0, 0.0, 0.0, 0.0)
