"""Page records by visit, and the verdicts that were revised later."""

from __future__ import annotations

from collections.abc import Iterable

from crawler.core.model import Verdict
from storage.rows import Rows
from storage.schema import PAGE, PAGES, REVISIONS, VERDICTS, PageRecord, RevisionRecord, VerdictRecord, pack_u64, unpack_u64

_AT_ONCE = 1000


def verdict_records(verdicts: Iterable[Verdict]) -> list[VerdictRecord]:
    """Return verdicts as they are stored."""
    return [VerdictRecord(v.filter, v.keep, v.follow, v.score, v.reason or "", dict(v.evidence)) for v in verdicts]


class Pages:
    """A page is found by the number of its visit, which stands in its URL's seen row."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, record: PageRecord) -> None:
        """Store the record of the visit being settled."""
        self._rows.put(PAGES, pack_u64(self._rows.visit), PAGE.encode(record))
        self._rows.counters.add("pages")

    def get(self, visit: int) -> PageRecord | None:
        value = self._rows.get(PAGES, pack_u64(visit))
        return None if value is None else PAGE.decode(value)

    def since(self, visit: int, limit: int = _AT_ONCE) -> list[tuple[int, PageRecord]]:
        """Return up to `limit` (visit, record) from `visit` on, in order."""
        return [(unpack_u64(key), PAGE.decode(value)) for key, value in self._rows.scan(PAGES, start=pack_u64(visit), limit=limit)]

    def revise(self, key: bytes, verdict: Verdict, now: float) -> None:
        """Let `verdict` replace what its filter said of the page with this key; what was said stays on record."""
        earlier = self.revisions(key)
        self._rows.put(VERDICTS, key, REVISIONS.encode([*earlier, RevisionRecord(now, verdict_records([verdict])[0])]))

    def revisions(self, key: bytes) -> list[RevisionRecord]:
        """Return the verdicts given after the page was stored, oldest first."""
        value = self._rows.get(VERDICTS, key)
        return [] if value is None else REVISIONS.decode(value)
