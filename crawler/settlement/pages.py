"""Settles the request of a page: writes its record and body, its links, the edge of a redirect, or why there is none of these."""

from __future__ import annotations

from typing import Final

from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.model import CrawlURL, Failed, Fetched, Judgement, Outcome, Reason, Redirect, State
from thresher.crawler.core.ports import Entry
from thresher.crawler.gates.link_gate import Sifted, Skip, presentable
from thresher.crawler.settlement.admission import Admission
from thresher.crawler.settlement.announcements import Announcements
from thresher.crawler.settlement.effects import Effector
from thresher.crawler.settlement.learning import Learning
from thresher.crawler.settlement.outbox import Outbox
from thresher.crawler.settlement.page_record import failure_record, page_record, partial_answer, refusal_record, unread_page
from thresher.crawler.settlement.redirect_pairs import RedirectPairs
from thresher.crawler.settlement.requisites import Requisites
from thresher.crawler.settlement.skips import note_skip
from thresher.crawler.settlement.tail_service import TailService
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.visit import Visit, VisitContext
from thresher.filters.capabilities import Relinks
from thresher.storage.records import PageRecord
from thresher.storage.tables import Tables

_LEADS_ON: Final = frozenset((301, 302, 303, 307, 308))  # statuses of redirects; a page with such a status has no target
_NOT_FETCHED: Final = (State.QUEUED, State.HELD)


