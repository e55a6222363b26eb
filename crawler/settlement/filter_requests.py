"""Settles filters' own requests (probes, validations, canaries): only the filter that asked learns from the answer."""

from __future__ import annotations

from thresher.crawler.children.crash_suspects import answer_work
from thresher.crawler.core.effects import Answer
from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.model import Failed, Outcome, Purpose
from thresher.crawler.core.ports import Entry
from thresher.crawler.gates.link_gate import Skip
from thresher.crawler.settlement.effects import Effector
from thresher.crawler.settlement.findings import Findings
from thresher.crawler.settlement.learning import Learning
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.visit import Visit, VisitContext
from thresher.storage.records import QuarantineRecord
from thresher.storage.tables import Tables


class FilterRequests:
    """Settles filters' own requests. A `Journey`."""

    def __init__(
        self,
        tables: Tables,
        frontier: Frontier,
        context: VisitContext,
        totals: Totals,
        effects: Effector,
        learning: Learning,
        findings: Findings,
    ) -> None:
        self._tables = tables
        self._frontier = frontier
        self._context = context
        self._totals = totals
        self._effects = effects
        self._learning = learning
        self._findings = findings

    def on_answer(self, visit: Visit, outcome: Outcome, now: float) -> None:
        """Handle the answer: only the filter that asked learns from it."""
        self._totals.request(outcome.wire_bytes)
        if visit.lease.entry.url.purpose is Purpose.CANARY and isinstance(outcome, Failed) and outcome.head is not None:
            self._frontier.skip(visit.lease, now, requested=outcome)  # a failure is an answer, too: a second try would be another canary
        elif self._frontier.finish(visit.lease, outcome, now, is_page=False) is not None:
            return
        self._reply(visit, now)
        self._findings.on_canary_end(now)

    def on_refusal(self, visit: Visit, skip: Skip, now: float) -> None:
        """Handle a forbidden request: the refusal is its answer."""
        self._reply(visit, now)

    def on_unreachable(self, entry: Entry, failure: Failed, now: float) -> None:
        """Handle that the last try found no address."""
        self._tell(entry, Answer(entry.url, now, failure=str(failure.cause)), now)

    def _reply(self, visit: Visit, now: float) -> None:
        entry, outcome = visit.lease.entry, visit.outcome
        target = self._context.urls.url(visit.target, purpose=entry.url.purpose) if visit.target else None
        status = outcome.head.status if outcome is not None and outcome.head is not None else 0
        self._tell(entry, Answer(entry.url, now, visit.page, status, target, visit.failure), now)

    def _tell(self, entry: Entry, answer: Answer, now: float) -> None:
        """Give the answer to the filter that asked, unless it killed an earlier process."""
        requester, url = self._tables.requests.pop(entry.seq), answer.url
        assert requester is not None, f"nobody asked for request {entry.seq} of {url.text}"
        self._context.suspects.attempt(
            answer_work(entry.seq),
            lambda: self._learning.carry_out(self._effects.on_answer(requester, answer), now),
            lambda why: QuarantineRecord(
                "answer", f"answers to requests of {requester.who}", now, why, who=requester.stored, url=url.text, purpose=url.purpose
            ),
        )
