"""Settles requests of robots.txt: writes the rules of its origins; the hosts that waited for them go on.

It is requested before the first page of an origin, or as the target of a redirected robots.txt, also for another agent.
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

ROBOTS_HOP_WAIT_S = 600.0  # seconds that a host waits for a redirected robots.txt


class RobotsAnswers:
    """Settles requests of robots.txt. A `Journey`."""

    def __init__(self, frontier: Frontier, context: VisitContext, totals: Totals, sitemaps: Sitemaps, outbox: Outbox | None) -> None:
        """Create the robots answers.

        Args:
            outbox: Messages to the other agents, if there are any.
        """
        self._frontier = frontier
        self._context = context
        self._totals = totals
        self._sitemaps = sitemaps
        self._outbox = outbox

    def on_answer(self, visit: Visit, outcome: Outcome, now: float) -> None:
        """Handle the answer to a robots.txt, which was requested before a page or as the target of a redirected one."""
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
        """Handle a failure on our side: it says nothing about the file, which is requested again."""
        self._totals.count_failure(failure.cause, terminal=False)
        if visit.deferred is not None:
            self._frontier.defer(visit.lease, now, why=str(failure.cause), requested=failure)
            return
        self._frontier.finish(visit.lease, failure, now, is_page=False)
        self._context.robots.wait_for(failure.url, visit.robots_of)
        if not self._frontier.request_ahead(failure.url, now):
            self.no_hop(failure, now)

    def on_refusal(self, visit: Visit, skip: Skip, now: float) -> None:
        """Do nothing: no gate refuses a robots.txt."""
        raise AssertionError(f"{skip.text}: a robots.txt was refused as {skip.reason}")

    def on_unreachable(self, entry: Entry, failure: Failed, now: float) -> None:
        """Handle that the last try of a redirected robots.txt found no address."""
        self.no_hop(failure, now)

    def no_hop(self, failure: Failed, now: float) -> None:
        """Handle a robots.txt that was redirected to a host that cannot be requested: for the waiting origins it is unreachable."""
        waiting = self._context.robots.waiting_for(failure.url)
        self._learn(waiting, failure, now)
        self._wake(waiting, now)

    def on_hop_answer(self, hop: CrawlURL, outcome: Outcome, now: float) -> None:
        """Handle an answer that another agent sends about a redirected robots.txt."""
        waiting = self._context.robots.waiting_for(hop)
        self._learn(waiting, outcome, now)
        self._wake(waiting, now)

    def _wake(self, waiting: Iterable[RobotsWaiter], now: float) -> None:
        """Let the hosts go on that waited for their rules."""
        for origin in waiting:
            if not isinstance(origin, PeerAsking):
                self._frontier.wake(self._context.urls.queue_key(origin), now)

    def _learn(self, waiting: Iterable[RobotsWaiter], outcome: Outcome, now: float, asked_for: CrawlURL | None = None) -> tuple[float, str]:
        """Write the rules of the origins; return (time until which their hosts wait, why).

        Args:
            asked_for: The URL before which it was requested.
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
        """Handle the answer to a tdmrep.json, which was requested before a page."""
        self._totals.request(outcome.wire_bytes, robots=True)
        if isinstance(outcome, Failed):
            self._totals.count_failure(outcome.cause, terminal=False)
        self._context.ai.learn(visit.policy_of, outcome, now)
        self._frontier.defer(visit.lease, now, requested=outcome, origin_only=True)
