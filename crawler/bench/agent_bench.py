"""Times a crawl by a number of agents, for `thresher bench crawl --agents` and `benchmarks/speed/agents.py`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from thresher.config.settings import Settings
from thresher.crawler.cluster.address_file import create
from thresher.crawler.core.errors import UsageError
from thresher.crawler.process.agent_life import START_S
from thresher.crawler.process.supervisor import AGENT, Supervisor
from thresher.crawler.start.opening import create_store, n_agents
from thresher.crawler.status import Status
from thresher.storage.partitions import ADDRESSES, channels_path

STALLED_S = 60.0  # seconds without a new page after which the crawl or its server counts as stopped; also the longest start


class BenchProgress:
    """A display of progress that notes when the last page came, and raises if an agent or the server has died or stopped."""

    def __init__(self, is_served: Callable[[], bool], *, stalled_s: float = STALLED_S) -> None:
        """Create the watch.

        Args:
            is_served: Whether the server still runs.
        """
        self._is_served = is_served
        self._stalled_s = stalled_s
        self._began = self._last_at = time.monotonic()
        self._pages = 0
        self.lag_ms = 0.0  # worst, of any loop

    @property
    def wall_s(self) -> float:
        """Return the time from the start of the agents to the last page."""
        return self._last_at - self._began

    def update(self, status: Status) -> None:
        """Record the next status of the crawl.

        Raises:
            UsageError: If the crawl cannot be measured: an agent or the server has died, or no page comes any more.
        """
        now = time.monotonic()
        self.lag_ms = max(self.lag_ms, status.loop_lag_ms)
        if status.pages > self._pages:
            self._pages, self._last_at = status.pages, now
        if not self._is_served():
            raise UsageError(f"the server ended after {self._pages} pages: there is no result")
        if now - self._last_at > (self._stalled_s if self._pages else max(self._stalled_s, START_S)):
            self.stalled()

    def stalled(self) -> NoReturn:
        raise UsageError(
            f"no page for {self._stalled_s:.0f} s after {self._pages}: the crawl or its server has stopped. There is no result"
        )

    def note(self, message: str) -> None:
        raise UsageError(f"{message}. A figure of this crawl would mean nothing")


def timed_crawl(
    directory: Path, settings: Settings, *, is_served: Callable[[], bool], agent: Sequence[str] = AGENT, stalled_s: float = STALLED_S
) -> tuple[Status, BenchProgress]:
    """Crawl into a new store to the end; return the last status and the times.

    Args:
        is_served: Whether the server still runs.
        agent: The command that starts one.

    Raises:
        UsageError: If the crawl cannot be measured (`BenchProgress.update`) or fails.
    """
    n = n_agents(settings)
    create_store(directory, settings)
    if n > 1:
        create(channels_path(directory) / ADDRESSES)
    watch = BenchProgress(is_served, stalled_s=stalled_s)
    supervisor = Supervisor(directory, watch, n_agents=n, settings=settings, agent=agent)
    code = asyncio.run(supervisor.run())
    if supervisor.was_signalled:
        raise KeyboardInterrupt
    if code != 0:
        raise UsageError(f"the crawl ended with exit {code}: {supervisor.status.why}")
    return supervisor.status, watch
