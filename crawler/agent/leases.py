"""Hands leases of the frontier to workers; knows the leases in flight, the waiting workers, and the frontier's last answer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from thresher.crawler.agent.alarm import Alarm
from thresher.crawler.core.frontier import Frontier, Lease, Wait

_A_ROUND: Final = 16  # leases that are handed out in a round of the loop: to begin a request takes .3 ms, and nothing else runs meanwhile


class Leases:
    """The only caller of `Frontier.pop`."""

    def __init__(
        self,
        frontier: Frontier,
        clock: Callable[[], float],
        *,
        why_not: Callable[[], str],
        wake: Callable[[], None],
        must_wait: Callable[[], bool] = lambda: False,
    ) -> None:
        """Create the leases; none is in flight.

        Args:
            why_not: Returns why no request may start now; "" if one may.
            wake: Called when the next host is ready, and when more leases are to be handed out.
            must_wait: Returns whether a worker waits for `hand_out` in any case.
        """
        self._frontier = frontier
        self._clock = clock
        self._why_not = why_not
        self._wake = wake
        self._must_wait = must_wait
        self._goes_on = False  # whether more leases are handed out in the next round of the loop
        self._alarm = Alarm(clock, wake)
        self._idle: deque[asyncio.Future[Lease]] = deque()
        self.in_flight: dict[bytes, Lease] = {}  # by queue
        self.wait = Wait(clock(), "starting")
        self.dry: Wait | None = None  # the frontier's last answer that no URL is ready, until something is settled

    async def next(self) -> Lease:
        """Return a lease; if there is none, wait until `hand_out` has one for this worker."""
        lease = None if self._must_wait() else self._take()
        if lease is None:
            waiter: asyncio.Future[Lease] = asyncio.get_running_loop().create_future()
            self._idle.append(waiter)
            lease = await waiter
        return lease

    def hand_out(self) -> None:
        """Give leases to idle workers until leases or idle workers run out: a few now, the others in the next rounds of the loop."""
        n = 0
        while self._idle and not self._goes_on:
            if self._idle[-1].done():
                self._idle.pop()
                continue
            if n == _A_ROUND:
                self.wait, self._goes_on = Wait(self._clock(), "handing out"), True
                asyncio.get_running_loop().call_soon(self._go_on)
                break
            lease = self._take()
            if lease is None:
                break
            self._idle.pop().set_result(lease)
            n += 1

    def fail(self, error: BaseException) -> None:
        """End the idle workers by an error that no worker has met."""
        while self._idle:
            waiter = self._idle.pop()
            if not waiter.done():
                waiter.set_exception(error)

    def _go_on(self) -> None:
        self._goes_on = False
        self._wake()

    def _take(self) -> Lease | None:
        """Reserve the next URL; if there is none, remember the frontier's answer."""
        if why := self._why_not():
            self.wait = Wait(None, why)
            return None
        popped = self._frontier.pop(self._clock())
        if isinstance(popped, Wait):
            self.wait = self.dry = popped
            self._alarm.set(popped.until)
            return None
        self.in_flight[popped.queue] = popped
        return popped
