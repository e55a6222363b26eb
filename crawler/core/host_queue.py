"""One host queue in memory: its record, its rules, and the first rows of each lane.

A lane's rows are in the store; the first few are also in memory, in order. `whole[lane]` says whether these are all. The leased row is not
among them, though still in the store: a row leaves the store only with its outcome.

Memory: ~1 KB and its rows, at most `frontier.heads` per lane.
"""

from __future__ import annotations

from bisect import insort

from thresher.crawler.core.model import FILTERS_OWN, Purpose
from thresher.crawler.core.politeness import HostRules
from thresher.crawler.core.ports import Entry, HostRecord, Lane, QueueStore

LineKey = tuple[str, bytes, bool]  # (address, site as 8-byte key, whether it is the operator's own site)
UNTIMED = tuple(lane for lane in Lane if lane not in (Lane.RETRY, Lane.DUE))  # the lanes whose rows wait for no time
_LANES = tuple(Lane)
_FILTERS_SHARE = 0.02  # of a host's requests that filters may ask for while pages are left; more of them wait if they can


class HostQueue:
    """A host on the workbench. `ticket` is the number of its present place there: an entry with another number is out of date."""

    __slots__ = (
        "address",
        "address_gap",
        "blocked_until",
        "head",
        "hops",
        "is_own",
        "key",
        "leased",
        "line",
        "looks_up",
        "ready_at",
        "record",
        "rows",
        "rules",
        "ticket",
        "whole",
        "why",
    )

    def __init__(self, key: bytes, record: HostRecord, rules: HostRules) -> None:
        self.key = key
        self.record = record
        self.rules = rules
        self.rows: tuple[list[Entry], ...] = tuple([] for _ in _LANES)  # lane → its first rows
        self.whole = [False] * len(_LANES)
        self.hops: list[Entry] = []  # requests in memory only (seq 0); they go before all others and ignore `blocked_until`
        self.leased: Entry | None = None
        self.head: Entry | None = None  # the entry chosen to be next
        self.address = ""
        self.is_own = False  # `head` is on the operator's own site, at a pinned address
        self.address_gap = (0.0, 0.0)  # (time from which the address was free before the reservation, the same after it)
        self.line: LineKey | None = None  # the line in which it waits (slots.py)
        self.looks_up = ""  # hostname for whose address it waits
        self.ready_at = 0.0
        self.blocked_until = 0.0
        self.why = ""  # why it is blocked
        self.ticket = 0

    def needs_rows(self) -> bool:
        """Return whether a lane has no rows in memory while the store may have some."""
        rows, whole = self.rows, self.whole
        return not (
            (rows[0] or whole[0])
            and (rows[1] or whole[1])
            and (rows[2] or whole[2])
            and (rows[3] or whole[3])
            and (rows[4] or whole[4])
            and (rows[5] or whole[5])
        )

    def load(self, store: QueueStore, limit: int) -> None:
        """Read the first rows of each lane that has none in memory. Not to be called while leased."""
        if not any(self.whole) and not any(self.rows):
            for entry in store.heads(self.key, limit):
                self.rows[entry.lane].append(entry)
            self.whole = [len(rows) < limit for rows in self.rows]
            return
        for lane in _LANES:
            if not self.rows[lane] and not self.whole[lane]:
                rows = store.head(self.key, lane, limit)
                self.rows[lane].extend(rows)
                self.whole[lane] = len(rows) < limit

    def choose(self, now: float) -> float | None:
        """Choose `head`; return the time from which the queue allows its request, None if the queue is empty."""
        ahead, retry, fresh, announced, tail, due = self.rows
        if self.hops:
            self.head = self.hops[0]
            return 0.0
        if ahead and (first := self._first_ahead(ahead, is_drained=not (fresh or announced))):
            self.head = first
        elif retry and retry[0].rank <= now * 1e6:
            self.head = retry[0]
        elif due and due[0].rank <= now * 1e6 and (not (fresh or announced) or self._is_visits_turn(due[0], now)):
            self.head = due[0]
        elif announced and (not fresh or self.is_announced_turn()):
            self.head = announced[0]
        elif fresh:
            self.head = fresh[0]
        elif tail:
            self.head = tail[0]
        elif retry or due:
            self.head = min((rows[0] for rows in (retry, due) if rows), key=_time_of)
            return max(_time_of(self.head), self.blocked_until)
        else:
            self.head = None
            return None
        return self.blocked_until

    def _first_ahead(self, ahead: list[Entry], *, is_drained: bool) -> Entry | None:
        """Return the next entry of the lane AHEAD, a canary before others; None if all can wait and filters have had their share.

        What a filter asks for in a host's first pages may save requests later, and certainly delays a page now. Most hosts of a large crawl
        have few pages, or only few of their pages are fetched: there the answer would come too late to save any request. A host without
        new pages makes all that waits.

        Args:
            ahead: The first rows of the lane, one at least.
            is_drained: Whether the host has no new page.
        """
        may_all = is_drained or self.record.n_of_filters + 1 <= _FILTERS_SHARE * self.record.n_requests
        due = ahead if may_all else [entry for entry in ahead if not entry.can_wait]
        return next((entry for entry in due if entry.url.purpose is Purpose.CANARY), due[0] if due else None)

    def _is_visits_turn(self, visit: Entry, now: float) -> bool:
        """Return whether a due visit goes before new URLs: by its share, or because its deadline is near.

        One request in ten goes to new URLs even then, since a host may be too large for all its deadlines.
        """
        is_late = now - _time_of(visit) > self.rules.visit_waits_s
        return self.record.refresh_credit >= 0.0 or (is_late and self.record.n_requests % 10 > 0)

    def note_turn(self, entry: Entry, now: float) -> None:
        """Count a request for the share of filters, and for that of revisits or of new URLs if both wait."""
        _, _, fresh, announced, _, due = self.rows
        share = self.rules.refresh_share
        self.record.n_of_filters += entry.can_wait or entry.url.purpose in FILTERS_OWN
        self.record.n_refreshed += entry.lane is Lane.DUE
        if entry.lane is Lane.DUE and (fresh or announced):
            self.record.refresh_credit -= 1.0 - share
        elif entry.lane in (Lane.FRESH, Lane.ANNOUNCED) and due and due[0].rank <= now * 1e6:
            self.record.refresh_credit += share
        else:
            return
        if abs(self.record.refresh_credit) < 1e-9:  # removes rounding errors of thirds and tenths
            self.record.refresh_credit = 0.0

    def choose_beside(self, now: float, *, visits_again: bool) -> float | None:
        """Choose `head` among entries that are no new pages: requisites and, with `visits_again`, next visits of pages. Return the time
        from which it may be requested; None if there is none in memory.
        """
        purposes = (Purpose.REQUISITE, Purpose.REVISIT) if visits_again else (Purpose.REQUISITE,)
        others = [entry for entry in (*self.rows[0], *self.rows[1]) if entry.url.purpose in purposes]
        if visits_again:
            others += self.rows[Lane.DUE][:1]
        self.head = self.hops[0] if self.hops else min(others, key=lambda entry: _ready_at(entry, now), default=None)
        if self.head is None:
            return None
        return 0.0 if self.hops else max(_ready_at(self.head, now), self.blocked_until)

    def is_announced_turn(self) -> bool:
        """Return whether an announced URL goes before linked ones: at every n-th request of the host."""
        every = self.rules.announced_every
        return every > 0 and (self.record.n_requests - self.record.n_refreshed) % every == every - 1

    def insert(self, entry: Entry, limit: int) -> None:
        """Keep a new row in memory if it belongs to the first rows of its lane."""
        lane = entry.lane
        rows = self.rows[lane]
        if not self.whole[lane] and (not rows or entry[:3] > rows[-1][:3]):
            return
        insort(rows, entry)
        if len(rows) > limit:
            rows.pop()
            self.whole[lane] = False

    def is_unmoved_by(self, row: tuple[Lane, int, int], now: float) -> bool:
        """Return whether a new row (lane, rank, seq) belongs neither to the rows in memory nor before the chosen one."""
        rows, head = self.rows[row[0]], self.head
        if self.whole[row[0]] or (rows and row <= rows[-1][:3]):
            return False
        if self.leased is not None:
            return True
        return head is not None and row > head[:3] and not (head.can_wait or (head.lane is Lane.RETRY and head.rank > now * 1e6))

    def restore(self, entry: Entry) -> None:
        """Keep a row in memory again that was leased."""
        if entry.seq == 0:
            self.hops.insert(0, entry)
        else:
            insort(self.rows[entry.lane], entry)

    def defer(self, store: QueueStore, entry: Entry, at: float, attempt: int, limit: int) -> None:
        """Move a row to the lane RETRY, where it waits until `at`."""
        self.remove(entry)
        store.delete(self.key, entry)
        later = Entry(Lane.RETRY, int(at * 1e6) + 1, entry.seq, attempt, entry.url)
        store.put(self.key, later)
        self.insert(later, limit)

    def remove(self, entry: Entry) -> None:
        """Remove a row from memory, if it is there."""
        rows = self.hops if entry.seq == 0 else self.rows[entry.lane]
        for i, held in enumerate(rows):
            if held.seq == entry.seq and held.rank == entry.rank and held.url.key == entry.url.key:
                del rows[i]
                return

    def may_serve_others(self, entry: Entry) -> bool:
        """Return whether URLs of another origin may be queued: one is in memory, or not all rows are in memory."""
        return not all(self.whole) or any(other.url.host != entry.url.host for rows in self.rows for other in rows)

    def is_out_of_rows(self) -> bool:
        """Return whether no entry is in memory."""
        return not (self.hops or any(self.rows))

    def in_memory(self, now: float) -> list[Entry]:
        """Return all entries in memory but the retries that are not due."""
        ahead, retry, fresh, announced, tail, due = self.rows
        timed = (entry for rows in (retry, due) for entry in rows if entry.rank <= now * 1e6)
        return [*self.hops, *ahead, *timed, *fresh, *announced, *tail]


def _time_of(entry: Entry) -> float:
    """Return the time of a row of RETRY or DUE, in seconds since the epoch."""
    return entry.rank / 1e6


def _ready_at(entry: Entry, now: float) -> float:
    """Return the time from which its lane allows a row's request, 0 if at once."""
    return entry.rank / 1e6 if entry.lane in (Lane.RETRY, Lane.DUE) and entry.rank > now * 1e6 else 0.0
