"""Verdicts against redirects, and revised verdicts on stored pages, whose records are append-only."""

from __future__ import annotations

from collections.abc import Iterable

from thresher.crawler.core.model import Verdict
from thresher.storage.records import REVISIONS, RevisionRecord, VerdictRecord
from thresher.storage.rows import Rows
from thresher.storage.schema import VERDICTS

DROPPED_LATER = "late:"  # with the name of a filter, a counter: pages and redirects that it has dropped after they were stored


def verdict_records(verdicts: Iterable[Verdict]) -> list[VerdictRecord]:
    """Return verdicts as they are stored."""
    return [VerdictRecord(v.filter, v.keep, v.follow, v.score, v.reason or "", dict(v.evidence), v.new) for v in verdicts]


class Verdicts:
    """Verdicts by the page's key, oldest first."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def revise(self, key: bytes, verdict: Verdict, now: float, *, counts: bool = False) -> None:
        """Let `verdict` replace its filter's earlier verdict on the page; the earlier one stays stored.

        Args:
            key: Of the page, or of the URL that redirected.
            verdict: The new verdict.
            now: Seconds since the epoch.
            counts: Whether the filter enforces here.
        """
        before = self.revisions(key)
        after = [*before, RevisionRecord(now, verdict_records([verdict])[0], counts)]
        self._count(before, -1)
        self._count(after, 1)
        self._rows.put(VERDICTS, key, REVISIONS.encode(after))

    def forget(self, key: bytes) -> None:
        """Delete the verdicts on a page that is fetched once more, or is forgotten."""
        if before := self.revisions(key):
            self._count(before, -1)
            self._rows.delete(VERDICTS, key)

    def _count(self, revisions: Iterable[RevisionRecord], n: int) -> None:
        """Add `n` for each filter whose newest verdict drops the page or redirect."""
        for name, newest in {revision.verdict.filter: revision for revision in revisions}.items():
            if newest.counts and not newest.verdict.keep:
                self._rows.counters.add(DROPPED_LATER + name, n)

    def revisions(self, key: bytes) -> list[RevisionRecord]:
        value = self._rows.get(VERDICTS, key)
        return [] if value is None else REVISIONS.decode(value)
