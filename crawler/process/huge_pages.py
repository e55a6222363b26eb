"""Puts the memory of this process on huge pages of 2 MiB, so that the processor finds what lies there sooner.

A crawled page runs through some thousand functions, whose code and tables lie all over 100 MiB and more. With pages of 4 KiB the processor
forgets where most of them are before the next one needs them, and has to look that up in memory again; in a virtual machine twice as deep.

A block of 2 MiB is moved if hardly anything of it is free, so that next to no memory is added. The blocks that come later are found by
further passes. A call of `go_on` ends after the block with which its time is over, since the event loop stands still meanwhile.

Linux 6.1 or newer; elsewhere, and where the system forbids huge pages, nothing is moved. Time: 3 ms a block, once; 1 ms a pass.
"""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

BLOCK: Final = 2 << 20
_PAGES: Final = BLOCK // mmap.PAGESIZE
_FULL: Final = _PAGES - _PAGES // 16  # pages of a block that are in use at least, if it is moved
_REST_S: Final = 5.0  # seconds from the begin of a pass to that of the next
_MADV_COLLAPSE: Final = 25
_MAPS: Final = Path("/proc/self/maps")
_HEAP: Final = "[heap]"


class HugePages:
    """The blocks of this process's memory that may lie on huge pages."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None)
        self._can_move = _MAPS.exists() and hasattr(self._libc, "mincore")
        self._used = (ctypes.c_ubyte * _PAGES)()
        self._moved: set[int] = set()  # addresses of blocks
        self._left: list[int] = []  # those that this pass has still to look at
        self._next_at = 0.0

    def go_on(self, at_most_s: float) -> None:
        """Move blocks for about so many seconds, if there are any to be looked at."""
        now = time.perf_counter()
        if self._can_move and not self._left and now >= self._next_at:
            self._next_at = now + _REST_S
            with suppress(OSError):  # no file descriptor is free: a later pass finds the blocks
                self._left = [at for at in _blocks() if at not in self._moved]
        while self._left and time.perf_counter() < now + at_most_s:
            self._move(self._left.pop())

    def _move(self, at: int) -> None:
        """Move a block to a huge page, unless much of it is free, or it has gone meanwhile."""
        place, n_bytes = ctypes.c_void_p(at), ctypes.c_size_t(BLOCK)
        is_full = self._libc.mincore(place, n_bytes, self._used) == 0 and bytes(self._used).count(1) >= _FULL
        if is_full and self._libc.madvise(place, n_bytes, _MADV_COLLAPSE) == 0:
            self._moved.add(at)


def _blocks() -> Iterator[int]:
    """Yield the addresses of the blocks of memory that was allocated, not mapped from a file."""
    for line in _MAPS.read_text("utf-8", "surrogateescape").splitlines():
        fields = line.split(None, 5)
        if fields[1] == "rw-p" and (len(fields) < 6 or fields[5] == _HEAP):
            first, _, end = fields[0].partition("-")
            begin = -(-int(first, 16) // BLOCK) * BLOCK
            yield from range(begin, int(end, 16) - BLOCK + 1, BLOCK)
