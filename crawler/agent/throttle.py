"""How many requests may be in flight while the loop keeps up: additive increase, multiplicative decrease on its lag and on pages that wait.

On a fast network the answers of hundreds of requests arrive together and each costs a millisecond or two of CPU: timers, and with them
time-outs and politeness, would run late by half a second. More requests in flight than the CPU can answer buy no throughput, and
answers that wait take memory.
"""

from __future__ import annotations

import shutil
from pathlib import Path

_LATE_S = 0.05
_LEAST = 8


class Throttle:
    """The number of requests allowed in flight, between 8 and `fetch.concurrency`; fewer while descriptors are short."""

    def __init__(self, concurrency: int) -> None:
        self._most = concurrency
        self._least = min(_LEAST, concurrency)
        self.allowed = min(concurrency, 64)

    def starve(self, n_in_flight: int) -> None:
        """Learn that the system had no descriptor for another connection."""
        self.allowed = max(1, min(self.allowed, n_in_flight * 3 // 4))

    def note(self, lag_s: float, *, is_behind: bool = False) -> None:
        """Take the lateness of the loop's last timer, and whether pages have arrived and wait to be read."""
        if lag_s > _LATE_S or is_behind:
            self.allowed = max(self._least, self.allowed * 3 // 4)
        else:
            self.allowed = min(self._most, self.allowed + max(4, self.allowed // 8))


def low_disk(directory: Path, floor: int) -> str:
    """Return a message if too little of the disk is free, else "".

    Args:
        floor: Bytes that must be free (`limits.min_free_disk`).
    """
    free = shutil.disk_usage(directory).free
    return f"paused: {free >> 20} MiB free on disk, limits.min_free_disk is {floor >> 20} MiB" if free < floor else ""
