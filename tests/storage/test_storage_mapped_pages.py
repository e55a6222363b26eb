"""What a process holds of the files that it maps (storage/mapped_pages.py)."""

from __future__ import annotations

import mmap
from pathlib import Path

from thresher.storage.mapped_pages import MappedPages, shared_bytes

_SIZE = 16 << 20


def test_past_the_bound_a_process_lets_go_of_what_it_has_read_and_reads_the_same_again(tmp_path: Path) -> None:
    """Mutation: a bound that is not compared with; the maps of all files, or of none, let go of."""
    files = [tmp_path / "a file", tmp_path / "other"]
    for file in files:
        file.write_bytes(bytes(range(256)) * (_SIZE // 256))
    pages = MappedPages(files[:1])
    with _mapped(files[0]) as bounded, _mapped(files[1]) as free:
        before = shared_bytes()
        assert sum(bounded[::4096]) + sum(free[::4096]) == 0
        held = shared_bytes() - before
        assert held >= 1.8 * _SIZE
        pages.bound(4 * _SIZE)
        assert shared_bytes() - before >= 0.9 * held
        pages.bound(_SIZE // 2)
        assert 0.4 * held <= shared_bytes() - before <= 0.6 * held
        assert bounded[_SIZE - 1] == 255


def _mapped(file: Path) -> mmap.mmap:
    with file.open("rb") as opened:
        return mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
