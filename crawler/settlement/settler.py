"""Settlement: what a visit found becomes state; all of it is written in the commit of the visit.

    host clock · robots · outcome · redirect edge and pairs · links · filter memories · effects · counters

A request is settled by its purpose: each purpose has a journey (journey.py).
Every write goes to the store's open group; a group has only whole visits. Nothing here awaits.
"""

from __future__ import annotations

from thresher.crawler.core.effects import Request
from thresher.crawler.core.frontier import Frontier, Lease
from thresher.crawler.core.model import Cause, CrawlURL, Failed, Purpose
from thresher.crawler.core.ports import SeenRow
from thresher.crawler.gates.link_gate import Sifted, Skip
from thresher.crawler.settlement.admission import Admission
from thresher.crawler.settlement.announcements import Announcements
from thresher.crawler.settlement.archiving import Archiver
from thresher.crawler.settlement.coming_visits import ComingVisits
from thresher.crawler.settlement.effects import Effector
from thresher.crawler.settlement.filter_requests import FilterRequests
from thresher.crawler.settlement.findings import Findings
from thresher.crawler.settlement.journey import Journey
from thresher.crawler.settlement.late_visits import LateVisits
from thresher.crawler.settlement.learning import Learning
from thresher.crawler.settlement.outbox import Outbox
from thresher.crawler.settlement.pages import PageSettlement
from thresher.crawler.settlement.redirect_pairs import RedirectPairs
from thresher.crawler.settlement.requisites import Requisites
from thresher.crawler.settlement.revisits import Revisits
from thresher.crawler.settlement.robots_answers import RobotsAnswers
from thresher.crawler.settlement.seed_labels import SeedLabels
from thresher.crawler.settlement.sitemaps import Sitemaps
from thresher.crawler.settlement.skips import note_skip
from thresher.crawler.settlement.tail_service import TailService
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.version import VERSION
from thresher.crawler.visit import Visit, VisitContext
from thresher.filters.base import LinkJudgement
from thresher.filters.deliberation import Deliberation, Learned
from thresher.storage.archive.peers import PeerCaptures
from thresher.storage.partitions import on_one_disk, shard_path
from thresher.storage.records import PageRecord
from thresher.storage.store import Store
from thresher.storage.tables.requests import Requester


