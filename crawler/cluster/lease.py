"""The lease under which an agent requests where several machines crawl together: without it no request begins.

A machine asks the directory for it every 2 s and is given 10 s, counted from before it asked, on the clock that also counts while the
machine is suspended. So whatever is late, the lease ends here before it ends there: an agent that was stopped, cut off or suspended finds
it over at its next request. It then closes its connections, keeps its disk, and goes on when it has a lease again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

LEASE_S = 10.0
RENEW_S = 2.0


def boot_s() -> float:
    """Return the seconds since this machine was started, those of a suspension included: one number for all its processes."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class AgentLease:
    """Until when this agent may begin requests."""

    def __init__(self, clock: Callable[[], float] = boot_s) -> None:
        self._clock = clock
        self._until = -inf

    def extend(self, until: float) -> None:
        """Take a further lease; an older one that comes late changes nothing."""
        self._until = max(self._until, until)

    @property
    def is_held(self) -> bool:
        return self._clock() < self._until
