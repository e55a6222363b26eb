"""Begins a round of revisits: hosts get new budgets, then every page that the round visits is queued.

It reads the tables of hosts and of known URLs in groups; each commit stores how far it has come. So after a kill only one group is done
again, and no URL is queued twice. A revisit that still waits from an earlier round counts to the new one.

`schedule: continuous` is a round without an end: each URL that a round would visit gets a time (coming_visits.py). If the configuration no
longer has this schedule, the visits that wait for their time are removed.

A round visits URLs with an outcome: pages, redirects, requests that failed for good. URLs that were missing or forbidden at their first
visit (4xx), that are gone, or whose bodies were refused are visited only if `--where` names `status` or `gone`.

Time: 60 µs a known URL. Memory: a group.
"""

from __future__ import annotations

from collections.abc import Callable

from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.model import CrawlURL, Purpose, Reason, State
from thresher.crawler.core.placing import place
from thresher.crawler.core.ports import Entry, SeenRow
from thresher.crawler.core.selection import Selection
from thresher.crawler.core.url import hostname_of
from thresher.crawler.settlement.coming_visits import ComingVisits, first_look, is_worth_a_visit
from thresher.crawler.settlement.group_commit import Committer
from thresher.crawler.visit import VisitContext
from thresher.storage.schema import HOSTS
from thresher.storage.store import Store
from thresher.storage.tables.rounds import REQUESTER, CheckRecord, RevisitRecord, RoundRecord

_GROUP = 256


class Collection:
    """Queues the revisits of the newest round."""

    def __init__(self, store: Store, frontier: Frontier, context: VisitContext) -> None:
        self._store = store
        self._frontier = frontier
        self._context = context
        self._coming = ComingVisits(store, frontier, context)

    async def run(self, committer: Committer, clock: Callable[[], float], *, stopping: Callable[[], bool]) -> None:
        """Continue to begin the round, unless that is done; once `stopping` returns True, the rest is left to the next process."""
        record = self._store.tables.rounds.last()
        steps = {"hosts": self._hosts, "urls": self._urls, "closing": self._close}
        while record is not None and (step := steps.get(record.stage)) is not None:
            committer.whole(self._take, step, record, clock())
            await committer.drain()
            if stopping():
                return

    def _take(self, step: Callable[[RoundRecord, float], None], record: RoundRecord, now: float) -> None:
        """Do one group, as a visit of its own."""
        step(record, now)
        self._store.tables.rounds.save(record)
        self._store.end_visit()

    def _hosts(self, record: RoundRecord, now: float) -> None:
        """Give the next group of hosts, and their sites, the budgets of a new round; unpark hosts."""
        rows = self._store.scan(HOSTS, start=record.cursor, limit=_GROUP)
        for queue, _ in rows:
            host, site = self._store.tables.queues.host(queue), self._store.tables.queues.site(queue[:8])
            if host is not None:
                host.n_pages_before, host.n_bytes_before = host.n_pages, host.n_bytes
                self._store.tables.queues.save_host(queue, host)
            if site is not None:
                site.n_pages_before = site.n_pages
                self._store.tables.queues.save_site(queue[:8], site)
            self._unpark(queue, now)
        _advance(record, rows[-1][0] if len(rows) == _GROUP else b"", "urls")

    def _unpark(self, queue: bytes, now: float) -> None:
        watch = self._store.tables.rounds.watch(queue)
        if watch.parked:
            watch.parked = ""
            self._store.tables.rounds.save_watch(queue, watch)
            host = self._store.tables.queues.host(queue)
            if host is not None and host.parked == Reason.SUDDEN_LOSS:
                self._frontier.unpark(queue, now)

    def _close(self, record: RoundRecord, now: float) -> None:
        """Remove some visits that wait for a time of a schedule that has ended."""
        if not self._coming.close_some(_GROUP, now):
            record.stage, record.ended_at = "done", now

    def _urls(self, record: RoundRecord, now: float) -> None:
        """Queue the visits of the next group of known URLs."""
        selection = Selection(record.where)
        rows = self._store.tables.seen.scan(record.cursor, _GROUP)
        for key, row in rows:
            if row.state is State.DONE and record.is_continuous:
                self._coming.begin(key, row, now)
            elif row.state is State.DONE:
                self._consider(key, row, record, selection, now)
        _advance(record, rows[-1][0] if len(rows) == _GROUP else b"", "asking")
        if record.stage == "asking" and record.n_settled >= record.n_queued and not record.is_continuous:
            record.stage, record.ended_at = "done", now

    def _consider(self, key: bytes, row: SeenRow, record: RoundRecord, selection: Selection, now: float) -> None:
        waiting = self._store.tables.rounds.revisit(key)
        if waiting is not None:
            if waiting.round != record.number:
                waiting.round = record.number
                record.n_queued += not waiting.is_audit
                self._store.tables.rounds.save_revisit(key, waiting)
            return
        check = self._store.tables.rounds.check(key) or first_look(self._store, key, row)
        if check is None or check.at >= record.cutoff:
            return
        known = self._store.tables.seen.record(row.seq)
        url = self._context.urls.url(
            known.text,
            seed_distance=row.seed_distance,
            site_depth=row.site_depth,
            hops=row.hops,
            purpose=Purpose.REVISIT,
            via=known.via,
        )
        if _is_wanted(check, row, selection) and selection.has(self._values(url, row, check)):
            self._queue(url, check, record, now)

    def _values(self, url: CrawlURL, row: SeenRow, check: CheckRecord) -> dict[str, str]:
        """Return the values that `--where` can test."""
        page = self._store.tables.pages.read(check.versions[-1]) if check.versions else None
        return {
            "url": url.text,
            "host": hostname_of(url.host),
            "site": url.site,
            "type": page.mime_type if page is not None else "",
            "status": str(check.status),
            "depth": str(row.seed_distance),
            "gone": "yes" if check.standing == "gone" else "no",
        }

    def _queue(self, url: CrawlURL, check: CheckRecord, record: RoundRecord, now: float) -> None:
        seq = self._store.tables.requests.add(url, REQUESTER, now)
        lane, rank = place(self._frontier.order, url, 0)
        if self._frontier.push(Entry(lane, rank, seq, 0, url), now) is not None:
            self._store.tables.requests.pop(seq)
            return
        self._store.tables.rounds.save_revisit(url.key, RevisitRecord(record.number))
        if self._store.tables.rounds.check(url.key) is None:
            self._store.tables.rounds.save_check(url.key, check)
        record.n_queued += 1


def _advance(record: RoundRecord, last: bytes, stage: str) -> None:
    """Note how far a table is done.

    Args:
        last: Key up to which the table is done; b"": to its end.
    """
    if last:
        record.cursor = last + b"\0"
    else:
        record.cursor, record.stage = b"", stage


def _is_wanted(check: CheckRecord, row: SeenRow, selection: Selection) -> bool:
    """Return whether a round visits a URL by default."""
    if check.standing == "gone":
        return "gone" in selection.names
    return "status" in selection.names or is_worth_a_visit(check, row)