class Settler:
    """Writes visits: the only writer of a crawl's progress, beside the frontier's own rows."""

    def __init__(self, store: Store, frontier: Frontier, context: VisitContext, totals: Totals) -> None:
        self._store = store
        self._frontier = frontier
        self._context = context
        self.totals = totals
        owners, counts_sites = context.ownership, frontier.order.counts_sites
        self.labels = SeedLabels(store, context.settings)
        outbox = Outbox(store.tables, owners, self.labels, counts_sites=counts_sites) if owners is not None else None
        pairs = RedirectPairs(store.tables, context.urls, outbox)
        self._effects = Effector(store.tables, frontier, context, totals, outbox)
        self.learning = Learning(store.tables, context, self._effects, pairs)
        self.admission = Admission(store.tables, frontier, context, totals, self._effects, outbox)
        self.coming = ComingVisits(store, frontier, context)
        learn = self.learning.learn_links
        self.sitemaps = Sitemaps(store, frontier, context, totals, self.labels, outbox=outbox)
        self.announcements = Announcements(store, context, totals, self.admission, self.coming, outbox=outbox, learn=learn)
        self.requisites = Requisites(store, frontier, context, totals, outbox=outbox)
        self.tail_service = TailService(store, context, self._effects, close=self.learning.write)
        self.robots = RobotsAnswers(frontier, context, totals, self.sitemaps, outbox)
        self._pages = PageSettlement(
            store.tables,
            frontier,
            context,
            totals,
            admission=self.admission,
            effects=self._effects,
            learning=self.learning,
            pairs=pairs,
            tail_service=self.tail_service,
            announcements=self.announcements,
            requisites=self.requisites,
            outbox=outbox,
        )
        self._late = LateVisits(store, context, self._effects, self.learning, self._pages, pairs, end=self._follow)
        self._findings = Findings(context, self._effects, self.learning, self.tail_service)
        of_filters = FilterRequests(store.tables, frontier, context, totals, self._effects, self.learning, self._findings)
        self._revisits = Revisits(
            store, frontier, context, totals, self.admission, self.coming, self._effects.aliases, self.requisites, learn=learn
        )
        self._journeys = self._journeys_by_purpose(of_filters)
        directory, others = (store.path.parent if owners.me else store.path, owners.others) if owners is not None else (store.path, [])
        beside = on_one_disk(directory, owners.me, others) if owners is not None and store.archive is not None else []
        peers = PeerCaptures(shard_path(directory, other) for other in beside)
        self._archiver = Archiver(store, context.settings, VERSION, self.labels, peers) if store.archive is not None else None

    def _journeys_by_purpose(self, of_filters: FilterRequests) -> dict[Purpose, Journey]:
        """Return purpose → the journey that settles such requests."""
        return {
            Purpose.PAGE: self._pages,
            Purpose.ANNOUNCED: self._pages,
            Purpose.AUDIT: self._pages,
            Purpose.ROBOTS: self.robots,
            Purpose.PROBE: of_filters,
            Purpose.VALIDATION: of_filters,
            Purpose.CANARY: of_filters,
            Purpose.SITEMAP: self.sitemaps,
            Purpose.REQUISITE: self.requisites,
            Purpose.REVISIT: self._revisits,
        }

    def settle(self, visit: Visit, now: float) -> None:
        """Write one visit and close it."""
        self._end(visit, now)
        self._close(visit, now)

    def settle_soon(self, visit: Visit, now: float) -> None:
        """Write one visit, and close it unless its end may be written later, by `catch_up` (late_visits.py)."""
        may_wait = self._late.may_wait(visit)
        if self._late.must_end_before(visit, may_wait=may_wait):
            self.catch_up()
        if not may_wait:
            self.settle(visit, now)
            return
        self._late.begin(visit, now)
        self._release(visit, now)
        self._store.end_visit()
        if self._late.has_asked:
            self.catch_up()

    @property
    def n_late(self) -> int:
        """Visits whose ends are not written yet."""
        return len(self._late)

    def catch_up(self) -> None:
        """Write the ends of all visits that wait for it."""
        if self._late:
            self._late.catch_up()
            self._store.tables.rounds.prune(self._store.first_uncommitted)

    def _release(self, visit: Visit, now: float) -> None:
        """Archive what a visit has fetched, and let go of what its lease has held up."""
        if self._archiver is not None:
            self._archiver.add(visit, now)
        self.admission.on_unleased(visit.lease.entry.seq)

    def _close(self, visit: Visit, now: float) -> None:
        """Write what follows from a visit whose result is written, and close it."""
        self._release(visit, now)
        self._follow(visit, self._effects.canaries.on_answer(visit), now)
        self._store.tables.rounds.prune(self._store.first_uncommitted)
        self._store.end_visit()

    def _follow(self, visit: Visit, told: Learned, now: float) -> None:
        """Write what follows from a visit after the filter canary was told of it."""
        self.learning.carry_out(told, now)
        self.tail_service.on_settled(visit, now)
        if self._effects.clear_doubts(visit.lease.queue, now):
            self.learning.apply((), now)
        self.coming.on_settled(visit, now)
        self.sitemaps.on_settled(visit, now)
        self._effects.named.release_aliases(visit.lease.entry.url.key)
        if self._store.tables.held.is_releasing or self._store.tables.aliases.is_releasing:
            self.learning.apply((), now)
        self.learning.write(now)

    def _end(self, visit: Visit, now: float) -> None:
        """End the lease: by the result of the URL's request, or of another request that was made or is needed first."""
        lease, outcome = visit.lease, visit.outcome
        journey = self._journeys[lease.entry.url.purpose]
        if visit.robots_of and outcome is not None:
            self.robots.on_answer(visit, outcome, now)
        elif visit.policy_of and outcome is not None:
            self.robots.policy(visit, outcome, now)
        elif outcome is not None:
            journey.on_answer(visit, outcome, now)
        elif visit.held and lease.entry.url.purpose is Purpose.REVISIT:
            self._frontier.skip(lease, now)
            self._revisits.on_rewrite(visit, now)
        elif visit.held:
            self._frontier.skip(lease, now)
            self._effects.hold_at_turn(lease.entry.url, visit.held, now)
            self.learning.apply((), now)
        elif visit.refused is not None:
            self._refuse(visit, visit.refused, journey, now)
        else:
            until, why = visit.deferred or (0.0, "")
            self._frontier.defer(lease, now, until=until, why=why, origin_only=True)

    def _refuse(self, visit: Visit, skip: Skip, journey: Journey, now: float) -> None:
        self._frontier.skip(visit.lease, now)
        note_skip(self._store.tables, self.totals, skip, visit.lease.entry.url.via)
        if visit.saved_by:
            self.totals.count_saved(visit.saved_by)
        journey.on_refusal(visit, skip, now)

    def on_import(self, visit: Visit, now: float) -> None:
        """Write an answer from an archive, whose URL is in no queue, and close the visit."""
        self._pages.on_import(visit, now)
        self.learning.write(now)
        self._store.end_visit()

    def on_answer_of_another(self, visit: Visit, now: float) -> None:
        """Write an answer that another disk has brought, whose URL has left its queue, and close the visit."""
        self._pages.on_import(visit, now)
        self._close(visit, now)

    def on_record(self, lease: Lease, record: PageRecord, sifted: Sifted, now: float) -> None:
        """Write a page that another disk has brought without a body, with the links that were stored there, and close the visit."""
        self._pages.on_record(lease.entry.url, record, sifted, now)
        self._close(Visit(lease), now)

    def on_url_of_another(self, url: CrawlURL, deliberation: Deliberation[LinkJudgement], now: float) -> None:
        """Write a URL that only another disk knew, as the panel judged it, and close the visit."""
        self.admission.admit_judged(url, 0, deliberation, now)
        self.learning.learn((deliberation,), now)
        self.learning.write(now)
        self._store.end_visit()

    def free(self, key: bytes, now: float) -> None:
        """Queue a held URL, whatever holds it; the caller closes the visit."""
        self._effects.free(key, now)

    def unresolvable(self, hostname: str, cause: Cause, detail: str, now: float) -> None:
        """Let the URLs of a host without an address fail, and settle those that have no try left."""
        self.totals.count_failure(cause, terminal=False)
        terminal = self._frontier.unresolvable(hostname, cause, now)
        self._store.end_visit()
        for entry in terminal:
            self._journeys[entry.url.purpose].on_unreachable(entry, Failed(entry.url, cause, detail), now)
            self._effects.on_end(entry.url.key, now, was_asked=True, is_good=False)
            self.coming.on_first(entry.url, now)
            self._effects.named.release_aliases(entry.url.key)
            self.learning.write(now)
            self._store.end_visit()

    def admit_again(self, source: CrawlURL, sifted: Sifted, now: float) -> None:
        """Write the links of a page that was stored before; the caller closes the visit."""
        self.admission.admit(source, sifted, now)
        self.learning.learn((sifted.deliberation,), now)
        self.learning.write(now)

    def admit_foreign(self, source: CrawlURL, sifted: Sifted, gift: float, now: float, *, is_redirect: bool) -> None:
        """Write the links of another agent's page to our sites; the caller closes the visit."""
        self.admission.admit(source, sifted, now, is_redirect=is_redirect, gift=gift)
        self.learning.learn((sifted.deliberation,), now)

    def announce_next(self, now: float) -> None:
        """Admit a chunk of announced URLs, as a separate visit."""
        self.announcements.admit_next(now)
        self.learning.write(now)
        self._store.end_visit()

    def readmit(self, url: CrawlURL, row: SeenRow, deliberation: Deliberation[LinkJudgement], now: float) -> None:
        """Queue a URL that was refused before; the caller closes the visit."""
        self.admission.requeue(url, row, now)
        self.learning.learn((deliberation,), now)
        self.learning.write(now)

    def on_request(self, requester: Requester, effect: Request, now: float) -> None:
        """Handle a filter's request to one of our hosts; the filter may be at another agent."""
        self._effects.request(effect, requester, now)
        self.learning.apply((), now)

    def on_study_end(self, who: str, site: bytes, finding: bytes, now: float) -> None:
        """Let a filter learn from the study that it asked for, as a separate visit."""
        self._findings.on_study_end(who, site, finding, now)
        self.learning.write(now)
        self._store.end_visit()

    def on_finding(self, who: str, site: bytes, finding: bytes, now: float) -> None:
        """Let a filter learn from a study; the caller ends the visit."""
        self.learning.carry_out(self._context.panel.reports.on_finding(who, site, finding), now)
        self.learning.write(now)
