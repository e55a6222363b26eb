"""Sitemaps: from the robots.txt that names one to its chunks in the store, each step in the commit of its visit.

    robots.txt ─ submit ─ a request in the sitemap's host's queue ─ answered ─ chunks in the store ─ announcements.py
                   ▲ index, one level; redirect ─────────────────────┘

A sitemap is requested at most once a day. It has the depth of a page that is linked from the home page; the sitemaps of an index are one
deeper. Those of a host beyond its first eight wait behind its linked URLs, as what they announce does: an index may name a hundred feeds,
each of posts that links lead to anyway. A host that is asked only for requisites (images and styles of other hosts' pages) is a guest: its
sitemaps are not read until a page of it is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from thresher.config.settings import LimitSettings
from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.lastmod import DAY_S
from thresher.crawler.core.messages import Submitted
from thresher.crawler.core.model import CrawlURL, Failed, Outcome, Purpose, Reason, Redirect
from thresher.crawler.core.ports import Entry, Lane
from thresher.crawler.core.robots import RobotsRecord
from thresher.crawler.core.sitemap import SitemapReading
from thresher.crawler.core.url import BadURL, origin_of, queue_name
from thresher.crawler.gates.link_gate import Skip, presentable
from thresher.crawler.journeys import sitemap_fault
from thresher.crawler.settlement.outbox import Outbox
from thresher.crawler.settlement.seed_labels import SeedLabels
from thresher.crawler.settlement.skips import note_skip
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.visit import Visit, VisitContext
from thresher.storage.records import AnnouncerRecord, SitemapRecord
from thresher.storage.store import Store
from thresher.storage.tables.sitemaps import REQUESTER

MAX_HOSTS = 1_000  # most hosts for which one sitemap may announce URLs
_EARLY = 8  # sitemaps of a host that do not wait behind its linked URLs
_TOLD = 20  # most messages about one sitemap
_REMEMBERED = 65_536  # origins whose sitemaps were requested; 6 MB
_OF_PAGES = (Purpose.PAGE, Purpose.ANNOUNCED, Purpose.AUDIT, Purpose.REVISIT)
_SETTLED = ("read", "redirected", "failed")


class Sitemaps:
    """Requests sitemaps, and settles their requests. A `Journey`."""

    def __init__(
        self, store: Store, frontier: Frontier, context: VisitContext, totals: Totals, labels: SeedLabels, *, outbox: Outbox | None
    ) -> None:
        """Create the sitemaps of an agent.

        Args:
            outbox: Messages to the other agents, if there are any.
        """
        self._store = store
        self._tables = store.tables.sitemaps
        self._frontier = frontier
        self._context = context
        self._totals = totals
        self._labels = labels
        self._outbox = outbox
        self._entered: set[str] = set()  # origins that are no guests

    # -- which sitemaps there are

    def on_robots(self, origin: str, record: RobotsRecord, asked_for: CrawlURL | None, now: float) -> None:
        """Handle an origin's robots.txt that was read: request the sitemaps that it names.

        Args:
            asked_for: The page before which it was requested, if there is one.
        """
        if self._context.overriding.of_host(queue_name(origin)).sitemaps == "off" or record.kind == "unreachable":
            return
        if self._is_guest(origin, asked_for):
            return
        if len(self._entered) >= _REMEMBERED:
            self._entered.clear()
        self._entered.add(origin)
        named = self._context.robots.rules(record).sitemaps if record.kind == "rules" else ()
        label = self._labels.of_host(self._context.urls.queue_key(origin)) or (self._labels.of(asked_for) if asked_for is not None else "")
        for text in named:
            self.submit(Submitted(text, [queue_name(origin)], f"{origin}/robots.txt", 0, 0, label), now)
        if not named and self._is_seed(origin, asked_for):
            self._submit(Submitted(f"{origin}/sitemap.xml", [queue_name(origin)], "", 0, 0, label), now)

    def _is_guest(self, origin: str, asked_for: CrawlURL | None) -> bool:
        """Return whether an origin is requested for requisites of other pages, as far as is known here."""
        if self._context.requisites is None or origin in self._entered or (asked_for is not None and asked_for.purpose in _OF_PAGES):
            return False
        return self._store.tables.requisites.n_of_host(self._context.urls.queue_key(origin)) > 0

    def _enter(self, visit: Visit, now: float) -> None:
        """Request the sitemaps of a host whose robots.txt was read for a requisite, since a page of it was asked for now."""
        url = visit.lease.entry.url
        if self._context.requisites is None or url.host in self._entered or url.purpose not in _OF_PAGES:
            return
        is_asked = visit.outcome is not None and not visit.robots_of and not visit.policy_of
        if is_asked and (record := self._context.robots.record(url.host)) is not None:
            self.on_robots(url.host, record, url, now)

    def _limits(self, origin: str) -> LimitSettings:
        return self._context.overriding.of_host(queue_name(origin)).limits

    def _is_seed(self, origin: str, asked_for: CrawlURL | None) -> bool:
        if asked_for is not None and asked_for.purpose is Purpose.PAGE and asked_for.host == origin and not asked_for.seed_distance:
            return True
        home = self._store.tables.seen.row(self._context.urls.key(f"{origin}/"))
        return home is not None and not home.seed_distance

    def submit(self, submitted: Submitted, now: float) -> None:
        """Request a sitemap, here or by the agent that has its site, unless that was done within a day."""
        try:
            text = self._context.urls.canonical(submitted.sitemap, submitted.by)
        except BadURL as error:
            note_skip(self._store.tables, self._totals, Skip(presentable(submitted.sitemap)[:2048], error.reason, "sitemaps"), b"")
            return
        self._submit(msgspec.structs.replace(submitted, sitemap=text), now)

    def _submit(self, submitted: Submitted, now: float) -> None:
        """Request a sitemap whose URL is canonical."""
        level, hops = submitted.level, submitted.hops
        url = self._context.urls.url(submitted.sitemap, seed_distance=1, site_depth=1 + level, hops=hops, purpose=Purpose.SITEMAP)
        if self._outbox is not None and not self._outbox.is_own(url.key):
            self._outbox.submit(url.key, submitted)
            return
        known = self._tables.sitemap(url.key)
        if known is None:
            self._begin(url, submitted, now)
        else:
            self._again(url, known, submitted, now)

    def _begin(self, url: CrawlURL, submitted: Submitted, now: float) -> None:
        record = SitemapRecord(url.text, submitted.by, submitted.level, hosts=submitted.hosts[:MAX_HOSTS], label=submitted.label)
        if fault := sitemap_fault(url.text, self._context):
            self._fail(url, record, f"not requested: {fault[0]} ({fault[1]})")
            return
        queue = self._context.urls.queue_key(url.host)
        host = self._tables.announcer(queue) or AnnouncerRecord(queue_name(url.host))
        if host.n_sitemaps >= self._limits(url.host).max_sitemaps_per_host:
            host.n_refused += 1
            note_skip(self._store.tables, self._totals, Skip(url.text, Reason.SITEMAP_LIMIT, "limits"), b"")
        else:
            host.n_sitemaps += 1
            self._request(url, record, now, waits=host.n_sitemaps > _EARLY)
        self._tables.save_announcer(queue, host)

    def _again(self, url: CrawlURL, record: SitemapRecord, submitted: Submitted, now: float) -> None:
        """Request a known sitemap again, a day after the last time: it is old, or it has URLs of a host that names this sitemap only
        now.
        """
        new = [host for host in submitted.hosts if host not in record.hosts][: MAX_HOSTS - len(record.hosts)]
        due = record.fetched_at + DAY_S
        is_wanted = due <= now or (bool(new) and Reason.NOT_ITS_HOST in record.counts)
        record.hosts = [*record.hosts, *new]
        if record.state in _SETTLED and is_wanted and sitemap_fault(url.text, self._context) is None:
            self._request(url, record, now, due=due)
        elif new:
            self._tables.save_sitemap(url.key, record)

    def _request(self, url: CrawlURL, record: SitemapRecord, now: float, *, due: float = 0.0, waits: bool = False) -> None:
        seq = self._store.tables.requests.add(url, REQUESTER, now)
        lane, rank = (Lane.ANNOUNCED, 0) if waits else (Lane.FRESH, self._frontier.order.rank(url.site_depth, 0))
        fresh = Entry(lane, rank, seq, 0, url)
        refusal = self._frontier.push(fresh if due <= now else Entry(Lane.RETRY, int(due * 1e6) + 1, seq, 0, url), now)
        if refusal is None:
            record.state = "waiting"
            self._tables.save_sitemap(url.key, record)
        else:
            self._store.tables.requests.pop(seq)
            self._fail(url, record, f"not requested: {refusal}")

    def on_settled(self, visit: Visit, now: float) -> None:
        """Handle a settled page: it may be the first of its host, and name a feed."""
        self._enter(visit, now)
        url = visit.lease.entry.url
        if visit.feed and self._context.settings.sitemaps != "off":
            self.submit(Submitted(visit.feed, [queue_name(url.host)], url.text, 0, 0, self._labels.of(url)), now)

    # -- what became of a request

    def on_answer(self, visit: Visit, outcome: Outcome, now: float) -> None:
        """Handle the answer to a sitemap: store its chunks, which wait to be admitted."""
        entry = visit.lease.entry
        self._totals.request(outcome.wire_bytes)
        retry = self._frontier.finish(visit.lease, outcome, now, is_page=False)
        if isinstance(outcome, Failed):
            self._totals.count_failure(outcome.cause, terminal=False)
        if retry is not None:
            return
        record = self._end(entry)
        record.fetched_at = now
        match outcome:
            case Failed():
                self._fail(entry.url, record, f"{outcome.cause}: {outcome.detail}")
            case Redirect():
                self._redirected(entry.url, record, outcome, now)
            case _ if visit.sitemap is None:
                self._fail(entry.url, record, f"status {outcome.head.status}")
            case _:
                self._read(entry.url, record, visit.sitemap, now)

    def on_refusal(self, visit: Visit, skip: Skip, now: float) -> None:
        """Handle a sitemap that may not be requested."""
        entry = visit.lease.entry
        self._fail(entry.url, self._end(entry), f"not requested: {skip.reason} ({skip.by})")

    def on_unreachable(self, entry: Entry, failure: Failed, now: float) -> None:
        """Handle that the last try found no address."""
        self._fail(entry.url, self._end(entry), f"{failure.cause}: {failure.detail}")

    def _end(self, entry: Entry) -> SitemapRecord:
        """Delete a request; return the record of its sitemap, reset."""
        self._store.tables.requests.pop(entry.seq)
        record = self._tables.sitemap(entry.url.key)
        assert record is not None, f"{entry.url.text} was requested as a sitemap and is none"
        record.notes, record.counts = [], {}
        return record

    def _fail(self, url: CrawlURL, record: SitemapRecord, why: str) -> None:
        record.state, record.notes = "failed", [*record.notes, why[:300]]
        self._tables.save_sitemap(url.key, record)

    def _redirected(self, url: CrawlURL, record: SitemapRecord, outcome: Redirect, now: float) -> None:
        """Handle a redirected sitemap: the target may announce URLs of the same hosts, and of its own."""
        record.state, record.notes = "redirected", [f"redirected to {presentable(outcome.target)[:2048]}"]
        self._tables.save_sitemap(url.key, record)
        if url.hops >= self._context.overriding.of(url.text).limits.max_redirects:
            self._fail(url, record, f"{Reason.REDIRECT_LIMIT} (limits.max_redirects)")
            return
        hosts = list(dict.fromkeys([*record.hosts, queue_name(url.host)]))[:MAX_HOSTS]
        try:
            target = self._context.urls.canonical(outcome.target, url.text)
        except BadURL as error:
            self._fail(url, record, f"{Reason.REDIRECT_INVALID}: {error.reason}")
            return
        self.submit(Submitted(target, hosts, url.text, record.level, url.hops + 1, record.label), now)

    def _read(self, url: CrawlURL, record: SitemapRecord, reading: SitemapReading, now: float) -> None:
        record.kind, record.n_urls, record.notes = reading.kind, reading.n_urls, reading.notes[:_TOLD]
        if reading.children and record.level:
            record.notes.append(f"an index in an index: its {len(reading.children):,} sitemaps are not read")
        elif reading.children:
            self._read_index(url, record, reading.children, now)
        record.state = "admitting" if reading.chunks else "read" if reading.kind else "failed"
        record.n_chunks = len(reading.chunks)
        self._tables.add_chunks(url.key, reading.chunks)
        self._tables.save_sitemap(url.key, record)

    def _read_index(self, url: CrawlURL, record: SitemapRecord, children: Iterable[str], now: float) -> None:
        counts: Counter[str] = Counter()
        allowed = {*record.hosts, queue_name(url.host)}
        for child in dict.fromkeys(children):
            try:
                text = self._context.urls.canonical(child, url.text)
            except BadURL as error:
                counts[error.reason] += 1
                continue
            if queue_name(origin_of(text)) not in allowed:
                counts[Reason.NOT_ITS_HOST] += 1
                continue
            counts["sitemaps"] += 1
            self.submit(Submitted(text, record.hosts, url.text, record.level + 1, 0, record.label), now)
        record.counts = dict(counts)
