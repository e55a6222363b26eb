"""The robots.txt of every origin: stored for a day; the parsed rules of files in use are cached in memory.

robots.txt is the first URL of every origin's queue: it is fetched before the first page, with the politeness of the host. A redirected
robots.txt is followed step by step through the frontier, with the politeness of each target host and without its robots.txt. The rules then
hold for the origin that was asked first (RFC 9309, 2.3.1.2).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from thresher.config.settings import RobotsSettings, Settings
from thresher.crawler.core.lru_cache import LruCache
from thresher.crawler.core.model import CrawlURL, Fetched, Outcome, Purpose, Redirect
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.core.robots import RobotsRecord, Rules, file_hash, head_of, judge
from thresher.crawler.core.url import BadURL, URLSpace, queue_name
from thresher.storage.tables.robots import RobotsTable

MAX_HOPS = 5
_RULES_IN_MEMORY = 4 << 20  # bytes of the files whose rules are in memory; each counts with its size and 1 KiB
_LARGE_FILE = 16 << 10  # bytes; a smaller file is parsed in 10 ms at most
_RECORDS_IN_MEMORY = 16_384


class PeerAsking(NamedTuple):
    """Another agent that waits for a robots.txt on one of our hosts."""

    agent: int
    asked: str  # the origin for which it asked


RobotsWaiter = str | PeerAsking  # waits for a robots.txt: one of our origins, or another agent


def weight_of(body: bytes) -> int:
    """Return the bytes with which a file counts whose rules are in memory."""
    return len(body) + 1024


class RobotsStanding(Enum):
    """The decision of robots.txt about one URL, as of now."""

    ALLOWED = "allowed"
    DENIED = "denied"
    UNKNOWN = "unknown"  # the file must be fetched (again) first
    UNREACHABLE = "unreachable"  # the file could not be read: everything is disallowed until the next try


@dataclass(frozen=True, slots=True)
class CheckedStanding:
    """A standing; if it is `UNREACHABLE`, with the time of the next try."""

    standing: RobotsStanding
    until: float = 0.0


_ALLOWED, _DENIED, _UNKNOWN = (
    CheckedStanding(RobotsStanding.ALLOWED),
    CheckedStanding(RobotsStanding.DENIED),
    CheckedStanding(RobotsStanding.UNKNOWN),
)


class RobotsCache:
    """Decisions by origin. Memory: the records of 16,384 origins, the rules of 4,096 files (fewer if they are large)."""

    def __init__(self, table: RobotsTable, urls: URLSpace, settings: Settings, *, agent: str, not_before: float = 0.0) -> None:
        """Create the robots cache.

        Args:
            not_before: A file that was read before this time (seconds since the epoch) is requested again, as at the beginning of a round
                of revisits.
        """
        self._not_before = not_before
        self._table = table
        self._urls = urls
        self._overriding = Overriding(settings)
        self._agent = agent
        self._records: OrderedDict[str, RobotsRecord] = OrderedDict()
        self._rules: LruCache[bytes, Rules] = LruCache(_RULES_IN_MEMORY)
        self._waiting: dict[str, set[RobotsWaiter]] = {}  # URL to which a robots.txt was redirected → who waits for it
        self._unused: set[str] = set()  # origins whose file was read for a URL that it has not judged yet

    def ask(self, url: CrawlURL, now: float) -> CheckedStanding:
        """Return whether `url` may be fetched; needs no I/O for an origin in use.

        A file is always valid for the URL for which it was read, even if it expires before the host may be requested again.
        """
        if not self.obeys(url):
            return _ALLOWED
        record = self.record(url.host)
        is_unused = url.host in self._unused
        self._unused.discard(url.host)
        if record is None or ((record.expires_at <= now or record.fetched_at < self._not_before) and not is_unused):
            return _UNKNOWN
        if record.kind == "rules":
            return _ALLOWED if self.rules(record).allows(url.text) else _DENIED
        return _ALLOWED if record.kind == "allow" else CheckedStanding(RobotsStanding.UNREACHABLE, record.expires_at)

    def obeys(self, url: CrawlURL) -> bool:
        """Return whether robots.txt is obeyed for this URL."""
        return self._overriding.of(url.text).robots.obey

    def record(self, origin: str) -> RobotsRecord | None:
        """Return what is known of an origin, fresh or not."""
        record = self._records.get(origin)
        if record is None and self._table.may_have(origin):
            record = self._table.record(self._urls.origin_key(origin))
        if record is not None:
            self._remember(origin, record)
        return record

    def rules(self, record: RobotsRecord) -> Rules:
        """Return the parsed rules of a record of kind "rules"; one object for all origins with the same file."""
        rules = self._rules.get(record.file)
        if rules is None:
            body = self._table.body(record.file)
            rules = self._rules.put(record.file, Rules(body, self._agent), weight_of(body))
        return rules

    async def read_ahead(self, outcome: Outcome) -> None:
        """Parse a large file in a thread before `learn` needs its rules: the worst file would block the event loop for a third of a
        second.
        """
        if isinstance(outcome, Fetched) and len(outcome.body) > _LARGE_FILE:
            body = head_of(outcome.body, self._settings(outcome.url.host).max_bytes)
            self._rules.put(file_hash(body), await asyncio.to_thread(Rules, body, self._agent), weight_of(body))

    def request(self, origin: str) -> CrawlURL:
        """Return the URL of the origin's robots.txt."""
        return self._urls.url(f"{origin}/robots.txt", purpose=Purpose.ROBOTS)

    def hop(self, waiting: set[RobotsWaiter], redirect: Redirect) -> CrawlURL | None:
        """Return the target of a redirected robots.txt, and remember who waits for it; None if it is not to be followed."""
        if redirect.url.hops >= MAX_HOPS:
            return None
        try:
            target = self._urls.canonical(redirect.target, redirect.url.text)
        except BadURL:
            return None
        hop = self._urls.url(target, hops=redirect.url.hops + 1, purpose=Purpose.ROBOTS, via=redirect.url.key)
        self.wait_for(hop, waiting)
        return hop

    def wait_for(self, hop: CrawlURL, waiting: set[RobotsWaiter]) -> None:
        """Remember who waits for the URL `hop`, to which a robots.txt was redirected."""
        self._waiting.setdefault(hop.text, set()).update(waiting)

    def waiting_for(self, url: CrawlURL) -> set[RobotsWaiter]:
        """Return who waits for such a URL, and forget them."""
        return self._waiting.pop(url.text, set())

    def learn(self, origin: str, outcome: Outcome, now: float) -> RobotsRecord:
        """Judge the answer to the request of an origin's robots.txt, and write the record into the open group of visits."""
        record, body = judge(origin, outcome, self.record(origin), self._settings(origin), now)
        self._table.put(self._urls.origin_key(origin), record, body)
        self._remember(origin, record)
        if record.kind != "unreachable":
            self._unused.add(origin)
        return record

    def crawl_delay(self, record: RobotsRecord) -> float | None:
        """Return the delay that the record's file asks of us, if any."""
        return self.rules(record).crawl_delay if record.kind == "rules" else None

    def queue_delay(self, origin: str) -> float | None:
        """Return the longest delay that any origin of the host queue asks for: http, https, www and bare share one clock."""
        name = origin.partition("://")[2].removeprefix("www.")
        records = [self.record(f"{scheme}://{www}{name}") for scheme in ("http", "https") for www in ("", "www.")]
        return max((delay for record in records if record and (delay := self.crawl_delay(record)) is not None), default=None)

    def _settings(self, origin: str) -> RobotsSettings:
        return self._overriding.of_host(queue_name(origin)).robots

    def _remember(self, origin: str, record: RobotsRecord) -> None:
        self._records[origin] = record
        self._records.move_to_end(origin)
        if len(self._records) > _RECORDS_IN_MEMORY:
            self._records.popitem(last=False)
