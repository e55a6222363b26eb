"""The hosts in the store that wait for their turn, ordered by the time when they are due, and the cursor that reads each once.

The cursor only moves forward. The rows of hosts that are on the workbench or parked are before it, so that the next process, whose cursor
starts at the beginning, finds them again. Due times are distinct and never before the cursor: a host that is due now is filed after all
hosts that were filed as due before. This keeps hosts in the order of their discovery.

Memory: O(1).
"""

from __future__ import annotations

from math import ceil, inf

from thresher.crawler.core.ports import HostRecord, QueueStore


class WaitingHosts:
    """The queue of hosts in the store."""

    def __init__(self, store: QueueStore, started_at: float) -> None:
        self._store = store
        self._cursor = (0.0, b"")
        self._last_due = started_at
        self.n_due = store.n_due()
        self.next_at = 0.0  # nothing after the cursor is due before this time; inf: there is nothing

    def push_due(self, queue: bytes, record: HostRecord, now: float) -> None:
        """File a host as due now, after all that are due; save its record."""
        self._last_due = max(ceil(now * 1e6), round(self._last_due * 1e6) + 1) / 1e6
        self._move(queue, record, self._last_due)

    def push(self, queue: bytes, record: HostRecord, at: float) -> None:
        """File a host as due at `at`; save its record."""
        if at > self._last_due:
            self._move(queue, record, ceil(at * 1e6) / 1e6)
        else:
            self.push_due(queue, record, at)

    def leave(self, queue: bytes, record: HostRecord) -> None:
        """Remove the row of a host whose queue is empty; save its record."""
        self._move(queue, record, 0.0)

    def _move(self, queue: bytes, record: HostRecord, due: float) -> None:
        self.n_due += bool(due) - bool(record.due)
        if due or record.due:
            self._store.file(queue, record.due, due)
        record.due = due
        self._store.save_host(queue, record)
        if due:
            self.next_at = min(self.next_at, due)

    def strike(self, queue: bytes, due: float) -> None:
        """Remove the row of a host that does not exist."""
        self._store.file(queue, due, 0.0)
        self.n_due -= 1

    def has_due(self, now: float) -> bool:
        """Return whether hosts after the cursor are due."""
        return self.next_at <= max(now, self._last_due)

    def read(self, now: float, limit: int) -> list[tuple[float, bytes]]:
        """Return the next due hosts as (due, queue), and move the cursor after them."""
        rows = self._store.due(self._cursor, max(now, self._last_due), limit)
        if rows:
            self._cursor = rows[-1]
            self._last_due = max(self._last_due, rows[-1][0])
        at = self._store.next_due(self._cursor)
        self.next_at = inf if at is None else at
        return rows
