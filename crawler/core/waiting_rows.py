"""Moves the row of a waiting URL forward, or takes it out of its queue."""

from __future__ import annotations

from typing import Final

from thresher.crawler.core.intake import Intake
from thresher.crawler.core.model import CrawlURL, Purpose
from thresher.crawler.core.order.base import Order
from thresher.crawler.core.ports import CAN_WAIT, Entry, Lane, QueueStore
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.workbench import Workbench

_MOST_HURRIED: Final = 100  # rows that are looked at
_RETRIES_SEARCHED: Final = 10_000  # most rows of a lane RETRY that are searched for one URL


class WaitingRows:
    """Finds and moves rows, in the store and on the workbench. Rows of requests in flight are not moved."""

    def __init__(self, store: QueueStore, bench: Workbench, intake: Intake, order: Order, urls: URLSpace) -> None:
        self._store = store
        self._bench = bench
        self._intake = intake
        self._order = order
        self._urls = urls

    def raise_rank(self, waiting: Entry, rank: int, now: float) -> bool | None:
        """Move a waiting URL forward that was found again nearer to its site's entry or a seed, or whose worth has grown.

        Args:
            waiting: The row's present lane and rank, with the URL as it is now.
            rank: The row's new rank.

        Returns:
            Whether the row was moved. False: it is no longer in the queue. None: it is leased, and may be deferred.
        """
        queue = self._urls.queue_key(waiting.url.host)
        host = self._bench.hosts.get(queue)
        if waiting.lane not in (Lane.FRESH, Lane.ANNOUNCED) or not self._store.has(queue, waiting):
            return False
        if host is not None and host.leased is not None and host.leased.seq == waiting.seq:
            return None
        entry = waiting._replace(lane=Lane.FRESH, rank=rank)
        self._store.delete(queue, waiting)
        self._store.put(queue, entry)
        if host is not None:
            host.remove(waiting)
            self._intake.insert(host, entry, now)
        return True

    def bring_forward(self, waiting: Entry, rank: int, now: float) -> bool:
        """Give a page's next visit, which waits in the lane DUE, an earlier time; return False if it is under way."""
        queue = self._urls.queue_key(waiting.url.host)
        host = self._bench.hosts.get(queue)
        if not self._store.has(queue, waiting) or (host is not None and host.leased is not None and host.leased.seq == waiting.seq):
            return False
        entry = waiting._replace(rank=rank)
        self._store.delete(queue, waiting)
        self._store.put(queue, entry)
        if host is not None:
            host.remove(waiting)
            self._intake.insert(host, entry, now)
            return True
        record = self._store.host(queue)
        if record is not None and not record.parked and record.due > rank / 1e6:
            self._bench.waiting.push(queue, record, max(now, record.next_at, rank / 1e6))
        return True

    def hurry(self, queue: bytes, purpose: Purpose, now: float) -> None:
        """Let the requests of filters that wait for their share wait no longer.

        Args:
            queue: Of the host.
            purpose: Of the requests.
            now: The time, in seconds.
        """
        host = self._bench.hosts.get(queue)
        leased = host.leased.seq if host is not None and host.leased is not None else 0
        for waiting in self._store.head(queue, Lane.AHEAD, _MOST_HURRIED):
            if waiting.can_wait and waiting.url.purpose is purpose and waiting.seq != leased:
                entry = waiting._replace(rank=0)
                self._store.delete(queue, waiting)
                self._store.put(queue, entry)
                if host is not None:
                    host.remove(waiting)
                    self._intake.insert(host, entry, now)

    def withdraw(self, url: CrawlURL, seq: int, worth: int, due: int, now: float) -> bool:
        """Take a URL out of its queue; return False if it is not in it (it may be in flight).

        Args:
            worth: The worth from which its rank in the lane FRESH was made.
            due: Its rank in the lane DUE.
        """
        queue = self._urls.queue_key(url.host)
        host = self._bench.hosts.get(queue)
        if host is not None and host.leased is not None and host.leased.seq == seq:
            return False
        entry = self._find(queue, url, seq, worth, due)
        if entry is None:
            return False
        self._store.delete(queue, entry)
        record = host.record if host is not None else self._store.host(queue)
        assert record is not None
        record.n_queued -= 1
        self._store.save_host(queue, record)
        if host is not None:
            host.remove(entry)
            if host.leased is None:
                self._bench.place(host, now)
        return True

    def _find(self, queue: bytes, url: CrawlURL, seq: int, worth: int, due: int) -> Entry | None:
        for lane, rank in (
            (Lane.FRESH, self._order.rank(url.site_depth, worth)),
            (Lane.AHEAD, 0),
            (Lane.AHEAD, CAN_WAIT),
            (Lane.ANNOUNCED, url.site_depth),
            (Lane.TAIL, 0),
            (Lane.DUE, due),
        ):
            entry = Entry(lane, rank, seq, 0, url)
            if self._store.has(queue, entry):
                return entry
        return next((entry for entry in self._store.head(queue, Lane.RETRY, _RETRIES_SEARCHED) if entry.seq == seq), None)
