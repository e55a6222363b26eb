"""When is a page to be visited again? `schedule: continuous`: its next visit is a time.

    a visit ─► evidence of the page and of its patterns ─► rate of change ─► interval, by the host's multiplier ─► due
               (change_rate.py)                                             (revisit_policy.py)

A page's rate has its patterns' rates as its prior, so one that was seen once inherits its siblings'. What a host gives is measured: where
visits are due, the time between two of them; else what politeness would make it. The multiplier that shares this out among the host's
pages is worked out from their number by rate, in half octaves, again when these have changed by an eighth.

The longest interval is a deadline, whatever the policy. A visit that is due waits for its turn behind those that were due before it, but
times are given only where the host has room (core/visit_load.py): so that this takes no longer than a quarter of a round, in which the host
visits all of its pages once, or a sixteenth of the longest interval. A page is due so long before its deadline, and a twentieth of the
longest interval earlier, for which new URLs may go first (core/host_queue.py). Only while a host's pages come to take much more than half
of the longest interval, those that were given their time before may come late. A host that cannot visit all of its pages within the longest
interval is told, in `status` and when a crawl ends.

A visit is due before its interval is over, by a tenth of a round: it waits for its turn for that long, so that a host whose visits fall
together is not idle between them. Times are spread a little by a hash, or a page that changes at noon would always be visited at noon;
the latest are not, so that they stay in the order of the visits before.

    no answer                         after the shortest interval, then twice as long each time
    missing                           on the next day (another 404 makes it gone)
    gone; refused by robots or scope  after the longest interval; gone: twice as long each time
    a sitemap says that it changed    sooner, by as far as its host's dates have held
    a sibling has changed             sooner, as far as they change together (siblings.py)

A page that was brought forward is visited next after one half to three halves of its interval: so siblings come by turns, and not together
again, and one of them soon sees their next change.

Pages that lead to new pages weigh more: 1 and the new pages that its last visits found, 10 at most.

Pure: records are read and written through `PlanStore`, which says how large they are. Time: 0.4 ms a visit, most of it the estimates of its
patterns; for a page that has changed 5 ms at most, where many siblings are looked at.
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
MOST_FAMILIES: Final = 500  # patterns of a host whose visits are counted
_KEPT: Final = 0.92  # weight that a page's older visits keep with each further one
_HALF_LIVES: Final = 3.0  # longest intervals after which what a pattern has shown weighs a third
_LEAST_GAP_S: Final = 1e-3
_SPREAD: Final = 0.1  # of an interval, within which a visit comes
_QUEUE: Final = (
    0.1  # of a round of the host's pages, for which a visit may wait for its turn: so that the host is never idle for want of one
)
_MOST_NEWS: Final = 9.0
_GAP_KEPT: Final = 0.9
_SOONER: Final = 0.9  # a sitemap moves a visit if it comes so much sooner
_MOST_DOUBLINGS: Final = 12
_EXTRA_NOTED: Final = 0.01  # weight of a visit in the share of those that come for siblings


class Options(NamedTuple):
    """How pages are visited again."""

    policy: Policy
    bounds: Intervals


def options(recrawl: RecrawlSettings) -> Options:
    """Return what the configuration says of it."""
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
            pace_s: seconds from one request of its host to the next, as politeness makes it.
            dated_at: when it changed last, as it or a sitemap says; 0: nothing is said.
            belief: how far that is believed, 0 to 1.
        """
        plan = PagePlan(visited_at)
        if 0.0 < dated_at < visited_at and belief > 0.0:
            plan.evidence.dated(min(visited_at - dated_at, self._bounds.most_s), belief)
        host = self._plans.host(page.queue)
        host.gap_s = host.gap_s or pace_s
        self._plans.enlist(page.queue, place_of(page.text, page.key))
        self._place(page, plan, host, visited_at)
        return plan

    def visited(
        self, page: ScheduledPage, plan: PagePlan, now: float, *, is_changed: bool, n_new: int, pace_s: float, haste: float = 1.0
    ) -> list[Sooner]:
        """Learn from a visit that has shown whether a page has changed, and give it its next time; return which siblings shall come sooner.

        Args:
            n_new: Pages it led to first.
            haste: How many times as fast its host may be asked for a while.
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
            node.family.evidence.visited(interval, is_changed=is_changed, own=own)
        plan.evidence.fade(_KEPT)
        plan.evidence.visited(interval, is_changed=is_changed, own=own)
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
        """Give a page a time after a visit that showed nothing of it.

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

    def announced(self, plan: PagePlan, changed_at: float, belief: float, now: float) -> float | None:
        """A sitemap says when a page has changed last; return when its visit is due for that, None if that is not sooner."""
        if not belief or not plan.visited_at < changed_at <= now or plan.why not in ("first", "changed", "unchanged"):
            return None
        due = max(now, plan.visited_at + max(self._bounds.least_s, (1.0 - belief) * (plan.due - plan.visited_at)))
        return due if due - plan.visited_at <= _SOONER * (plan.due - plan.visited_at) else None

    def bring_forward(self, page: ScheduledPage, plan: PagePlan, due: float, *, siblings: tuple[str, int, int] | None = None) -> None:
        """Let a page be due sooner.

        Args:
            siblings: For which, None if a sitemap says so.
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
        """Let a page have no time any more; the caller deletes its plan."""
        host = self._plans.host(page.queue)
        host.drop(plan)
        self._plans.strike(page.queue, place_of(page.text, page.key))
        self._plans.save_host(page.queue, host)

    # -- how

    def _place(self, page: ScheduledPage, plan: PagePlan, host: HostPlan, now: float, *, is_spread: bool = False) -> None:
        """Estimate a page's rate, and give it its time.

        Args:
            is_spread: It was visited together with its siblings, and shall not be again: one of them is to see their next change early.
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
        """Return the bounds of a host's intervals, by which no page waits for its turn beyond its deadline."""
        least, most = self._bounds
        return Intervals(least, max(least, (1.0 - VISIT_WAITS - 2.0 / SLICES) * most - self._longest_wait_s(host)))

    def _longest_wait_s(self, host: HostPlan) -> float:
        """Return for how long a visit that is due may wait for its turn."""
        return max(WAITING * host.round_s, WAITING_S * self._bounds.most_s)

    def _room(self, host: HostPlan, now: float, haste: float = 1.0) -> list[float]:
        """Return how many more visits of a host may be due in each slice of time to come."""
        gap_s = max(host.gap_s / haste, _LEAST_GAP_S)
        return host.load.room(now, gap_s, 1.0 + self._longest_wait_s(host) / gap_s)

    def _set_due(self, host: HostPlan, plan: PagePlan, due: float) -> None:
        """Give a page its time, as its host counts it.    due: 0 for none"""
        host.load.slice_s = host.load.slice_s or self._bounds.most_s / SLICES
        host.load.move(plan.due, due)
        plan.due = due

    def _inherited(self, page: ScheduledPage, now: float) -> float:
        """Return the rate of a page of which nothing is known but its URL."""
        known = (self._plans.family(page.queue, pattern) for pattern in branch(page.text))
        return inherited((self._faded(family, now).evidence for family in known if family is not None), self._first_rate)

    def _nodes(self, page: ScheduledPage, host: HostPlan, now: float) -> list[PatternNode]:
        """Return what is known of a page's patterns, the most general first."""
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
        """Let what a pattern has shown weigh less as time goes by: not by visits, or pages that change often would drown the others."""
        family.evidence.fade(math.exp(-max(0.0, now - family.at) / (_HALF_LIVES * self._bounds.most_s)))
        family.at = max(now, family.at)
        return family

    def _note_gap(self, host: HostPlan, plan: PagePlan, now: float, pace_s: float) -> None:
        """Learn how often the host can be asked: as it was, where this visit had to wait for its turn; else as politeness has it."""
        is_late = now - plan.due > host.gap_s and host.last_at >= plan.due - host.gap_s
        gap = max(pace_s, now - host.last_at) if is_late else pace_s
        host.gap_s = _GAP_KEPT * host.gap_s + (1.0 - _GAP_KEPT) * gap if host.gap_s else gap
        host.last_at = now

    def _work_out(self, host: HostPlan) -> None:
        """Work the multiplier out anew if the pages or the time for them have changed by an eighth."""
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
        """Return the share of a host's pages, 0 to 1, that are thought to be as they were at their last visit."""
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
