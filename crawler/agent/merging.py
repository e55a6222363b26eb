"""Merges what a returned disk has into the shard of an agent that has its sites now, without any request.

The returned shard belongs to a machine that was given up: another agent has gone on from its snapshot. Of the sites that this agent has:

    fetched there, waits or is held here   settled as if the answer had just arrived: page, links, redirect, what filters learn
    fetched there, fetched here            stays as it is here; if the answers differ, the returned one is told
    fetched there, refused or alias here   stays as it is here
    failed there                           stays in its queue
    known there, unknown here              passes the gates for links

An answer whose body was not kept keeps its record and the links that were stored with it; filters do not learn from it. Each answer is one
visit, committed whole. So a kill costs nothing: what was merged is fetched here when the merge is repeated.

Memory: 60 bytes for each answer to be merged. Time: as a crawl without its requests, and 20 µs a known URL.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from thresher.crawler.agent.merged_records import MergedRecords
from thresher.crawler.agent.seeder import Seeder
from thresher.crawler.agent.wiring import assemble, frontier_of
from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.frontier import Lease
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import CrawlURL, Fetched, Flag, Head, Outcome, Redirect, State
from thresher.crawler.core.ownership import Ownership, first_key
from thresher.crawler.core.ports import Entry, Lane, SeenRow
from thresher.crawler.settlement.group_commit import Committer
from thresher.crawler.settlement.settler import Settler
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.visit import imported
from thresher.storage.packing import is_elsewhere, moved_visit, pack_u64, unpack_seen
from thresher.storage.partitions import ranges_of
from thresher.storage.records import EDGE, PAGE, EdgeRecord, PageRecord
from thresher.storage.schema import EDGES, PAGES, SEEN
from thresher.storage.store import Store
from thresher.storage.view import View

MOST_TOLD: Final = 10_000
_AT_ONCE: Final = 128  # visits between two commits
_CHUNK: Final = 1000
_WAITS: Final = (State.QUEUED, State.HELD)
_KNOWN_FLAGS: Final = frozenset(Flag)
_LOOSE: Final = "records whose payload only the returned archive has: keep its files"


class OtherAnswer(msgspec.Struct, frozen=True):
    """An answer that the returned disk has, to a URL for which the crawl has another."""

    url: str
    status: int
    fetched_at: float
    target: str = ""  # of a redirect


class Merged(msgspec.Struct):
    """What became of a returned shard's answers: how many, and the first `MOST_TOLD` that differ from what the crawl has."""

    counts: dict[str, int] = {}
    others: list[OtherAnswer] = []


class _WantedAnswer(NamedTuple):
    """An answer of the returned shard that is wanted here, in the order in which they came."""

    visit: int
    key: bytes
    seq: int  # number of its URL there


