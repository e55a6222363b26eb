"""`versions`: every stored record of pages, in the order of the visits; the last one of each URL is the newest."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from thresher.storage.export.fields import ExportKind, Field, iso
from thresher.storage.export.labels import with_label
from thresher.storage.packing import unpack_seen
from thresher.storage.records import PageRecord
from thresher.storage.schema import SEEN
from thresher.storage.shards import ShardsView
from thresher.storage.tables.rounds import ChangeRecord
from thresher.storage.view import View


@dataclass(slots=True)
class VersionRow:
    """One version, and the result of the visit that found it."""

    visit: int
    page: PageRecord
    round: int
    is_newest: bool
    checked_at: float  # time of the last visit that found it or found it unchanged
    change: ChangeRecord | None


def rows(view: View, _wanted: frozenset[str]) -> Iterator[VersionRow]:
    """Yield the rows of the export, shard by shard."""
    for shard in view.shards if isinstance(view, ShardsView) else [view]:
        rounds = shard.tables.rounds.all()
        starts = [record.first_visit for record in rounds]
        for visit, page in shard.all_pages():
            seen, check = shard.get(SEEN, page.key), shard.tables.rounds.check(page.key)
            is_newest = seen is not None and unpack_seen(seen).visit == visit
            n = bisect_right(starts, visit)
            checked_at = check.at if check is not None and is_newest else page.fetched_at
            yield VersionRow(visit, page, rounds[n - 1].number if n else 1, is_newest, checked_at, shard.tables.rounds.change(visit))


_KIND = ExportKind(
    "versions",
    rows,
    (
        Field("url", lambda row: row.page.url),
        Field("visit", lambda row: row.visit),
        Field("round", lambda row: row.round),
        Field("newest", lambda row: row.is_newest),
        Field("kind", lambda row: row.change.kind if row.change is not None else "new"),
        Field("amount", lambda row: row.change.amount if row.change is not None else None),
        Field("status", lambda row: row.page.status or None),
        Field("title", lambda row: row.page.title),
        Field("bytes", lambda row: row.page.n_bytes),
        Field("sha256", lambda row: row.page.sha256.hex() or None),
        Field("fetched_at", lambda row: iso(row.page.fetched_at)),
        Field("checked_at", lambda row: iso(row.checked_at)),
        Field("has_body", lambda row: row.page.has_body),
    ),
)
VERSIONS_KIND = with_label(_KIND, lambda row: row.page.key)
