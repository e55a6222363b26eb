"""Parks hosts, and unparks them: for the operator, for a filter, or for a while because of a wall."""

from __future__ import annotations

from thresher.crawler.core.host_queue import HostQueue
from thresher.crawler.core.politeness import Pace
from thresher.crawler.core.ports import QueueStore
from thresher.crawler.core.workbench import Workbench


class Parking:
    """Parks and unparks hosts on the workbench and in the store."""

    def __init__(self, store: QueueStore, bench: Workbench, pace: Pace) -> None:
        self._store = store
        self._bench = bench
        self._pace = pace

    def park_walled(self, queue: bytes, number: int, now: float) -> None:
        """Start no request at a host for a while, since it is behind a wall.

        Args:
            queue: The host's queue.
            number: Number of times in a row, from 1: each is twice as long as the one before.
            now: The time, in seconds.
        """
        host = self._served(queue, now)
        if host is None:
            return
        self._pace.rest(host.record, host.rules, number, now)
        self._store.save_host(queue, host.record)
        if host.leased is None:
            self._bench.place(host, now)

    def park(self, queue: bytes, why: str, now: float, *, until: float = 0.0) -> bool:
        """Start no further request at a host after the one in flight; return False if it is unknown or parked already.

        Args:
            queue: The host's queue.
            why: The reason, as `thresher hosts` shows it.
            now: The time, in seconds.
            until: When it is unparked automatically; 0: only by `unpark`.
        """
        host = self._served(queue, now)
        if host is None:
            return False
        if host.leased is not None:
            host.record.parked, host.record.parked_until = why, until
        else:
            self._bench.park(host, why, until=until)
        return True

    def unpark(self, queue: bytes, now: float) -> bool:
        """Serve a parked host again; return False if it is not parked. If its budget is used up, it is parked again."""
        host = self._bench.hosts.get(queue)
        record = self._store.host(queue) if host is None else host.record
        if record is None or not record.parked:
            return False
        if host is None:
            self._bench.unpark(queue, record, now)
        else:  # it would have been parked after its lease
            record.parked, record.parked_until = "", 0.0
        return True

    def _served(self, queue: bytes, now: float) -> HostQueue | None:
        """Return a host with its queue in memory; None if it is unknown, or parked in the store."""
        host = self._bench.hosts.get(queue)
        if host is not None:
            return host
        record = self._store.host(queue)
        return self._bench.load(queue, record, now) if record is not None and not record.parked else None
