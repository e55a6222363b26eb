"""Detects that this process was stopped, or the whole machine suspended. Requests that timed out meanwhile count against no host.

`look` is called at regular times. If the monotonic clock has run on for much longer than that, the process was stopped by a signal. If the
wall clock has run ahead of the monotonic clock, the machine was suspended. A wall clock that somebody sets forward looks the same: then
some failures are excused without need, which costs one more request for each.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

from msgspec.structs import replace

from thresher.crawler.core.model import Cause, Failed, Outcome

LONG_S = 2.0  # seconds between two calls of `look`, or of the wall clock's lead; a working loop is never so late
_OURS = frozenset(
    (
        *(Cause.CONN_TIMEOUT, Cause.CONN_RESET, Cause.TIMEOUT_FIRST_BYTE, Cause.TIMEOUT_HEADERS, Cause.TIMEOUT_TOTAL),
        *(Cause.TOO_SLOW, Cause.DISCONNECTED, Cause.INCOMPLETE, Cause.DNS_TIMEOUT),
    )
)


class SuspensionDetector:
    """Compares both clocks; call `look` more often than every `LONG_S` seconds."""

    def __init__(self, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._seen = monotonic()
        self._lead = wall() - self._seen
        self._woke = -inf

    def look(self) -> None:
        """Compare the clocks, and remember a suspension that has ended."""
        now = self._monotonic()
        lead = self._wall() - now
        if now - self._seen > LONG_S or lead - self._lead > LONG_S:
            self._woke = now
        self._seen, self._lead = now, lead

    def now(self) -> float:
        """Return the time for the argument `began` of `excuse`."""
        return self._monotonic()

    def excuse(self, outcome: Outcome | None, began: float) -> Outcome | None:
        """Return the outcome of a request that began at `began` (a time of `now`). If it failed during a suspension, the cause is on our
        side.
        """
        if not isinstance(outcome, Failed) or outcome.cause not in _OURS:
            return outcome
        self.look()
        if began > self._woke:
            return outcome
        return replace(outcome, cause=Cause.SLEPT, detail=f"{outcome.cause}: {outcome.detail}")
