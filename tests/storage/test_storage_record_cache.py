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
    st.tuples(st.sampled_from(["get", "put", "delete", "unread", "write"]), st.integers(0, 7).map(lambda n: b"site%04d%d" % (n % 3, n))),
    max_size=60,
)


class Reader:
    """Reads what lies below a cache, and notes what was read."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes | None] = {b"site%04d%d" % (n, n): b"old %d" % n for n in (0, 1, 2)}
        self.read: list[bytes] = []
        self.cache: Any = None
        self.grown: list[tuple[bytes, int]] = []
        self.visit = (1 << 32) - 2  # such a row has the lower 32 bits

    def grow(self, site: bytes, grown: int) -> int:
        self.grown.append((site, grown))
        return 30 if site in self.cache.used else grown  # too many: some went

    def __call__(self, key: bytes) -> bytes | None:
        self.read.append(key)
        return self.rows.get(key)


@pytest.mark.skipif(not NATIVE, reason="the extension was not built, or THRESHER_NATIVE=0")
@given(ACTIONS, st.integers(1, 700), st.booleans())
@settings(max_examples=150, deadline=None)
def test_both_remember_the_same(actions: list[tuple[str, bytes]], generation: int, begins_empty: bool) -> None:
    """Law: the caches in C and in Python hold the same records, rows that wait, and bytes of each site.

    Mutations: an old record that is read does not become young again; the filter of known keys is left out; a new value of the same length
    is counted again; the bytes of a generation, or of a value, are not counted.
    """
    below = (Reader(), Reader())
    if begins_empty:
        below[0].rows.clear()
        below[1].rows.clear()
    caches = [made(kind, reader, generation, begins_empty) for kind, reader in zip((native.RecordCache, PythonCache), below, strict=True)]
    for n, (action, key) in enumerate(actions):
        said = []
        for cache, reader in zip(caches, below, strict=True):
            if action == "unread":
                said.append(cache.unread([key, b"site00000"]))
            elif action == "get":
                said.append([cache.get(key)])
                assert said[-1] == [reader.rows.get(key)]
            elif action == "write":
                reader.visit += 1
                reader.rows[key] = b"%d" % (n % 20)
                said.append([cache.write(key, reader.rows[key], weight=n / 3) if n % 2 else cache.write(key, reader.rows[key])])
            else:
                value = b"%d" % n if action == "put" else None
                said.append([cache.put(key, value)])
                assert said[-1] == [reader.rows.get(key)]
                reader.rows[key] = value
        assert said[0] == said[1]
    assert below[0].read == below[1].read
    assert below[0].grown == below[1].grown
    assert caches[0].unwritten == caches[1].unwritten
    assert (caches[0].used, caches[0].unsaved) == (caches[1].used, caches[1].unsaved)


@pytest.mark.parametrize("kind", [native.RecordCache, PythonCache] if NATIVE else [PythonCache])
def test_a_generation_is_bounded_by_its_bytes(kind: Any) -> None:
    """With room for two generations of 10,000 bytes each, the last records remain, whether few large or many small ones.

    Mutation: the bytes of values are not counted.
    """
    for n_bytes, least, most in ((2_000, 5, 12), (100, 45, 95)):
        for n_later, is_kept in ((least, True), (most, False)):
            cache = made(kind, Reader(), 10_000, begins_empty=True)
            for n in range(201 + n_later):
                cache.put(b"site%04d" % n, bytes(n_bytes))
            assert (cache.unread([b"site0200"]) == []) == is_kept


@pytest.mark.parametrize("kind", [native.RecordCache, PythonCache] if NATIVE else [PythonCache])
def test_what_is_written_again_counts_once(kind: Any) -> None:
    """A host's record is written for each of its pages. Mutation: each time its bytes count, and the others are forgotten."""
    cache = made(kind, Reader(), 10_000, begins_empty=True)
    cache.put(b"site0000", b"another host's")
    for n in range(100):
        cache.put(b"site0001", bytes(1_000 + n))
        if n % 20 == 0:
            cache.put(b"site1%03d" % n, b"")
    assert cache.unread([b"site0000"]) == []


@pytest.mark.parametrize("kind", [native.RecordCache, PythonCache] if NATIVE else [PythonCache])
def test_what_cannot_be_written_is_refused(kind: Any) -> None:
    """Mutation: the length of a key is not checked."""
    cache = made(kind, Reader(), 2, begins_empty=True)
    for arguments in ((b"short", b"v"), (b"site00000", b"v", 1e300)):
        with pytest.raises((ValueError, OverflowError)):
            cache.write(*arguments)
    assert not (cache.unwritten)
    assert not (cache.used)
    with pytest.raises(TypeError):
        cache.write(b"site00000")
    with pytest.raises(TypeError):
        cache.write(b"site00000", b"v", wait=1.0)


def made(kind: Any, reader: Reader, generation: int, begins_empty: bool) -> Any:
    """Return a cache over a reader, for which a site's records may take 60 bytes."""
    reader.cache = kind(reader, generation, begins_empty, reader, reader.grow, b"tg", 60)
    return reader.cache


@pytest.mark.skipif(not NATIVE, reason="the extension was not built, or THRESHER_NATIVE=0")
def test_a_cache_and_its_reader_go_together() -> None:
    """The cache and its reader refer to each other; the garbage collector must be able to free both.

    Mutation: the cache does not tell the collector which objects it holds.
    """
    reader = Reader()
    made(native.RecordCache, reader, 2, begins_empty=False)
    gone = weakref.ref(reader)
    del reader
    gc.collect()
    assert gone() is None
