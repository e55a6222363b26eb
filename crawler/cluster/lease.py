"""The lease of an agent when several machines crawl together: without it no request begins.

A machine asks the directory for a lease every 2 s and gets 10 s, counted from before it asked, on the clock that also runs while the
machine is suspended. So the lease always ends here before it ends in the directory: an agent that was stopped, cut off or suspended notices
at its next request that it has none. It then closes its connections, keeps its disk, and goes on when it has a lease again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

LEASE_S = 10.0
RENEW_S = 2.0


def boot_s() -> float:
    """Return the seconds since this machine was started, suspensions included; the same for all its processes."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class AgentLease:
    """The time until which this agent may begin requests."""

    def __init__(self, clock: Callable[[], float] = boot_s) -> None:
        self._clock = clock
        self._until = -inf

    def extend(self, until: float) -> None:
        """Take a new lease; an older one that arrives late changes nothing.

        Args:
            until: The end of the lease, in seconds of `boot_s`.
        """
        self._until = max(self._until, until)

    @property
    def is_held(self) -> bool:
        return self._clock() < self._until
