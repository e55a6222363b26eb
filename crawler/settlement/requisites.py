"""Requisites: images, style sheets, scripts and the like that a page needs to be shown; requested so that an archive can be replayed.

    page ─ want ─ ahead of further pages in the host's queue ─ answered ─ want (of a style sheet, of a redirect) ─ ...

A requisite is requested once, however many pages need it, to three hops: page → style sheet → import → font. An imported style sheet may
import others, up to `archive.max_imports` in a row; a redirect is no hop. What lies deeper is refused, and requested once a nearer page is
found: the record of a style sheet keeps what it names. In the code each is a step from what names it, at most 2 + `max_imports`.

It may be out of scope. It is not a page: it is not counted as one, not in the link graph, and shown to no filter. But robots.txt,
politeness, the guards of addresses and of dangerous links, `scope.exclude` and the other limits apply as to any request.
`archive.max_requisites_*` limit the requisites of one page or style sheet, and of one host. The sitemaps of a host that has nothing but
requisites are not read (sitemaps.py).

A URL that was fetched as a page is not requested again. A page whose URL was fetched before as an image, a style sheet or the like is
refused without a request (`Reason.REQUISITE`). What became of every requisite is stored: `thresher export DIR --what requisites`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.model import CrawlURL, Failed, Outcome, Purpose, Reason, Redirect, State
from thresher.crawler.core.ports import Entry, Lane
from thresher.crawler.core.requisites import FEWEST_STEPS
from thresher.crawler.core.url import BadURL, queue_name
from thresher.crawler.gates.link_gate import Skip, presentable
from thresher.crawler.journeys import requisite_fault
from thresher.crawler.page.requisite_reader import Named
from thresher.crawler.settlement.outbox import Outbox
from thresher.crawler.settlement.skips import note_skip
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.visit import Visit, VisitContext
from thresher.storage.records import RequisiteRecord
from thresher.storage.store import Store
from thresher.storage.tables.requisites import REQUESTER

_RANK: Final = 1  # rank in the lane of prior requests: after filters' requests
_REMEMBERED: Final = 65_536  # URLs of other agents that were sent recently; 4 MB
_BY: Final = "archive"
_TOO_DEEP: Final = "imports"  # says that `archive.max_imports` refuses it


class Requisites:
    """Requests requisites, and settles their requests. A `Journey`."""

    def __init__(self, store: Store, frontier: Frontier, context: VisitContext, totals: Totals, outbox: Outbox | None) -> None:
        """Create the requisites.

        Args:
            outbox: Messages to the other agents, if there are any.
        """
        self._store = store
        self._tables = store.tables.requisites
        self._frontier = frontier
        self._context = context
        self._totals = totals
        self._outbox = outbox
        self._told: dict[bytes, int] = {}  # key → the fewest steps that were sent
        self.n_waiting = self._tables.n_waiting() if context.requisites is not None else 0

    def on_page(self, visit: Visit, now: float) -> None:
        """Handle a page that was read: request its requisites."""
        if visit.requisites is not None:
            self._want_named(visit.lease.entry.url, visit.requisites, 1, now)

    def _want_named(self, source: CrawlURL, named: Named, hop: int, now: float) -> None:
        """Request what a page or style sheet names; say if that is not all of it."""
        if named.fault:
            note_skip(self._store.tables, self._totals, Skip(source.text, Reason.REQUISITE_LIMIT, named.fault), source.via)
        self.want(source, named.texts, hop, 0, now)

    def want(self, source: CrawlURL, texts: Sequence[str], hop: int, hops: int, now: float) -> None:
        """Request the requisites that were not requested before; bring nearer those that were farther from any page.

        Args:
            texts: Canonical URLs, distinct.
            hop: Steps from the page, from 1.
            hops: Redirects since the requisite was named.
        """
        keys: Sequence[bytes] = [self._context.urls.key(text) for text in texts]
        if self._outbox is not None:
            texts, keys = self._own(source, texts, keys, hop, hops)
        for text, known in zip(texts, self._tables.of_keys(keys), strict=True):
            if known is None:
                self._ask(self._url(text, source, hop, hops), now)
            elif hop < known.hop:
                self._bring_nearer(self._url(text, source, hop, hops), known, now)

    def _bring_nearer(self, url: CrawlURL, record: RequisiteRecord, now: float) -> None:
        """Handle that a known requisite is fewer steps from this page than from those before: what it needs may be near enough now."""
        if record.state == "refused" and record.why == f"{Reason.REQUISITE_LIMIT} {_TOO_DEEP}":
            self._ask(url, now)
            return
        record.hop = url.site_depth
        self._tables.save(url.key, record)
        if record.state == "redirected":
            self._follow(url, record.why, record.hop, now)
        elif record.needs:
            self.want(url, record.needs, record.hop + 1, 0, now)

    def _own(
        self, source: CrawlURL, texts: Sequence[str], keys: Sequence[bytes], hop: int, hops: int
    ) -> tuple[Sequence[str], Sequence[bytes]]:
        """Send other agents the requisites of their sites, unless that was done recently; return ours as (texts, keys)."""
        assert self._outbox is not None
        theirs = [(key, text) for key, text in zip(keys, texts, strict=True) if not self._outbox.is_own(key)]
        if not theirs:
            return texts, keys
        new = [(key, text) for key, text in theirs if hop < self._told.get(key, hop + 1)]
        if len(self._told) + len(new) > _REMEMBERED:
            self._told.clear()
        self._told.update((key, hop) for key, _ in new)
        self._outbox.need(source, hop, hops, new)
        own = [(text, key) for text, key in zip(texts, keys, strict=True) if self._outbox.is_own(key)]
        return [text for text, _ in own], [key for _, key in own]

    def _url(self, text: str, source: CrawlURL, hop: int, hops: int) -> CrawlURL:
        return self._context.urls.url(
            text, seed_distance=source.seed_distance, site_depth=hop, hops=hops, purpose=Purpose.REQUISITE, via=source.key
        )

    def _ask(self, url: CrawlURL, now: float) -> None:
        """Queue a requisite that is not known, unless a rule forbids it or it was fetched as a page."""
        if fault := requisite_fault(url.text, self._context):
            note_skip(self._store.tables, self._totals, Skip(url.text, *fault), url.via)
            return
        record = RequisiteRecord(url.text, url.via, url.site_depth)
        if self._was_page(url, record, now):
            return
        queue, limits = self._context.urls.queue_key(url.host), self._context.overriding.of(url.text).archive
        if url.site_depth > FEWEST_STEPS + limits.max_imports:
            self._refuse(url, record, Skip(url.text, Reason.REQUISITE_LIMIT, _TOO_DEEP))
        elif self._tables.n_of_host(queue) >= self._context.overriding.of_host(queue_name(url.host)).archive.max_requisites_per_host:
            self._refuse(url, record, Skip(url.text, Reason.REQUISITE_LIMIT, _BY))
        elif refusal := self._frontier.refuses(url):
            self._refuse(url, record, Skip(url.text, refusal, "limits"))
        else:
            self._tables.count_host(queue)
            self.n_waiting += 1
            self._tables.save(url.key, record)
            self._frontier.push_requisite(Entry(Lane.AHEAD, _RANK, self._store.tables.requests.add(url, REQUESTER, now), 0, url), now)

    def _was_page(self, url: CrawlURL, record: RequisiteRecord, now: float) -> bool:
        """Return whether the URL was completely fetched as a page; if that redirected, request the target."""
        row = self._store.tables.seen.row(url.key)
        if row is None or row.state is not State.DONE or row.reason is not None:
            return False
        record.state, record.at = "page", now
        self._tables.save(url.key, record)
        edge = self._store.tables.redirects.edge(url.key)
        if edge is not None and edge.to_key:
            self._follow(url, edge.to_text, record.hop, now)
        return True

    # -- what became of a request

    def on_answer(self, visit: Visit, outcome: Outcome, now: float) -> None:
        """Handle the answer to a requisite."""
        entry = visit.lease.entry
        self._totals.request(outcome.wire_bytes)
        retry = self._frontier.finish(visit.lease, outcome, now, is_page=False)
        if isinstance(outcome, Failed):
            self._totals.count_failure(outcome.cause, terminal=False)
        if retry is not None:
            return
        record = self._end(entry, now)
        record.status = outcome.head.status if outcome.head is not None else 0
        match outcome:
            case Failed():
                record.state, record.why = "failed", f"{outcome.cause} {outcome.detail}".strip()[:300]
            case Redirect():
                record.state, record.why = "redirected", presentable(outcome.target)[:2048]
            case _:
                record.state, record.mime_type = "fetched", outcome.head.mime_type
                record.needs = visit.requisites.texts if visit.requisites is not None else []
        self._tables.save(entry.url.key, record)
        if isinstance(outcome, Redirect):
            self._follow(entry.url, outcome.target, record.hop, now)
        elif visit.requisites is not None:
            self._want_named(entry.url, visit.requisites, record.hop + 1, now)

    def on_refusal(self, visit: Visit, skip: Skip, now: float) -> None:
        """Handle a requisite that may not be requested."""
        self._give_up(visit.lease.entry, "refused", f"{skip.reason} {skip.by}", now)

    def on_unreachable(self, entry: Entry, failure: Failed, now: float) -> None:
        """Handle that the last try found no address."""
        self._give_up(entry, "failed", f"{failure.cause} {failure.detail}", now)

    def _give_up(self, entry: Entry, state: str, why: str, now: float) -> None:
        record = self._end(entry, now)
        record.state, record.why = state, why
        self._tables.save(entry.url.key, record)

    def _end(self, entry: Entry, now: float) -> RequisiteRecord:
        """Delete a request; return the record of its requisite."""
        self._store.tables.requests.pop(entry.seq)
        self.n_waiting -= 1
        record = self._tables.get(entry.url.key)
        assert record is not None, f"{entry.url.text} was requested as a requisite and is none"
        record.at = now
        return record

    def _follow(self, url: CrawlURL, target: str, hop: int, now: float) -> None:
        """Request the target of a redirected requisite, which is as far from the page."""
        if url.hops >= self._context.overriding.of(url.text).limits.max_redirects:
            note_skip(self._store.tables, self._totals, Skip(presentable(target)[:2048], Reason.REDIRECT_LIMIT, "limits"), url.key)
            return
        try:
            text = self._context.urls.canonical(target, url.text)
        except BadURL as error:
            note_skip(
                self._store.tables, self._totals, Skip(presentable(target)[:2048], Reason.REDIRECT_INVALID, str(error.reason)), url.key
            )
            return
        self.want(url, [text], hop, url.hops + 1, now)

    def _refuse(self, url: CrawlURL, record: RequisiteRecord, skip: Skip) -> None:
        record.state, record.why = "refused", f"{skip.reason} {skip.by}"
        self._tables.save(url.key, record)
        note_skip(self._store.tables, self._totals, skip, url.via)
