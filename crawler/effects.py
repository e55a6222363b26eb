"""What filters ask for beside a verdict, carried out in the commit of the visit that made them ask.

| effect  | on a new URL                     | on a waiting URL                  | on any other             |
|---------|----------------------------------|-----------------------------------|--------------------------|
| Rewrite | recorded as alias, target queued | leaves the queue, becomes alias   | nothing                  |
| Hold    | recorded as held                 | leaves the queue, becomes held    | held: one more holder    |
| Release | –                                | –                                 | held: queued when no holder is left |
| Request | queued ahead of its host's queue, under all of politeness; an audit revives a URL that was held, an alias or refused |
| Revise  | –                                | –                                 | page: the newer verdict stands beside the stored one |
"""

from __future__ import annotations

from collections.abc import Iterable

from crawler.core.frontier import Frontier
from crawler.core.model import CrawlURL, Hold, Purpose, Reason, Release, Request, Revise, Rewrite, State
from crawler.core.ports import Entry, Lane
from crawler.core.url import BadURL
from crawler.totals import Totals
from crawler.visit import Tools
from filters.panel import Asked
from storage.organs import Organs
from storage.schema import SeenRow

_REVIVABLE = (State.HELD, State.ALIAS, State.REFUSED)


class Effector:
    """Carries out effects on the store and the frontier."""

    def __init__(self, organs: Organs, frontier: Frontier, tools: Tools, totals: Totals) -> None:
        self._organs = organs
        self._frontier = frontier
        self._tools = tools
        self._totals = totals

    def apply(self, asked: Iterable[Asked], now: float) -> None:
        """Carry out what filters ask for, in order."""
        for who, effect in asked:
            match effect:
                case Rewrite():
                    self._rewrite(effect, who, now)
                case Hold():
                    self._hold(effect, who)
                case Release():
                    self._release(effect.holder, now)
                case Request():
                    self._request(effect, who, now)
                case Revise():
                    self._organs.verdicts.revise(effect.page, effect.verdict, now)

    def set_aside(self, url: CrawlURL, effects: Iterable[Asked], now: float) -> int:
        """Record a new link that a filter rewrites or holds; return its sequence number, -1 if its rule's rows are used up."""
        for who, effect in effects:
            if isinstance(effect, Rewrite) and effect.url == url.text:
                self._totals.saved(who)
                if not self._organs.rules.may_record(f"{who}:{effect.rule}"):
                    return -1
                seq = self._organs.seen.add(url, State.ALIAS, Reason.REWRITTEN, now)
                self._organs.aliases.put(url.key, effect.to, effect.rule)
                return seq
            if isinstance(effect, Hold) and effect.url == url.text:
                self._totals.saved(who)
                seq = self._organs.seen.add(url, State.HELD, Reason.HELD_BY_FILTER, now)
                self._organs.held.hold(url.key, effect.holder)
                return seq
        raise AssertionError(f"{url.text} was set aside by no effect")

    def _rewrite(self, effect: Rewrite, who: str, now: float) -> None:
        key = self._key(effect.url)
        row = self._organs.seen.row(key) if key else None
        if key is None or row is None:
            return
        if row.state is State.QUEUED and self._withdraw(key, row):
            self._totals.saved(who)
            self._organs.seen.update(key, row._replace(state=State.ALIAS, reason=Reason.REWRITTEN))
            self._organs.aliases.put(key, effect.to, effect.rule)
        elif row.state is not State.ALIAS:
            return
        self._queue_target(effect.to, key, row, now)

    def _queue_target(self, text: str, alias: bytes, row: SeenRow, now: float) -> None:
        """Queue the canonical URL of an alias, at the alias's own place in the crawl, unless it is known or out of scope."""
        key = self._key(text)
        if key is None or self._organs.seen.row(key) is not None or not isinstance(self._tools.links.check(text), bytes):
            return
        self._push_new(
            self._tools.urls.url(text, seed_distance=row.seed_distance, site_depth=row.site_depth, hops=row.hops, via=alias),
            Lane.FRESH,
            now,
        )

    def _hold(self, effect: Hold, who: str) -> None:
        key = self._key(effect.url)
        row = self._organs.seen.row(key) if key else None
        if key is None or row is None:
            return
        if row.state is State.HELD:
            self._organs.held.hold(key, effect.holder)
        elif row.state is State.QUEUED and self._withdraw(key, row):
            self._totals.saved(who)
            self._organs.seen.update(key, row._replace(state=State.HELD, reason=Reason.HELD_BY_FILTER))
            self._organs.held.hold(key, effect.holder)

    def _release(self, holder: str, now: float) -> None:
        for key in self._organs.held.release(holder):
            row = self._organs.seen.row(key)
            if row is not None and row.state is State.HELD:
                self._requeue(key, row, Purpose(row.purpose), Lane.FRESH, now)

    def _request(self, effect: Request, who: str, now: float) -> None:
        key = self._key(effect.url)
        if key is None:
            return
        if effect.purpose is not Purpose.AUDIT:
            url = self._tools.urls.url(effect.url, purpose=effect.purpose)
            seq = self._organs.requests.add(url, who, now)
            self._frontier.push(Entry(Lane.AHEAD, 0, seq, 0, url), now)
            return
        row = self._organs.seen.row(key)
        if row is None:
            self._push_new(self._tools.urls.url(effect.url, purpose=Purpose.AUDIT), Lane.AHEAD, now)
        elif row.state in _REVIVABLE:
            self._organs.held.forget(key)
            self._requeue(key, row, Purpose.AUDIT, Lane.AHEAD, now)

    def _push_new(self, url: CrawlURL, lane: Lane, now: float) -> None:
        seq = self._organs.seen.add(url, State.QUEUED, None, now)
        self._push(url, lane, seq, now)

    def _requeue(self, key: bytes, row: SeenRow, purpose: Purpose, lane: Lane, now: float) -> None:
        record = self._organs.seen.record(row.seq)
        assert record is not None
        url = self._tools.urls.url(
            record.text, seed_distance=row.seed_distance, site_depth=row.site_depth, hops=row.hops, purpose=purpose, via=record.via
        )
        self._organs.seen.update(key, row._replace(state=State.QUEUED, reason=None, purpose=purpose))
        self._push(url, lane, row.seq, now)

    def _push(self, url: CrawlURL, lane: Lane, seq: int, now: float) -> None:
        refusal = self._frontier.push(Entry(lane, url.site_depth if lane is Lane.FRESH else 0, seq, 0, url), now)
        row = self._organs.seen.row(url.key)
        if refusal is not None and row is not None:
            self._organs.seen.update(url.key, row._replace(state=State.REFUSED, reason=refusal))

    def _withdraw(self, key: bytes, row: SeenRow) -> bool:
        """Take a waiting URL out of its queue; False if it is being fetched right now."""
        url = self._tools.urls.url(self._organs.seen.url_of(row.seq), seed_distance=row.seed_distance, site_depth=row.site_depth)
        return self._frontier.withdraw(url, row.seq)

    def _key(self, text: str) -> bytes | None:
        try:
            return self._tools.urls.key(self._tools.urls.canonical(text))
        except BadURL:
            return None
