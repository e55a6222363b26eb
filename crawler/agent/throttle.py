"""How many requests may be in flight: more by one while the loop keeps up, a share less when it lags or pages wait (additive increase,
multiplicative decrease).

On a fast network the answers of hundreds of requests arrive together, and each takes a millisecond or two of CPU. Then timers fire half a
second late, and with them time-outs and delays of politeness. More requests in flight than the CPU can handle give no more throughput, and
waiting answers take memory.
"""

from __future__ import annotations

import shutil
from pathlib import Path

_LATE_S = 0.05
_LEAST = 8


class Throttle:
    """The number of requests allowed in flight, between 8 and `fetch.concurrency`; fewer while file descriptors are short."""

    def __init__(self, concurrency: int) -> None:
        self._most = concurrency
        self._least = min(_LEAST, concurrency)
        self.allowed = min(concurrency, 64)

    def starve(self, n_in_flight: int) -> None:
        """Record that the system had no file descriptor for another connection."""
        self.allowed = max(1, min(self.allowed, n_in_flight * 3 // 4))

    def note(self, lag_s: float, *, is_behind: bool = False) -> None:
        """Adapt the number to the loop.

        Args:
            lag_s: How late the loop's last timer fired, in seconds.
            is_behind: Whether pages have arrived and wait to be read.
        """
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
