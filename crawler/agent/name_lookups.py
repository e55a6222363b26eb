"""Looks up the names of hosts before their turn comes: one task for each name, while the agent fetches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.model import Cause
from thresher.crawler.fetch.dns import LookupFailed, Names

OnFailure = Callable[[str, Cause, str, float], None]  # (name, cause, message, now)


class Lookups:
    """The name look-ups of one agent that are under way."""

    def __init__(
        self, frontier: Frontier, resolver: Names, clock: Callable[[], float], *, on_failure: OnFailure, on_end: Callable[[], None]
    ) -> None:
        """Create the lookups.

        Args:
            on_failure: Called with a name that has no address.
            on_end: Called after each look-up.
        """
        self._frontier = frontier
        self._resolver = resolver
        self._on_failure = on_failure
        self._clock = clock
        self._on_end = on_end
        self.tasks: set[asyncio.Task[None]] = set()

    def start(self, group: asyncio.TaskGroup) -> None:
        """Resolve the names that the frontier needs."""
        for hostname in self._frontier.lookups():
            task = group.create_task(self._resolve(hostname))
            self.tasks.add(task)
            task.add_done_callback(self._on_looked_up)

    async def _resolve(self, hostname: str) -> None:
        answer = await self._resolver.resolve(hostname)
        now = self._clock()
        if isinstance(answer, LookupFailed):
            self._on_failure(hostname, answer.cause, answer.detail, now)
        else:
            self._frontier.on_resolved(hostname, now)

    def _on_looked_up(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self._on_end()
