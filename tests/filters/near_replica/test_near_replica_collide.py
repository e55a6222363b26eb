"""Collision: exactly the pairs that brute force and a KD-tree find; a grid of its own finds them one at a time."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from dict_memory import DictMemory

from filters.near_replica import collide
from filters.near_replica.collide import F32, Grid, close_pairs
from filters.near_replica.rp import F64


def _found(points: F64, tolerances: list[float]) -> set[tuple[int, int]]:
    blocks = list(close_pairs(points, np.array(tolerances)))
    pairs = [tuple(pair) for block in blocks for pair in block.tolist()]
    assert len(pairs) == len(set(pairs)), "a pair was found twice"
    return set(pairs)


def _brute(points: F64, tolerances: list[float]) -> set[tuple[int, int]]:
    return {(i, j) for i, j in combinations(range(len(points)), 2) if (np.abs(points[i] - points[j]) < tolerances).all()}


def _clustered(n: int, d: int, seed: int) -> F64:
    """Points of which half lie near another one."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, d))
    copies = rng.integers(0, n, n // 2)
    points[: n // 2] = points[copies] + rng.normal(0, 0.02, (n // 2, d))
    return points


@pytest.mark.parametrize(("d", "tolerance"), [(1, 0.01), (2, 0.05), (5, 0.03), (5, 0.4), (10, 0.1)])
def test_all_close_pairs_are_found_as_by_brute_force(d: int, tolerance: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 50 candidates. Broken once (only the own box looked up): fails."""
    monkeypatch.setattr(collide, "_BLOCK", 50)
    points = _clustered(200, d, seed=d)
    assert _found(points, [tolerance] * d) == _brute(points, [tolerance] * d)


def test_all_close_pairs_are_found_as_by_a_kd_tree() -> None:
    """Issue 5, proof 1: scipy's tree counts distance = tolerance too; no such pair is among random points."""
    spatial = pytest.importorskip("scipy.spatial")
    points = _clustered(5000, 5, seed=1)
    assert _found(points, [0.02] * 5) == spatial.cKDTree(points).query_pairs(0.02, p=np.inf)


def test_tolerances_differ_by_column_and_an_infinite_one_says_nothing() -> None:
    points = _clustered(150, 4, seed=9)
    for tolerances in ([0.02, 0.3, np.inf, 0.1], [np.inf] * 4):
        assert _found(points, tolerances) == _brute(points, tolerances)


def test_the_tolerance_itself_is_too_far() -> None:
    """002.c-9: strictly less. Numbers that binary fractions hold exactly."""
    points = np.array([[0.0], [0.25], [0.4375], [-0.125]])
    assert _found(points, [0.25]) == {(0, 3), (1, 2)}


def test_smaller_tolerances_never_add_collisions() -> None:
    """002.c-9."""
    points = _clustered(300, 6, seed=4)
    found = [_found(points, [d] * 3 + [c] * 3) for d, c in ((0.01, 0.01), (0.01, 0.05), (0.05, 0.05), (0.05, 0.5))]
    assert all(fewer <= more for fewer, more in pairwise(found))


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_to_pair_is_no_fault(n: int) -> None:
    assert _found(np.zeros((n, 5)), [0.1] * 5) == set()


def _name(number: int) -> bytes:
    return number.to_bytes(16, "big")


def _signatures(k: int) -> F32:
    return _clustered(300, k, seed=20 + k).astype(np.float32)


@pytest.mark.parametrize(("k", "tolerance"), [(1, 0.01), (5, 0.03), (8, 0.1)])
def test_the_growing_grid_finds_what_brute_force_finds(k: int, tolerance: float) -> None:
    """Broken once (neighbouring boxes left out): fails."""
    memory, grid, points = DictMemory(), Grid(tolerance, capacity=1000), _signatures(k)
    found = set()
    for number, point in enumerate(points):
        found |= {(int.from_bytes(name, "big"), number) for name, _ in grid.near(point, memory)}
        grid.add(_name(number), point, memory)
    assert found == _brute(points.astype(np.float64), [tolerance] * k)


def test_the_grid_gives_back_names_and_signatures_as_added() -> None:
    memory, grid = DictMemory(), Grid(0.1, capacity=4)
    point = np.array([-0.3, 0.7, 0.1], dtype=np.float32)
    grid.add(_name(7), point, memory)
    [(name, found)] = grid.near(point, memory)
    assert name == _name(7)
    assert found.tolist() == point.tolist()


def test_a_full_box_forgets_its_oldest_page() -> None:
    memory, grid = DictMemory(), Grid(0.1, capacity=3)
    point = np.array([0.5, 0.5], dtype=np.float32)
    for number in range(5):
        grid.add(_name(number), point, memory)
    assert [name for name, _ in grid.near(point, memory)] == [_name(2), _name(3), _name(4)]
    assert len(memory.rows) == 1
