"""Which page was being worked on when the process died: poison pages are set aside after a few crashes.

The key of the page that is parsed or settled in this process stands in a small mapped file meanwhile. A page cache outlives a crash or a
SIGKILL, so the next life finds the key, counts the crash and parses the page in the isolated parser from then on; at `limit` crashes it is
not parsed again.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storage.suspects import SuspectTable

_EMPTY = bytes(16)
_FILE = "working"


class Suspects:
    """The slot of the page under work, and the crash counts of earlier lives. One per agent."""

    limit = 3

    def __init__(self, directory: Path, table: SuspectTable) -> None:
        self._table = table
        descriptor = os.open(directory / _FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.fstat(descriptor).st_size != len(_EMPTY):
                os.pwrite(descriptor, _EMPTY, 0)  # not a hole: a mapped hole in a full disk is a SIGBUS
            self._slot = mmap.mmap(descriptor, 16)
        finally:
            os.close(descriptor)
        self._any = table.any()

    def crashes(self, key: bytes) -> int:
        """Return how many lives ended while this page was worked on."""
        return self._table.crashes(key) if self._any else 0

    @contextmanager
    def watching(self, key: bytes) -> Iterator[None]:
        """Name the page while it is worked on; nothing may await meanwhile. An exception, which ends this life, leaves the name."""
        self.name(key)
        yield
        self.clear()

    def name(self, key: bytes) -> None:
        """Name the page that is worked on from now on, in place of any other."""
        self._slot[:] = key

    def clear(self) -> None:
        """Say that no page is worked on."""
        self._slot[:] = _EMPTY

    def close(self) -> None:
        """Unmap the slot."""
        self._slot.close()

    def accuse(self) -> bool:
        """Count a crash for the page that the last life left in the slot; return whether there was one, to be committed at once."""
        key = bytes(self._slot)
        if key == _EMPTY:
            return False
        self._table.add_crash(key)
        self._any = True
        self._slot[:] = _EMPTY
        return True
