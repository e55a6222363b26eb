"""What is remembered of a filter's records is the same in C and in Python, and what is not remembered is read."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.native import NATIVE, native
from thresher.storage.tables.record_cache import PythonCache

ACTIONS = st.lists(
    st.tuples(st.sampled_from(["get", "put", "delete", "unread"]), st.integers(0, 7).map(lambda n: b"key %d" % n)), max_size=60
)


class Reader:
    """Reads what lies below a cache, and notes what was read."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes | None] = {b"key %d" % n: b"old %d" % n for n in (0, 1, 2)}
        self.read: list[bytes] = []
        self.cache: Any = None

    def __call__(self, key: bytes) -> bytes | None:
        self.read.append(key)
        return self.rows.get(key)


@pytest.mark.skipif(not NATIVE, reason="the extension was not built, or THRESHER_NATIVE=0")
@given(ACTIONS, st.integers(1, 4), st.booleans())
@settings(max_examples=150, deadline=None)
def test_both_remember_the_same(actions: list[tuple[str, bytes]], generation: int, begins_empty: bool) -> None:
    """Law. Broken once (an older record that is read was not made a young one): fails; so it does without the filter of what was met."""
    below = (Reader(), Reader())
    if begins_empty:
        below[0].rows.clear()
        below[1].rows.clear()
    caches: tuple[Any, Any] = (native.RecordCache(below[0], generation, begins_empty), PythonCache(below[1], generation, begins_empty))
    for n, (action, key) in enumerate(actions):
        said = []
        for cache, reader in zip(caches, below, strict=True):
            if action == "unread":
                said.append(cache.unread([key, b"key 0"]))
            elif action == "get":
                said.append([cache.get(key)])
                assert said[-1] == [reader.rows.get(key)]
            else:
                value = b"%d" % n if action == "put" else None
                said.append([cache.put(key, value)])
                assert said[-1] == [reader.rows.get(key)]
                reader.rows[key] = value
        assert said[0] == said[1]
    assert below[0].read == below[1].read


@pytest.mark.skipif(not NATIVE, reason="the extension was not built, or THRESHER_NATIVE=0")
def test_a_cache_and_its_reader_go_together() -> None:
    """They hold one another. Broken once (what the cache holds was not told to the garbage collector): fails."""
    reader = Reader()
    reader.cache = native.RecordCache(reader, 2, False)
    gone = weakref.ref(reader)
    del reader
    gc.collect()
    assert gone() is None
