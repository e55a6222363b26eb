"""A cache of the values that were used last, up to a total weight (crawler/core/lru_cache.py)."""

from __future__ import annotations

from thresher.crawler.core.lru_cache import LruCache


def test_what_was_not_used_for_longest_goes_first_and_the_newest_stays_whatever_it_weighs() -> None:
    """Mutations: `get` does not count as a use; a weight is not subtracted when a value is replaced or removed."""
    lately: LruCache[str, int] = LruCache(10)
    for n, key in enumerate("abcde"):
        assert lately.put(key, n, 2) == n
    assert lately.get("a") == 0
    lately.put("f", 5, 2)
    assert [lately.get(key) for key in "abcdef"] == [0, None, 2, 3, 4, 5]
    for _ in range(3):
        lately.put("a", 1, 2)
    assert len(lately) == 5
    lately.put("large", 7, 50)
    assert [len(lately), lately.get("large")] == [1, 7]
    lately.put("small", 8, 10)
    assert [len(lately), lately.get("large"), lately.get("small")] == [1, None, 8]
