"""Rows are sealed and opened alike in C and in Python."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.native import NATIVE, native
from thresher.storage import seal
from thresher.storage.schema import MEMORY

ROW = st.tuples(st.binary(max_size=40), st.binary(max_size=60))
SEED = st.integers(0, (1 << 32) - 1)
needs_native = pytest.mark.skipif(not NATIVE, reason="the extension was not built, or THRESHER_NATIVE=0")


@needs_native
@given(st.lists(ROW, max_size=5), st.integers(0, 70), SEED)
@settings(max_examples=150, deadline=None)
def test_both_seal_alike_and_open_what_is_whole(rows: list[tuple[bytes, bytes]], at: int, seed: int) -> None:
    """Law. Mutation: the seed was not added to the first lane."""
    found = native.sealed(rows, seed)
    for (key, value), (same, stored) in zip(rows, found, strict=True):
        assert (same, seal._opened(key, stored, seed), native.opened(key, stored, seed)) == (key, value, value)
        at = min(at, len(stored) - 1)
        for broken in (stored[:at], stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :]):
            assert native.opened(key, broken, seed) is seal._opened(key, broken, seed) is None


@needs_native
def test_what_is_no_row_is_refused() -> None:
    calls: list[Callable[[], object]] = [
        lambda: native.sealed([(b"k",)], 1),  # type: ignore[list-item]  # no pair
        lambda: native.sealed([(b"k", "v")], 1),  # type: ignore[list-item]  # no bytes
        lambda: native.opened("k", b"v", 1),  # type: ignore[arg-type]  # no bytes
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()


@needs_native
def test_the_garbage_collector_does_not_walk_rows() -> None:
    """Thousands wait for their commit, and each collection would walk them. Mutation: the pairs are tracked."""
    assert not any(map(gc.is_tracked, native.sealed({b"key": b"value", b"": b""}.items(), 1)))


def test_without_c_rows_are_sealed_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(b"key", b"value"), (b"", b"")]
    found = seal.sealed(MEMORY, rows)
    monkeypatch.setattr(seal, "NATIVE", False)
    assert seal.sealed(MEMORY, rows) == found
