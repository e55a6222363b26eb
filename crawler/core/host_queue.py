"""One host queue in memory: its record, its rules, and the first rows of each lane.

A lane's rows lie in the store; the first few are held here, in order. `whole[lane]` says whether they are all there are. The row that is
leased is in none of them, though still in the store: a row leaves the store only with its outcome.

Memory: ~1 KB and its rows, at most `frontier.heads` per lane.
"""

from __future__ import annotations

from bisect import insort

from thresher.crawler.core.model import Purpose
from thresher.crawler.core.politeness import HostRules
from thresher.crawler.core.ports import Entry, HostRecord, Lane, QueueStore

LineKey = tuple[str, bytes, bool]  # address, site (8-byte key), of one's own site
_LANES = tuple(Lane)
_FIRST = 20  # requests of a host, before which those of filters that can wait are not made while pages are left


class HostQueue:
    """A host on the workbench. `ticket` names its present place there: whatever carries another one is out of date."""

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
        self.rows: tuple[list[Entry], ...] = tuple([] for _ in _LANES)  # by lane
        self.whole = [False] * len(_LANES)
        self.hops: list[Entry] = []  # requests of this life only (seq 0); they go before everything and ignore `blocked_until`
        self.leased: Entry | None = None
        self.head: Entry | None = None  # chosen to be next
        self.address = ""
        self.is_own = False  # `head` is of one's own site, at an address that it was pinned to
        self.address_gap = (0.0, 0.0)  # when the address was free before and after its reservation
        self.line: LineKey | None = None  # that it stands in (slots.py)
        self.looks_up = ""  # hostname that it waits for
        self.ready_at = 0.0
        self.blocked_until = 0.0
        self.why = ""  # it is blocked
        self.ticket = 0

    def needs_rows(self) -> bool:
        """Return whether a lane's rows in memory are used up while the store may have more."""
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
        """Read the first rows of each lane that has none in memory. Not while leased."""
        for lane in _LANES:
            if not self.rows[lane] and not self.whole[lane]:
                rows = store.head(self.key, lane, limit)
                self.rows[lane].extend(rows)
                self.whole[lane] = len(rows) < limit

    def choose(self, now: float) -> float | None:
        """Choose `head` and return when it may go as far as the queue is concerned; None if the queue is empty."""
        ahead, retry, fresh, announced, tail, due = self.rows
        if self.hops:
            self.head = self.hops[0]
            return 0.0
        if ahead and not (ahead[0].can_wait and self._is_young() and (fresh or announced)):
            self.head = next((entry for entry in ahead if entry.url.purpose is Purpose.CANARY), ahead[0])
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

    def _is_young(self) -> bool:
        """Return whether the host has made so few requests that what a filter asks it would cost a good part of them.

        Most hosts of a large crawl have few pages, and of many others a crawl fetches few: there the answer would come too late to spare
        anything. The bound is what an endless host costs more.
        """
        return self.record.n_requests < _FIRST

    def _is_visits_turn(self, visit: Entry, now: float) -> bool:
        """Return whether a visit that is due goes before new URLs: by its share, or as its deadline would be in danger.

        One request in ten goes to new URLs even then, as a host may be too large for all its deadlines.
        """
        is_late = now - _time_of(visit) > self.rules.visit_waits_s
        return self.record.refresh_credit >= 0.0 or (is_late and self.record.n_requests % 10 > 0)

    def note_turn(self, entry: Entry, now: float) -> None:
        """Count a request against the share of revisits, or of what is new, if both wait."""
        _, _, fresh, announced, _, due = self.rows
        share = self.rules.refresh_share
        self.record.n_refreshed += entry.lane is Lane.DUE
        if entry.lane is Lane.DUE and (fresh or announced):
            self.record.refresh_credit -= 1.0 - share
        elif entry.lane in (Lane.FRESH, Lane.ANNOUNCED) and due and due[0].rank <= now * 1e6:
            self.record.refresh_credit += share
        else:
            return
        if abs(self.record.refresh_credit) < 1e-9:  # of thirds and tenths
            self.record.refresh_credit = 0.0

    def choose_beside(self, now: float, *, visits_again: bool) -> float | None:
        """Choose `head` among what is no new page; return when it may go, None if there is none of it in memory.

        That is what pages need to be shown and, with `visits_again`, next visits of pages.
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
        """Return whether what sitemaps named goes before what links named: at every n-th request of the host."""
        every = self.rules.announced_every
        return every > 0 and (self.record.n_requests - self.record.n_refreshed) % every == every - 1

    def insert(self, entry: Entry, limit: int) -> None:
        """Hold a row that is new in the store if it belongs to the first."""
        lane = entry.lane
        rows = self.rows[lane]
        if not self.whole[lane] and (not rows or entry[:3] > rows[-1][:3]):
            return
        insort(rows, entry)
        if len(rows) > limit:
            rows.pop()
            self.whole[lane] = False

    def is_unmoved_by(self, row: tuple[Lane, int, int], now: float) -> bool:
        """Return whether a new row (lane, rank, seq) belongs neither to those in memory nor before the one that is chosen."""
        rows, head = self.rows[row[0]], self.head
        if self.whole[row[0]] or (rows and row <= rows[-1][:3]):
            return False
        if self.leased is not None:
            return True
        return head is not None and row > head[:3] and not (head.can_wait or (head.lane is Lane.RETRY and head.rank > now * 1e6))

    def restore(self, entry: Entry) -> None:
        """Hold a row again that was leased."""
        if entry.seq == 0:
            self.hops.insert(0, entry)
        else:
            insort(self.rows[entry.lane], entry)

    def defer(self, store: QueueStore, entry: Entry, at: float, attempt: int, limit: int) -> None:
        """Move a row to the retry lane, where it waits until `at`."""
        self.remove(entry)
        store.delete(self.key, entry)
        later = Entry(Lane.RETRY, int(at * 1e6) + 1, entry.seq, attempt, entry.url)
        store.put(self.key, later)
        self.insert(later, limit)

    def remove(self, entry: Entry) -> None:
        """Let go of a row if it is held."""
        rows = self.hops if entry.seq == 0 else self.rows[entry.lane]
        for i, held in enumerate(rows):
            if held.seq == entry.seq and held.rank == entry.rank and held.url.key == entry.url.key:
                del rows[i]
                return

    def may_serve_others(self, entry: Entry) -> bool:
        """Return whether URLs of another origin than this one's may be queued: one is seen, or not all are in memory."""
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
    """Return when a row of RETRY or DUE may go, in seconds since the epoch."""
    return entry.rank / 1e6


def _ready_at(entry: Entry, now: float) -> float:
    """Return when a row may go as far as its lane is concerned, 0 if at once."""
    return entry.rank / 1e6 if entry.lane in (Lane.RETRY, Lane.DUE) and entry.rank > now * 1e6 else 0.0
