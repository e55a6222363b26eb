"""What a process holds of the files that it maps (storage/mapped_pages.py)."""

from __future__ import annotations

import gc
import mmap
from pathlib import Path

from thresher.config.settings import Settings
from thresher.storage.mapped_pages import AT_MOST, MappedPages, shared_bytes
from thresher.storage.schema import VERDICTS
from thresher.storage.store import Store

_SIZE = 16 << 20


def test_past_the_bound_a_process_lets_go_of_what_it_has_read_and_reads_the_same_again(tmp_path: Path) -> None:
    """Mutations: the bound is never reached; the pages of all files are released, or of none, or those of other files."""
    files = [tmp_path / "a file", tmp_path / "other"]
    for file in files:
        file.write_bytes(bytes(range(256)) * (_SIZE // 256))
    pages = MappedPages(files[:1])
    with _mapped(files[0]) as bounded, _mapped(files[1]) as free:
        assert sum(bounded[::4096]) + sum(free[::4096]) == 0
        pages.bound(4 * _SIZE)
        assert min(_held(file) for file in files) >= 0.5 * _SIZE
        pages.bound(_SIZE // 2)
        assert _held(files[0]) <= 0.1 * _SIZE
        assert _held(files[1]) >= 0.5 * _SIZE
        assert bounded[_SIZE - 1] == 255
        assert sum(bounded[::4096]) == 0
        pages.bound(_SIZE + _SIZE // 2)  # of these files it holds less, of others as much again
        assert min(_held(file) for file in files) >= 0.5 * _SIZE
        pages.close()


def test_releasing_pages_leaves_no_garbage(tmp_path: Path) -> None:
    """Each loaded library is a class, which waits for the garbage collector. Mutation: the C library loaded at each release."""
    file = tmp_path / "a file"
    file.write_bytes(bytes(_SIZE))
    pages = MappedPages([file])
    gc.collect()
    before = len(gc.get_objects())
    with _mapped(file) as bounded:
        for _ in range(50):
            assert sum(bounded[::4096]) == 0
            pages.bound(0)
        assert len(gc.get_objects()) < before + 50
    pages.close()


def test_reads_that_no_commit_follows_are_bounded_too(tmp_path: Path) -> None:
    """Reads of single rows, of many rows at a time, and of rows in order are all counted.

    Mutation: one of the three kinds of reads is not counted.
    """
    n = 6_000
    keys = [b"%08d" % (number * 7919 % n) for number in range(n)]
    with Store.create(tmp_path / "crawl", Settings(), 0.0) as store:
        for first in range(0, n, 500):
            for key in keys[first : first + 500]:
                store.put(VERDICTS, key, key * 1_000)
            store.end_visit()
            store.flush().result()
        before, held = _shared(), []
        readers = (
            lambda some: [store.get(VERDICTS, key) for key in some],
            lambda some: store.get_many(VERDICTS, some),
            lambda some: [store.scan(VERDICTS, key, limit=1)[0][1] for key in some],
        )
        for reader in readers:
            for first in range(0, n, 100):
                some = keys[first : first + 100]
                assert reader(some) == [key * 1_000 for key in some]
                held.append(_shared() - before)
        assert max(held) < 3 * AT_MOST, "the rows take six times as much"


def _shared() -> int:
    with Path("/proc/self/statm").open("rb", buffering=0) as statm:
        return shared_bytes(statm)


def _held(file: Path) -> int:
    """Return how many bytes of a mapped file the process holds in memory; what the kernel has taken back meanwhile does not count."""
    _, _, after = Path("/proc/self/smaps").read_text().partition(f" {file}\n")
    return next(int(line.split()[1]) for line in after.splitlines() if line.startswith("Rss:")) << 10


def _mapped(file: Path) -> mmap.mmap:
    with file.open("rb") as opened:
        return mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
