"""Admits the URLs of sitemaps: from the chunks that were read to URLs in their hosts' queues, each step in the commit of a visit.

    chunks in the store ─ admit_next ─ may the sitemap speak for it? ─ gates ─ ANNOUNCED lane
                                                                    └ other agents' sites: messages

A sitemap may announce URLs of its own directory [sitemaps.org: location], and of hosts whose robots.txt (or page, for a feed) named it, or
named an index or redirect that leads to it [cross submits]; http, https, www and bare of a name are one host. All other URLs are only
counted.

Announced URLs pass all gates of links; for `limits.max_depth` their depth is that of their directory. New URLs wait behind all linked URLs
of their host, in the order of directories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from thresher.crawler.core.lastmod import holds, parse_time
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import CrawlURL, Head, Purpose, Reason
from thresher.crawler.core.sitemap import SitemapEntry, decode_chunk
from thresher.crawler.core.url import BadURL, directory_depth, is_home, origin_of, path_of, queue_name
from thresher.crawler.gates.link_gate import Skip, presentable
from thresher.crawler.settlement.admission import Admission
from thresher.crawler.settlement.coming_visits import ComingVisits
from thresher.crawler.settlement.outbox import Outbox
from thresher.crawler.settlement.skips import note_skip
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.visit import VisitContext
from thresher.filters.base import LinkJudgement
from thresher.filters.deliberation import Deliberation
from thresher.storage.records import AnnouncedRecord, AnnouncerRecord, SitemapRecord
from thresher.storage.store import Store


class Announcements:
    """Admits announced URLs, and stores what sitemaps say about them."""

    def __init__(
        self,
        store: Store,
        context: VisitContext,
        totals: Totals,
        admission: Admission,
        coming: ComingVisits,
        *,
        outbox: Outbox | None,
        learn: Callable[[Deliberation[LinkJudgement], float], None],
    ) -> None:
        """Create the announcements of an agent's sites.

        Args:
            outbox: Messages to the other agents, if there are any.
            learn: Lets filters learn from a judgement of links.
        """
        self._store = store
        self._tables = store.tables.sitemaps
        self._context = context
        self._totals = totals
        self._admission = admission
        self._coming = coming
        self._outbox = outbox
        self._learn = learn

    @property
    def is_busy(self) -> bool:
        """Whether a chunk waits to be admitted."""
        return self._tables.has_chunks

    def admit_next(self, now: float) -> None:
        """Admit one chunk; the caller ends the visit."""
        taken = self._tables.take_chunk()
        if taken is None:
            return
        key, chunk = taken
        record = self._tables.sitemap(key)
        assert record is not None, f"{key.hex()} has something to announce and is no sitemap"
        counts: Counter[str] = Counter(record.counts)
        sitemap = self._context.urls.url(record.text, purpose=Purpose.SITEMAP)
        own, others = self._sorted(record, sitemap, decode_chunk(chunk), counts)
        if self._outbox is not None and others:
            self._outbox.announce(record.text, record.label, others)
            counts["abroad"] += len(others)
        counts.update(self.announce(sitemap, own, now))
        record.counts, record.n_chunks = dict(counts), max(0, record.n_chunks - 1)
        if not record.n_chunks and record.state == "admitting":
            record.state = "read"
        self._tables.save_sitemap(key, record)

    def _sorted(
        self, record: SitemapRecord, sitemap: CrawlURL, entries: Iterable[SitemapEntry], counts: Counter[str]
    ) -> tuple[list[SitemapEntry], list[tuple[bytes, SitemapEntry]]]:
        """Return the URLs that the sitemap may announce, in canonical form: (those of this agent, those of others with their keys)."""
        own: list[SitemapEntry] = []
        others: list[tuple[bytes, SitemapEntry]] = []
        for entry in entries:
            try:
                text = self._context.urls.canonical(entry.loc, record.text)
            except BadURL as error:
                self._count(counts, Skip(presentable(entry.loc)[:2048], error.reason, "url"), sitemap.key)
                continue
            if not _may_speak(record, text):
                self._count(counts, Skip(text, Reason.NOT_ITS_HOST, "sitemaps"), sitemap.key)
                continue
            found, key = msgspec.structs.replace(entry, loc=text), self._context.urls.key(text)
            if self._outbox is not None and not self._outbox.is_own(key):
                others.append((key, found))
            else:
                own.append(found)
        return own, others

    def announce(self, sitemap: CrawlURL, entries: Sequence[SitemapEntry], now: float) -> Counter[str]:
        """Admit announced URLs of this agent's sites, in canonical form; return how many had which result."""
        counts: Counter[str] = Counter()
        by_text: dict[str, SitemapEntry] = {}
        for entry in entries:
            by_text.setdefault(entry.loc, entry)
        gated = self._context.links.gate(list(by_text))
        for skip in gated.skips:
            self._count(counts, skip, sitemap.key)
        fresh: list[tuple[str, bytes]] = []
        for text, key, row in zip(gated.texts, gated.keys, self._store.tables.seen.rows(gated.keys), strict=True):
            if row is not None:
                counts["known"] += 1
                self._note(key, by_text[text], sitemap, now)
            elif self._context.links.is_too_deep(_distance(text), text):
                self._count(counts, Skip(text, Reason.DEPTH_LIMIT, "limits"), sitemap.key)
            elif not self._may_add(text):
                self._count(counts, Skip(text, Reason.SITEMAP_LIMIT, "limits"), sitemap.key)
            else:
                fresh.append((text, key))
        if fresh:
            self._admit(sitemap, fresh, by_text, counts, now)
        return counts

    def _admit(
        self, sitemap: CrawlURL, fresh: list[tuple[str, bytes]], by_text: dict[str, SitemapEntry], counts: Counter[str], now: float
    ) -> None:
        """Let the learned gate judge new URLs, and write the result of each."""
        texts, keys = zip(*fresh, strict=True)
        hosts = tuple(origin_of(text) for text in texts)
        sites = tuple(self._context.links.site(host) for host in hosts)
        depths = [0 if is_home(text) else _distance(text) for text in texts]
        batch = LinkBatch(sitemap, texts, hosts, sites, keys, depths)
        deliberation = self._context.panel.links(batch)
        for i, (text, key) in enumerate(fresh):
            purpose = Purpose.AUDIT if i in deliberation.audited else Purpose.ANNOUNCED
            url = CrawlURL(text, sites[i], hosts[i], key, _distance(text), depths[i], 0, purpose, sitemap.key)
            if self._admission.admit_judged(url, i, deliberation, now):
                counts["new"] += 1
                self._note(key, by_text[text], sitemap, now)
            else:
                counts["refused"] += 1
        self._learn(deliberation, now)

    def _may_add(self, text: str) -> bool:
        """Count a new URL of a host; return whether its budget has room for it."""
        origin = origin_of(text)
        queue = self._context.urls.queue_key(origin)
        host = self._tables.announcer(queue) or AnnouncerRecord(queue_name(origin))
        if host.n_urls >= self._context.overriding.of_host(queue_name(origin)).limits.max_announced_per_host:
            return False
        host.n_urls += 1
        self._tables.save_announcer(queue, host)
        return True

    def _note(self, key: bytes, entry: SitemapEntry, sitemap: CrawlURL, now: float) -> None:
        """Store what a sitemap says about a URL."""
        known = self._tables.announced(key)
        said = AnnouncedRecord(sitemap.key, entry.kind, now, entry.lastmod, entry.changefreq, entry.priority)
        if known is not None:
            said.sitemap, said.at = known.sitemap, known.at
        if known != said:
            self._tables.save_announced(key, said)
            self._coming.on_lastmod(key, said.lastmod, now)

    def on_page(self, url: CrawlURL, head: Head, now: float) -> None:
        """Handle a fetched page: compare the sitemap's date of its last change with what the page says."""
        said = self._tables.announced(url.key)
        held = holds(said.lastmod, parse_time(head.get(b"last-modified")), now) if said is not None else None
        if held is None:
            return
        queue = self._context.urls.queue_key(url.host)
        host = self._tables.announcer(queue) or AnnouncerRecord(queue_name(url.host))
        host.n_held += held
        host.n_false += not held
        self._tables.save_announcer(queue, host)

    def _count(self, counts: Counter[str], skip: Skip, via: bytes) -> None:
        counts[skip.reason] += 1
        note_skip(self._store.tables, self._totals, skip, via)


def _distance(text: str) -> int:
    """Return the depth of an announced URL: that of its directory, at least 1, since it is not a seed."""
    return max(1, directory_depth(text))


def _may_speak(record: SitemapRecord, text: str) -> bool:
    """Return whether a sitemap may announce a URL [sitemaps.org: location, cross submits]."""
    host = queue_name(origin_of(text))
    if host in record.hosts:
        return True
    path = path_of(record.text)
    return host == queue_name(origin_of(record.text)) and path_of(text).startswith(path[: path.rindex("/") + 1])
