"""What the operator sees of a running agent: counters of this life, rates, and why it waits."""

from __future__ import annotations

import resource
from collections import deque
from typing import Literal

import msgspec


class Status(msgspec.Struct, kw_only=True):
    """One snapshot of a crawl, as the agent sends it twice a second and `thresher status --json` prints it."""

    state: Literal["starting", "crawling", "waiting", "stopping", "done", "stopped", "failed"] = "starting"
    why: str = ""  # what it waits for, or why it ended
    at: float = 0.0  # seconds since the epoch
    running_s: float = 0.0  # of this life
    run_pages: int = 0  # of this life
    pages: int = 0  # of the whole crawl, as all counters below
    pages_per_s: float = 0.0  # over the last 10 s
    wire_bytes: int = 0
    requests: int = 0
    robots_requests: int = 0
    redirects: int = 0
    failed: int = 0
    status_classes: dict[str, int] = {}
    causes: dict[str, int] = {}  # failures by cause
    skipped: dict[str, int] = {}  # by reason
    saved: dict[str, int] = {}  # by filter: URLs refused, copies not followed
    would_save: dict[str, int] = {}  # by filter that only observes
    queued: int = 0
    known: int = 0
    in_flight: int = 0
    hosts_active: int = 0
    hosts_waiting: int = 0
    hosts_backing_off: int = 0
    hosts_parked: dict[str, int] = {}  # by reason
    hosts: int = 0
    restarts: int = 0
    cpu_s: float = 0.0  # user and system, of the agent and its parsers
    rss_bytes: int = 0  # peak
    loop_lag_ms: float = 0.0  # worst since the last snapshot


class Rate:
    """Events per second over a sliding window."""

    def __init__(self, window_s: float = 10.0) -> None:
        self._window_s = window_s
        self._samples: deque[tuple[float, int]] = deque()

    def update(self, now: float, total: int) -> float:
        """Take the running total at `now` and return the rate over the window."""
        self._samples.append((now, total))
        while len(self._samples) > 2 and now - self._samples[0][0] > self._window_s:
            self._samples.popleft()
        then, before = self._samples[0]
        return (total - before) / (now - then) if now > then else 0.0


def usage() -> tuple[float, int]:
    """Return CPU seconds (user and system) of this process and its ended children, and this process's peak memory in bytes."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    return cpu_s, own.ru_maxrss * 1024
