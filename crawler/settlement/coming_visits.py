"""`schedule: continuous`: gives each page that was visited the time of its next visit, in the commit of the visit.

The visit that comes is a request (storage/tables/requests.py) in its host's lane DUE, as the revisits of a round are in FRESH; when it is
due the core decides (crawler/core/revisit_schedule.py), what becomes of it crawler/settlement/revisits.py. A page has at most one
visit before it: while a second look of it waits, its next time is not worked out.
"""

from __future__ import annotations

from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.lastmod import believed, parse_time
from thresher.crawler.core.model import FILTERS_OWN, CrawlURL, Purpose, State
from thresher.crawler.core.ports import Entry, Lane, SeenRow
from thresher.crawler.core.revisit_plans import PagePlan, ScheduledPage
from thresher.crawler.core.revisit_schedule import DAY_S, Options, Schedule, options
from thresher.crawler.core.siblings import Sooner
from thresher.crawler.core.url import queue_name
from thresher.crawler.visit import Visit, VisitContext
from thresher.storage.store import Store
from thresher.storage.tables.rounds import REQUESTER, CheckRecord, RevisitRecord, first_check

_NO_PAGES = (Purpose.ROBOTS, Purpose.SITEMAP, Purpose.REQUISITE, *FILTERS_OWN)
_NOW_S = 3_600.0  # a Last-Modified so near to the answer is the answer's own time
_NOTHING_SHOWN = ("failed", "refused", "missing", "gone")


