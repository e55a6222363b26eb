"""A small crawl on disk, written through the store's own tables: a URL of every kind, and titles with control characters for terminals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from thresher.config.settings import LimitSettings, ScopeSettings, Settings
from thresher.crawler.core.model import CrawlURL, Purpose, Reason, State, Verdict
from thresher.crawler.core.order.breadth_first import BreadthFirst
from thresher.crawler.core.ports import Entry, HostRecord, Lane, SiteRecord
from thresher.crawler.core.robots import RobotsRecord, file_hash
from thresher.crawler.core.url import URLRules, URLSpace, queue_name
from thresher.crawler.settlement.totals import Totals
from thresher.filters.tail.records import Cohort, HostTail, TailClass
from thresher.storage.records import FailureRecord, PageRecord
from thresher.storage.store import Store
from thresher.storage.tables.tail import TailPlace, class_tag
from thresher.storage.tables.verdicts import verdict_records

NOW = 1_700_000_000.0
SECRET = b"s" * 32  # the same rows on the same pages of the files each time
SEED = "https://a.example/"
HOSTILE = "\x1b]0;owned\x07 \u202egnp.exe\n=cmd()\x9b31m \U0001f600"
LINKS = b'<a href="/"><img alt="Home"></a><a href="//elsewhere.example/" rel=nofollow title=Out></a><a href="mailto:x@a.example"></a>'
BODY = b"<!doctype html><title>t</title><p>Words of the <b>page</b></p><script>no()</script>" + LINKS
ROBOTS = b"User-agent: *\nDisallow: /private\nCrawl-delay: 3\n"


class SmallStore:
    """Builds the store; tests know every URL by its name."""

    def __init__(self, path: Path, settings: Settings | None = None, secret: bytes = SECRET) -> None:
        self.settings = settings or Settings(seeds=[SEED], scope=ScopeSettings(type="host"), limits=LimitSettings(max_depth=3))
        self.store = Store.create(path, self.settings, NOW, secret=secret)
        self.space = URLSpace(self.store.secret, URLRules())
        self.totals = Totals(self.store.counters)
        self._hosts: dict[bytes, HostRecord] = {}

    def url(self, path: str, via: str = "", depth: int = 1, **place: Any) -> CrawlURL:
        text = path if "://" in path else f"https://a.example{path}"
        key = self.space.key(via if "://" in via else f"https://a.example{via}") if via else b""
        return self.space.url(text, via=key, seed_distance=depth, site_depth=depth, **place)

    def known(self, url: CrawlURL, state: State = State.QUEUED, reason: Reason | None = None) -> int:
        """Make a URL known; one that is queued gets its row."""
        seq = self.store.tables.seen.add(url, state, reason, NOW)
        if state is State.QUEUED:
            self.wait(url, seq)
        return seq

    def wait(self, url: CrawlURL, seq: int, lane: Lane = Lane.FRESH, rank: int | None = None, attempt: int = 0) -> None:
        queue = self.space.queue_key(url.host)
        host = self.host(url)
        rank = BreadthFirst(self.store.tables.queues).rank(url.site_depth, 0) if rank is None else rank
        self.store.tables.queues.put(queue, Entry(lane, rank, seq, attempt, url))
        host.n_queued += 1

    def host(self, url: CrawlURL) -> HostRecord:
        queue = self.space.queue_key(url.host)
        return self._hosts.setdefault(queue, HostRecord(name=queue_name(url.host), site=url.site))

    def page(
        self, url: CrawlURL, *, status: int = 200, links: tuple[int, ...] = (), body: bytes | None = BODY, **record: object
    ) -> PageRecord:
        """Settle a known URL by a page."""
        fields: dict[str, Any] = {
            "mime_type": "text/html",
            "charset": "utf-8",
            "title": "A title",
            "n_bytes": len(body or b""),
            "wire_bytes": 500,
            "fetched_at": NOW + self.store.visit,
            "elapsed_s": 0.25,
            "address": "127.0.0.1",
            "headers": [(b"Content-Type", b"text/html"), (b"X-Odd", b"\x1b[31m\xff")],
            "n_links": len(links),
            **record,
        }
        place: dict[str, Any] = {
            "seed_distance": url.seed_distance,
            "site_depth": url.site_depth,
            "hops": url.hops,
            "via": url.via,
            "purpose": int(url.purpose),
        }
        made = PageRecord(url=url.text, key=url.key, status=status, **place, **fields)
        self.store.tables.pages.put(made, body)
        self.store.tables.links.put(links)
        self.totals.request(500)
        self.totals.page(status)
        self.host(url).n_pages += 1
        self.settle(url)
        return made

    def settle(self, url: CrawlURL, state: State = State.DONE, reason: Reason | None = None) -> None:
        self.store.tables.seen.settle(url.key, state, reason)
        self.host(url).n_requests += 1
        self.store.end_visit()

    def close(self) -> None:
        """Write the hosts and commit everything."""
        for queue, record in self._hosts.items():
            if record.n_queued:
                record.due = record.next_at or NOW
                self.store.tables.queues.file(queue, 0.0, record.due)
            self.store.tables.queues.save_host(queue, record)
        sites: dict[bytes, SiteRecord] = {}
        for queue, record in self._hosts.items():
            sites.setdefault(queue[:8], SiteRecord(name=record.site)).n_hosts += 1
        for site, of_site in sites.items():
            self.store.tables.queues.save_site(site, of_site)
        self.store.close(NOW + 100)


def build(path: Path, settings: Settings | None = None) -> SmallStore:
    """Write a crawl of a.example: pages, a redirect, failures, URLs that wait, URLs that were refused."""
    small = SmallStore(path, settings)
    store, url = small.store, small.url
    seed = url(SEED, depth=0)
    small.known(seed, State.DONE)
    names = ("/page", "/old", "/gone", "/dead", "/error", "/copy", "/unwanted")
    seqs = tuple(small.known(url(name, via="/"), State.DONE) for name in names)
    small.page(seed, links=seqs, title=HOSTILE)
    _pages(small)
    _failures(small)
    _redirect(small)
    _waiting(small)
    _refused(small)
    store.tables.robots.put(
        small.space.origin_key("https://a.example"),
        RobotsRecord("https://a.example", "rules", NOW, NOW + 86_400, 200, file_hash(ROBOTS)),
        ROBOTS,
    )
    small.close()
    return small


def _pages(small: SmallStore) -> None:
    url, store = small.url, small.store
    page = small.page(
        url("/page", via="/"), links=(1,), canonical="https://a.example/page", signals=["ai-train=no"], flags=["truncated_size"]
    )
    copy = url("/copy", via="/")
    evidence = {"copy_of": page.key.hex()}
    verdict = Verdict("exact_duplicate", keep=False, follow=False, score=1.0, reason=Reason.DUPLICATE_CONTENT, evidence=evidence)
    small.page(copy, body=None, keep=False, follow=False, verdicts=verdict_records([verdict]))
    small.totals.count_saved("exact_duplicate")
    store.tables.verdicts.revise(page.key, Verdict("exact_duplicate", score=0.5), NOW + 50)
    small.page(url("/gone", via="/"), status=404, title="Not found")


def _failures(small: SmallStore) -> None:
    url, store = small.url, small.store
    for name, status in (("/dead", 0), ("/error", 503)):
        cause = "http_5xx" if status else "conn_refused"
        store.tables.failures.put(url(name).key, FailureRecord(cause, f"{HOSTILE} said no", NOW, 4, True, status))
        if status:
            small.page(url(name, via="/"), status=status, follow=False, failed_cause=cause, failed_detail="no", body=b"sorry")
        else:
            small.settle(url(name))
    store.tables.failures.put(url("/unwanted").key, FailureRecord("bad_type", "image/png, 10 bytes", NOW, 1, True, 200))
    small.settle(url("/unwanted"), State.DONE, Reason.BAD_TYPE)


def _redirect(small: SmallStore) -> None:
    url, store = small.url, small.store
    old, new = url("/old", via="/"), url("/new", via="/old", hops=1)
    store.tables.redirects.put(old.key, new.key, new.text, 301, NOW)
    small.totals.redirect(301)
    small.settle(old)
    small.known(new, State.DONE)
    small.page(new)
    store.tables.redirects.put_pair(old.key, new.key, new.text, 1, 200)


def _waiting(small: SmallStore) -> None:
    url, store = small.url, small.store
    small.known(url("/wait1", via="/page", depth=2))
    small.known(url("/wait2", via="/page", depth=2))
    retry = url("/retry", via="/page", depth=2)
    seq = store.tables.seen.add(retry, State.QUEUED, None, NOW)
    small.wait(retry, seq, Lane.RETRY, int((NOW + 60) * 1e6), 1)
    store.tables.failures.put(retry.key, FailureRecord("timeout_total", "60 s", NOW, 1, False))
    audit = url("/audited", via="/page", depth=2, purpose=Purpose.AUDIT)
    small.wait(audit, store.tables.seen.add(audit, State.QUEUED, None, NOW), Lane.AHEAD, 0)
    small.host(retry).next_at = NOW + 5
    small.host(retry).crawl_delay = 3.0
    other = url("https://parked.example/", via="/page", depth=2)
    small.known(other)
    record = small.host(other)
    record.parked, record.parked_until, record.n_failed, record.failures = "host_dead", NOW + 1e9, 12, 9


def _refused(small: SmallStore) -> None:
    url, store = small.url, small.store
    for path, reason, by in (
        ("/private/x", Reason.ROBOTS_DENIED, "robots"),
        ("/calendar/2024/01", Reason.PATH_TRAP, "path_trap"),
    ):
        found = url(path, via="/page", depth=2)
        small.known(found, State.REFUSED, reason)
        store.tables.skips.add(found.text, reason, via=found.via, by=by)
        small.totals.skip(reason)
    small.totals.count_saved("path_trap")
    for text, reason, by in (
        ("https://elsewhere.example/", Reason.OUT_OF_SCOPE, "scope"),
        ("https://a.example/pic.png", Reason.BAD_TYPE, "media"),
        ("mailto:x@a.example\n=1", Reason.BAD_SCHEME, "url"),
    ):
        store.tables.skips.add(text, reason, via=url("/page").key, by=by)
        small.totals.skip(reason)
    held, alias = url("/held", via="/page", depth=2), url("/alias", via="/page", depth=2)
    small.known(held, State.HELD, Reason.HELD_BY_FILTER)
    store.tables.held.hold(held.key, "dust:rule-7")
    queue = held.key[:8] + bytes(8)
    store.tables.tail.put_host(queue, msgspec.msgpack.encode(HostTail()))
    of = TailClass("dust:rule-7", [Cohort(known=1)])
    store.tables.tail.put_class(queue, of.holder, msgspec.msgpack.encode(of))
    store.tables.tail.add(held.key, TailPlace(queue, class_tag(of.holder), 0, bytes(8), is_inherited=False), of.holder)
    small.known(alias, State.ALIAS, Reason.REWRITTEN)
    store.tables.aliases.put(alias.key, "https://a.example/page", "drop session ids")
