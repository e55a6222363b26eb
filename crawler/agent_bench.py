"""A crawl by some number of agents, timed: what `thresher bench crawl --agents` and `benchmarks/agents.py` measure."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from config.settings import Settings
from crawler.core.errors import UsageError
from crawler.metrics import Status
from crawler.opening import create_store, n_agents
from crawler.shared_addresses import create
from crawler.supervisor import AGENT, Supervisor
from storage.partitions import ADDRESSES, lanes_path


class Watch:
    """A display that notes when the last page came. A crawl of which an agent dies makes no figure."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._pages = 0
        self.wall_s = 0.0  # from the start of the agents to the last page
        self.lag_ms = 0.0  # worst, of any loop

    def update(self, status: Status) -> None:
        self.lag_ms = max(self.lag_ms, status.loop_lag_ms)
        if status.pages > self._pages:
            self._pages, self.wall_s = status.pages, time.monotonic() - self._began

    def note(self, message: str) -> None:
        raise UsageError(f"{message}. A figure of this crawl would mean nothing")


def timed_crawl(directory: Path, settings: Settings, *, agent: Sequence[str] = AGENT) -> tuple[Status, Watch]:
    """Crawl into a new store to the end; return the last status and the times. agent: the command that starts one."""
    n = n_agents(settings)
    create_store(directory, settings)
    if n > 1:
        create(lanes_path(directory) / ADDRESSES)
    watch = Watch()
    supervisor = Supervisor(directory, watch, n_agents=n, settings=settings, agent=agent)
    code = asyncio.run(supervisor.run())
    if code != 0:
        raise UsageError(f"the crawl ended with exit {code}: {supervisor.status.why}")
    return supervisor.status, watch