class ComingVisits:
    """Writes when pages are visited next."""

    def __init__(self, store: Store, frontier: Frontier, context: VisitContext) -> None:
        self._store = store
        self._frontier = frontier
        self._context = context
        self._schedules: dict[Options, Schedule] = {}
        self.is_on = context.settings.schedule == "continuous"

    # -- a page has a time from its first visit on

    def on_settled(self, visit: Visit, now: float) -> None:
        """Give a page its first time if the visit being settled was its first."""
        url = visit.lease.entry.url
        if self.is_on and visit.outcome is not None and url.purpose not in _NO_PAGES and url.purpose is not Purpose.REVISIT:
            self.on_first(url, now)

    def on_first(self, url: CrawlURL, now: float) -> None:
        """Give a URL its first time whose host had no address at its first visit."""
        row = self._store.tables.seen.row(url.key)
        if self.is_on and url.purpose not in _NO_PAGES and row is not None and row.state is State.DONE:
            self.begin(url.key, row, now)

    def begin(self, key: bytes, row: SeenRow, now: float) -> None:
        """Give a known URL its first time, unless it has one or its answer was none to come again for."""
        if self._store.tables.plans.page(key) is not None or self._store.tables.rounds.revisit(key) is not None:
            return
        check = self._store.tables.rounds.check(key) or first_look(self._store, key, row)
        if check is None or not is_worth_a_visit(check, row):
            return
        url = self._url(row)
        page = self._page(url)
        if check.standing == "none":
            plan = PagePlan(check.at)
            self._schedule(url).defer(page, plan, now, why="failed")
        else:
            dated_at, belief = self._dated(url, check)
            plan = self._schedule(url).begin(page, check.at, pace_s=self._pace(url, now)[0], dated_at=dated_at, belief=belief)
        self._queue(url, plan, check, now)

    def _dated(self, url: CrawlURL, check: CheckRecord) -> tuple[float, float]:
        """Return when a page says that it changed last, else its sitemap, and how far that is believed."""
        modified = parse_time(check.last_modified)
        if modified and check.at - modified > _NOW_S:
            return modified, 1.0
        said = self._store.tables.sitemaps.announced(url.key)
        return (said.lastmod, self._belief(url)) if said is not None else (0.0, 0.0)

    def _belief(self, url: CrawlURL) -> float:
        host = self._store.tables.sitemaps.announcer(self._context.urls.queue_key(url.host))
        return believed(host.n_held, host.n_false) if host is not None else 0.0

    # -- and another one from each visit on

    def visited(self, url: CrawlURL, check: CheckRecord, what: str, n_new: int, now: float) -> None:
        """Give a page its next time after a visit.    what: that it showed, as it is counted.    n_new: pages it was the first to name"""
        row = self._store.tables.seen.row(url.key)
        if not self.is_on or row is None or row.state is not State.DONE or self._store.tables.rounds.revisit(url.key) is not None:
            return
        page, plan = self._page(url), self._store.tables.plans.page(url.key) or PagePlan(check.at)
        if what in _NOTHING_SHOWN:
            self._schedule(url).defer(page, plan, now, why="gone" if check.standing == "gone" else what)
        else:
            is_changed = what in ("changed", "new", "moved") or n_new > 0
            pace_s, haste = self._pace(url, now)
            for sooner in self._schedule(url).visited(page, plan, now, is_changed=is_changed, n_new=n_new, pace_s=pace_s, haste=haste):
                self._bring_forward(sooner, now)
        self._queue(self._url(row), plan, check, now)

    def _bring_forward(self, sooner: Sooner, now: float) -> None:
        """Let the next visit of a sibling come sooner, unless it is under way."""
        row, waiting = self._store.tables.seen.row(sooner.key), self._store.tables.rounds.revisit(sooner.key)
        if row is None or waiting is None or waiting.is_audit:
            return
        url, plan = self._url(row), sooner.plan
        if self._frontier.bring_forward(Entry(Lane.DUE, _rank(plan.due), plan.seq, 0, url), _rank(sooner.due), now):
            self._schedule(url).bring_forward(self._page(url), plan, sooner.due, siblings=sooner.siblings)

    def ended(self, url: CrawlURL) -> None:
        """A page is visited no more, and its last visit waits no longer."""
        plan = self._store.tables.plans.page(url.key)
        if plan is not None:
            self._schedule(url).drop(self._page(url), plan)
            self._store.tables.plans.forget_page(url.key)

    def announced(self, key: bytes, lastmod: float, now: float) -> None:
        """A sitemap says when a page has changed last: visit it sooner, as far as its host's dates have held."""
        plan, waiting = self._store.tables.plans.page(key) if self.is_on and lastmod else None, self._store.tables.rounds.revisit(key)
        row = self._store.tables.seen.row(key)
        if plan is None or row is None or waiting is None or waiting.is_audit:
            return
        url = self._url(row)
        due = self._schedule(url).announced(plan, lastmod, self._belief(url), now)
        if due is not None and self._frontier.bring_forward(Entry(Lane.DUE, _rank(plan.due), plan.seq, 0, url), _rank(due), now):
            self._schedule(url).bring_forward(self._page(url), plan, due)

    # -- the schedule has ended

    def close_some(self, limit: int, now: float) -> bool:
        """Take some visits back that wait for their time; return whether there are more."""
        plans = self._store.tables.plans.pages(b"", limit)
        for key, plan in plans:
            row = self._store.tables.seen.row(key)
            assert row is not None, f"{key.hex()} has a time and is not known"
            url = self._url(row)
            waiting = self._store.tables.rounds.revisit(key)
            if waiting is not None and not waiting.is_audit and self._frontier.withdraw(url, plan.seq, due=_rank(plan.due)):
                self._store.tables.requests.pop(plan.seq)
                self._store.tables.rounds.forget_revisit(key)
            self._schedule(url).drop(self._page(url), plan)
            self._store.tables.plans.forget_page(key)
        return len(plans) == limit

    # -- parts

    def _queue(self, url: CrawlURL, plan: PagePlan, check: CheckRecord, now: float) -> None:
        """Let the next visit wait for its time."""
        record = self._store.tables.rounds.last()
        assert record is not None, "a schedule, and no round"
        plan.seq = self._store.tables.requests.add(url, REQUESTER, now)
        self._store.tables.rounds.save_revisit(url.key, RevisitRecord(record.number))
        self._store.tables.rounds.save_check(url.key, check)
        self._store.tables.plans.save_page(url.key, plan)
        refusal = self._frontier.push_visit(Entry(Lane.DUE, _rank(plan.due), plan.seq, 0, url), now)
        assert refusal is None, f"{url.text}: {refusal}, though its host is known"

    def _pace(self, url: CrawlURL, now: float) -> tuple[float, float]:
        """Return the time from one visit of a host to the next, as politeness and `visits_per_day` make it, and how much less it may be."""
        record = self._frontier.record(self._context.urls.queue_key(url.host))
        per_day = self._context.overriding.of_host(queue_name(url.host)).recrawl.visits_per_day
        least_s = max(1e-3, record.next_at - now if record is not None else 1.0)
        pace_s = max(least_s, DAY_S / per_day if per_day else 0.0)
        return pace_s, pace_s / least_s

    def _page(self, url: CrawlURL) -> ScheduledPage:
        return ScheduledPage(url.key, self._context.urls.queue_key(url.host), url.text)

    def _schedule(self, url: CrawlURL) -> Schedule:
        """Return the schedule of a URL's host."""
        of = options(self._context.overriding.of_host(queue_name(url.host)).recrawl)
        return self._schedules.get(of) or self._schedules.setdefault(of, Schedule(self._store.tables.plans, of))

    def _url(self, row: SeenRow) -> CrawlURL:
        known = self._store.tables.seen.record(row.seq)
        place = {"seed_distance": row.seed_distance, "site_depth": row.site_depth, "hops": row.hops}
        return self._context.urls.url(known.text, **place, purpose=Purpose.REVISIT, via=known.via)


def first_look(store: Store, key: bytes, row: SeenRow) -> CheckRecord | None:
    """Return what the first visit of a URL has shown; None if it was never answered by a page, a redirect or a failure."""
    page = store.tables.pages.read(row.visit)
    if page is not None:
        return first_check(page, row.visit)
    if (edge := store.tables.redirects.edge(key)) is not None:
        return CheckRecord(edge.found_at, 1, edge.status, "redirect")
    failure = store.tables.failures.get(key)
    return None if failure is None else CheckRecord(failure.at, 1, failure.status, "none", failed=failure.reason)


def is_worth_a_visit(check: CheckRecord, row: SeenRow) -> bool:
    """Return whether a URL that is not gone is visited again without being asked for: not what was missing, forbidden or refused."""
    return check.standing != "none" or (row.reason is None and not 400 <= check.status < 500)


def _rank(due: float) -> int:
    return int(due * 1e6)
