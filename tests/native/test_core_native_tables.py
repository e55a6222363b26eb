"""The native code and Python store what a place has shown alike (filters/depth_cutoff/novelty.py)."""

from __future__ import annotations

import random

import numpy as np
import pytest

from thresher.crawler.native import NATIVE
from thresher.filters.depth_cutoff import novelty

pytestmark = pytest.mark.skipif(not NATIVE, reason="the extension was not built, or THRESHER_NATIVE=0")


@pytest.mark.parametrize("n_set", [0, 1, 3, 110, 2_000, 2_100, 8_000])
def test_a_table_of_pairs_is_stored_by_its_gaps_while_that_is_shorter(n_set: int) -> None:
    """Mutations: a gap of 255 is one byte; the last byte of a long gap is left out; a table of 2,048 bytes is read as gaps."""
    rng = random.Random(n_set)
    bits = np.zeros(novelty.BITS, dtype=np.uint8)
    bits[[*rng.sample(range(novelty.BITS), n_set), *((0, 255, 511, novelty.BITS - 1) if n_set else ())]] = 1
    packed, whole = novelty._packed(bits), np.packbits(bits).tobytes()
    assert np.array_equal(novelty._bits(packed), bits)
    assert (packed == whole) == (n_set >= 2_100)
    sampled = novelty.sample(np.random.default_rng(n_set).integers(0, 1 << 64, 900, dtype=np.uint64), "")
    for table in (packed, whole):  # a crawl that was begun earlier has whole ones
        found = novelty.look(sampled, table)
        assert found == novelty.look(sampled, packed)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(novelty, "NATIVE", False)
            assert found == novelty.look(sampled, table)


@pytest.mark.parametrize("is_native", [True, False])
@pytest.mark.parametrize("damaged", [b"\xff" * 64 + b"\x40", bytes(2_049)])
def test_a_damaged_table_of_pairs_is_an_error(monkeypatch: pytest.MonkeyPatch, damaged: bytes, is_native: bool) -> None:
    sampled = novelty.sample(np.arange(900, dtype=np.uint64) << np.uint64(40), "")
    monkeypatch.setattr(novelty, "NATIVE", is_native)
    with pytest.raises(ValueError, match="expected a table of"):
        novelty.look(sampled, damaged)