class Merger:
    """Merges one returned shard into one store; inside a running event loop."""

    def __init__(self, directory: Path, store: Store, source: View, *, shard: int, owners: bytes, me: int) -> None:
        """Put the parts together.

        Args:
            directory: The directory of the store.
            shard: Number of the returned shard.
            owners: The agent of each partition, in a byte.
            me: The agent of the store.

        Raises:
            StoreError: If the returned shard is of another crawl.
        """
        if source.secret != store.secret:
            raise StoreError(
                f"{source.path}: expected a shard of the crawl in {store.path}, found one of another crawl. Nothing was changed"
            )
        self._store = store
        self._source = source
        self._shard = shard
        self._me = me
        self._ranges = [(first_key(first), first_key(last + 1)) for first, last, owner in ranges_of(owners) if owner == me]
        self._now = store.clock
        ownership = Ownership(owners, me) if len(set(owners)) > 1 else None
        self._context = assemble(directory, store, store.settings, lambda: self._now, ownership=ownership)  # type: ignore[arg-type]  # all that is done with a clock is to call it
        self._frontier = frontier_of(store, self._context, store.clock)
        self._settler = Settler(store, self._frontier, self._context, Totals(store.counters))
        self._committer = Committer(store, store.settings.store, clock=lambda: self._now, on_failure=_fail, on_commit=lambda: None)
        self._counts: Counter[str] = Counter()
        self._others: list[OtherAnswer] = []
        self._records = MergedRecords(store, source, lambda: self._counts.update([_LOOSE]))

    async def run(self) -> Merged:
        """Merge everything, in groups that are committed."""
        seeder = Seeder(self._store, self._settler.admission, self._context.urls, self._context.ownership)
        await seeder.run(self._committer, self._store.settings.seeds, self._now)
        for n, answer in enumerate(self._wanted(), 1):
            await self._take(answer)
            if n % _AT_ONCE == 0:
                await self._committer.drain()
        await self._committer.drain()
        for n, (key, row) in enumerate(self._unknown(), 1):
            self._admit(key, row)
            if n % _AT_ONCE == 0:
                await self._committer.drain()
        await self._committer.drain()
        return Merged(dict(self._counts), self._others)

    async def close(self) -> None:
        await self._context.fetcher.close()
        await self._context.parser.close()
        await self._context.resolver.close()
        self._context.suspects.close()

    # -- what is wanted

    def _wanted(self) -> list[_WantedAnswer]:
        """Return the answers that the crawl has still to get, in the order of their visits; note those that differ from what it has."""
        wanted: list[_WantedAnswer] = []
        for rows in self._chunks():
            both: list[tuple[bytes, SeenRow, SeenRow]] = []
            for (key, there), here in zip(rows, self._store.tables.seen.rows([key for key, _ in rows]), strict=True):
                if there.state is not State.DONE or not there.visit or is_elsewhere(there.visit):
                    continue
                if here is None or here.state in _WAITS:
                    wanted.append(_WantedAnswer(there.visit, key, there.seq))
                elif here.state is not State.DONE:
                    self._counts["refused or aliases in the crawl, left out"] += 1
                elif here.visit not in (there.visit, moved_visit(there.visit, self._shard)):
                    both.append((key, there, here))
            self._compare(both)
        return sorted(wanted)

    def _compare(self, both: list[tuple[bytes, SeenRow, SeenRow]]) -> None:
        """Note which URLs have another answer there than here."""
        pages = self._source.get_many(PAGES, [pack_u64(there.visit) for _, there, _ in both])
        edges = self._source.get_many(EDGES, [key for key, _, _ in both])
        for (key, there, here), packed, edge in zip(both, pages, edges, strict=True):
            page = None if packed is None else PAGE.decode(packed)
            redirect = EDGE.decode(edge) if edge is not None and page is None else None
            if page is None and redirect is None:
                continue  # it failed there
            known, led = self._store.tables.pages.read(here.visit), self._store.tables.redirects.edge(key)
            if _signature(page, redirect) == _signature(known, led if known is None else None):
                self._counts["fetched by the crawl, too, with the same answer"] += 1
                continue
            self._counts["fetched by the crawl, too, with another answer, which stays"] += 1
            if len(self._others) < MOST_TOLD:
                url = self._source.tables.seen.url_of(there.seq)
                self._others.append(_told(url, page, redirect))

    def _unknown(self) -> Iterator[tuple[bytes, SeenRow]]:
        """Yield the URLs that the returned shard knows and the crawl does not."""
        for rows in self._chunks():
            for (key, there), here in zip(rows, self._store.tables.seen.rows([key for key, _ in rows]), strict=True):
                if here is None and there.state is not State.REFUSED:
                    yield key, there

    def _chunks(self) -> Iterator[list[tuple[bytes, SeenRow]]]:
        """Yield the known URLs of the returned shard whose sites this agent has."""
        for begin, end in self._ranges:
            rows = ((key, unpack_seen(value)) for key, value in self._source.rows(SEEN, start=begin))
            within = _until(rows, end)
            while chunk := list(islice(within, _CHUNK)):
                yield chunk

    # -- what becomes of it

    async def _take(self, answer: _WantedAnswer) -> None:
        """Settle one answer."""
        page = self._source.tables.pages.read(answer.visit)
        edge = self._source.tables.redirects.edge(answer.key) if page is None else None
        if (page is None and edge is None) or (page is not None and page.failed_cause):
            self._counts["failed there, are fetched again"] += 1
            return
        at = page.fetched_at if page is not None else edge.found_at if edge is not None else 0.0
        url, entry = self._placed(answer, at)
        if entry is None:
            self._counts["refused or aliases in the crawl, left out"] += 1
            return
        lease = Lease(self._context.urls.queue_key(url.host), entry, page.address if page is not None else "")
        self._count_request(lease.queue)
        body = self._source.tables.bodies.get(answer.visit) if page is not None and page.has_body else None
        if page is not None and body is None and page.n_bytes:
            links = [record.text for record in self._source.tables.urls.get_many(self._source.tables.links.read(answer.visit)) if record]
            sifted = self._context.links.sift(url, self._context.links.gate(links))
            self._settled(answer.visit, lambda: self._settler.on_record(lease, page, sifted, at))
        else:
            outcome = _answered(url, page, edge, body or b"")
            visit = await imported(lease, outcome, self._context)
            self._settled(answer.visit, lambda: self._settler.on_answer_of_another(visit, at))
        self._counts["pages merged" if page is not None else "redirects merged"] += 1

    def _settled(self, there: int, settle: Callable[[], None]) -> None:
        """Settle an answer, with its records of the returned archive; `there`: its visit."""

        def write() -> None:
            self._records.copy(there)
            settle()

        self._committer.whole(write)

    def _count_request(self, queue: bytes) -> None:
        """Count the request for the budget of its host; its page is counted where that is settled."""
        host = self._frontier.record(queue)
        if host is not None:
            host.n_requests += 1
            self._store.tables.queues.save_host(queue, host)

    def _placed(self, answer: _WantedAnswer, at: float) -> tuple[CrawlURL, Entry | None]:
        """Return a URL with its place in the crawl, out of its queue or its class; no entry if the crawl has refused it meanwhile."""
        seen = self._store.tables.seen
        row = seen.row(answer.key)
        if row is None:
            record = self._source.tables.seen.record(answer.seq)
            value = self._source.get(SEEN, answer.key)
            assert value is not None, f"{record.text} was known"
            url = self._url(record.text, unpack_seen(value), record.via)
            seq = seen.add(url, State.DONE, None, at)
            return url, Entry(Lane.FRESH, 0, seq, 0, url)
        if row.state is State.HELD:
            self._settler.free(answer.key, at)
            row = seen.row(answer.key) or row
        record = seen.record(row.seq)
        url = self._url(record.text, row, record.via)
        if row.state is State.QUEUED:
            self._frontier.withdraw(url, row.seq, row.worth)
        elif row.state is not State.DONE:
            return url, None
        return url, Entry(Lane.FRESH, 0, row.seq, 0, url)

    def _url(self, text: str, row: SeenRow, via: bytes) -> CrawlURL:
        place = {"seed_distance": row.seed_distance, "site_depth": row.site_depth, "hops": row.hops}
        return self._context.urls.url(text, **place, purpose=row.purpose, via=via)

    def _admit(self, key: bytes, row: SeenRow) -> None:
        """Let a URL that the crawl does not know pass the gates for links."""
        record = self._source.tables.seen.record(row.seq)
        if self._store.tables.seen.row(key) is not None or not isinstance(self._context.links.check(record.text), bytes):
            return
        url = self._url(record.text, row, record.via)
        self._committer.whole(self._settler.on_url_of_another, url, self._context.panel.links(LinkBatch.of(url)), record.found_at)
        self._counts["URLs that only it knew"] += 1


