"""benchmarks/quality/replicas_real.py: what of it needs no manuals."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from benchmarks.quality.replicas_real import _only
from thresher.filters.near_replica.sketching import Recipe, Sketcher, Sketches


def sketches(hosts: Iterable[int]) -> Sketches:
    sketcher = Sketcher(Recipe(strip=False))
    for host in hosts:
        for page in range(3):
            tokens = np.random.default_rng(10 * host + page).integers(0, 2**63, 80, dtype=np.uint64)
            name = f"http://127.0.0.{21 + host}:8080"
            sketcher.add(f"{name}/{page}", name, tokens, [f"{name}/{other}" for other in range(page)])
    return sketcher.close()


def test_sketches_of_some_hosts_are_those_of_their_pages_alone() -> None:
    """Seen to fail: a column of the sketches was left out, so that the benchmark ended in a TypeError."""
    found, expected = _only(sketches([0, 1, 2]), [0, 2]), sketches([0, 2])
    for name in Sketches.__dataclass_fields__:
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
