"""Decides when a page is visited again, for `schedule: continuous`: each page has the time of its next visit.

    a visit ─► evidence of the page and of its patterns ─► rate of change ─► interval, by the host's multiplier ─► due
               (change_rate.py)                                             (revisit_policy.py)

A page's rate has its patterns' rates as its prior, so a page that was visited once inherits its siblings' rate. How many visits a host
allows is measured as the time between two visits while visits are due; otherwise it follows from politeness. The multiplier that shares the
visits among the host's pages is computed from the number of pages by rate, in half octaves, and again when these have changed by an eighth.

The longest interval is a deadline, whatever the policy. A due visit waits for its turn after those that were due before it. But times are
only given where the host has room (core/visit_load.py), so that this wait is at most a quarter of a round (in which all pages of the host
are visited once), or a sixteenth of the longest interval. A page is due so long before its deadline, and another twentieth of the longest
interval earlier, for which new URLs may go first (core/host_queue.py). Only when a host's pages begin to need much more than half of the
longest interval, pages that got their time before may be late. A host that cannot visit all of its pages within the longest interval is
reported in `status` and when a crawl ends.

A visit is due a tenth of a round before its interval is over, since it waits for its turn, and so a host whose visits come together is not
idle in between. Times are varied a little by a hash, otherwise a page that changes at noon would always be visited at noon; times at the
deadline are not, so that they stay in order.

    no answer                         after the shortest interval, then twice as long each time
    missing                           on the next day (another 404 makes it gone)
    gone; refused by robots or scope  after the longest interval; gone: twice as long each time
    a sitemap says that it changed    earlier, as far as its host's dates have been true
    a sibling has changed             earlier, as far as they change together (siblings.py)

After a page was moved forward, its next visit comes after one half to three halves of its interval: so siblings are visited in turn and not
together again, and one of them soon sees their next change.

Pages that lead to new pages have a larger weight: 1 plus the number of new pages that recent visits found, at most 10.

Pure: records are read and written through `PlanStore`, which says how large they are. Time: 0.4 ms a visit, most of it the estimates of its
patterns; for a changed page at most 5 ms, if many siblings are examined.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import xxhash

from thresher.config.settings import RecrawlSettings
from thresher.crawler.core.change_rate import Prior, estimate, freshness, inherited
from thresher.crawler.core.politeness import VISIT_WAITS
from thresher.crawler.core.revisit_plans import FamilyPlan, HostPlan, PagePlan, PlanStore, ScheduledPage
from thresher.crawler.core.revisit_policy import Intervals, Policy, Share, interval_s, multiplier
from thresher.crawler.core.siblings import ChangeLook, PatternNode, Siblings, Sooner, place_of
from thresher.crawler.core.url_tree import branch
from thresher.crawler.core.visit_load import SLICES, WAITING, WAITING_S

DAY_S: Final = 86_400.0
MOST_FAMILIES: Final = 500  # most patterns of a host whose visits are counted
_KEPT: Final = 0.92  # share of their weight that a page's older visits keep with each further one
_HALF_LIVES: Final = 3.0  # number of longest intervals after which a pattern's evidence has a third of its weight
_LEAST_GAP_S: Final = 1e-3
_SPREAD: Final = 0.1  # share of an interval by which the time of a visit varies
_QUEUE: Final = 0.1  # share of a round that a visit may wait for its turn, so that the host is never idle
_MOST_NEWS: Final = 9.0
_GAP_KEPT: Final = 0.9
_SOONER: Final = 0.9  # a sitemap moves a visit only to below this share of the remaining time
_MOST_DOUBLINGS: Final = 12
_EXTRA_NOTED: Final = 0.01  # weight of one visit in the share of visits that are made because of siblings


class Options(NamedTuple):
    """The options of the schedule."""

    policy: Policy
    bounds: Intervals


def options(recrawl: RecrawlSettings) -> Options:
    """Return the options of a configuration."""
    return Options(recrawl.policy, Intervals(min(recrawl.min_interval, recrawl.max_interval), recrawl.max_interval))


class Schedule:
    """Learns from visits, and gives each page a time."""

    def __init__(self, plans: PlanStore, options: Options) -> None:
        self._plans = plans
        self._siblings = Siblings(plans)
        self._options = options
        self._bounds = options.bounds
        self._first_rate = 1.0 / math.sqrt(self._bounds.least_s * self._bounds.most_s)

    def begin(self, page: ScheduledPage, visited_at: float, *, pace_s: float, dated_at: float = 0.0, belief: float = 1.0) -> PagePlan:
        """Give a page its first time after its first visit.

        Args:
            pace_s: Seconds from one request of its host to the next, by politeness.
            dated_at: When it changed last, by itself or a sitemap, in seconds since the epoch; 0: not known.
            belief: How far that is trusted, 0 to 1.
        """
        plan = PagePlan(visited_at)
        if 0.0 < dated_at < visited_at and belief > 0.0:
            plan.evidence.on_date(min(visited_at - dated_at, self._bounds.most_s), belief)
        host = self._plans.host(page.queue)
        host.gap_s = host.gap_s or pace_s
        self._plans.enlist(page.queue, place_of(page.text, page.key))
        self._place(page, plan, host, visited_at)
        return plan

    def on_visit(
        self, page: ScheduledPage, plan: PagePlan, now: float, *, is_changed: bool, n_new: int, pace_s: float, haste: float = 1.0
    ) -> list[Sooner]:
        """Learn from a visit that has shown whether a page has changed, and give it its next time; return the siblings to visit earlier.

        Args:
            n_new: Number of pages to which it was the first to link.
            haste: How many times faster its host may be requested for a while.
        """
        interval = max(1.0, now - plan.visited_at)
        host = self._plans.host(page.queue)
        self._note_gap(host, plan, now, pace_s)
        self._plans.enlist(page.queue, place_of(page.text, page.key))
        nodes = self._nodes(page, host, now)
        look = ChangeLook(
            page, plan.visited_at, now, plan.rate, plan.often, is_changed, plan.siblings[0] if plan.siblings is not None else None
        )
        own = self._siblings.learn(look, nodes)
        for node in nodes:
            node.family.evidence.on_visit(interval, is_changed=is_changed, own=own)
        plan.evidence.fade(_KEPT)
        plan.evidence.on_visit(interval, is_changed=is_changed, own=own)
        plan.often += (is_changed - plan.often) * (1.0 - _KEPT)
        plan.news += (n_new - plan.news) * (1.0 - _KEPT) * 2.0
        was_sooner = plan.siblings is not None
        extra = max(0.0, 1.0 - interval / max(1.0, plan.interval_s)) if was_sooner else 0.0
        host.extra += (extra - host.extra) * _EXTRA_NOTED
        plan.visited_at, plan.n_failed, plan.siblings = now, 0, None
        plan.why = "changed" if is_changed else "unchanged"
        self._place(page, plan, host, now, is_spread=was_sooner)
        sooner = self._siblings.sooner(look, nodes, self._bounds.least_s, int(self._room(host, now, haste)[0])) if is_changed else []
        for node in nodes:
            self._plans.save_family(page.queue, node.pattern, node.family)
        return sooner

    def defer(self, page: ScheduledPage, plan: PagePlan, now: float, *, why: str) -> None:
        """Give a page a time after a visit that did not show its content.

        Args:
            why: Failed, refused, missing or gone.
        """
        least, most = self._bounds
        host = self._plans.host(page.queue)
        host.last_at = now
        plan.n_failed = min(plan.n_failed + 1, _MOST_DOUBLINGS) if why == plan.why else 1
        if why == "missing":
            wait = max(least, (now // DAY_S + 1) * DAY_S - now)
        elif why == "failed":
            wait = min(most, least * 2.0 ** (plan.n_failed - 1))
        elif why == "gone":
            wait = most * 2.0 ** (plan.n_failed - 1)
        else:
            wait = most
        plan.why, plan.interval_s = why, wait
        self._set_due(host, plan, now + wait)
        host.count(plan, None)
        self._plans.save_host(page.queue, host)
        self._plans.save_page(page.key, plan)

    def on_lastmod(self, plan: PagePlan, changed_at: float, belief: float, now: float) -> float | None:
        """Handle a sitemap's time of a page's last change; return when its visit is due because of it, None if that is not earlier."""
        if not belief or not plan.visited_at < changed_at <= now or plan.why not in ("first", "changed", "unchanged"):
            return None
        due = max(now, plan.visited_at + max(self._bounds.least_s, (1.0 - belief) * (plan.due - plan.visited_at)))
        return due if due - plan.visited_at <= _SOONER * (plan.due - plan.visited_at) else None

    def bring_forward(self, page: ScheduledPage, plan: PagePlan, due: float, *, siblings: tuple[str, int, int] | None = None) -> None:
        """Make a page due earlier.

        Args:
            siblings: Why: (pattern, siblings that changed, siblings that were visited); None: because of a sitemap.
        """
        host = self._plans.host(page.queue)
        self._set_due(host, plan, due)
        if siblings is None:
            plan.why = "announced"
        else:
            plan.siblings = siblings
        self._plans.save_host(page.queue, host)
        self._plans.save_page(page.key, plan)

    def drop(self, page: ScheduledPage, plan: PagePlan) -> None:
        """Remove a page from the schedule; the caller deletes its plan."""
        host = self._plans.host(page.queue)
        host.drop(plan)
        self._plans.strike(page.queue, place_of(page.text, page.key))
        self._plans.save_host(page.queue, host)

    # -- parts

    def _place(self, page: ScheduledPage, plan: PagePlan, host: HostPlan, now: float, *, is_spread: bool = False) -> None:
        """Estimate a page's rate, and give it its time.

        Args:
            is_spread: Whether it was visited together with its siblings, and shall not be so again, so that one of them sees their next
                change early.
        """
        plan.rate = estimate(plan.evidence, Prior(self._inherited(page, now)))
        host.count(plan, _bin(plan.rate), 1.0 + min(_MOST_NEWS, plan.news))
        self._work_out(host)
        within = self._within(host)
        wanted = interval_s(self._options.policy, plan.rate, plan.weight, host.multiplier, within)
        if is_spread:
            plan.interval_s, early_s = min(within.most_s, max(within.least_s, wanted * (0.5 + _lot(page.key, now)))), 0.0
        elif wanted >= within.most_s:
            plan.interval_s, early_s = within.most_s, 0.0
        else:
            plan.interval_s = min(within.most_s, max(within.least_s, wanted * (1.0 + _SPREAD * (_lot(page.key, now) - 0.5))))
            early_s = _QUEUE * host.round_s
        wanted = now + max(within.least_s, plan.interval_s - early_s)
        self._set_due(host, plan, 0.0)
        self._set_due(host, plan, host.load.place(wanted, now + within.most_s, now, self._room(host, now)))
        self._plans.save_host(page.queue, host)
        self._plans.save_page(page.key, plan)

    def _within(self, host: HostPlan) -> Intervals:
        """Return the bounds of a host's intervals for which no page waits for its turn beyond its deadline."""
        least, most = self._bounds
        return Intervals(least, max(least, (1.0 - VISIT_WAITS - 2.0 / SLICES) * most - self._longest_wait_s(host)))

    def _longest_wait_s(self, host: HostPlan) -> float:
        """Return how long a due visit may wait for its turn, in seconds."""
        return max(WAITING * host.round_s, WAITING_S * self._bounds.most_s)

    def _room(self, host: HostPlan, now: float, haste: float = 1.0) -> list[float]:
        """Return how many more visits of a host may be due in each future slice of time."""
        gap_s = max(host.gap_s / haste, _LEAST_GAP_S)
        return host.load.room(now, gap_s, 1.0 + self._longest_wait_s(host) / gap_s)

    def _set_due(self, host: HostPlan, plan: PagePlan, due: float) -> None:
        """Set the time of a page, and count it for its host; `due` 0: none."""
        host.load.slice_s = host.load.slice_s or self._bounds.most_s / SLICES
        host.load.move(plan.due, due)
        plan.due = due

    def _inherited(self, page: ScheduledPage, now: float) -> float:
        """Return the rate of a page of which only the URL is known."""
        known = (self._plans.family(page.queue, pattern) for pattern in branch(page.text))
        return inherited((self._faded(family, now).evidence for family in known if family is not None), self._first_rate)

    def _nodes(self, page: ScheduledPage, host: HostPlan, now: float) -> list[PatternNode]:
        """Return the records of a page's patterns, the most general first."""
        nodes = []
        for pattern in branch(page.text):
            family = self._plans.family(page.queue, pattern)
            if family is None:
                if host.n_families >= MOST_FAMILIES:
                    break
                host.n_families += 1
                family = FamilyPlan(now)
            nodes.append(PatternNode(pattern, self._faded(family, now)))
        return nodes

    def _faded(self, family: FamilyPlan, now: float) -> FamilyPlan:
        """Reduce the weight of a pattern's evidence by time, and not by visits: otherwise pages that change often would dominate."""
        family.evidence.fade(math.exp(-max(0.0, now - family.at) / (_HALF_LIVES * self._bounds.most_s)))
        family.at = max(now, family.at)
        return family

    def _note_gap(self, host: HostPlan, plan: PagePlan, now: float, pace_s: float) -> None:
        """Learn how often the host can be requested: as measured if this visit had to wait for its turn, else by politeness."""
        is_late = now - plan.due > host.gap_s and host.last_at >= plan.due - host.gap_s
        gap = max(pace_s, now - host.last_at) if is_late else pace_s
        host.gap_s = _GAP_KEPT * host.gap_s + (1.0 - _GAP_KEPT) * gap if host.gap_s else gap
        host.last_at = now

    def _work_out(self, host: HostPlan) -> None:
        """Compute the multiplier again if the pages or the time for them have changed by an eighth."""
        is_fresh = 8 * host.n_stale <= host.n_pages and abs(host.gap_s - host.worked_out_at) <= host.gap_s / 8
        if is_fresh and host.worked_out_at:
            return
        shares = [Share(n, _rate_of(at), weight / n) for at, (n, weight) in host.shares.items()]
        host.multiplier = multiplier(self._options.policy, shares, (1.0 - host.extra) / max(host.gap_s, _LEAST_GAP_S), self._within(host))
        host.n_stale, host.worked_out_at = 0, host.gap_s

    def is_in_time(self, host: HostPlan) -> bool:
        """Return whether a host can visit each of its pages within the longest interval."""
        return host.round_s <= (1.0 - VISIT_WAITS) * self._bounds.most_s

    def expected_freshness(self, host: HostPlan) -> float:
        """Return the estimated share of a host's pages, 0 to 1, that are as they were at their last visit."""
        policy, within = self._options.policy, self._within(host)
        total = sum(
            n * freshness(_rate_of(at), interval_s(policy, _rate_of(at), 1.0, host.multiplier, within))
            for at, (n, _) in host.shares.items()
        )
        return float(total / host.n_pages) if host.shares else 1.0


def _bin(rate: float) -> int:
    return round(2 * math.log2(rate * DAY_S))


def _rate_of(at: int) -> float:
    return math.pow(2.0, at / 2) / DAY_S


def _lot(key: bytes, now: float) -> float:
    """Return a number from 0 to 1 that differs from page to page and from visit to visit."""
    lot: int = xxhash.xxh3_64_intdigest(key + int(now).to_bytes(8, "big"))
    return lot / (1 << 64)
