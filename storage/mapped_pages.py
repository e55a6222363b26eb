"""Bounds the memory of mapped files in this process, for a crawl of any size.

LMDB reads its files through maps. Each page that was read, with up to 15 others around it, counts as memory of this process until the
kernel needs the room; so a crawl would in time hold all of its files. Above the bound the process releases all pages. They stay in the
kernel's cache, as far as there is room, and come back when they are read: a microsecond for 16 pages. To look costs two microseconds.

Linux only; elsewhere nothing is bounded.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final

AT_MOST: Final = 16 << 20  # bytes of mapped pages; with 8 MiB a crawl brought half as many pages more into memory
_STATM: Final = Path("/proc/self/statm")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_LONGEST: Final = 160  # bytes of seven numbers
_MADV_DONTNEED: Final = 4


class MappedPages:
    """The pages of some mapped files that this process holds."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._names = frozenset(os.path.realpath(file) for file in files)
        self._madvise = ctypes.CDLL(None).madvise  # once: each CDLL is a class of its own, which only the garbage collector frees
        self._statm = _STATM.open("rb", buffering=0) if _STATM.exists() else None
        self._others = self._shared()  # bytes of the interpreter and its libraries
        self._places: list[tuple[int, int]] = []  # first address and length of each map; empty: not known

    def bound(self, at_most: int = AT_MOST) -> None:
        """Release all pages if they are more than `at_most` bytes. No map may be moved meanwhile."""
        if self._shared() - self._others <= at_most:
            return
        self._places = self._places or [*self._maps()]
        for first, n_bytes in self._places:
            self._madvise(ctypes.c_void_p(first), ctypes.c_size_t(n_bytes), _MADV_DONTNEED)
        self._others = self._shared()  # libraries that were loaded meanwhile, too

    def on_move(self) -> None:
        """Record that a map was moved or made."""
        self._places = []

    def close(self) -> None:
        """Bound nothing from now on."""
        if self._statm is not None:
            self._statm.close()
            self._statm = None

    def _shared(self) -> int:
        return 0 if self._statm is None else shared_bytes(self._statm)

    def _maps(self) -> Iterator[tuple[int, int]]:
        """Yield the first address and the length of each of the maps."""
        for line in Path("/proc/self/maps").read_text("utf-8", "surrogateescape").splitlines():
            fields = line.split(None, 5)
            if len(fields) == 6 and fields[5] in self._names:
                first, _, end = fields[0].partition("-")
                yield int(first, 16), int(end, 16) - int(first, 16)


def shared_bytes(statm: IO[bytes]) -> int:
    """Return how many bytes of files the process holds in memory whose /proc/…/statm this is."""
    return int(os.pread(statm.fileno(), _LONGEST, 0).split(None, 3)[2]) * _PAGE
