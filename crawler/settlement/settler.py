"""Settlement: what a visit found out becomes state, all of it in the visit's own commit.

    host clock · robots · outcome · redirect edge and pairs · links · filter memories · effects · counters

Every write goes to the store's open group; a group holds whole visits only. Nothing here awaits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thresher.crawler.children.crash_suspects import answer_work, finding_work
from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.model import (
    FILTERS_OWN,
    Answer,
    Cause,
    CrawlURL,
    Failed,
    Fetched,
    Judgement,
    Outcome,
    Purpose,
    Reason,
    Redirect,
    RedirectPair,
    Request,
    State,
)
from thresher.crawler.core.ports import Entry
from thresher.crawler.gates.link_gate import Sifted, Skip, presentable
from thresher.crawler.settlement.admission import Admission
from thresher.crawler.settlement.archiving import Archiver
from thresher.crawler.settlement.effects import Effector
from thresher.crawler.settlement.outbox import Outbox
from thresher.crawler.settlement.page_record import failure_record, page_record, partial_answer, refusal_record, unread_page
from thresher.crawler.settlement.redirect_pairs import Pairs
from thresher.crawler.settlement.requisites import Requisites
from thresher.crawler.settlement.revisits import Revisits
from thresher.crawler.settlement.robots_answers import RobotsAnswers
from thresher.crawler.settlement.sitemaps import Sitemaps
from thresher.crawler.settlement.tail_service import TailService
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.version import VERSION
from thresher.crawler.visit import Visit, VisitContext
from thresher.filters.base import Gate, LinkJudgement, Relinks
from thresher.filters.panel import Asked, Deliberation, Learned, Record
from thresher.storage.schema import PageRecord, QuarantineRecord, SeenRow
from thresher.storage.store import Store
from thresher.storage.tables.journal import TAIL
from thresher.storage.tables.requests import Asker

_LEADS_ON = frozenset((301, 302, 303, 307, 308))  # a page with such a status does not say where to
_NOT_FETCHED = (State.QUEUED, State.HELD)


class Settler:
    """Writes visits. The only writer of a crawl's progress, beside the frontier's own rows."""

    def __init__(self, store: Store, frontier: Frontier, context: VisitContext, totals: Totals) -> None:
        self._store = store
        self._frontier = frontier
        self._context = context
        self.totals = totals
        owners, counts_sites = context.ownership, frontier.order.counts_sites
        self._outbox = Outbox(store.tables, owners, counts_sites=counts_sites) if owners is not None else None
        self._effects = Effector(store.tables, frontier, context, totals, self._outbox)
        self.admission = Admission(store.tables, frontier, context, totals, self._effects, self._outbox)
        self.sitemaps = Sitemaps(store, frontier, context, totals, self.admission, outbox=self._outbox, learn=self._learn_links)
        self.revisits = Revisits(store, frontier, context, totals, self.admission, learn=self._learn_links)
        self.requisites = Requisites(store, frontier, context, totals, outbox=self._outbox)
        self.tail_service = TailService(store, context, self._effects, close=self.close)
        self.robots = RobotsAnswers(frontier, context, totals, self.sitemaps, self._outbox)
        self._pairs = Pairs(store.tables, context.urls, self._outbox)
        self._archiver = Archiver(store, context.settings, VERSION) if store.archive is not None else None
        self._notes: list[Record] = []  # of the visit being settled, for the journal

    def settle(self, visit: Visit, now: float) -> None:
        """Write one visit and close it."""
        purpose = visit.lease.entry.url.purpose
        if visit.robots_of:
            self.robots.on_answer(visit, now)
        elif visit.policy_of and visit.outcome is not None:
            self.robots.policy(visit, visit.outcome, now)
        elif visit.outcome is None:
            self._without_request(visit, now)
        elif purpose in FILTERS_OWN:
            self._answer(visit, visit.outcome, now)
        elif purpose is Purpose.SITEMAP:
            self.sitemaps.on_answer(visit, visit.outcome, now)
        elif purpose is Purpose.REVISIT:
            self.revisits.on_answer(visit, visit.outcome, now)
        elif visit.asks_again and isinstance(visit.outcome, Redirect) and visit.target == visit.outcome.url.text:
            self.totals.request(visit.outcome.wire_bytes)
            self._frontier.defer(visit.lease, now, requested=visit.outcome)
        elif purpose is Purpose.REQUISITE:
            self.requisites.on_answer(visit, visit.outcome, now)
        elif visit.gives_way and isinstance(visit.outcome, Failed):
            self._give_way(visit, visit.outcome, now)
        else:
            self._page(visit, visit.outcome, now)
        if self._archiver is not None:
            self._archiver.add(visit, now)
        self.admission.on_unleased(visit.lease.entry.seq)
        self.tail_service.on_settled(visit, now)
        self._effects.release_aliases(visit.lease.entry.url.key)
        if self._store.tables.held.is_releasing or self._store.tables.aliases.is_releasing:
            self._carry_out((), now)
        self._store.tables.rounds.prune(self._store.first_uncommitted)
        self.close(now)
        self._store.end_visit()

    def on_import(self, visit: Visit, now: float) -> None:
        """Write an answer that an archive has, whose URL waits in no queue, and close it."""
        url, outcome = visit.lease.entry.url, visit.outcome
        assert outcome is not None
        self.totals.request(outcome.wire_bytes)
        match outcome:
            case Failed():
                self._fail(url, outcome, 1, now)
            case Redirect():
                self._redirect(visit, outcome, now)
            case Fetched():
                self._on_fetched(visit, outcome, now)
        self.close(now)
        self._store.end_visit()

    def unresolvable(self, hostname: str, cause: Cause, detail: str, now: float) -> None:
        """Let the URLs whose host has no address fail, and write the end of those that have no try left."""
        self.totals.count_failure(cause, terminal=False)
        terminal = self._frontier.unresolvable(hostname, cause, now)
        self._store.end_visit()
        for entry in terminal:
            self._on_lost(entry, cause, detail, now)
            self._effects.on_end(entry.url.key, was_asked=True, is_good=False)
            self._effects.release_aliases(entry.url.key)
            self.close(now)
            self._store.end_visit()

    def admit_again(self, source: CrawlURL, sifted: Sifted, now: float) -> None:
        """Write the links of a page that was stored before; the caller closes the visit."""
        self.admission.admit(source, sifted, now)
        self._learn((sifted.deliberation,), now)
        self.close(now)

    def admit_foreign(self, source: CrawlURL, sifted: Sifted, gift: float, now: float, *, is_redirect: bool) -> None:
        """Write what a page of another agent names of our sites; the caller closes the visit."""
        self.admission.admit(source, sifted, now, is_redirect=is_redirect, gift=gift)
        self._learn((sifted.deliberation,), now)

    def on_foreign_redirect(self, original: bytes, target: str, now: float) -> None:
        """A URL of another agent redirects to one of ours."""
        self._judge_pairs(self._pairs.on_foreign_redirect(original, target, now), now)

    def on_foreign_end(self, original: bytes, hops: int, target: CrawlURL, status: int, fingerprint: bytes, now: float) -> None:
        """The chain of redirects that leaves us at `original` has come to its end."""
        self._judge_pairs(self._pairs.on_foreign_end(original, hops, target, status, fingerprint, now), now)

    def announce_next(self, now: float) -> None:
        """Admit some of what sitemaps announce: a visit of its own."""
        self.sitemaps.admit_next(now)
        self.close(now)
        self._store.end_visit()

    def readmit(self, url: CrawlURL, row: SeenRow, deliberation: Deliberation[LinkJudgement], now: float) -> None:
        """Queue a URL that was refused before; the caller closes the visit."""
        self.admission.requeue(url, row, now)
        self._learn((deliberation,), now)
        self.close(now)

    def close(self, now: float) -> None:
        """Write the visit's journal, and what it changed of tails."""
        self._effects.worthless.clear()
        self._effects.tails.save()
        if note := self._effects.tails.take_note(now):
            self._notes.append(Record(Gate.TAIL, b"", [(TAIL, note)]))
        if self._notes:
            self._store.tables.journal.put(self._notes)
            self._notes = []

    def on_request(self, asker: Asker, effect: Request, now: float) -> None:
        """A filter, perhaps at another agent, asks for a request to one of our hosts."""
        self._effects.request(effect, asker, now)
        self._carry_out((), now)

    def carry_out(self, learned: Learned, now: float) -> None:
        """A filter has learned otherwise than by judging."""
        asked, record = learned
        if record is not None:
            self._notes.append(record)
        self._carry_out(asked, now)

    def on_study_end(self, who: str, site: bytes, finding: bytes, now: float) -> None:
        """Let a filter learn from the study that it asked for, unless that killed an earlier life; a visit of its own."""
        self._context.suspects.attempt(
            finding_work(who, site),
            lambda: self.on_finding(who, site, finding, now),
            lambda why: QuarantineRecord("finding", f"findings of {who}", now, why, payload=finding, who=who, site=site),
        )
        self._store.end_visit()

    def on_finding(self, who: str, site: bytes, finding: bytes, now: float) -> None:
        """Let a filter learn from a study; the caller ends the visit."""
        self.carry_out(self._context.panel.on_finding(who, site, finding), now)
        self.close(now)

    # -- what became of the lease

    def _without_request(self, visit: Visit, now: float) -> None:
        """The URL was refused or held, or deferred, before any request."""
        if visit.held:
            self._frontier.skip(visit.lease, now)
            self._effects.hold_at_turn(visit.lease.entry.url, visit.held, now)
            self._carry_out((), now)
        elif visit.refused is not None:
            self._frontier.skip(visit.lease, now)
            self._note_skip(visit.refused, visit.lease.entry.url.via)
            if visit.saved_by:
                self.totals.count_saved(visit.saved_by)
            if visit.lease.entry.url.purpose is Purpose.SITEMAP:
                self.sitemaps.on_given_up(visit.lease.entry, f"not requested: {visit.refused.reason} ({visit.refused.by})")
            elif visit.lease.entry.url.purpose is Purpose.REVISIT:
                self.revisits.on_given_up(visit.lease.entry, f"not requested: {visit.refused.reason} ({visit.refused.by})", now)
            elif visit.lease.entry.url.purpose is Purpose.REQUISITE:
                self.requisites.on_given_up(visit.lease.entry, f"{visit.refused.reason} {visit.refused.by}", now)
            elif visit.lease.entry.url.purpose not in FILTERS_OWN:
                self._store.tables.seen.settle(visit.lease.entry.url.key, State.REFUSED, visit.refused.reason)
                self._settle_pairs(visit.lease.entry.url, 0, b"", now)
            else:
                self._reply(visit, now)
        else:
            until, why = visit.deferred or (0.0, "")
            self._frontier.defer(visit.lease, now, until=until, why=why, origin_only=True)

    def _answer(self, visit: Visit, outcome: Outcome, now: float) -> None:
        """A filter's own request was answered: only that filter learns."""
        self.totals.request(outcome.wire_bytes)
        if self._frontier.finish(visit.lease, outcome, now, is_page=False) is None:
            self._reply(visit, now)

    def _reply(self, visit: Visit, now: float) -> None:
        entry, outcome = visit.lease.entry, visit.outcome
        target = self._context.urls.url(visit.target, purpose=entry.url.purpose) if visit.target else None
        status = outcome.head.status if outcome is not None and outcome.head is not None else 0
        self._tell(entry, Answer(entry.url, now, visit.page, status, target, visit.failure), now)

    def _tell(self, entry: Entry, answer: Answer, now: float) -> None:
        """Tell the filter that asked how its request has ended; one whose answer killed an earlier life is not told."""
        asker, url = self._store.tables.requests.pop(entry.seq), answer.url
        assert asker is not None, f"nobody asked for request {entry.seq} of {url.text}"
        self._context.suspects.attempt(
            answer_work(entry.seq),
            lambda: self.carry_out(self._effects.on_answer(asker, answer), now),
            lambda why: QuarantineRecord(
                "answer", f"answers to requests of {asker.who}", now, why, who=asker.stored, url=url.text, purpose=url.purpose
            ),
        )

    def _give_way(self, visit: Visit, outcome: Failed, now: float) -> None:
        """A seed given without a scheme cannot be reached by https: its http form is asked for in its place."""
        self.totals.request(outcome.wire_bytes)
        self.totals.count_failure(outcome.cause, terminal=False)
        self._frontier.skip(visit.lease, now, requested=outcome)
        self.admission.give_way(visit.lease.entry.url, outcome, now)

    def _page(self, visit: Visit, outcome: Outcome, now: float) -> None:
        entry = visit.lease.entry
        self.totals.request(outcome.wire_bytes)
        for name in visit.said:
            self.totals.count_would_save(name)
        is_page = isinstance(outcome, Fetched) and outcome.refused is None
        retry = self._frontier.finish(visit.lease, outcome, now, is_page=is_page)
        match outcome:
            case Failed() if retry is not None:
                self.totals.count_failure(outcome.cause, terminal=False)
                self._store.tables.failures.put(entry.url.key, failure_record(outcome, retry.attempt, now, final=False))
            case Failed():
                self._fail(entry.url, outcome, entry.attempt + 1, now)
            case Redirect():
                self._redirect(visit, outcome, now)
            case Fetched(refused=None):
                self._on_fetched(visit, outcome, now)
            case Fetched():
                self._on_unwanted(entry.url, outcome, now)

    # -- what became of the URL

    def _on_lost(self, entry: Entry, cause: Cause, detail: str, now: float) -> None:
        failure = Failed(entry.url, cause, detail)
        if entry.url.purpose in FILTERS_OWN:
            self._tell(entry, Answer(entry.url, now, failure=str(cause)), now)
        elif entry.url.purpose is Purpose.SITEMAP:
            self.sitemaps.on_given_up(entry, f"{cause}: {detail}")
        elif entry.url.purpose is Purpose.REVISIT:
            self.revisits.unreachable(entry, failure, now)
        elif entry.url.purpose is Purpose.REQUISITE:
            self.requisites.on_given_up(entry, f"{cause} {detail}", now, state="failed")
        elif entry.url.purpose is Purpose.ROBOTS:
            self.robots.no_hop(failure, now)
        else:
            self._fail(entry.url, failure, entry.attempt + 1, now)

    def _fail(self, url: CrawlURL, outcome: Failed, attempts: int, now: float) -> None:
        """No more tries: say why, and keep an error's or a partial body if there is one."""
        self.totals.count_failure(outcome.cause, terminal=True)
        self._store.tables.failures.put(url.key, failure_record(outcome, attempts, now))
        if (answer := partial_answer(url, outcome)) is not None:
            self._keep(page_record(answer, None, "", None, now, failure=outcome), outcome.body)
        self._store.tables.seen.settle(url.key, State.DONE)
        self._settle_pairs(url, answer.head.status if answer is not None else 0, b"", now)

    def _on_unwanted(self, url: CrawlURL, outcome: Fetched, now: float) -> None:
        """A head gate refused the body: the URL is done, its answer is no page."""
        assert outcome.refused is not None
        status = outcome.head.status
        self._store.tables.failures.put(url.key, refusal_record(outcome, now))
        self._note_skip(Skip(url.text, outcome.refused, outcome.refused_by), url.via)
        self.totals.status(status)
        self._store.tables.seen.settle(url.key, State.DONE, outcome.refused)
        self._learn((self._context.panel.unread(unread_page(outcome)),), now)
        self._settle_pairs(url, status, b"", now)

    def _on_fetched(self, visit: Visit, outcome: Fetched, now: float) -> None:
        page, deliberation, url = visit.page, visit.deliberation, visit.lease.entry.url
        assert page is not None
        assert deliberation is not None
        stated = self._context.ai.of(url, outcome.head.headers, page.directives.signals)
        record = page_record(outcome, page, visit.charset, deliberation.judgement, now, ai=stated)
        is_kept = deliberation.judgement.keep and not self._context.ai.disallows(stated)
        self._keep(record, outcome.body if is_kept else b"")
        self.sitemaps.on_page(url, outcome.head, now)
        self.requisites.on_page(visit, now)
        self._store.tables.seen.settle(url.key, State.DONE, Reason.REDIRECT_INVALID if page.status in _LEADS_ON else None)
        sifted = visit.sifted or Sifted()
        of_class = self._effects.class_of_links(url.key, deliberation.judgement)
        numbers = self.admission.admit(url, sifted, now, of_class=of_class)
        if deliberation.judgement.follow:
            self._store.tables.links.put(numbers)
        for verdict in deliberation.judgement.verdicts:
            if not (verdict.keep and verdict.follow):
                count = self.totals.count_saved if self._context.panel.enforces(verdict.filter) else self.totals.count_would_save
                count(verdict.filter)
        self._learn((deliberation, sifted.deliberation), now)
        self._name_again(url, sifted, deliberation.judgement, now)
        if self.tail_service.is_good(visit) and not of_class:
            self._effects.release_inherited([key for key, row, _ in sifted.known if row.state is State.HELD], now)
        self._settle_pairs(url, page.status, page.fingerprint, now)

    def _name_again(self, url: CrawlURL, sifted: Sifted, judgement: Judgement, now: float) -> None:
        """Let filters hear which waiting or held URLs a page named."""
        if sifted.known and self._context.panel.wants_relinks(url):
            keys = [key for key, row, _ in sifted.known if row.state in _NOT_FETCHED]
            if keys:
                self._learn((self._context.panel.relinks(Relinks(url, keys), judgement),), now)

    def _keep(self, record: PageRecord, body: bytes) -> None:
        """Store a record, with its body if bodies are stored and there is one."""
        self._store.tables.pages.put(record, body if body and self._context.settings.store.bodies else None)
        self.totals.page(record.status)
        self.totals.needs_browser(record.flags)

    def _redirect(self, visit: Visit, outcome: Redirect, now: float) -> None:
        """Write the edge whatever becomes of the target; queue the target if it is new."""
        url, target = outcome.url, visit.target
        self.totals.redirect(outcome.head.status)
        key = self._context.urls.key(target) if target else b""
        if visit.asks_again:
            self._ask_again(target, key, now)
        self._store.tables.redirects.put(url.key, key, target or presentable(outcome.target)[:2048], outcome.head.status, now)
        self._store.tables.seen.settle(url.key, State.DONE, visit.refused.reason if visit.refused else None)
        if visit.refused is not None:
            self._note_skip(visit.refused, url.key)
        if visit.sifted is not None:
            is_new = self._store.tables.seen.row(key) is None
            self.admission.admit(url, visit.sifted, now, is_redirect=True)
            if is_new and (row := self._store.tables.seen.row(key)) is not None and row.state is State.QUEUED:
                self._effects.tails.passes_on(url.key, key)
            self._learn((visit.sifted.deliberation,), now)
        if target and self._outbox is not None:
            self._outbox.edge(url.key, key, target, outcome.head.status)
        if target:
            self._judge_pairs(self._pairs.on_redirect(url, target, now), now)
        else:
            self._settle_pairs(url, outcome.head.status, b"", now)

    def _ask_again(self, text: str, key: bytes, now: float) -> None:
        """Queue a URL whose answer was a redirect: the chain that has come back to it brings a cookie."""
        row = self._store.tables.seen.row(key)
        if row is not None and row.state is State.DONE and self._store.tables.redirects.edge(key) is not None:
            self._store.tables.redirects.forget(key)
            place = {"seed_distance": row.seed_distance, "site_depth": row.site_depth, "hops": row.hops}
            via = self._store.tables.seen.record(row.seq).via
            self.admission.requeue(self._context.urls.url(text, **place, purpose=row.purpose, via=via), row, now)

    # -- filters

    def _learn(self, deliberations: Iterable[Deliberation[Any] | None], now: float) -> None:
        """Let the filters observe, write the journal, then do what they ask for."""
        asked: list[Asked] = []
        for deliberation in deliberations:
            if deliberation is not None:
                effects, record = self._context.panel.learn(deliberation)
                asked += [*deliberation.effects, *effects]
                if record is not None:
                    self._notes.append(record)
        self._carry_out(asked, now)

    def _learn_links(self, deliberation: Deliberation[LinkJudgement], now: float) -> None:
        self._learn((deliberation,), now)

    def _carry_out(self, asked: Iterable[Asked], now: float) -> None:
        """Do what filters ask for; a URL that thereby needs no request any more is the end of the redirects that lead to it."""
        settled, notes = self._effects.apply(asked, now)
        self._notes += notes
        for url in settled:
            self._settle_pairs(url, 0, b"", now)

    def _settle_pairs(self, url: CrawlURL, status: int, fingerprint: bytes, now: float) -> None:
        self._judge_pairs(self._pairs.on_end(url, status, fingerprint, now), now)

    def _judge_pairs(self, pairs: Iterable[RedirectPair], now: float) -> None:
        for pair in pairs:
            deliberation = self._context.panel.redirect(pair)
            for verdict in deliberation.judgement.verdicts:
                if not (verdict.keep and verdict.follow):
                    self._store.tables.verdicts.revise(pair.original.key, verdict, now)
            self._learn((deliberation,), now)

    def _note_skip(self, skip: Skip, via: bytes) -> None:
        self.totals.skip(skip.reason)
        self._store.tables.skips.add(skip.text, skip.reason, via=via, by=skip.by)
