"""What the cache of rows of `seen` says is the last that was kept, and what it does not know may be read."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.core.model import Purpose, Reason, State
from thresher.crawler.core.ports import SeenRow
from thresher.crawler.native import NATIVE, native
from thresher.storage.packing import PURPOSES, REASON_OF, STATE_OF, pack_seen
from thresher.storage.tables.seen_cache import PythonSeenCache

KEYS = [b"the site" + blake2b(b"%d" % n, digest_size=8).digest() for n in range(320_000)]
ROWS = st.builds(
    SeenRow,
    st.sampled_from(State),
    st.sampled_from([None, *Reason]).filter(lambda reason: reason in REASON_OF),
    st.integers(0, 65_535),
    st.integers(0, 65_535),
    st.integers(0, 255),
    st.sampled_from([purpose for purpose in Purpose if purpose < 8]),
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**64 - 1),
    st.integers(0, 31),
)
ACTIONS = st.lists(st.tuples(st.integers(0, 19), ROWS | st.none()), max_size=80)
only_native = pytest.mark.skipif(not NATIVE, reason="the extension was not built, or THRESHER_NATIVE=0")


def made(bits: int = 0, bitmaps: int = 0) -> Any:
    """A cache in C of four rows in each of 2**bits sets."""
    return native.SeenCache(SeenRow, STATE_OF, REASON_OF, PURPOSES, bits, bitmaps)


@given(ACTIONS, st.integers(0, 2), st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_row_is_the_last_that_was_kept_and_all_others_are_to_be_read(
    actions: list[tuple[int, SeenRow | None]], size: int, begins_empty: bool
) -> None:
    """Law: whatever falls out, a cache never has an old row, and names each key whose row it has not.

    Mutations: a row that is kept again does not replace the former; depths or numbers are read from another place; a key in the second half
    of a set is not found.
    """
    caches = [PythonSeenCache(size + 1)] + ([made(size, 3 * begins_empty)] if NATIVE else [])
    known: dict[bytes, SeenRow] = {}
    for n, row in actions:
        if row is not None:
            known[KEYS[n]] = row
        for cache in caches:
            if row is not None:
                cache.add([KEYS[n]])
                assert cache.keep(KEYS[n], pack_seen(row)) == row
            asked = [KEYS[n], *known]
            found, unread = cache.rows(asked)
            assert all(row is None or (row == known[key] and type(row) is SeenRow) for key, row in zip(asked, found, strict=True))
            assert {at for at, key in enumerate(asked) if found[at] is None and key in known} <= set(unread)
            assert all(found[at] is None for at in unread)


@only_native
def test_the_row_that_was_met_longest_ago_gives_way() -> None:
    """Mutations: a row that is met does not move forward; the newest row gives way; a set has three places."""
    cache, value = made(), pack_seen(SeenRow(State.QUEUED, None, 1, 2, 3, Purpose.PAGE, 4, 5))
    for key in KEYS[:4]:
        cache.keep(key, value)
    cache.rows(KEYS[:2])
    cache.keep(KEYS[4], value)
    assert cache.rows(KEYS[:5])[1] == [2]
    cache.keep(KEYS[2], value)
    assert cache.rows(KEYS[:5])[1] == [0]


@only_native
@pytest.mark.parametrize(("bitmaps", "wrong"), [(2, 500), (1, 20_000)])
def test_keys_are_never_taken_for_new_and_more_new_ones_for_met_once_all_bitmaps_are_full(bitmaps: int, wrong: int) -> None:
    """Mutations: one bitmap more than allowed; the older bitmaps are not looked at; a position is off by one; a key has one bit."""
    cache = made(0, bitmaps)
    cache.add(KEYS[:150_000])
    cache.add(KEYS[150_000:300_000])
    assert cache.rows(KEYS[299_000:300_000])[1] == [*range(1_000)] == cache.rows(KEYS[:1_000])[1]
    assert cache.rows([KEYS[0], b"the site" + bytes(8), KEYS[1]])[1] in ([0, 2], [0, 1, 2])
    assert wrong // 8 < len(cache.rows(KEYS[300_000:])[1]) < wrong


def test_without_a_filter_every_key_may_have_a_row() -> None:
    """Mutation: an empty filter is asked."""
    for cache in [PythonSeenCache(9)] + ([made()] if NATIVE else []):
        assert cache.rows(KEYS[:3]) == ([None] * 3, [0, 1, 2])
