"""Digests of many bodies at once are those of each alone."""

from __future__ import annotations

import random
from hashlib import sha256

import pytest

from thresher.crawler.native import NATIVE, native
from thresher.storage.tables.bodies import digests

_EDGES = (0, 1, 55, 56, 63, 64, 65, 119, 120, 127, 128, 191, 192)  # lengths at which the padding changes its form


@pytest.mark.skipif(not NATIVE or native.digests([]) is None, reason="one after the other takes less time here")
@pytest.mark.parametrize("seed", range(40))
def test_digests_of_many_bodies_are_those_of_each_alone(seed: int) -> None:
    rng = random.Random(seed)
    bodies = [rng.randbytes(rng.choice([*_EDGES, rng.randrange(9_000)])) for _ in range(rng.randrange(40))]
    assert native.digests(bodies) == [sha256(body).digest() for body in bodies]


def test_few_or_long_bodies_are_left_to_be_hashed_alone() -> None:
    assert digests([b"a"] * 3) == []
    assert digests([b"a", b"b", b"c", bytes(300_000)]) == []
    assert digests([]) == []


@pytest.mark.skipif(not NATIVE, reason="needs the native code")
def test_what_is_no_body_is_told() -> None:
    if native.digests([]) is not None:
        with pytest.raises(TypeError, match="expected bytes, found <class 'str'>"):
            native.digests(["a"])  # type: ignore[list-item]  # that is what is tested
