"""The one time scale of a crawl: seconds since the epoch, read once from the wall clock, then advanced by the monotonic clock."""

from __future__ import annotations

import time


class Clock:
    """Callable; never runs backwards, not even from one life of the crawl to the next."""

    def __init__(self, not_before: float = 0.0) -> None:
        """Start at the wall clock's time, or at `not_before` (the last time in the store) if the wall clock was set back."""
        self._offset = max(time.time(), not_before) - time.monotonic()

    def __call__(self) -> float:
        return self._offset + time.monotonic()
