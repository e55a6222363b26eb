"""URLs that a filter rewrote to another URL: each is an alias of that URL, which is fetched instead.

An alias may be a new link, a queued URL, a URL whose turn has come, or one that was visited before. A rewrite that would close a circle of
aliases is ignored: one of them must be fetched. Which URLs can stand for their aliases is decided in canonical.py.
"""

from __future__ import annotations

from thresher.crawler.core.effects import Recall, Rewrite
from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.model import CrawlURL, Purpose, Reason, State
from thresher.crawler.core.ports import Entry, Lane, SeenRow
from thresher.crawler.settlement.named_urls import NamedURLs
from thresher.crawler.settlement.outbox import Outbox
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.visit import VisitContext
from thresher.storage.tables import Tables
from thresher.storage.tables.rounds import REQUESTER, RevisitRecord

_RELEASED_AT_ONCE = 500  # aliases released in one commit: some 20 ms
_LONGEST_CIRCLE = 10  # aliases followed to see where a rewrite leads


class AliasSettlement:
    """Makes aliases, queues the URLs that they stand for, and releases aliases."""

    def __init__(
        self, tables: Tables, frontier: Frontier, context: VisitContext, totals: Totals, named: NamedURLs, outbox: Outbox | None
    ) -> None:
        """Create the aliases of one agent.

        Args:
            outbox: Messages to the other agents; None: there are none.
        """
        self._tables = tables
        self._frontier = frontier
        self._urls = context.urls
        self._links = context.links
        self._totals = totals
        self._named = named
        self._outbox = outbox
        self._targets: list[tuple[str, CrawlURL, bytes]] = []  # of new aliases: (text of the target, alias, key of the page that names it)

    def queue_targets(self, now: float) -> None:
        """Queue the targets of new aliases, and some of the aliases whose target gave no page.

        This is not done when the alias is made: its target may be among the links of the same page.
        """
        targets, self._targets = self._targets, []
        for text, alias, via in targets:
            self._queue_target(text, alias, via, now)

    def queue_released(self, now: float) -> None:
        """Queue aliases whose target gave no page, as many as a commit may hold."""
        for key in self._tables.aliases.take_released(_RELEASED_AT_ONCE):
            self.queue_again(key, now)

    def add(self, url: CrawlURL, effect: Rewrite, who: str, now: float) -> int:
        """Record a new link as an alias; return its sequence number, -1 if its rule may record no more. Its target is queued after the
        page's links.
        """
        seq, via = -1, url.via
        if self._tables.rules.may_record(f"{who}:{effect.rule}"):
            seq, via = self._tables.seen.add(url, State.ALIAS, Reason.REWRITTEN, now), url.key
            self._put(url.key, effect)
        self._targets.append((effect.to, url, via))
        return seq

    def rewrite(self, effect: Rewrite, who: str, now: float) -> None:
        """Take a queued URL out of its queue and make it an alias. (New links became aliases when they were admitted.)"""
        url, row = self._named.known(effect.url)
        if url is None or row is None or row.state is not State.QUEUED or self._leads_back(effect.to, url.key):
            return
        if self._frontier.withdraw(url, row.seq, row.worth):
            self._totals.count_saved(who)
            self._tables.seen.update(url.key, row._replace(state=State.ALIAS, reason=Reason.REWRITTEN))
            self._put(url.key, effect)
            self._named.settled.append(url)
            self._queue_target(effect.to, url, url.key, now)

    def rewrite_at_turn(self, url: CrawlURL, row: SeenRow, effect: Rewrite, who: str, now: float) -> None:
        """Make a URL whose turn has come an alias; if its target is already its alias, this URL is fetched."""
        if self._leads_back(effect.to, url.key):
            self._named.requeue(url.key, row, Purpose.AUDIT, Lane.AHEAD, now)
            return
        self._totals.count_saved(who)
        self._tables.seen.update(url.key, row._replace(state=State.ALIAS, reason=Reason.REWRITTEN))
        self._put(url.key, effect)
        self._named.settled.append(url)
        self._queue_target(effect.to, url, url.key, now)

    def add_visited(self, url: CrawlURL, effect: Rewrite, who: str) -> None:
        """Make a URL that was visited before an alias of a kept page."""
        row = self._tables.seen.row(url.key)
        assert row is not None, f"{url.text} was visited and is not known"
        self._totals.count_saved(who)
        self._tables.seen.update(url.key, row._replace(state=State.ALIAS, reason=Reason.REWRITTEN))
        self._put(url.key, effect)

    def recall(self, effect: Recall, now: float) -> None:
        """Queue the aliases of a rule again."""
        for key in [key for key, alias in self._tables.aliases.of_site(effect.key) if effect.of in alias.rule.split("+")]:
            self.queue_again(key, now)

    def queue_again(self, key: bytes, now: float) -> None:
        """Release an alias: queue it as an ordinary URL. If it was visited before, it is visited again."""
        self._tables.aliases.forget(key)
        row = self._tables.seen.row(key)
        if row is None or row.state is not State.ALIAS:
            return
        check = self._tables.rounds.check(key)
        if check is not None and check.standing == "alias":
            self._tables.seen.update(key, row._replace(state=State.DONE, reason=None))
            self._visit_again(self._named.placed(row._replace(purpose=Purpose.REVISIT)), now)
        else:
            self._named.requeue(key, row, Purpose.PAGE, Lane.FRESH, now)

    def _visit_again(self, url: CrawlURL, now: float) -> None:
        """Queue an additional visit of this round, to see whether the page still exists."""
        record = self._tables.rounds.last()
        assert record is not None, f"{url.text} was visited again, and there is no round"
        seq = self._tables.requests.add(url, REQUESTER, now)
        if self._frontier.push_visit(Entry(Lane.AHEAD, 0, seq, 0, url), now) is None:
            self._tables.rounds.save_revisit(url.key, RevisitRecord(record.number, True))
        else:
            self._tables.requests.pop(seq)

    def _put(self, key: bytes, effect: Rewrite) -> None:
        target = self._named.canonical(effect.to)
        self._tables.aliases.put(key, effect.to, effect.rule, self._urls.key(target) if target else b"")

    def _leads_back(self, text: str, key: bytes) -> bool:
        """Return whether the aliases that begin at `text` lead to the URL of this key."""
        for _ in range(_LONGEST_CIRCLE):
            target = self._named.canonical(text)
            if target is None:
                return False
            at = self._urls.key(target)
            alias = self._tables.aliases.get(at)
            if at == key or alias is None:
                return at == key
            text = alias.to_text
        return True

    def _queue_target(self, text: str, alias: CrawlURL, via: bytes, now: float) -> None:
        """Queue the canonical URL of an alias at the alias's place in the crawl, unless it is known or out of scope."""
        target = self._named.canonical(text)
        if target is None or not isinstance(self._links.check(target), bytes):
            return
        if self._tables.seen.row(self._urls.key(target)) is None:
            purpose = alias.purpose if alias.purpose is Purpose.ANNOUNCED else Purpose.PAGE
            own_place = {"seed_distance": alias.seed_distance, "site_depth": alias.site_depth, "hops": alias.hops}
            url = self._urls.url(target, **own_place, purpose=purpose, via=via)
            if self._outbox is not None and not self._outbox.is_own(url.key):
                self._outbox.target(alias, url)
            else:
                self._named.push_new(url, Lane.FRESH, now)
