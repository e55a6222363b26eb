"""Canaries in settlement: reports each visit to the filter canary, and queues URLs again that a wall has answered for (filters/canary).

Time: 15 µs a visit, 25 more for a short page. Memory: none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from thresher.crawler.core.effects import FetchAgain, NotWalled, ParkWalled, Void
from thresher.crawler.core.model import Failed, Fetched, Outcome, Page, Purpose, Redirect, State
from thresher.crawler.core.politeness import RETRIES
from thresher.crawler.core.ports import SeenRow
from thresher.crawler.settlement.totals import FETCHED_AGAIN, WALLED, Totals
from thresher.crawler.visit import Visit
from thresher.filters.canary import sighting
from thresher.filters.canary.records import NAME
from thresher.filters.canary.sighting import NOTHING, Shown
from thresher.filters.deliberation import Asked, Learned
from thresher.filters.journal import JournalRecord
from thresher.filters.panel import Panel
from thresher.filters.soft_error.looks import look_of
from thresher.storage.packing import is_elsewhere
from thresher.storage.tables import Tables

_log = logging.getLogger(__name__)
_SITE: Final = 8
_MOST_HOSTS: Final = 3  # hosts of a site from which canaries are asked for because of one finding
_OF_CRAWL: Final = (Purpose.PAGE, Purpose.AUDIT, Purpose.ANNOUNCED)
_NOTHING_LEARNED: Final[Learned] = ((), None)
_encode = msgspec.msgpack.Encoder().encode


class _Finding(NamedTuple):
    """A finding of a filter that waits for canaries."""

    finding: bytes
    hosts: set[bytes]  # queues of the hosts that may still be behind a wall


class Canaries:
    """The settlement's side of the filter canary."""

    def __init__(self, tables: Tables, panel: Panel, totals: Totals) -> None:
        self._tables = tables
        self._panel = panel
        self._totals = totals
        self._not_walled: list[bytes] = []
        self._findings: dict[tuple[bytes, str], _Finding] = {}  # (site, filter) → finding
        self._notes: list[JournalRecord] = []  # records for the journal
        self._part: Any = None
        spec = next((spec for spec in panel.specs if spec.name == NAME), None)
        if spec is not None:  # the filter's module is not imported if it is off
            from thresher.filters.canary.filter import CanaryFilter
            from thresher.filters.canary.news import CanaryRequest, Seen
            from thresher.filters.canary.vocabulary import compare

            assert isinstance(spec.peer_filter, CanaryFilter)
            self._part, self._seen, self._request, self._compare = spec.peer_filter, Seen, CanaryRequest, compare
            self._memory = tables.memory(NAME)

    def on_answer(self, visit: Visit) -> Learned:
        """Report the answer to a URL of the crawl, if it is settled; return what the filter then asks for."""
        url, outcome, queue = visit.lease.entry.url, visit.outcome, visit.lease.queue
        if self._part is None or outcome is None or url.purpose not in _OF_CRAWL:
            return _NOTHING_LEARNED
        row = self._tables.seen.row(url.key)
        if row is None or row.state is State.QUEUED:
            return _NOTHING_LEARNED
        shown = _shown(visit, outcome)
        page, judged = visit.page, visit.deliberation
        is_kept = page is not None and page.status == 200 and judged is not None and judged.judgement.is_new and not page.flags
        of_page = {} if page is None else self._of_page(queue, page, shown.token, is_kept=is_kept)
        via = url.via if url.hops else b""
        return self._told(self._seen(queue, url.key, url.text, shown.token, shown.least, via, is_kept=is_kept, **of_page))

    def _of_page(self, queue: bytes, page: Page, token: bytes, *, is_kept: bool) -> dict[str, Any]:
        """Return those fields of `Seen` that come from a page."""
        speaks, words = self._compare(self._memory, queue, page, is_kept=is_kept)
        wanted = self._part.wanted(queue, self._memory, speaks, token)
        return {
            "look": look_of(page) if is_kept and wanted.look else None,
            "speaks": speaks,
            "words": words,
            "shown": look_of(page) if wanted.shown and sighting.is_page(token) else None,
            "sample": look_of(page) if page.status == 200 and wanted.sample else None,
            "n_links": len(page.links),
        }

    def request(self, queue: bytes, *, is_drained: bool = False) -> Learned:
        """Ask for a canary of a host, because something about it must be decided, or it has nothing else to fetch."""
        return self._told(self._request(queue, is_drained)) if self._part is not None else _NOTHING_LEARNED

    def is_in_doubt(self, queue: bytes) -> bool:
        """Return whether a host has nothing else to fetch and some of its answers may be a wall's."""
        return self._part is not None and self._part.is_in_doubt(queue, self._memory)

    def may_decide(self, queue: bytes) -> bool:
        """Return whether a host is known to be itself (not behind a wall), or this cannot be found out."""
        return self._part is None or not self._panel.enforces(NAME) or self._part.may_decide(queue, self._memory)

    def on_parked(self, effect: ParkWalled) -> None:
        """Count a host that is parked because of a wall."""
        if effect.number == 1:
            self._totals.counters.add(WALLED, 1)
            host = self._tables.queues.host(effect.queue)
            _log.info("a wall answers for %s: it is parked", host.name if host is not None else "a host")

    def on_not_walled(self, effect: NotWalled) -> None:
        """Record a host that is known to be itself."""
        self._not_walled.append(effect.queue)
        if effect.was_walled:
            self._totals.counters.add(WALLED, -1)

    def take_not_walled(self) -> list[bytes]:
        """Return the hosts that the current visit has shown to be themselves."""
        not_walled, self._not_walled = self._not_walled, []
        return not_walled

    def void(self, effect: Void) -> JournalRecord | None:
        """Let filters forget what they learned and concluded while the host was behind a wall; return the record for the journal."""
        site = effect.queue[:_SITE]
        self._findings = {which: finding for which, finding in self._findings.items() if which[0] != site}
        return self._panel.void(site)

    def believe(self, site: bytes) -> JournalRecord | None:
        """Let filters keep what they have learned about a site, unless one of its hosts may be behind a wall; return the record for the
        journal.
        """
        if self._part is None or self._part.is_suspected(site, self._memory):
            return None
        return self._panel.believe(site)

    def waits(self, who: str, site: bytes, finding: bytes) -> Learned | None:
        """Let a finding with permanent effects wait until the site's hosts are known to be themselves; return None if it need not wait.

        It waits in memory and replaces the filter's last one; if it is lost, the filter asks again.
        """
        if self._part is None or not self._panel.reports.adopts(who, site, finding):
            return None
        waiting = self._findings.pop((site, who), None)
        asked_for = self._part.hosts_of(site, self._memory) if waiting is None else sorted(waiting.hosts)
        hosts = [queue for queue in asked_for if not self.may_decide(queue)][:_MOST_HOSTS]
        if not hosts:
            return None
        self._findings[site, who] = _Finding(finding, set(hosts))
        asked: list[Asked] = []
        for queue in hosts:
            effects, record = self.request(queue)
            asked += effects
            self._notes += [record] if record is not None else []
        return tuple(asked), None

    def take_notes(self) -> list[JournalRecord]:
        """Return the journal's records of canaries that were asked for because of findings."""
        notes, self._notes = self._notes, []
        return notes

    def decided(self, queue: bytes) -> list[tuple[str, bytes, bytes]]:
        """Return the findings (filter, site, finding) that waited for this host and may take effect now."""
        site = queue[:_SITE]
        waiting = [(who, found) for (of, who), found in self._findings.items() if of == site and queue in found.hosts]
        for _, found in waiting:
            found.hosts.discard(queue)
        ready = [(who, site, found.finding) for who, found in waiting if not found.hosts]
        for who, *_ in ready:
            del self._findings[site, who]
        return ready

    def fetch_again(self, effect: FetchAgain, requeue: Callable[[bytes, SeenRow], None]) -> list[JournalRecord]:
        """Queue URLs again for which a wall has answered, and forget their answers; return the records for the journal."""
        tables = self._tables
        again = []
        for key in effect.keys:
            row = tables.seen.row(key)
            if row is None or row.state is not State.DONE or self._is_of_round(key):
                continue
            tables.rounds.forget_check(key, keeps_versions=True)
            if not is_elsewhere(row.visit) and tables.pages.read(row.visit) is not None:
                tables.rounds.outdate(row.visit)
            tables.redirects.forget(key)
            tables.verdicts.forget(key)
            tables.failures.forget(key)
            requeue(key, row._replace(visit=0))
            again.append(key)
        self._totals.counters.add(FETCHED_AGAIN, len(again))
        _log.info("%d URLs are fetched again that a wall had answered for", len(again))
        record = self._panel.again(again)
        return [record] if record is not None else []

    def _is_of_round(self, key: bytes) -> bool:
        """Return whether a round has asked for a URL again, or will: its newest answer is not the one in doubt, and versions are kept."""
        check = self._tables.rounds.check(key)
        return (check is not None and check.n_visits > 0) or self._tables.rounds.revisit(key) is not None

    def _told(self, news: object) -> Learned:
        return self._panel.reports.on_news(NAME, _encode(news), news)


def _shown(visit: Visit, outcome: Outcome) -> Shown:
    match outcome:
        case Redirect():
            return sighting.of_redirect(visit.target) if visit.target else NOTHING
        case Failed(cause=cause) if RETRIES[cause].counts_against_host and RETRIES[cause].counts_as_try:
            return sighting.of_failure(cause, outcome.head.status if outcome.head is not None else 0)
        case Fetched(refused=None) if visit.page is not None:
            return sighting.of_page(visit.page)
        case Fetched(refused=reason) if reason is not None:
            return sighting.of_refused(str(reason), outcome.head.status)
        case _:
            return NOTHING
