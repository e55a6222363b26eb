"""Collects the statements about a page's use by AI; requests /.well-known/tdmrep.json if the configuration asks for it.

Files and headers that come anyway are always read. tdmrep.json is a request of its own: once for each origin and `robots.cache_ttl`, in
place of the first page and at the pace of its host, if its robots.txt allows it, and only with `ai_preferences: record` or `obey`.
Whatever is answered, the pages are fetched: it says what may be done with them.

Memory: what 4,096 files of robots.txt, fewer of large ones, and 4,096 origins say.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from thresher.config.settings import RobotsSettings, Settings
from thresher.crawler.core.ai_preferences import (
    WELL_KNOWN,
    RobotsWords,
    Stated,
    TdmRule,
    of_headers,
    of_tdmrep,
    read_tdmrep,
    reserves,
)
from thresher.crawler.core.lru_cache import LruCache
from thresher.crawler.core.model import CrawlURL, Fetched, Outcome, Purpose
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.core.robots import RobotsRecord
from thresher.crawler.core.url import URLSpace, queue_name
from thresher.crawler.gates.robots_cache import RobotsCache, RobotsStanding, weight_of
from thresher.storage.records import PolicyRecord
from thresher.storage.tables.policies import Policies
from thresher.storage.tables.robots import RobotsTable

_FILES: Final = 4 << 20  # bytes of robots.txt, each of 1 KiB and its own
_ORIGINS: Final = 4_096
_ROBOTS_BYTES: Final = 64 << 10  # of a robots.txt that are read for this


class AiPreferences:
    """The statements about pages. One object per agent."""

    def __init__(self, policies: Policies, files: RobotsTable, robots: RobotsCache, urls: URLSpace, settings: Settings) -> None:
        self._policies, self._files, self._robots, self._urls = policies, files, robots, urls
        self._overriding = Overriding(settings)
        self._words: LruCache[bytes, RobotsWords] = LruCache(_FILES)
        self._rules: OrderedDict[str, tuple[PolicyRecord, list[TdmRule]]] = OrderedDict()

    def request(self, url: CrawlURL, now: float) -> CrawlURL | None:
        """Return the URL of the tdmrep.json that is to be requested before this one, None if there is none."""
        if not self._asks(url):
            return None
        known = self._policy(url.host)
        if known is not None and now < known[0].expires_at:
            return None
        asked = self._urls.url(f"{url.host}{WELL_KNOWN}", purpose=Purpose.ROBOTS)
        if self._robots.ask(asked, now).standing is RobotsStanding.ALLOWED:
            return asked
        self._remember(url.host, PolicyRecord(url.host, now, now + self._times(url.host).cache_ttl))
        return None

    def learn(self, origin: str, outcome: Outcome, now: float) -> None:
        """Write what an origin has answered; no answer is asked for again after `robots.error_ttl`."""
        status = outcome.head.status if outcome.head is not None else 0
        body = outcome.body if isinstance(outcome, Fetched) and status == 200 and outcome.refused is None else b""
        times = self._times(origin)
        record = PolicyRecord(origin, now, now + (times.cache_ttl if 200 <= status < 500 else times.error_ttl), status, body)
        self._policies.put(self._urls.origin_key(origin), record)
        self._remember(origin, record)

    def of(self, url: CrawlURL, headers: tuple[tuple[bytes, bytes], ...], signals: tuple[str, ...]) -> list[Stated]:
        """Return the statements about a page.

        Args:
            signals: The signals of its own markup and X-RobotsSettings-Tag.
        """
        stated: list[Stated] = []
        record = self._robots.record(url.host)
        if record is not None and record.kind == "rules" and record.file:
            stated += [("robots.txt", says, record.fetched_at) for says in self._of_file(record.file, record).of(url.text)]
        known = self._policy(url.host) if self._asks(url) else None
        if known is not None:
            stated += [("tdmrep.json", says, known[0].fetched_at) for says in of_tdmrep(known[1], url.text)]
        stated += [("header", says, 0.0) for says in of_headers(headers)]
        stated += [("page", says, 0.0) for says in signals]
        return stated

    def disallows(self, url: CrawlURL, stated: list[Stated]) -> bool:
        """Return whether a page's statements forbid to store its body."""
        return self._word(url) == "obey" and reserves(stated)

    def _asks(self, url: CrawlURL) -> bool:
        return self._word(url) != "given"

    def _word(self, url: CrawlURL) -> str:
        return self._overriding.of(url.text).ai_preferences

    def _times(self, origin: str) -> RobotsSettings:
        return self._overriding.of_host(queue_name(origin)).robots

    def _of_file(self, name: bytes, record: RobotsRecord) -> RobotsWords:
        words = self._words.get(name)
        if words is None:
            body = self._files.body(name)[:_ROBOTS_BYTES]
            words = self._words.put(name, RobotsWords(body, self._robots.rules(record)), weight_of(body))
        return words

    def _policy(self, origin: str) -> tuple[PolicyRecord, list[TdmRule]] | None:
        known = self._rules.get(origin)
        if known is None and (record := self._policies.record(self._urls.origin_key(origin))) is not None:
            known = self._remember(origin, record)
        return known

    def _remember(self, origin: str, record: PolicyRecord) -> tuple[PolicyRecord, list[TdmRule]]:
        self._rules[origin] = known = (record, read_tdmrep(record.body))
        if len(self._rules) > _ORIGINS:
            self._rules.popitem(last=False)
        return known
