"""Looks up the names of hosts before their turn comes: one task for each name, while the agent fetches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.model import Cause
from thresher.crawler.fetch.dns import LookupFailed, Names

Failed = Callable[[str, Cause, str, float], None]  # (name, cause, message, now)


class Lookups:
    """The name look-ups of one agent that are under way."""

    def __init__(
        self, frontier: Frontier, resolver: Names, clock: Callable[[], float], *, failed: Failed, done: Callable[[], None]
    ) -> None:
        """Create the lookups.

        Args:
            failed: Called with a name that has no address.
            done: Called after each look-up.
        """
        self._frontier = frontier
        self._resolver = resolver
        self._failed = failed
        self._clock = clock
        self._done = done
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
            self._failed(hostname, answer.cause, answer.detail, now)
        else:
            self._frontier.on_resolved(hostname, now)

    def _on_looked_up(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self._done()
