"""Handles the findings of studies, and the decisions that wait for a host to be known as itself: dust's rules, and classes of its tail."""

from __future__ import annotations

from typing import Final

from thresher.crawler.children.crash_suspects import finding_work
from thresher.crawler.settlement.effects import Effector
from thresher.crawler.settlement.learning import Learning
from thresher.crawler.settlement.tail_service import TailService
from thresher.crawler.visit import VisitContext
from thresher.storage.records import QuarantineRecord

_SITE: Final = 8


class Findings:
    """Lets filters learn from studies. A finding with permanent effects waits for canaries of the site's hosts (canaries.py)."""

    def __init__(self, context: VisitContext, effects: Effector, learning: Learning, tail_service: TailService) -> None:
        self._context = context
        self._effects = effects
        self._learning = learning
        self._tail_service = tail_service

    def on_study_end(self, who: str, site: bytes, finding: bytes, now: float) -> None:
        """Let the filter learn from a finding, or ask for the canaries for which it must wait."""
        canaries = self._effects.canaries
        asked = canaries.waits(who, site, finding)
        if asked is None:
            decides = self._context.panel.reports.adopts(who, site, finding)
            self._take_up(who, site, finding, now)
            if decides:
                self._believe(site)
            return
        self._learning.note(canaries.take_notes())
        self._learning.carry_out(asked, now)

    def on_canary_end(self, now: float) -> None:
        """Make the decisions that waited for a host to be known as itself."""
        for queue in self._effects.canaries.take_not_walled():
            self._tail_service.decide(queue, now)
            for finding in self._effects.canaries.decided(queue):
                self._take_up(*finding, now)
            self._believe(queue[:_SITE])

    def _believe(self, site: bytes) -> None:
        """Let filters keep what they have learned about a site; called last, since the decisions before used evidence that is believed."""
        if (record := self._effects.canaries.believe(site)) is not None:
            self._learning.note((record,))

    def _take_up(self, who: str, site: bytes, finding: bytes, now: float) -> None:
        """Let a filter learn from the study that it asked for, unless that killed an earlier process."""
        self._context.suspects.attempt(
            finding_work(who, site),
            lambda: self._learning.carry_out(self._context.panel.reports.on_finding(who, site, finding), now),
            lambda why: QuarantineRecord("finding", f"findings of {who}", now, why, payload=finding, who=who, site=site),
        )
