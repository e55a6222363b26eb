"""`schedule: continuous`: gives each page that was visited the time of its next visit, in the commit of the visit.

The next visit is a request (storage/tables/requests.py) in its host's lane DUE (the revisits of a round are in FRESH). Its time is decided
by crawler/core/revisit_schedule.py; crawler/settlement/revisits.py settles it. A page has at most one planned visit: while a second look at
it waits, no time is computed.
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
_NOW_S = 3_600.0  # seconds: a Last-Modified so close to the answer's time is the time of the answer itself
_NOTHING_SHOWN = ("failed", "refused", "missing", "gone")


class ComingVisits:
    """Plans the next visits of pages."""

    def __init__(self, store: Store, frontier: Frontier, context: VisitContext) -> None:
        self._store = store
        self._frontier = frontier
        self._context = context
        self._schedules: dict[Options, Schedule] = {}
        self.is_on = context.settings.schedule == "continuous"

    # -- the first time of a page

    def on_settled(self, visit: Visit, now: float) -> None:
        """Give a page its first time if the visit being settled was its first."""
        url = visit.lease.entry.url
        if self.is_on and visit.outcome is not None and url.purpose not in _NO_PAGES and url.purpose is not Purpose.REVISIT:
            self.on_first(url, now)

    def on_first(self, url: CrawlURL, now: float) -> None:
        """Give a URL its first time if its host had no address at its first visit."""
        row = self._store.tables.seen.row(url.key)
        if self.is_on and url.purpose not in _NO_PAGES and row is not None and row.state is State.DONE:
            self.begin(url.key, row, now)

    def begin(self, key: bytes, row: SeenRow, now: float) -> None:
        """Give a known URL its first time, unless it has one or its answer is not worth another visit."""
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
        """Return (time of the last change by the page or else its sitemap, how far it is believed, 0 to 1)."""
        modified = parse_time(check.last_modified)
        if modified and check.at - modified > _NOW_S:
            return modified, 1.0
        said = self._store.tables.sitemaps.announced(url.key)
        return (said.lastmod, self._belief(url)) if said is not None else (0.0, 0.0)

    def _belief(self, url: CrawlURL) -> float:
        host = self._store.tables.sitemaps.announcer(self._context.urls.queue_key(url.host))
        return believed(host.n_held, host.n_false) if host is not None else 0.0

    # -- the next time, after each visit

    def on_visit(self, url: CrawlURL, check: CheckRecord, what: str, n_new: int, now: float) -> None:
        """Give a page its next time after a visit.

        Args:
            url: The page.
            check: What its visits have shown.
            what: The result of this visit, as it is counted.
            n_new: Number of pages that it was the first to name.
            now: Seconds since the epoch.
        """
        row = self._store.tables.seen.row(url.key)
        if not self.is_on or row is None or row.state is not State.DONE or self._store.tables.rounds.revisit(url.key) is not None:
            return
        page, plan = self._page(url), self._store.tables.plans.page(url.key) or PagePlan(check.at)
        if what in _NOTHING_SHOWN:
            self._schedule(url).defer(page, plan, now, why="gone" if check.standing == "gone" else what)
        else:
            is_changed = what in ("changed", "new", "moved") or n_new > 0
            pace_s, haste = self._pace(url, now)
            for sooner in self._schedule(url).on_visit(page, plan, now, is_changed=is_changed, n_new=n_new, pace_s=pace_s, haste=haste):
                self._bring_forward(sooner, now)
        self._queue(self._url(row), plan, check, now)

    def _bring_forward(self, sooner: Sooner, now: float) -> None:
        """Plan the next visit of a similar page earlier, unless it is under way."""
        row, waiting = self._store.tables.seen.row(sooner.key), self._store.tables.rounds.revisit(sooner.key)
        if row is None or waiting is None or waiting.is_audit:
            return
        url, plan = self._url(row), sooner.plan
        if self._frontier.bring_forward(Entry(Lane.DUE, _rank(plan.due), plan.seq, 0, url), _rank(sooner.due), now):
            self._schedule(url).bring_forward(self._page(url), plan, sooner.due, siblings=sooner.siblings)

    def on_end(self, url: CrawlURL) -> None:
        """Handle a page that is visited no more: remove its planned visit."""
        plan = self._store.tables.plans.page(url.key)
        if plan is not None:
            self._schedule(url).drop(self._page(url), plan)
            self._store.tables.plans.forget_page(url.key)

    def on_lastmod(self, key: bytes, lastmod: float, now: float) -> None:
        """Handle a sitemap's date of a page's last change: plan its visit earlier, as far as dates of its host have been true."""
        plan, waiting = self._store.tables.plans.page(key) if self.is_on and lastmod else None, self._store.tables.rounds.revisit(key)
        row = self._store.tables.seen.row(key)
        if plan is None or row is None or waiting is None or waiting.is_audit:
            return
        url = self._url(row)
        due = self._schedule(url).on_lastmod(plan, lastmod, self._belief(url), now)
        if due is not None and self._frontier.bring_forward(Entry(Lane.DUE, _rank(plan.due), plan.seq, 0, url), _rank(due), now):
            self._schedule(url).bring_forward(self._page(url), plan, due)

    # -- after the schedule has ended

    def close_some(self, limit: int, now: float) -> bool:
        """Remove up to `limit` planned visits; return whether there are more."""
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
        """Queue the next visit for its time."""
        record = self._store.tables.rounds.last()
        assert record is not None, "a schedule, and no round"
        plan.seq = self._store.tables.requests.add(url, REQUESTER, now)
        self._store.tables.rounds.save_revisit(url.key, RevisitRecord(record.number))
        self._store.tables.rounds.save_check(url.key, check)
        self._store.tables.plans.save_page(url.key, plan)
        refusal = self._frontier.push_visit(Entry(Lane.DUE, _rank(plan.due), plan.seq, 0, url), now)
        assert refusal is None, f"{url.text}: {refusal}, though its host is known"

    def _pace(self, url: CrawlURL, now: float) -> tuple[float, float]:
        """Return (seconds from one visit of a host to the next by politeness and `visits_per_day`, least seconds that are allowed)."""
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
    """Return the result of a URL's first visit; None if it had no page, redirect or failure."""
    page = store.tables.pages.read(row.visit)
    if page is not None:
        return first_check(page, row.visit)
    if (edge := store.tables.redirects.edge(key)) is not None:
        return CheckRecord(edge.found_at, 1, edge.status, "redirect")
    failure = store.tables.failures.get(key)
    return None if failure is None else CheckRecord(failure.at, 1, failure.status, "none", failed=failure.reason)


def is_worth_a_visit(check: CheckRecord, row: SeenRow) -> bool:
    """Return whether a URL that is not gone is visited again by default: not if it was missing, forbidden or refused."""
    return check.standing != "none" or (row.reason is None and not 400 <= check.status < 500)


def _rank(due: float) -> int:
    return int(due * 1e6)
