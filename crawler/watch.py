"""The time limits of a request, on one timer that rarely fires.

    connect     from the start to the request sent: name, TCP, TLS
    first byte  from there to the end of the final headers, interim responses and dripped headers included
    read        without a byte of the body
    rate        bytes per second over the body so far, once it is `grace` old
    total       all of it

A timer per phase would be set and cancelled five times for a response that takes a millisecond. Here it is set once, to the earliest
time at which any limit could be broken, and when it fires it looks at how far the exchange has come: every limit is at least as
long as the wait between two looks, so none is noticed late.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from config.settings import Fetch
from crawler.core.model import Cause
from crawler.exchange import Exchange, WireFault

RATE_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits in seconds, and the rate in bytes per second."""

    connect: float
    first_byte: float
    read: float
    grace: float
    min_rate: int
    shortest: float

    @staticmethod
    def of(settings: Fetch, grace_s: float) -> Limits:
        """Return the limits of the configuration. grace_s: from the headers on, before the rate counts."""
        connect, first_byte, read = settings.connect_timeout, settings.first_byte_timeout, settings.read_timeout
        return Limits(connect, first_byte, read, grace_s, settings.min_rate, min(connect, first_byte, read, grace_s))


class Watch:
    """Cancels the task that makes it when a limit is broken; `absorb` tells that cancellation from one from outside."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limits: Limits, exchange: Exchange, total_s: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._n_cancelled = task.cancelling()
        self._loop = loop
        self._limits = limits
        self._exchange = exchange
        self.began = loop.time()
        self._end_at = self.began + total_s
        self._is_expired = False
        self.fault = WireFault(Cause.TIMEOUT_TOTAL, f"not done in {total_s:g} s")
        self._timer = loop.call_at(min(self.began + limits.shortest, self._end_at), self._look)

    def stop(self) -> None:
        """End the watch."""
        self._timer.cancel()

    def hurry(self, within_s: float) -> None:
        """Allow no more than `within_s` from now on."""
        self._end_at = min(self._end_at, self._loop.time() + within_s)
        self._timer.cancel()
        self._timer = self._loop.call_at(min(self._end_at, self._timer.when()), self._look)

    def absorb(self) -> bool:
        """Return whether the cancellation at hand is the watch's own, and if so take it back: the task goes on."""
        if not self._is_expired:
            return False
        self._is_expired = False
        return self._task.uncancel() <= self._n_cancelled

    def _look(self) -> None:
        now = self._loop.time()
        deadline, cause, detail = self._next(now)
        if now >= self._end_at:
            self._expire()
        elif now >= deadline:
            self.fault = WireFault(cause, detail)
            self._expire()
        else:
            at = min(deadline, self._end_at, now + self._limits.shortest)
            self._timer = self._loop.call_at(at, self._look)

    def _expire(self) -> None:
        self._is_expired = True
        self._task.cancel()

    def _next(self, now: float) -> tuple[float, Cause, str]:
        """Return the deadline of the phase that the exchange is in, and what it means to miss it."""
        exchange, limits = self._exchange, self._limits
        if not exchange.sent_at:
            return self.began + limits.connect, Cause.CONN_TIMEOUT, f"not connected in {limits.connect:g} s"
        if not exchange.head_at:
            cause = Cause.TIMEOUT_HEADERS if exchange.first_byte_at else Cause.TIMEOUT_FIRST_BYTE
            return exchange.sent_at + limits.first_byte, cause, f"no headers in {limits.first_byte:g} s, {exchange.wire_bytes} bytes"
        silent = exchange.read_at + limits.read
        age_s = now - exchange.head_at
        if age_s < limits.grace:
            return min(silent, exchange.head_at + limits.grace), Cause.TOO_SLOW, f"no byte for {limits.read:g} s"
        rate = exchange.wire_bytes / age_s
        if rate < limits.min_rate:
            return now, Cause.TOO_SLOW, f"{rate:.0f} bytes per second over {age_s:.0f} s"
        return min(silent, now + RATE_EVERY_S), Cause.TOO_SLOW, f"no byte for {limits.read:g} s"