async def merged(directory: Path, store: Store, source: View, *, shard: int, owners: bytes, me: int) -> Merged:
    """Merge a returned shard into a store; see `Merger`."""
    merger = Merger(directory, store, source, shard=shard, owners=owners, me=me)
    try:
        return await merger.run()
    finally:
        await merger.close()
        await asyncio.sleep(0)


def _until(rows: Iterator[tuple[bytes, SeenRow]], end: bytes) -> Iterator[tuple[bytes, SeenRow]]:
    for key, row in rows:
        if key >= end:
            return
        yield key, row


def _answered(url: CrawlURL, page: PageRecord | None, edge: EdgeRecord | None, body: bytes) -> Outcome:
    """Return a stored answer as it came."""
    if page is None:
        assert edge is not None, f"{url.text} has an answer"
        return Redirect(url, Head(url, edge.status, (), "", 0.0), edge.to_text, 0, 0.0)
    head = Head(url, page.status, tuple(page.headers), page.address, 0.0)
    flags = frozenset(Flag(flag) for flag in page.flags if flag in _KNOWN_FLAGS)
    return Fetched(url, head, body, page.wire_bytes, page.elapsed_s, flags)


def _signature(page: PageRecord | None, edge: EdgeRecord | None) -> tuple[object, ...]:
    """Return what makes two answers the same."""
    if page is not None:
        return page.status, page.n_bytes, page.fingerprint, page.failed_cause
    return (edge.status, edge.to_text) if edge is not None else ()


def _told(url: str, page: PageRecord | None, edge: EdgeRecord | None) -> OtherAnswer:
    if page is not None:
        return OtherAnswer(url, page.status, page.fetched_at)
    assert edge is not None, f"{url} has an answer"
    return OtherAnswer(url, edge.status, edge.found_at, edge.to_text)


def _fail(error: BaseException) -> None:
    raise error
