"""What becomes of an answered robots.txt: the rules of its origins are written, and the hosts that have waited for them go on.

It is asked for in the place of a page, as the first URL of its origin, or as a hop of one that was redirected, also for another agent.
"""

from __future__ import annotations

from collections.abc import Iterable

from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.model import Cause, CrawlURL, Failed, Outcome, Redirect
from thresher.crawler.core.politeness import RETRIES
from thresher.crawler.core.ports import Entry
from thresher.crawler.gates.link_gate import Skip
from thresher.crawler.gates.robots_cache import PeerAsking, RobotsWaiter
from thresher.crawler.settlement.outbox import Outbox
from thresher.crawler.settlement.sitemaps import Sitemaps
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.visit import Visit, VisitContext

ROBOTS_HOP_WAIT_S = 600.0  # how long a host waits for a robots.txt that was redirected


class RobotsAnswers:
    """Writes them."""

    def __init__(self, frontier: Frontier, context: VisitContext, totals: Totals, sitemaps: Sitemaps, outbox: Outbox | None) -> None:
        """Create the robots answers.

        Args:
            outbox: To the other agents, if there are any.
        """
        self._frontier = frontier
        self._context = context
        self._totals = totals
        self._sitemaps = sitemaps
        self._outbox = outbox

    def on_answer(self, visit: Visit, outcome: Outcome, now: float) -> None:
        """A robots.txt has been answered: in the place of a page, or as a hop of a redirected one."""
        lease, robots = visit.lease, self._context.robots
        self._totals.request(outcome.wire_bytes, robots=True)
        if isinstance(outcome, Failed):
            self._totals.count_failure(outcome.cause, terminal=False)
        if isinstance(outcome, Failed) and not RETRIES[outcome.cause].counts_as_try:
            self._later(visit, outcome, now)
            return
        hop = robots.hop(visit.robots_of, outcome) if isinstance(outcome, Redirect) else None
        until, why = (
            (now + ROBOTS_HOP_WAIT_S, "robots.txt redirected") if hop else self._learn(visit.robots_of, outcome, now, lease.entry.url)
        )
        if visit.deferred is not None:
            self._frontier.defer(lease, now, until=until, why=why, requested=outcome, origin_only=hop is None)
        else:
            self._frontier.finish(lease, outcome, now, is_page=False)
            self._wake(() if hop else visit.robots_of, now)
        if hop is not None and self._outbox is not None and not self._outbox.is_own(hop.key):
            self._outbox.ask(hop)
        elif hop is not None and not self._frontier.request_ahead(hop, now):
            self.no_hop(Failed(hop, Cause.UNREACHABLE, "redirected to a host that is parked"), now)

    def _later(self, visit: Visit, failure: Failed, now: float) -> None:
        """The fault is on our side of the wire: it says nothing about the file, which is asked for again."""
        self._totals.count_failure(failure.cause, terminal=False)
        if visit.deferred is not None:
            self._frontier.defer(visit.lease, now, why=str(failure.cause), requested=failure)
            return
        self._frontier.finish(visit.lease, failure, now, is_page=False)
        self._context.robots.wait_for(failure.url, visit.robots_of)
        if not self._frontier.request_ahead(failure.url, now):
            self.no_hop(failure, now)

    def on_refusal(self, visit: Visit, skip: Skip, now: float) -> None:
        """No rule holds for a robots.txt."""
        raise AssertionError(f"{skip.text}: a robots.txt was refused as {skip.reason}")

    def on_unreachable(self, entry: Entry, failure: Failed, now: float) -> None:
        """The last try of a hop found no address."""
        self.no_hop(failure, now)

    def no_hop(self, failure: Failed, now: float) -> None:
        """A robots.txt was redirected to a host that cannot be asked: the origins that wait for it are told that it is unreachable."""
        waiting = self._context.robots.waiting_for(failure.url)
        self._learn(waiting, failure, now)
        self._wake(waiting, now)

    def on_hop_answer(self, hop: CrawlURL, outcome: Outcome, now: float) -> None:
        """A hop of a robots.txt was answered by the agent that has its host."""
        waiting = self._context.robots.waiting_for(hop)
        self._learn(waiting, outcome, now)
        self._wake(waiting, now)

    def _wake(self, waiting: Iterable[RobotsWaiter], now: float) -> None:
        """Let the hosts go on that have waited for their rules."""
        for origin in waiting:
            if not isinstance(origin, PeerAsking):
                self._frontier.wake(self._context.urls.queue_key(origin), now)

    def _learn(self, waiting: Iterable[RobotsWaiter], outcome: Outcome, now: float, asked_for: CrawlURL | None = None) -> tuple[float, str]:
        """Write the rules of the origins; return until when their hosts wait, and why.

        Args:
            asked_for: What was to be requested.
        """
        until, why = 0.0, ""
        for origin in waiting:
            if isinstance(origin, PeerAsking):
                if self._outbox is not None:
                    self._outbox.answer(origin, outcome)
                continue
            record = self._context.robots.learn(origin, outcome, now)
            self._sitemaps.on_robots(origin, record, asked_for, now)
            self._frontier.set_crawl_delay(self._context.urls.queue_key(origin), self._context.robots.queue_delay(origin))
            if record.kind == "unreachable":
                until, why = record.expires_at, "robots.txt unreachable"
        return until, why

    def policy(self, visit: Visit, outcome: Outcome, now: float) -> None:
        """A tdmrep.json has been answered in the place of a page."""
        self._totals.request(outcome.wire_bytes, robots=True)
        if isinstance(outcome, Failed):
            self._totals.count_failure(outcome.cause, terminal=False)
        self._context.ai.learn(visit.policy_of, outcome, now)
        self._frontier.defer(visit.lease, now, requested=outcome, origin_only=True)
