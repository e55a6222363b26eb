"""Reasons to start no request although URLs wait: a full or slow disk, or an event loop that cannot keep up."""

from __future__ import annotations

from pathlib import Path

from thresher.config.settings import Settings
from thresher.crawler.agent.throttle import Throttle, low_disk
from thresher.crawler.settlement.group_commit import Committer
from thresher.storage.store import Store

_DISK_EVERY = 10  # the disk is looked at with every tenth call


class Brakes:
    """Looks at disk, commits and loop twice a second; knows why no request may start."""

    def __init__(self, directory: Path, settings: Settings, store: Store, committer: Committer) -> None:
        self._directory = directory
        self._min_free_disk = settings.limits.min_free_disk
        self._store = store
        self._committer = committer
        self._throttle = Throttle(settings.fetch.concurrency)
        self._low_disk = ""
        self._n_looks = 0

    def look(self, lag_s: float, *, is_behind: bool) -> None:
        """Record how late the loop is and whether pages wait to be read; look at the disk now and then."""
        self._throttle.note(lag_s, is_behind=is_behind)
        if self._n_looks % _DISK_EVERY == 0:
            self._low_disk = low_disk(self._directory, self._min_free_disk)
        self._n_looks += 1

    def starve(self, n_in_flight: int) -> None:
        """Record that the system had no file descriptor for another connection."""
        self._throttle.starve(n_in_flight)

    def disk_trouble(self) -> str:
        """Return a message if the disk refuses writes, else ""."""
        return f"the disk refuses writes: {self._store.trouble}" if self._store.trouble else ""

    def why(self, n_in_flight: int) -> str:
        """Return why no request may start beside the `n_in_flight` others; "" if one may."""
        if why := self._low_disk or self.disk_trouble():
            return why
        if self._committer.behind:
            return "the disk is slower than the crawl"
        return "the CPU is the limit" if n_in_flight >= self._throttle.allowed else ""