class PageSettlement:
    """Settles pages. A `Journey`."""

    def __init__(
        self,
        tables: Tables,
        frontier: Frontier,
        context: VisitContext,
        totals: Totals,
        *,
        admission: Admission,
        effects: Effector,
        learning: Learning,
        pairs: RedirectPairs,
        tail_service: TailService,
        announcements: Announcements,
        requisites: Requisites,
        outbox: Outbox | None,
    ) -> None:
        """Create the settlement of pages.

        Args:
            outbox: Messages to the other agents; None: there are none.
        """
        self._tables = tables
        self._frontier = frontier
        self._context = context
        self._totals = totals
        self._admission = admission
        self._effects = effects
        self._learning = learning
        self._pairs = pairs
        self._tail_service = tail_service
        self._announcements = announcements
        self._requisites = requisites
        self._outbox = outbox

    def on_answer(self, visit: Visit, outcome: Outcome, now: float) -> None:
        """Handle an answer, a failure, or a redirect."""
        if visit.asks_again and isinstance(outcome, Redirect) and visit.target == outcome.url.text:
            self._totals.request(outcome.wire_bytes)
            self._frontier.defer(visit.lease, now, requested=outcome)
        elif visit.gives_way and isinstance(outcome, Failed):
            self._give_way(visit, outcome, now)
        else:
            self._end(visit, outcome, now)

    def on_refusal(self, visit: Visit, skip: Skip, now: float) -> None:
        """Handle a page that is forbidden before any request."""
        url = visit.lease.entry.url
        self._tables.seen.settle(url.key, State.REFUSED, skip.reason)
        self._learning.settle_pairs(url, 0, b"", now)

    def on_unreachable(self, entry: Entry, failure: Failed, now: float) -> None:
        """Handle that the last try found no address."""
        self._fail(entry.url, failure, entry.attempt + 1, now)

    def on_import(self, visit: Visit, now: float) -> None:
        """Write an answer from an archive; its URL is in no queue."""
        url, outcome = visit.lease.entry.url, visit.outcome
        assert outcome is not None
        self._totals.request(outcome.wire_bytes)
        match outcome:
            case Failed():
                self._fail(url, outcome, 1, now)
            case Redirect():
                self._redirect(visit, outcome, now)
            case Fetched():
                self._frontier.count_imported(url)
                self._on_fetched(visit, outcome, now)

    def on_record(self, url: CrawlURL, record: PageRecord, sifted: Sifted, now: float) -> None:
        """Write a page of which only the record and the links are left; its URL is in no queue."""
        self._totals.request(record.wire_bytes)
        self._frontier.count_imported(url)
        self._keep(record, b"")
        self._tables.seen.settle(url.key, State.DONE, Reason.REDIRECT_INVALID if record.status in _LEADS_ON else None)
        numbers = self._admission.admit(url, sifted, now)
        if record.follow:
            self._tables.links.put(numbers)
        self._learning.learn((sifted.deliberation,), now)
        self._learning.settle_pairs(url, record.status, record.fingerprint, now)

    def _end(self, visit: Visit, outcome: Outcome, now: float) -> None:
        entry = visit.lease.entry
        self._totals.request(outcome.wire_bytes)
        for name in visit.said:
            self._totals.count_would_save(name)
        is_page = isinstance(outcome, Fetched) and outcome.refused is None
        retry = self._frontier.finish(visit.lease, outcome, now, is_page=is_page)
        match outcome:
            case Failed() if retry is not None:
                self._totals.count_failure(outcome.cause, terminal=False)
                self._tables.failures.put(entry.url.key, failure_record(outcome, retry.attempt, now, final=False))
            case Failed():
                self._fail(entry.url, outcome, entry.attempt + 1, now)
            case Redirect():
                self._redirect(visit, outcome, now)
            case Fetched(refused=None):
                self._on_fetched(visit, outcome, now)
            case Fetched():
                self._on_unwanted(entry.url, outcome, now)

    def _give_way(self, visit: Visit, outcome: Failed, now: float) -> None:
        """Handle a seed without a scheme that cannot be reached by https: request its http form instead."""
        self._totals.request(outcome.wire_bytes)
        self._totals.count_failure(outcome.cause, terminal=False)
        self._frontier.skip(visit.lease, now, requested=outcome)
        self._admission.give_way(visit.lease.entry.url, outcome, now)

    def _fail(self, url: CrawlURL, outcome: Failed, attempts: int, now: float) -> None:
        """Handle the last failed try: record why, and keep the error page or partial body if there is one."""
        self._totals.count_failure(outcome.cause, terminal=True)
        self._tables.failures.put(url.key, failure_record(outcome, attempts, now))
        if (answer := partial_answer(url, outcome)) is not None:
            self._keep(page_record(answer, None, "", None, now, failure=outcome), outcome.body)
        self._tables.seen.settle(url.key, State.DONE)
        self._learning.settle_pairs(url, answer.head.status if answer is not None else 0, b"", now)

    def _on_unwanted(self, url: CrawlURL, outcome: Fetched, now: float) -> None:
        """Handle a body that a head gate refused: the URL is done, its answer is not a page."""
        assert outcome.refused is not None
        status = outcome.head.status
        self._tables.failures.put(url.key, refusal_record(outcome, now))
        note_skip(self._tables, self._totals, Skip(url.text, outcome.refused, outcome.refused_by), url.via)
        self._totals.status(status)
        self._tables.seen.settle(url.key, State.DONE, outcome.refused)
        self._learning.learn((self._context.panel.unread(unread_page(outcome)),), now)
        self._learning.settle_pairs(url, status, b"", now)

    def begin(self, visit: Visit, outcome: Fetched, now: float) -> None:
        """Write the answer to the request of a page; what filters learn from it, and `on_learned`, follow."""
        self._totals.request(outcome.wire_bytes)
        for name in visit.said:
            self._totals.count_would_save(name)
        self._frontier.finish(visit.lease, outcome, now, is_page=True)
        self._write(visit, outcome, "", now)

    def _on_fetched(self, visit: Visit, outcome: Fetched, now: float) -> None:
        page, deliberation, url = visit.page, visit.deliberation, visit.lease.entry.url
        assert page is not None
        assert deliberation is not None
        of_class = self._effects.class_of_links(url.key, deliberation.judgement)
        self._write(visit, outcome, of_class, now)
        self._learning.learn((deliberation, visit.sifted.deliberation if visit.sifted is not None else None), now)
        self.on_learned(visit, of_class, now)
        self._learning.settle_pairs(url, page.status, page.fingerprint, now)

    def _write(self, visit: Visit, outcome: Fetched, of_class: str, now: float) -> None:
        """Write a page and its links.

        Args:
            of_class: The class of its new links, "" if there is none.
        """
        page, deliberation, url = visit.page, visit.deliberation, visit.lease.entry.url
        assert page is not None
        assert deliberation is not None
        stated = self._context.ai.of(url, outcome.head.headers, page.directives.signals)
        record = page_record(outcome, page, visit.charset, deliberation.judgement, now, ai=stated)
        is_kept = deliberation.judgement.keep and not self._context.ai.disallows(url, stated)
        self._keep(record, outcome.body if is_kept else b"", visit.sha256)
        self._announcements.on_page(url, outcome.head, now)
        self._requisites.on_page(visit, now)
        self._tables.seen.settle(url.key, State.DONE, Reason.REDIRECT_INVALID if page.status in _LEADS_ON else None)
        numbers = self._admission.admit(url, visit.sifted or Sifted(), now, of_class=of_class)
        if deliberation.judgement.follow:
            self._tables.links.put(numbers)
        for verdict in deliberation.judgement.verdicts:
            if not verdict.keep:
                is_enforced = self._context.panel.enforces(verdict.filter, url.text)
                (self._totals.count_saved if is_enforced else self._totals.count_would_save)(verdict.filter)

    def on_learned(self, visit: Visit, of_class: str, now: float) -> None:
        """Do what follows once all filters have learned from a page."""
        assert visit.deliberation is not None
        sifted = visit.sifted or Sifted()
        self._name_again(visit.lease.entry.url, sifted, visit.deliberation.judgement, now)
        if self._tail_service.is_good(visit) and not of_class:
            self._effects.release_inherited([key for key, row, _ in sifted.known if row.state is State.HELD], now)

    def _name_again(self, url: CrawlURL, sifted: Sifted, judgement: Judgement, now: float) -> None:
        """Report to filters which queued or held URLs a page named."""
        if sifted.known and self._context.panel.wants_relinks(url):
            keys = [key for key, row, _ in sifted.known if row.state in _NOT_FETCHED]
            if keys:
                self._learning.learn((self._context.panel.relinks(Relinks(url, keys), judgement),), now)

    def _keep(self, record: PageRecord, body: bytes, sha256: bytes = b"") -> None:
        """Store a record, and its body if bodies are stored and there is one."""
        self._tables.pages.put(record, body if body and self._context.overriding.of(record.url).store.bodies else None, sha256)
        self._totals.page(record.status)
        self._totals.needs_browser(record.flags)

    def _redirect(self, visit: Visit, outcome: Redirect, now: float) -> None:
        """Write the edge, whatever becomes of the target; queue the target if it is new."""
        url, target = outcome.url, visit.target
        self._totals.redirect(outcome.head.status)
        key = self._context.urls.key(target) if target else b""
        if visit.asks_again:
            self._ask_again(target, key, now)
        self._tables.redirects.put(url.key, key, target or presentable(outcome.target)[:2048], outcome.head.status, now)
        self._tables.seen.settle(url.key, State.DONE, visit.refused.reason if visit.refused else None)
        if visit.refused is not None:
            note_skip(self._tables, self._totals, visit.refused, url.key)
        if visit.sifted is not None:
            is_new = self._tables.seen.row(key) is None
            self._admission.admit(url, visit.sifted, now, is_redirect=True)
            if is_new and (row := self._tables.seen.row(key)) is not None and row.state is State.QUEUED:
                self._effects.tails.passes_on(url.key, key)
            self._learning.learn((visit.sifted.deliberation,), now)
        if target and self._outbox is not None:
            self._outbox.edge(url.key, key, target, outcome.head.status)
        if target:
            self._learning.judge_pairs(self._pairs.on_redirect(url, target, now), now)
        else:
            self._learning.settle_pairs(url, outcome.head.status, b"", now)

    def _ask_again(self, text: str, key: bytes, now: float) -> None:
        """Queue a URL again whose answer was a redirect: its chain came back to it with a cookie."""
        row = self._tables.seen.row(key)
        if row is not None and row.state is State.DONE and self._tables.redirects.edge(key) is not None:
            self._tables.redirects.forget(key)
            place = {"seed_distance": row.seed_distance, "site_depth": row.site_depth, "hops": row.hops}
            via = self._tables.seen.record(row.seq).via
            self._admission.requeue(self._context.urls.url(text, **place, purpose=row.purpose, via=via), row, now)
