"""The growing grid: finds what brute force finds, one page at a time, behind a filter's memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from dict_memory import DictMemory

from thresher.filters.near_replica import collide
from thresher.filters.near_replica.collide import Grid

_TAGS = (bytes(8),)


def _name(number: int) -> bytes:
    return number.to_bytes(8, "big")


def _signatures(k: int) -> npt.NDArray[np.float32]:
    """Points of which half lie near another one."""
    rng = np.random.default_rng(k)
    points = rng.random((300, k))
    points[:150] = points[rng.integers(0, 300, 150)] + rng.normal(0, 0.02, (150, k))
    return points.astype(np.float32)


@pytest.mark.parametrize(("k", "tolerance"), [(1, 0.01), (5, 0.03), (8, 0.1)])
def test_the_growing_grid_finds_what_brute_force_finds(k: int, tolerance: float) -> None:
    """Mutation: neighbouring boxes left out."""
    memory, grid, points = DictMemory(), Grid(tolerance, capacity=1000, name_bytes=8), _signatures(k)
    found = set()
    for number, point in enumerate(points):
        found |= {(int.from_bytes(name, "big"), number) for name, _ in grid.near(point.tobytes(), memory, _TAGS)}
        grid.add(_name(number), point.tobytes(), memory, _TAGS)
    near = np.abs(points[:, None] - points[None]).max(axis=2) < tolerance
    assert found == {(i, j) for i, j in zip(*np.nonzero(near), strict=True) if i < j}


@pytest.mark.parametrize(("k", "tolerance"), [(1, 0.01), (5, 0.03)])
def test_the_grid_finds_the_same_with_the_native_code_and_without(k: int, tolerance: float) -> None:
    """Law, of names that were added twice, too. Mutation: the first component alone compared."""
    memory, grid = DictMemory(), Grid(tolerance, capacity=1000, name_bytes=8)
    points = np.concatenate((_signatures(k), np.full((2, k), 0.5, dtype=np.float32)))
    for number, point in enumerate(points):
        grid.add(_name(number % 250), point.tobytes(), memory, _TAGS)
    wanted = [(brief, fewest) for brief in (b"", b"\0\7", bytes(8)) for fewest in range(len(brief) + 1)]
    found = [grid.near(point.tobytes(), memory, _TAGS, *which) for point in points for which in wanted]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(collide, "_NATIVE", False)
        assert [grid.near(point.tobytes(), memory, _TAGS, *which) for point in points for which in wanted] == found
    assert any(len(one) > 1 for one in found)


@pytest.mark.parametrize("is_native", [True, False])
def test_only_names_that_end_alike_are_found(monkeypatch: pytest.MonkeyPatch, *, is_native: bool) -> None:
    """Mutation: the first bytes of a name compared; `fewest` not."""
    monkeypatch.setattr(collide, "_NATIVE", is_native and collide._NATIVE)
    memory, grid, point = DictMemory(), Grid(0.1, capacity=8, name_bytes=8), np.array([0.5, 0.5], dtype=np.float32).tobytes()
    for number in (0x1234, 0x1235, 0x9935, 0x12 << 48):
        grid.add(_name(number), point, memory, _TAGS)
    found = {fewest: [name for name, _ in grid.near(point, memory, _TAGS, b"\x12\x34", fewest)] for fewest in range(3)}
    assert found == {0: [_name(n) for n in (0x1234, 0x1235, 0x9935, 0x12 << 48)], 1: [_name(0x1234), _name(0x1235)], 2: [_name(0x1234)]}


def test_the_grid_gives_back_names_as_added_with_their_distances() -> None:
    memory, grid = DictMemory(), Grid(0.1, capacity=4, name_bytes=8)
    grid.add(_name(7), np.array([0.3, 0.7, 0.1], dtype=np.float32).tobytes(), memory, _TAGS)
    [(name, distance)] = grid.near(np.array([0.3, 0.75, 0.11], dtype=np.float32).tobytes(), memory, _TAGS)
    assert name == _name(7)
    assert distance == pytest.approx(0.05)


def test_a_full_box_forgets_its_oldest_page() -> None:
    memory, grid = DictMemory(), Grid(0.1, capacity=3, name_bytes=8)
    point = np.array([0.5, 0.5], dtype=np.float32)
    for number in range(5):
        grid.add(_name(number), point.tobytes(), memory, _TAGS)
    assert [name for name, _ in grid.near(point.tobytes(), memory, _TAGS)] == [_name(2), _name(3), _name(4)]
    assert len(memory.rows) == 1
