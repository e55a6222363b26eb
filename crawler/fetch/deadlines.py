"""The time limits of a request, on one timer that rarely fires.

    connect     from the start to the request sent: name, TCP, TLS
    first byte  from then to the end of the final headers, with interim responses and headers that come byte by byte
    read        without a byte of the body
    rate        bytes per second over the body so far, once it is `grace` old
    total       all of it

A timer per phase would be set and cancelled five times for a response that takes a millisecond, and even one per request costs more than
looking at the clock. Here all requests share one timer. It is set to the earliest time at which any limit of any request could be broken;
when it fires, it looks at the exchanges that are due. Every limit is at least as long as the time between two looks at a request, so no
broken limit is noticed late. While answers come in time the timer fires once in `shortest` seconds.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from math import inf

from thresher.config.settings import FetchSettings
from thresher.crawler.core.model import Cause
from thresher.crawler.fetch.exchange import Exchange, WireFault

RATE_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Time limits in seconds, and the rate in bytes per second."""

    connect: float
    first_byte: float
    read: float
    grace: float
    min_rate: int
    shortest: float

    @staticmethod
    def of(settings: FetchSettings, grace_s: float) -> Deadlines:
        """Return the limits of the configuration.

        Args:
            grace_s: Seconds from the headers on, before the rate counts.
        """
        connect, first_byte, read = settings.connect_timeout, settings.first_byte_timeout, settings.read_timeout
        return Deadlines(connect, first_byte, read, grace_s, settings.min_rate, min(connect, first_byte, read, grace_s))


class Watches:
    """The watches of all requests under way, on one timer."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._running: set[Watch] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._fires_at = inf

    def start(self, exchange: Exchange, limits: Deadlines, total_s: float) -> Watch:
        """Watch a request of the current task from now on.

        Args:
            exchange: The record of the request.
            limits: Its time limits.
            total_s: Seconds for all of it.
        """
        watch = Watch(self, exchange, limits, total_s)
        self._running.add(watch)
        self.look_by(watch.look_at)
        return watch

    def stop(self, watch: Watch) -> None:
        """End a watch; the timer fires once more at most."""
        self._running.discard(watch)

    def look_by(self, at: float) -> None:
        """Fire no later than `at`."""
        if at < self._fires_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._fires_at = self.loop.call_at(at, self._fire), at

    def _fire(self) -> None:
        self._timer, self._fires_at = None, inf
        now = self.loop.time()
        for watch in [watch for watch in self._running if watch.look_at <= now]:
            watch.look(now)
        if self._running:
            self.look_by(min(watch.look_at for watch in self._running))


class Watch:
    """Cancels the task that created it when a limit is broken; `absorb` tells this cancellation from one from outside."""

    def __init__(self, watches: Watches, exchange: Exchange, limits: Deadlines, total_s: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._watches = watches
        self._limits = limits
        self._task = task
        self._n_cancelled = task.cancelling()
        self._exchange = exchange
        self.began = watches.loop.time()
        self._end_at = self.began + total_s
        self._total_s = total_s
        self._fault: WireFault | None = None
        self._is_expired = False
        self.look_at = min(self.began + limits.shortest, self._end_at)

    @property
    def fault(self) -> WireFault:
        """The limit that was broken."""
        return self._fault or WireFault(Cause.TIMEOUT_TOTAL, f"not done in {self._total_s:g} s")

    def stop(self) -> None:
        """End the watch."""
        self._watches.stop(self)

    def hurry(self, within_s: float) -> None:
        """Allow no more than `within_s` seconds from now on."""
        self._end_at = min(self._end_at, self._watches.loop.time() + within_s)
        self.look_at = min(self.look_at, self._end_at)
        self._watches.look_by(self.look_at)

    def absorb(self) -> bool:
        """Return whether the current cancellation came from this watch; if so, undo it, so that the task goes on."""
        if not self._is_expired:
            return False
        self._is_expired = False
        return self._task.uncancel() <= self._n_cancelled

    def look(self, now: float) -> None:
        """Cancel the task if a limit is broken, else return when to check again."""
        deadline, cause, detail = self._next(now)
        if now >= self._end_at:
            self._expire()
        elif now >= deadline:
            self._fault = WireFault(cause, detail)
            self._expire()
        else:
            self.look_at = min(deadline, self._end_at, now + self._limits.shortest)

    def _expire(self) -> None:
        self._is_expired = True
        self.look_at = inf  # its task ends the watch
        self._task.cancel()

    def _next(self, now: float) -> tuple[float, Cause, str]:
        """Return (deadline of the phase that the exchange is in, cause if it is missed, detail)."""
        exchange, limits = self._exchange, self._limits
        if not exchange.sent_at:
            cause = Cause.PROXY if exchange.is_at_proxy else Cause.CONN_TIMEOUT
            whom = " to the proxy" if exchange.is_at_proxy else ""
            return self.began + limits.connect, cause, f"not connected{whom} in {limits.connect:g} s"
        if not exchange.head_at:
            cause = Cause.TIMEOUT_HEADERS if exchange.first_byte_at else Cause.TIMEOUT_FIRST_BYTE
            return exchange.sent_at + limits.first_byte, cause, f"no headers in {limits.first_byte:g} s, {exchange.wire_bytes} bytes"
        silent = exchange.read_at + limits.read
        if now < (rated_from := exchange.head_at + limits.grace):
            return min(silent, rated_from), Cause.TOO_SLOW, f"no byte for {limits.read:g} s"
        age_s = now - exchange.head_at
        rate = exchange.wire_bytes / age_s
        if rate < limits.min_rate:
            return now, Cause.TOO_SLOW, f"{rate:.0f} bytes per second over {age_s:.0f} s"
        return min(silent, now + RATE_EVERY_S), Cause.TOO_SLOW, f"no byte for {limits.read:g} s"
