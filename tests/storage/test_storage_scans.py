"""What a scan by a prefix costs: what it finds, not what lies behind."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

from thresher.config.settings import Settings
from thresher.storage.store import Store

N = 5_000


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def memory_of(call: Callable[[], object]) -> int:
    """Return the bytes that a call had at most, its result included."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_redirects_to_a_page_are_found_without_reading_those_to_others(tmp_path: Path) -> None:
    """Each page that settles asks which redirects lead to it.

    Mutation: the scan read 10,000 rows, the most that a target may have, also where there was only one: 5 ms and 1 MB a page.
    """
    with Store.create(tmp_path / "crawl", Settings(), 0.0) as store:
        for target in range(0, 3 * N, 3):
            for origin in (target + 1, target + 2):
                store.tables.redirects.put(key(origin), key(target), "https://a.example/", 301, 1.0)
        store.flush().result()
        ending_at = store.tables.redirects.ending_at
        assert [found for found, _ in ending_at(key(30))] == [key(31), key(32)]
        assert ending_at(key(31)) == []
        assert memory_of(lambda: ending_at(key(30))) < 20_000
        assert memory_of(lambda: ending_at(key(31))) < 20_000
