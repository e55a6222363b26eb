"""The hyperlink map against the values worked by hand [DDGMP03] and against the plain recursion."""

from __future__ import annotations

import numpy as np
import pytest

from thresher.filters.near_replica.hyperlink_map import Children, hyperlink_map, scaled
from thresher.filters.near_replica.random_projection import F64


def _map(links: list[tuple[int, int]], r: list[list[float]], gamma: float, iterations: int, *, mean: bool = False) -> F64:
    signatures = np.array(r, dtype=np.float64)
    ends = np.array(links, dtype=np.int64).reshape(-1, 2)
    return hyperlink_map(Children.of(ends[:, 0], ends[:, 1], len(r)), signatures, gamma=gamma, iterations=iterations, mean=mean)


@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_one_link(iterations: int) -> None:
    """002.c-1."""
    assert _map([(0, 1)], [[0.5], [0.8]], 0.5, iterations).ravel() == pytest.approx([0.82, 0.8], abs=1e-6)


def test_a_chain_is_exact_after_as_many_steps_as_it_has_links() -> None:
    """002.c-2."""
    chain, r = [(0, 1), (1, 2)], [[0.2], [0.5], [1.0]]
    assert _map(chain, r, 0.5, 1).ravel() == pytest.approx([0.325, 1, 1], abs=1e-6)
    assert _map(chain, r, 0.5, 2).ravel() == pytest.approx([0.45, 1, 1], abs=1e-6)
    assert scaled(_map(chain, r, 0.5, 3)).ravel() == pytest.approx([0.45, 1, 1], abs=1e-6)


def test_a_cycle_of_two_comes_nearer_to_one() -> None:
    """002.c-3."""
    found = [_map([(0, 1), (1, 0)], [[0.5], [0.5]], 1.0, t)[0, 0] for t in range(5)]
    assert found == pytest.approx([0.5, 0.75, 0.875, 0.9375, 0.96875], abs=1e-6)


def test_a_page_is_not_its_own_child_and_a_link_counts_once() -> None:
    """002.c-4 diverges; so links of a page to itself are dropped."""
    assert _map([(0, 0), (0, 1), (0, 1)], [[1.0], [0.5]], 1.0, 4).ravel() == pytest.approx([1.25, 0.5])


def test_equal_texts_with_different_children_are_told_apart() -> None:
    """002.c-5: distance .4, .4419889 after scaling."""
    x = _map([(0, 2), (1, 3)], [[0.5], [0.5], [0.9], [0.1]], 0.5, 4)
    assert x.ravel()[:2] == pytest.approx([0.905, 0.505], abs=1e-6)
    assert abs(np.diff(scaled(x).ravel()[:2])[0]) == pytest.approx(0.4 / 0.905, abs=1e-6)


def test_a_small_graph_with_cycles() -> None:
    """002.c-6: after 5 iterations, and the fixed point."""
    links, r = [(0, 1), (0, 2), (1, 2), (2, 0)], [[0.3], [0.6], [0.4]]
    assert _map(links, r, 0.3, 5).ravel() == pytest.approx([0.470627, 0.653078, 0.442352], abs=1e-6)
    assert _map(links, r, 0.3, 60).ravel() == pytest.approx([0.470638, 0.653083, 0.442357], abs=1e-6)


@pytest.mark.parametrize("mean", [False, True])
def test_blocks_of_links_give_what_the_plain_recursion_gives(mean: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a dense matrix; blocks of 7 links, so that pages with none, with a few and with more than a block all occur."""
    monkeypatch.setattr("thresher.filters.near_replica.hyperlink_map._BLOCK", 7)
    rng = np.random.default_rng(3)
    n, k, gamma = 40, 3, 0.02
    matrix = (rng.random((n, n)) < rng.choice([0, 0.05, 0.6], n)[:, None]).astype(float)
    np.fill_diagonal(matrix, 0)
    r = rng.random((n, k))
    x = r.copy()
    share = gamma / np.maximum(matrix.sum(axis=1, keepdims=True), 1) if mean else gamma
    for _ in range(4):
        x = r + share * (matrix @ (x * r))
    sources, targets = np.nonzero(matrix)
    found = hyperlink_map(Children.of(sources, targets, n), r, gamma=gamma, iterations=4, mean=mean)
    assert np.allclose(found, x, atol=1e-12)


def test_the_mean_over_children_stays_bounded_however_many_there_are() -> None:
    links = [(p, q) for p in range(30) for q in range(30) if p != q]
    assert _map(links, [[1.0]] * 30, 0.5, 50, mean=True).max() == pytest.approx(2.0)


def test_no_pages_and_no_links_are_no_fault() -> None:
    assert _map([], [[0.5]], 0.5, 3).tolist() == [[0.5]]
    assert scaled(np.zeros((2, 2))).tolist() == [[0, 0], [0, 0]]
