"""Carries out what filters ask for beside a verdict (effects), in the commit of the visit that made them ask.

| effect  | on a new URL                     | on a waiting URL                  | on any other             |
|---------|----------------------------------|-----------------------------------|--------------------------|
| Rewrite | recorded as alias, target queued | leaves the queue, becomes alias   | nothing                  |
| Hold    | waits in the holder's class      | leaves the queue for that class   | held: one more holder    |
| Release | –                                | –                                 | held: queued when no holder is left |
| ReleaseURL | –                                | –                                 | held: queued when only the asking filter held it |
| Request | queued first in its host's queue, with all rules of politeness; an audit queues what was held, and moves what waits first |
| Revise  | –                                | –                                 | page, redirect: the newer verdict is added |
| Recall  | –                                | –                                 | alias of the rule: queued, as if there were no rule |
| Study   | what the filter gathered about a site is studied in a child process |||
| Hurry   | the requests of the filter to a host that wait become its next ones |||
| Worthless | the page counts as a useless fetch for the class from which it was drawn |||
| Park    | the host's URLs stay queued, none of them is fetched for a day |||
| ParkWalled | the same, for `politeness.backoff_initial`, doubled with each time in a row |||
| FetchAgain | –                                | –                                 | done: queued, its answer is forgotten |
| Void    | tails and filters forget what they learned about a host |||
| NotWalled | decisions that waited for a good canary are made |||
| Tell    | the filter learns it at the agent that has the site |||

Aliases are made and released in aliases.py; the panel drops a Rewrite to a URL that has given no page. An audit of a new URL gets the place
in the crawl of the other URL that the effect names. A Request that cannot be queued is answered at once. A Request to a host of another
agent is made there, with that host's politeness, and its answer is sent back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thresher.crawler.core.effects import (
    Answer,
    Conclude,
    FetchAgain,
    Hold,
    Hurry,
    NotWalled,
    Park,
    ParkWalled,
    Recall,
    Release,
    ReleaseURL,
    Request,
    Revise,
    Rewrite,
    Study,
    Tell,
    Void,
    Worthless,
)
from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.model import FILTERS_OWN, CrawlURL, Judgement, Purpose, Reason, State
from thresher.crawler.core.ports import CAN_WAIT, Entry, Lane
from thresher.crawler.settlement.aliases import AliasSettlement
from thresher.crawler.settlement.canaries import Canaries
from thresher.crawler.settlement.named_urls import NamedURLs
from thresher.crawler.settlement.outbox import Outbox
from thresher.crawler.settlement.tail import Tails, lineage, policy_of
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.visit import VisitContext
from thresher.filters.deliberation import Asked, Learned
from thresher.filters.journal import JournalRecord
from thresher.filters.pattern_yield.patterns import shape_of
from thresher.filters.tail.records import TailPolicy
from thresher.storage.tables import Tables
from thresher.storage.tables.held import filter_of
from thresher.storage.tables.requests import Requester

_REVIVABLE = (State.HELD, State.ALIAS, State.REFUSED)
PARKED_S = 86_400.0
_RELEASED_AT_ONCE = 500  # URLs released in one commit: some 20 ms


class Effector:
    """Carries out effects on the store and the frontier."""

    def __init__(self, tables: Tables, frontier: Frontier, context: VisitContext, totals: Totals, outbox: Outbox | None = None) -> None:
        """Create the effector.

        Args:
            outbox: Messages to the other agents; None: there are none.
        """
        self._outbox = outbox
        self._me = context.ownership.me if context.ownership is not None else 0
        self._tables = tables
        self._frontier = frontier
        self._context = context
        self._totals = totals
        self._notes: list[JournalRecord] = []  # journal records of requests that were answered at once
        self.worthless: set[bytes] = set()  # keys of pages that filters call worthless, in the current visit
        self.tails = Tails(tables.tail, totals.counters, self._tail_policy, known=context.panel.recent)
        self.canaries = Canaries(tables, context.panel, totals)
        self.named = NamedURLs(tables, frontier, context.urls, totals, self.tails)
        self.aliases = AliasSettlement(tables, frontier, context, totals, self.named, outbox)

    def apply(self, asked: Iterable[Asked], now: float) -> tuple[list[CrawlURL], list[JournalRecord]]:
        """Carry out what filters ask for, in order; return (URLs that waited and are final without a request, answers for the journal).

        Targets of new aliases are queued first; not earlier, since they may be among the links of the same page.
        """
        self.aliases.queue_targets(now)
        self._queue_released(self._tables.held.take_released(_RELEASED_AT_ONCE), now)  # the rest of earlier releases
        self.aliases.queue_released(now)
        self._carry_out(asked, now)
        return self.named.take_settled(), self.take_notes()

    def take_notes(self) -> list[JournalRecord]:
        """Return the journal's records of what was asked for since the last call."""
        notes, self._notes = self._notes, []
        return notes

    def _tail_policy(self, queue: bytes) -> TailPolicy:
        """Return the policy of a host's tail."""
        overriding = self._context.overriding
        record = self._frontier.record(queue) if overriding.varies and queue else None
        of = overriding.of_host(record.name if record is not None else "").filters
        return policy_of(of.tail_yield, of.tail_share, of.audit_share)

    def _carry_out(self, asked: Iterable[Asked], now: float) -> None:
        for who, effect in asked:
            match effect:
                case Rewrite():
                    self.aliases.rewrite(effect, who, now)
                case Hold():
                    self._hold(effect, now)
                case Release():
                    self._release(effect.holder, now)
                case ReleaseURL():
                    self._queue_released(self._tables.held.drop(effect.key, f"{who} "), now)
                case Request(purpose=Purpose.AUDIT):
                    self._audit(effect, now)
                case Request():
                    self.request(effect, Requester(who), now)
                case Revise(page=key) | Worthless(key=key) if self._is_idle(who, key):
                    pass
                case Revise():
                    self._tables.verdicts.revise(effect.page, effect.verdict, now, counts=self._context.panel.enforces(who))
                case Worthless():
                    self.worthless.add(effect.key)
                case Recall():
                    self.aliases.recall(effect, now)
                case Study():
                    self._context.studies.ask(who, effect.site)
                case Park():
                    self._frontier.park(self._context.urls.queue_key(effect.origin), str(effect.reason), now, until=now + PARKED_S)
                case Hurry():
                    self._frontier.hurry(self._context.urls.queue_key(effect.origin), effect.purpose, now)
                case Conclude():
                    self._conclude(who, effect, now)
                case Tell():
                    self._tell(effect, who, now)
                case ParkWalled():
                    self._frontier.park_walled(effect.queue, effect.number, now)
                    self.canaries.on_parked(effect)
                case FetchAgain():
                    self._notes += self.canaries.fetch_again(
                        effect, lambda key, row: self.named.requeue(key, row, Purpose(row.purpose), Lane.FRESH, now)
                    )
                case Void():
                    self._notes += self._void(effect)
                case NotWalled():
                    self.canaries.on_not_walled(effect)

    def _is_idle(self, who: str, key: bytes) -> bool:
        """Return whether a verdict changes nothing: its URL is to be fetched again, or an override lets the filter only observe it."""
        row, panel = self._tables.seen.row(key), self._context.panel
        if row is None or row.state in (State.QUEUED, State.HELD):
            return row is not None
        return panel.varies(who) and not panel.enforces(who, self._tables.seen.url_of(row.seq))

    def hold_or_rewrite(self, url: CrawlURL, effects: Iterable[Asked], now: float) -> int:
        """Record a new link that a filter rewrites or holds; return its sequence number, -1 if its rule may record no more."""
        for who, effect in effects:
            if isinstance(effect, Rewrite) and effect.url == url.text:
                self._totals.count_saved(who)
                return self.aliases.add(url, effect, who, now)
            if isinstance(effect, Hold) and effect.url == url.text:
                return self._hold_new(url, effect.holder, now, is_inherited=False)
        raise AssertionError(f"{url.text} is neither held nor rewritten by an effect")

    def may_inherit(self, text: str, host: str, holder: str) -> bool:
        """Return whether a URL that only a page of a class has named is held: its filter may, and no draw has freed what is like it."""
        who = filter_of(holder)
        if self._context.panel.varies(who) and not self._context.panel.enforces(who, text):
            return False
        return not self.tails.is_freed(self._context.urls.queue_key(host), lineage(holder, shape_of(text, host)))

    def inherit(self, url: CrawlURL, holder: str, now: float) -> int:
        """Record a new link that only a page of a class has named: it is held in that class. Return its sequence number."""
        return self._hold_new(url, lineage(holder, shape_of(url.text, url.host)), now, is_inherited=True)

    def _hold_new(self, url: CrawlURL, holder: str, now: float, *, is_inherited: bool) -> int:
        seq = self._tables.seen.add(url, State.HELD, Reason.HELD_BY_FILTER, now)
        self._hold_in_class(url, holder, now, is_inherited=is_inherited)
        return seq

    def _hold_in_class(self, url: CrawlURL, holder: str, now: float, *, is_inherited: bool = False) -> None:
        """Add a URL of state HELD to a class of its host; queue the URLs of the class that are drawn as audits."""
        self._tables.held.hold(url.key, holder)
        queue = self._context.urls.queue_key(url.host)
        n_useful = self._frontier.n_pages(queue)
        for key in self.tails.hold(queue, url.key, holder, is_inherited=is_inherited, n_useful=n_useful):
            self._promote(key, Lane.FRESH, now)
            self._totals.count_audited(1)

    def serve_tail(self, queue: bytes, now: float) -> int:
        """Draw from the tail of a host if it has nothing else to fetch and need not wait; if nothing may be drawn, ask for the canary for
        which something waits. Return the number of URLs and canaries.
        """
        if not self._frontier.is_drained(queue, now):
            return 0
        keys = self.tails.next(queue, may_close=self.canaries.may_decide(queue))
        for key in keys:
            self._promote(key, Lane.TAIL, now)
        return len(keys) or self.clear_doubts(queue, now, may_draw=False)

    def clear_doubts(self, queue: bytes, now: float, *, may_draw: bool = True) -> int:
        """Ask for a canary of a host that has nothing else to fetch, if something of its tail waits for one or some of its answers may be a
        wall's. Return the number of canaries.

        Args:
            queue: The queue of the host.
            now: s, unix time.
            may_draw: Whether its tail may still be drawn from; False: nothing was drawn just now.
        """
        if may_draw and (not self._frontier.is_drained(queue, now) or self.tails.is_waiting(queue)):
            return 0
        is_asking = not may_draw and self.tails.is_asking(queue)
        if not is_asking and not self.canaries.is_in_doubt(queue):
            return 0
        asked, record = self.canaries.request(queue, is_drained=not is_asking)
        self._notes += [record] if record is not None else []
        self._carry_out(asked, now)
        return len(asked)

    def _conclude(self, who: str, effect: Conclude, now: float) -> None:
        """Let a filter learn from its finding, or ask for the canaries for which the finding must wait."""
        asked = self.canaries.waits(who, effect.site, effect.finding)
        effects, record = asked or self._context.panel.reports.on_finding(who, effect.site, effect.finding)
        self._notes += [*self.canaries.take_notes(), *([record] if record is not None else [])]
        self._carry_out(effects, now)

    def _void(self, effect: Void) -> list[JournalRecord]:
        """Forget what was learned behind a wall; return the records for the journal."""
        self.tails.void(effect.queue)
        record = self.canaries.void(effect)
        return [record] if record is not None else []

    def _promote(self, key: bytes, lane: Lane, now: float) -> None:
        """Queue a URL that was drawn from its class."""
        row = self._tables.seen.row(key)
        assert row is not None, f"{key.hex()} was drawn and is not known"
        self._tables.held.forget(key)
        self.named.requeue(key, row, Purpose.AUDIT, lane, now)

    def release_inherited(self, named: Iterable[bytes], now: float) -> None:
        """Release the held URLs that a good page outside any class has named, if they had only inherited their class."""
        for key in named:
            if self.tails.is_inherited(key):
                self.free(key, now)

    def free(self, key: bytes, now: float) -> None:
        """Queue a held URL, whatever holds it."""
        self._tables.held.forget(key)
        self._queue_released([key], now)

    def class_of_links(self, key: bytes, judgement: Judgement) -> str:
        """Return the class of a page's new links: the page's own if it was drawn from one, a class of copies if an opinion stopped its
        links, or "".
        """
        if judgement.follow:
            return self.tails.class_of(key)
        who = next(
            (verdict.filter for verdict in judgement.standing if not verdict.follow and self._context.panel.enforces(verdict.filter)), ""
        )
        return self.tails.class_of(key) or f"links {who}"

    def on_end(self, key: bytes, now: float, *, was_asked: bool, is_good: bool, is_alike: bool = False) -> bool:
        """End the draw of a URL that needs no more request; return whether it was drawn."""
        if not was_asked:
            return self.tails.on_no_request(key)
        if freed := self.tails.settle(key, is_good=is_good, is_alike=is_alike):
            self._release(freed, now)
        return freed is not None

    def hold_at_turn(self, url: CrawlURL, holds: Sequence[Asked], now: float) -> None:
        """Record a URL whose turn has come as held, or as an alias; its row has left its queue."""
        row = self._tables.seen.row(url.key)
        assert row is not None, f"{url.text} waited and is not known"
        for who, effect in holds:
            if isinstance(effect, Rewrite):
                self.aliases.rewrite_at_turn(url, row, effect, who, now)
                return
        self._tables.seen.update(url.key, row._replace(state=State.HELD, reason=Reason.HELD_BY_FILTER))
        for _, effect in holds:
            assert isinstance(effect, Hold)
            self._tables.held.hold(url.key, effect.holder)
        first = holds[0][1]
        assert isinstance(first, Hold)
        self._hold_in_class(url, first.holder, now)  # last, since it may be drawn at once

    def _is_foreign(self, key: bytes) -> bool:
        """Return whether a URL belongs to a site of another agent."""
        return self._outbox is not None and not self._outbox.is_own(key)

    def _hold(self, effect: Hold, now: float) -> None:
        url, row = self.named.known(effect.url)
        if url is None or row is None:
            return
        if row.state is State.HELD:
            self._tables.held.hold(url.key, effect.holder)
        elif row.state is State.QUEUED and not self.tails.class_of(url.key) and self._frontier.withdraw(url, row.seq, row.worth):
            self._tables.seen.update(url.key, row._replace(state=State.HELD, reason=Reason.HELD_BY_FILTER))
            self._hold_in_class(url, effect.holder, now)
            self.named.release_aliases(url.key)

    def _release(self, holder: str, now: float) -> None:
        """Queue the URLs that a holder held: some at once, the rest with the next visits."""
        self._tables.held.release(holder)
        self._queue_released(self._tables.held.take_released(_RELEASED_AT_ONCE, holder), now)

    def _queue_released(self, keys: Iterable[bytes], now: float) -> None:
        for key in keys:
            row = self._tables.seen.row(key)
            if row is not None and row.state is State.HELD:
                self.tails.leave(key)
                self.named.requeue(key, row, Purpose(row.purpose), Lane.FRESH, now)

    def request(self, effect: Request, requester: Requester, now: float) -> None:
        """Queue a filter's own request. If it may not be made, it fails at once; a repetition in answer to that is ignored."""
        assert effect.purpose in FILTERS_OWN, f"filter {requester.who} asks for {effect.url} with the purpose of {effect.purpose.name}"
        text = self.named.canonical(effect.url)
        url = CrawlURL(effect.url, "", "", bytes(16)) if text is None else self._context.urls.url(text, purpose=effect.purpose)
        passed = (Reason.BAD_URL, "url") if text is None else self._context.links.check(text)
        refusal = None if isinstance(passed, bytes) else passed[0]
        if refusal is None and requester.agent is None and self._outbox is not None and not self._outbox.is_own(url.key):
            self._outbox.request(url, requester.who)
            return
        if refusal is None:
            seq = self._tables.requests.add(url, requester, now)
            refusal = self._frontier.push(Entry(Lane.AHEAD, _rank_of(effect), seq, 0, url), now)
            if refusal is None:
                return
            self._tables.requests.pop(seq)
        answer, record = self.on_answer(requester, Answer(url, now, failure=str(refusal)))
        self._notes += [record] if record is not None else []
        self._carry_out([asked for asked in answer if not isinstance(asked[1], Request)], now)

    def on_answer(self, requester: Requester, answer: Answer) -> Learned:
        """Give the answer to the filter that asked, here or at another agent."""
        if requester.agent is None or requester.agent == self._me:
            return self._context.panel.reports.on_answer(requester.who, answer)
        reduced = self._context.panel.reports.reduce(requester.who, answer)
        if self._outbox is not None and reduced is not None:
            self._outbox.reduced_answer(requester.agent, requester.who, reduced)
        return (), None

    def _tell(self, effect: Tell, who: str, now: float) -> None:
        if self._outbox is not None and not self._outbox.is_own(effect.key):
            self._outbox.tell(who, effect)
            return
        asked, record = self._context.panel.reports.on_news(who, effect.news)
        self._notes += [record] if record is not None else []
        self._carry_out(asked, now)

    def _audit(self, effect: Request, now: float) -> None:
        """Queue a URL as an audit: a held or refused one, one that waits, or a new one, which gets the place of the URL for which it is
        fetched.
        """
        canonical = self.named.canonical(effect.url)
        if canonical is None:
            return
        key = self._context.urls.key(canonical)
        row, rank = self._tables.seen.row(key), _rank_of(effect)
        if row is None and self._is_foreign(key):
            return
        beside = self._tables.seen.row(effect.beside) if row is None and effect.beside else None
        if row is None and beside is not None:
            url = self._context.urls.url(
                canonical, seed_distance=beside.seed_distance, site_depth=beside.site_depth, hops=beside.hops, purpose=Purpose.AUDIT
            )
            self.named.push_new(url, Lane.AHEAD, now, rank=rank)
        elif row is None:
            return
        elif row.state is State.QUEUED:
            url = self.named.placed(row)
            if self._frontier.withdraw(url, row.seq, row.worth):
                self.named.push(url, Lane.AHEAD, row.seq, now, rank=rank)
        elif row.state in _REVIVABLE:
            self._tables.held.forget(key)
            self.tails.leave(key)
            self._tables.aliases.forget(key)
            keeps_all = self._context.overriding.of(self._tables.seen.url_of(row.seq)).store.versions == "all"
            self._tables.rounds.forget_check(key, keeps_versions=keeps_all)
            self.named.requeue(key, row, Purpose.AUDIT, Lane.AHEAD, now, rank=rank)


def _rank_of(effect: Request) -> int:
    """Return the rank of a filter's request in the lane AHEAD."""
    return CAN_WAIT if effect.can_wait else 0
