"""Gives memory that was freed back to the system.

A group of rows and bodies takes some megabytes for some hundred milliseconds. What is freed then lies between blocks that stay, and the C
library returns only the end of its heap, so a crawl would keep a tenth of its memory for nothing. Time: 1 ms a second.

GNU's C library only; elsewhere nothing is given back.
"""

from __future__ import annotations

import ctypes
import time
from typing import Final

_EVERY_S: Final = 1.0


class FreedMemory:
    """What this process has freed and still holds."""

    def __init__(self) -> None:
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        self._next_at = 0.0

    def give_back(self) -> None:
        """Return the free pages of the heap to the system, at most once a second."""
        now = time.monotonic()
        if self._trim is not None and now >= self._next_at:
            self._next_at = now + _EVERY_S
            self._trim(0)
