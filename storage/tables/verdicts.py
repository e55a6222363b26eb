"""Verdicts against redirects, and revised verdicts on stored pages, whose records are append-only."""

from __future__ import annotations

from collections.abc import Iterable

from thresher.crawler.core.model import Verdict
from thresher.storage.records import REVISIONS, RevisionRecord, VerdictRecord
from thresher.storage.rows import Rows
from thresher.storage.schema import VERDICTS


def verdict_records(verdicts: Iterable[Verdict]) -> list[VerdictRecord]:
    """Return verdicts as they are stored."""
    return [VerdictRecord(v.filter, v.keep, v.follow, v.score, v.reason or "", dict(v.evidence), v.new) for v in verdicts]


class Verdicts:
    """Verdicts by the page's key, oldest first."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def revise(self, key: bytes, verdict: Verdict, now: float) -> None:
        """Let `verdict` replace its filter's earlier verdict on the page; the earlier one stays stored."""
        revisions = [*self.revisions(key), RevisionRecord(now, verdict_records([verdict])[0])]
        self._rows.put(VERDICTS, key, REVISIONS.encode(revisions))

    def forget(self, key: bytes) -> None:
        """Delete the verdicts on a page that is fetched once more."""
        if self._rows.get(VERDICTS, key) is not None:
            self._rows.delete(VERDICTS, key)

    def revisions(self, key: bytes) -> list[RevisionRecord]:
        value = self._rows.get(VERDICTS, key)
        return [] if value is None else REVISIONS.decode(value)
