"""Measures how late the loop's timers fire: a timer twenty times a second, whose lateness is counted in bins of fixed bounds.

Counts of several agents can be added up. A quantile is the upper bound of the bin that it falls into.

Time: 1 µs a sample and a timer of the loop. Memory: 18 counts.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left

from thresher.crawler.status import Status, quantile_ms

_EVERY_S = 0.05
_BOUNDS_MS = (1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 320, 640, 1280, 2560)  # the last bin also counts all longer times


class LoopLag:
    """Samples the lag of the running loop."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}  # by the upper bound of lateness in ms
        self._worst_s = 0.0  # since the counts were last taken
        loop = asyncio.get_running_loop()
        self._look_at(loop, loop.time() + _EVERY_S)

    def _look_at(self, loop: asyncio.AbstractEventLoop, planned: float) -> None:
        loop.call_at(planned, self._look, loop, planned)

    def _look(self, loop: asyncio.AbstractEventLoop, planned: float) -> None:
        now = loop.time()
        self._note(now - planned)
        self._look_at(loop, now + _EVERY_S)

    def _note(self, late_s: float) -> None:
        name = str(_BOUNDS_MS[min(bisect_left(_BOUNDS_MS, late_s * 1000), len(_BOUNDS_MS) - 1)])
        self._counts[name] = self._counts.get(name, 0) + 1
        self._worst_s = max(self._worst_s, late_s)

    def fill(self, status: Status) -> None:
        """Write the worst lag since the last call, and the counts of all samples, into a status."""
        status.loop_lag_ms, self._worst_s = self._worst_s * 1000, 0.0
        status.loop_lags, status.loop_lag_p99_ms = self._counts, quantile_ms(self._counts, 0.99)
