"""One timer of the event loop, set again and again: it wakes the agent when the next host is ready."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_GRAIN_S = 0.001  # seconds by which a timer of the loop may fire too early
_LONGEST_S = 60.0


class Alarm:
    """Calls `wake` at the time that was set last, or earlier."""

    def __init__(self, clock: Callable[[], float], wake: Callable[[], None]) -> None:
        self._clock = clock
        self._wake = wake
        self._timer: asyncio.TimerHandle | None = None

    def set(self, until: float | None) -> None:
        """Wake at `until` (seconds of the crawl's clock); None: never."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if until is not None:
            delay_s = max(0.0, min(until - self._clock(), _LONGEST_S))
            self._timer = asyncio.get_running_loop().call_later(delay_s + _GRAIN_S, self._wake)
