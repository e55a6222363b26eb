"""Points for the tests of collision, and brute force as their oracle."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from thresher.filters.near_replica.random_projection import F64


def brute(points: F64, tolerances: list[float]) -> set[tuple[int, int]]:
    return {(i, j) for i, j in combinations(range(len(points)), 2) if (np.abs(points[i] - points[j]) < tolerances).all()}


def clustered(n: int, d: int, seed: int) -> F64:
    """Points of which half lie near another one."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, d))
    copies = rng.integers(0, n, n // 2)
    points[: n // 2] = points[copies] + rng.normal(0, 0.02, (n // 2, d))
    return points
