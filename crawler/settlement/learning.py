"""Lets filters learn from a visit: their memories, the journal, what they ask for, and the ends of redirects.

One step may lead to the next: an effect can end a URL without a request; this ends the redirects that lead there; these are judged, and the
filters learn from that again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thresher.crawler.core.model import CrawlURL, RedirectPair
from thresher.crawler.settlement.effects import Effector
from thresher.crawler.settlement.redirect_pairs import RedirectPairs
from thresher.crawler.visit import VisitContext
from thresher.filters.base import Gate, LinkJudgement
from thresher.filters.deliberation import Asked, Deliberation, Learned
from thresher.filters.journal import JournalRecord
from thresher.filters.observing import Observing
from thresher.storage.tables import Tables
from thresher.storage.tables.journal import TAIL


class Learning:
    """Lets the filters of the panel learn, and does what they ask for."""

    def __init__(self, tables: Tables, context: VisitContext, effects: Effector, pairs: RedirectPairs) -> None:
        self._tables = tables
        self._context = context
        self._effects = effects
        self._pairs = pairs
        self._notes: list[JournalRecord] = []  # journal records of the current visit

    def write(self, now: float) -> None:
        """Write the visit's journal, and the changed tails."""
        self._effects.worthless.clear()
        self._effects.tails.save()
        self._context.panel.save()
        self._notes += self._effects.take_notes()
        if note := self._effects.tails.take_note(now):
            self._notes.append(JournalRecord(Gate.TAIL, b"", [(TAIL, note)]))
        if self._notes:
            self._tables.journal.put(self._notes)
            self._notes = []

    def learn(self, deliberations: Iterable[Deliberation[Any] | None], now: float) -> None:
        """Let the filters observe, write the journal, then do what they ask for."""
        panel = self._context.panel
        self._learned([(one.effects, panel.learn(one)) for one in deliberations if one is not None], now)

    def finish(self, observings: Iterable[Observing], now: float) -> None:
        """Write the journal of a visit that all filters have observed by now, then do what they ask for."""
        lessons = self._context.panel.lessons
        self._learned([(one.deliberation.effects, lessons.learned(one)) for one in observings], now)

    def _learned(self, learned: Iterable[tuple[tuple[Asked, ...], Learned]], now: float) -> None:
        asked: list[Asked] = []
        for before, (effects, record) in learned:
            asked += [*before, *effects]
            if record is not None:
                self._notes.append(record)
        self.apply(asked, now)

    def learn_links(self, deliberation: Deliberation[LinkJudgement], now: float) -> None:
        """Let the filters observe their decisions about links."""
        self.learn((deliberation,), now)

    def note(self, records: Iterable[JournalRecord]) -> None:
        """Add records to the visit's journal."""
        self._notes += records

    def carry_out(self, learned: Learned, now: float) -> None:
        """Write what a filter has learned in another way than by judging."""
        asked, record = learned
        if record is not None:
            self._notes.append(record)
        self.apply(asked, now)

    def apply(self, asked: Iterable[Asked], now: float) -> None:
        """Do what filters ask for. A URL that then needs no more request is the end of the redirects that lead to it."""
        settled, notes = self._effects.apply(asked, now)
        self._notes += notes
        for url in settled:
            self.settle_pairs(url, 0, b"", now)

    def settle_pairs(self, url: CrawlURL, status: int, fingerprint: bytes, now: float) -> None:
        """Handle a URL that has settled: judge the redirects that lead there."""
        self.judge_pairs(self._pairs.on_end(url, status, fingerprint, now), now)

    def on_foreign_redirect(self, original: bytes, target: str, now: float) -> None:
        """Handle a URL of another agent that redirects to one of ours."""
        self.judge_pairs(self._pairs.on_foreign_redirect(original, target, now), now)

    def on_foreign_end(self, original: bytes, hops: int, target: CrawlURL, status: int, fingerprint: bytes, now: float) -> None:
        """Handle the end of a chain of redirects that continued at another agent after `original`."""
        self.judge_pairs(self._pairs.on_foreign_end(original, hops, target, status, fingerprint, now), now)

    def judge_pairs(self, pairs: Iterable[RedirectPair], now: float) -> None:
        """Judge redirects whose ends are known now, and let the filters learn from them."""
        for pair in pairs:
            deliberation = self._context.panel.redirect(pair)
            for verdict in deliberation.judgement.verdicts:
                if not (verdict.keep and verdict.follow):
                    counts = self._context.panel.enforces(verdict.filter, pair.original.text)
                    self._tables.verdicts.revise(pair.original.key, verdict, now, counts=counts)
            self.learn((deliberation,), now)
