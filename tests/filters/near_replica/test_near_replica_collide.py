"""Collision: exactly the pairs that brute force and a KD-tree find."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from replica_points import brute, clustered

from thresher.filters.near_replica import collide
from thresher.filters.near_replica.collide import close_pairs
from thresher.filters.near_replica.random_projection import F64


def _found(points: F64, tolerances: list[float]) -> set[tuple[int, int]]:
    blocks = list(close_pairs(points, np.array(tolerances)))
    pairs = [tuple(pair) for block in blocks for pair in block.tolist()]
    assert len(pairs) == len(set(pairs)), "a pair was found twice"
    return set(pairs)


@pytest.mark.parametrize(("d", "tolerance"), [(1, 0.01), (2, 0.05), (5, 0.03), (5, 0.4), (10, 0.1)])
def test_all_close_pairs_are_found_as_by_brute_force(d: int, tolerance: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 50 candidates. Mutation: only the box of the point itself is searched, not its neighbours."""
    monkeypatch.setattr(collide, "_BLOCK", 50)
    points = clustered(200, d, seed=d)
    assert _found(points, [tolerance] * d) == brute(points, [tolerance] * d)


def test_all_close_pairs_are_found_as_by_a_kd_tree() -> None:
    """Issue 5, proof 1: scipy's tree counts distance = tolerance too; no such pair is among random points."""
    spatial = pytest.importorskip("scipy.spatial")
    points = clustered(5000, 5, seed=1)
    assert _found(points, [0.02] * 5) == spatial.cKDTree(points).query_pairs(0.02, p=np.inf)


def test_tolerances_differ_by_column_and_an_infinite_one_says_nothing() -> None:
    points = clustered(150, 4, seed=9)
    for tolerances in ([0.02, 0.3, np.inf, 0.1], [np.inf] * 4):
        assert _found(points, tolerances) == brute(points, tolerances)


def test_the_tolerance_itself_is_too_far() -> None:
    """002.c-9: the distance must be strictly less. The numbers are such that binary fractions hold them exactly."""
    points = np.array([[0.0], [0.25], [0.4375], [-0.125]])
    assert _found(points, [0.25]) == {(0, 3), (1, 2)}


def test_smaller_tolerances_never_add_collisions() -> None:
    """002.c-9."""
    points = clustered(300, 6, seed=4)
    found = [_found(points, [d] * 3 + [c] * 3) for d, c in ((0.01, 0.01), (0.01, 0.05), (0.05, 0.05), (0.05, 0.5))]
    assert all(fewer <= more for fewer, more in pairwise(found))


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_to_pair_is_no_fault(n: int) -> None:
    assert _found(np.zeros((n, 5)), [0.1] * 5) == set()
