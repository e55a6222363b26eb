"""After a resume with another configuration: admits exactly the URLs that the new configuration allows and the old one refused.

Known URLs that were refused are judged anew. Links that the static gate refused were only counted, so stored pages are read again: their
links pass the gates as if the page had just been fetched; no request is made. Queued URLs are judged when their turn comes, as always. A
mark in the store stays until all is done, so that nothing is lost by a kill. A page without a stored body keeps its links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import CrawlURL, Purpose, Reason, State
from thresher.crawler.core.ports import SeenRow
from thresher.crawler.settlement.group_commit import Committer
from thresher.crawler.settlement.settler import Settler
from thresher.crawler.visit import VisitContext
from thresher.storage.records import PageRecord
from thresher.storage.schema import META, Meta
from thresher.storage.store import Store

_GROUP = 256
_HTML = frozenset(("text/html", "application/xhtml+xml", ""))
_ROBOTS_SECTIONS = frozenset(("robots", "overrides"))
_FINAL_REASONS = frozenset((Reason.QUARANTINED, Reason.REDIRECT_LIMIT, Reason.REDIRECT_INVALID))


class Readmission:
    """Does what the mark in the store asks for."""

    def __init__(self, store: Store, settler: Settler, context: VisitContext) -> None:
        self._store = store
        self._settler = settler
        self._context = context

    async def run(self, committer: Committer, clock: Callable[[], float], *, stopping: Callable[[], bool] = lambda: False) -> None:
        """Judge refused URLs and stored pages anew, if a resume asked for it; in groups, each committed.

        Once `stopping` returns True, it ends; the mark stays, and the next process begins again: URLs that are admitted already are known
        then.
        """
        changed = self._store.get(META, Meta.READMIT)
        if changed is None:
            return
        final = _FINAL_REASONS if _ROBOTS_SECTIONS & set(changed.decode().split(",")) else _FINAL_REASONS | {Reason.ROBOTS_DENIED}
        for n, (key, row) in enumerate(self._refused(final), 1):
            self._judge_again(key, row, clock())
            if n % _GROUP == 0:
                await committer.drain()
                if stopping():
                    return
        for n, (visit, record) in enumerate(self._pages(), 1):
            await self._read_again(visit, record, clock())
            if n % _GROUP == 0:
                await committer.drain()
                if stopping():
                    return
        self._store.delete(META, Meta.READMIT)
        self._store.end_visit()
        await committer.drain()

    def _refused(self, final: frozenset[Reason]) -> Iterator[tuple[bytes, SeenRow]]:
        """Yield the URLs that are refused for a reason that may no longer hold; those that are judged meanwhile are not yielded twice."""
        start = b""
        while rows := self._store.tables.seen.scan(start, 1000):
            yield from [(key, row) for key, row in rows if row.state is State.REFUSED and row.reason not in final]
            start = rows[-1][0] + b"\0"

    def _pages(self) -> Iterator[tuple[int, PageRecord]]:
        visit, end = 0, self._store.visit
        while rows := self._store.tables.pages.since(visit, 100):
            for visit, record in rows:
                if visit >= end:
                    return
                yield visit, record
            visit += 1

    def _judge_again(self, key: bytes, row: SeenRow, now: float) -> None:
        """Queue a refused URL if the gates pass it now; robots.txt is checked when its turn comes."""
        known = self._store.tables.seen.record(row.seq)
        if (
            known is None
            or not isinstance(self._context.links.check(known.text), bytes)
            or self._context.links.is_too_deep(row.seed_distance, known.text)
        ):
            return
        url = self._context.urls.url(
            known.text,
            seed_distance=row.seed_distance,
            site_depth=row.site_depth,
            hops=row.hops,
            purpose=Purpose(row.purpose),
            via=known.via,
        )
        deliberation = self._context.panel.links(LinkBatch.of(url))
        if bool(deliberation.judgement.admitted[0]):
            self._settler.readmit(url, row, deliberation, now)
            self._store.end_visit()

    async def _read_again(self, visit: int, record: PageRecord, now: float) -> None:
        """Sift the links of a stored page anew."""
        body = self._store.tables.bodies.get(visit) if record.follow and record.has_body and 200 <= record.status < 300 else None
        if body is None or record.mime_type not in _HTML:
            return
        content_type = f"text/html; charset={record.charset}" if record.charset else "text/html"
        of = self._context.overriding.of(record.url)
        at_most, robots = of.limits.max_links_per_page, of.robots
        parsed = self._context.parser.here(body, content_type, "text/html", [], max_links=at_most)
        parsed = parsed or await self._context.parser.apart(body, content_type, "text/html", [], max_links=at_most)
        if record.nofollow and (robots.meta or robots.x_robots_tag):
            return
        source = self._source(record)
        texts, _ = self._context.batch_reader.links.of(source, parsed)
        sifted = self._context.links.sift(source, self._context.links.gate(texts))
        if sifted.fresh is not None or sifted.foreign:
            self._settler.admit_again(source, sifted, now)
            self._store.end_visit()

    def _source(self, record: PageRecord) -> CrawlURL:
        return self._context.urls.url(
            record.url, seed_distance=record.seed_distance, site_depth=record.site_depth, hops=record.hops, via=record.via
        )
