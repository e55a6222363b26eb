"""Settles revisits; all is written in the commit of the visit.

    answer                          what it shows                       what is written
    304 to a conditional request    not modified                        the check
    200 with the digest it had      same                                the check
    200, the same text         alike (a clock, other markup)       the check, new links, new requisites
    200, a slightly different text         alike, until a second look          the check, a second request
    200, another text               changed, or new                     a version, the change, new links, new requisites
    200, the text of another page   moved, by copy                      as changed
    301, 302, 303, 307, 308         moved, if it leads elsewhere now    the edge, the change, the target
    no request: a rule rewrites it  moved, by alias                     the alias, the change
    410; 404 on two days            gone                                a record, the change
    404 for the first time          missing                             the check
    anything else                   failed, once its tries are used up  the check

The URL stays DONE all the time: the queue has a request (storage/tables/requests.py), so a kill loses no revisit and makes none twice. URLs
that are held, queued or aliases have no revisits. Filters judge a changed page and learn nothing from it.

A host whose last answers are mostly losses (pages missing, failing, moved to one place, or showing one text) is parked: the operator must
decide (`thresher recrawl DIR --trust HOST`). No 404 of it counts until then, or until a later round finds the host well.
"""

from __future__ import annotations

from collections.abc import Callable

from thresher.crawler.core.change import Comparison, sketch_of
from thresher.crawler.core.change import text_of as content_of
from thresher.crawler.core.effects import Rewrite
from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.model import CrawlURL, Failed, Fetched, Outcome, Reason, Redirect, State
from thresher.crawler.core.ports import Entry, Lane
from thresher.crawler.core.revisit import GONE, MOST_LOST, WINDOW, Validators, has_lied, is_drawn, is_gone, is_sudden
from thresher.crawler.core.url import queue_name
from thresher.crawler.gates.link_gate import Skip, presentable
from thresher.crawler.settlement.admission import Admission
from thresher.crawler.settlement.aliases import AliasSettlement
from thresher.crawler.settlement.coming_visits import ComingVisits
from thresher.crawler.settlement.moves import has_gone_on, original_of, put_alias
from thresher.crawler.settlement.page_record import page_record
from thresher.crawler.settlement.requisites import Requisites
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.visit import Visit, VisitContext
from thresher.filters.base import LinkJudgement
from thresher.filters.deliberation import Deliberation
from thresher.storage.packing import is_elsewhere
from thresher.storage.store import Store
from thresher.storage.tables.bodies import digest
from thresher.storage.tables.rounds import REQUESTER, ChangeRecord, CheckRecord, RevisitRecord, RoundRecord, validators_of


class Revisits:
    """Writes revisits."""

    def __init__(
        self,
        store: Store,
        frontier: Frontier,
        context: VisitContext,
        totals: Totals,
        admission: Admission,
        coming: ComingVisits,
        aliases: AliasSettlement,
        requisites: Requisites,
        *,
        learn: Callable[[Deliberation[LinkJudgement], float], None],
    ) -> None:
        """Create the settlement of revisits.

        Args:
            learn: Lets filters learn from the judgement of new links.
        """
        self._store = store
        self._frontier = frontier
        self._context = context
        self._totals = totals
        self._admission = admission
        self.coming = coming
        self._aliases, self._requisites = aliases, requisites
        self._learn = learn
        self._round: RoundRecord | None = None

    def on_answer(self, visit: Visit, outcome: Outcome, now: float) -> None:
        """Handle the answer to a revisit."""
        entry = visit.lease.entry
        self._totals.request(outcome.wire_bytes)
        is_page = isinstance(outcome, Fetched) and outcome.refused is None
        is_counted = is_page and not self.coming.is_on  # a host's budget of pages is for a round, and a schedule has no rounds
        retry = self._frontier.finish(visit.lease, outcome, now, is_page=is_counted)
        if isinstance(outcome, Failed):
            self._totals.count_failure(outcome.cause, terminal=retry is None)
        if retry is None:
            _RevisitAnswer(self, visit, outcome, self._ended(entry), now).settle()
        self._requisites.on_page(visit, now)

    def on_refusal(self, visit: Visit, skip: Skip, now: float) -> None:
        """Handle a revisit that is not made, since the URL is refused now."""
        entry, why = visit.lease.entry, f"not requested: {skip.reason} ({skip.by})"
        revisit = self._ended(entry)
        check = self.check(entry.url, now)
        check.failed, check.at, check.round = why[:300], now, revisit.round
        self._store.tables.rounds.save_check(entry.url.key, check)
        self.count(revisit, "refused", 0, now)
        self.coming.on_visit(entry.url, check, "refused", 0, now)

    def on_rewrite(self, visit: Visit, now: float) -> None:
        """Handle a revisit that is not made, since the URL is now an alias of another, kept page."""
        url, (who, effect) = visit.lease.entry.url, visit.held[0]
        assert isinstance(effect, Rewrite)
        revisit, check = self._ended(visit.lease.entry), self.check(url, now)
        self._aliases.add_visited(url, effect, who)
        put_alias(self._store.tables.rounds, url, check, self._context.urls.canonical(effect.to), revisit.round, now)
        self.coming.on_end(url)
        self.count(revisit, "moved", 0, now)

    def on_unreachable(self, entry: Entry, failure: Failed, now: float) -> None:
        """Handle that the last try of a revisit found no address."""
        self._totals.count_failure(failure.cause, terminal=True)
        _RevisitAnswer(self, None, failure, self._ended(entry), now).settle()

    # -- used by _Answer

    @property
    def parts(self) -> tuple[Store, Frontier, VisitContext, Totals, Admission]:
        """The parts of the agent that write revisits."""
        return self._store, self._frontier, self._context, self._totals, self._admission

    def learn(self, deliberation: Deliberation[LinkJudgement] | None, now: float) -> None:
        """Let filters learn from the judgement of new links."""
        if deliberation is not None:
            self._learn(deliberation, now)

    def check(self, url: CrawlURL, now: float) -> CheckRecord:
        """Return the record of a URL's visits."""
        return self._store.tables.rounds.check(url.key) or CheckRecord(now, 1, standing="none")

    def keep_version(self, url: str, key: bytes, check: CheckRecord) -> None:
        """Make the current visit the URL's newest version; older versions are deleted, except those to keep."""
        self._store.tables.seen.settle(key, State.DONE)
        check.versions.append(self._store.visit)
        kept = self._context.overriding.of(url).store.versions
        while kept != "all" and len(check.versions) > kept:
            self._store.tables.rounds.outdate(check.versions.pop(0))

    def count(self, revisit: RevisitRecord, what: str, wire_bytes: int, now: float, spared: int = 0) -> None:
        """Count an answer in its round; the last one ends it."""
        record = self._round = self._round or self._store.tables.rounds.last()  # the collection has changed it last
        assert record is not None, "a revisit, and no round"
        record.counts[what] = record.counts.get(what, 0) + 1
        record.bytes_received += wire_bytes
        record.bytes_spared += spared
        if revisit.round == record.number and not revisit.is_audit:
            record.n_settled += 1
        if record.stage == "asking" and record.n_settled >= record.n_queued and not record.is_continuous:
            record.stage, record.ended_at = "done", now
        self._store.tables.rounds.save(record)

    def ask_again(self, url: CrawlURL, revisit: RevisitRecord, now: float, *, first_look: bytes = b"") -> None:
        """Queue the URL once more, without conditions: to see whether a 304 was true, or whether it shows the same as at the first look."""
        seq = self._store.tables.requests.add(url, REQUESTER, now)
        if self._frontier.push(Entry(Lane.AHEAD, 0, seq, 0, url), now) is None:
            self._store.tables.rounds.save_revisit(url.key, RevisitRecord(revisit.round, True, 0.0 if first_look else now, first_look))
        else:
            self._store.tables.requests.pop(seq)

    def _ended(self, entry: Entry) -> RevisitRecord:
        """Delete a revisit that waited; return it."""
        revisit = self._store.tables.rounds.revisit(entry.url.key)
        assert revisit is not None, f"{entry.url.text} was revisited, and no revisit of it waited"
        self._store.tables.requests.pop(entry.seq)
        self._store.tables.rounds.forget_revisit(entry.url.key)
        return revisit


class _RevisitAnswer:
    """The settlement of one answer: updates its URL's check and its host's watch."""

    def __init__(self, revisits: Revisits, visit: Visit | None, outcome: Outcome, revisit: RevisitRecord, now: float) -> None:
        self._revisits = revisits
        self._store, self._frontier, self._context, self._totals, self._admission = revisits.parts
        self._visit = visit
        self._outcome = outcome
        self._revisit = revisit
        self._now = now
        self._url = outcome.url
        self._check = revisits.check(outcome.url, now)
        self._was_bytes = self._check.wire_bytes
        self._n_new = 0  # number of URLs that the page is the first to name
        self._queue = self._context.urls.queue_key(self._url.host)
        record = self._frontier.record(self._queue)
        self._watch = self._store.tables.rounds.watch(self._queue, record.name if record is not None else "")
        if self._watch.round != revisit.round:
            self._watch.round, self._watch.history, self._watch.n_answers = revisit.round, 0, 0
            self._watch.last_target, self._watch.last_text = "", b""

    def settle(self) -> None:
        """Write what the answer shows."""
        check = self._check
        was_missing = check.missing_since
        check.at, check.round, check.n_visits, check.failed = self._now, self._revisit.round, check.n_visits + 1, ""
        check.status = self._outcome.head.status if self._outcome.head is not None else 0
        match self._outcome:
            case Redirect():
                what, is_lost = self._moved(self._outcome)
            case Fetched(refused=None, head=head) if head.status == 304 and self._visit is not None and self._visit.was_conditional:
                what, is_lost = self._not_modified()
            case Fetched(refused=None, head=head) if head.status in GONE:
                what, is_lost = self._missing(self._outcome, was_missing)
            case Fetched(refused=None, head=head) if 200 <= head.status < 300:
                what, is_lost = self._page(self._outcome)
            case _:
                what, is_lost = self._failed()
        if what not in ("missing", "failed"):
            check.missing_since = 0.0
        if what in ("not_modified", "same", "alike") and check.copy_of and has_gone_on(self._store.tables, check):
            check.copy_of = b""
            self._tell("new")
        self._store.tables.rounds.save_check(self._url.key, check)
        spared = self._was_bytes - self._outcome.wire_bytes if what == "not_modified" else 0
        self._revisits.count(self._revisit, what, self._outcome.wire_bytes, self._now, max(0, spared))
        self._look_after_host(is_lost=is_lost)
        self._revisits.coming.on_visit(self._url, check, what, self._n_new, self._now)

    # -- what it shows; each returns (name of the result, whether the page is lost)

    def _not_modified(self) -> tuple[str, bool]:
        self._totals.page(304)
        self._watch.n_not_modified += 1
        drawing = self._revisit.round + (self._check.n_visits << 32 if self._revisits.coming.is_on else 0)
        if is_drawn(self._url.key, drawing, self._context.overriding.of(self._url.text).recrawl.audit_share):
            self._watch.n_audited += 1
            self._revisits.ask_again(self._url, self._revisit, self._now)
        return "not_modified", False

    def _page(self, outcome: Fetched) -> tuple[str, bool]:
        visit, check = self._visit, self._check
        assert visit is not None
        self._totals.page(outcome.head.status)
        known = validators_of(list(outcome.head.headers), self._now)
        is_new, comparison = check.standing != "page", visit.comparison
        if not is_new and comparison is None:  # there is no version to compare with
            comparison = Comparison(is_change=True, amount=None)
        if self._revisit.said_at and comparison is not None:
            asked = Validators(check.etag, check.last_modified)
            if has_lied(asked, known, is_change=comparison.is_change, said_at=self._revisit.said_at):
                self._watch.lied_at = self._now
        check.etag, check.last_modified, check.wire_bytes = known.etag, known.last_modified, outcome.wire_bytes
        if visit.page is None:
            return "same", False
        if comparison is not None and comparison.is_small:
            comparison = self._looked_twice(comparison)
        if is_new or (comparison is not None and comparison.is_change):
            self._keep(visit, outcome)
            return self._changed(comparison, visit)
        self._follow(visit)
        return "alike", False

    def _looked_twice(self, comparison: Comparison) -> Comparison:
        """Distinguish a small change from a page that differs at every request, by a second request."""
        first_look, check = self._revisit.first_look, self._check
        if first_look:
            check.is_restless = first_look != comparison.text
            return comparison._replace(is_change=not check.is_restless)
        if not check.is_restless and not self._revisit.is_audit:
            self._revisits.ask_again(self._url, self._revisit, self._now, first_look=comparison.text)
        return comparison

    def _keep(self, visit: Visit, outcome: Fetched) -> None:
        """Store a new version, with its links."""
        page, deliberation, check = visit.page, visit.deliberation, self._check
        assert page is not None
        assert deliberation is not None
        judgement = deliberation.judgement
        record = page_record(outcome, page, visit.charset, judgement, self._now)
        has_body = judgement.keep and bool(outcome.body) and self._context.overriding.of(self._url.text).store.bodies
        self._store.tables.pages.put(record, outcome.body if has_body else None)
        self._store.tables.links.put(self._follow(visit))
        self._before = check.versions[-1] if check.versions else 0
        self._revisits.keep_version(self._url.text, self._url.key, check)
        self._store.tables.redirects.forget(self._url.key)
        check.sha256, check.fingerprint = digest(outcome.body), page.fingerprint
        shown = (page.directives.noindex, page.directives.nofollow)
        check.sketch = b"" if has_body else sketch_of(content_of(page.text, page.title, shown, self._now))

    def _follow(self, visit: Visit) -> list[int]:
        """Admit the new links of a page; return the numbers of all that it links to."""
        if visit.sifted is None:
            return []
        targets = self._admission.admit(self._url, visit.sifted, self._now)
        if visit.sifted.deliberation is not None:
            self._n_new = int(visit.sifted.deliberation.judgement.admitted.sum())
        self._revisits.learn(visit.sifted.deliberation, self._now)
        return targets

    def _changed(self, comparison: Comparison | None, visit: Visit) -> tuple[str, bool]:
        check, watch = self._check, self._watch
        assert visit.page is not None
        if comparison is None:
            check.standing, check.gone_at, check.copy_of = "page", 0.0, b""
            self._tell("new")
            return "new", False
        check.n_changes, check.changed_at = check.n_changes + 1, self._now
        is_one_text = bool(visit.page.fingerprint) and visit.page.fingerprint == watch.last_text
        watch.last_text = visit.page.fingerprint
        original = original_of(self._store.tables, visit)
        if original is not None and original.key != check.copy_of:
            self._tell("moved", to=original.url, before=self._before, by="copy")
        elif original is None and check.copy_of:
            self._tell("new")
        elif original is None:
            self._tell("changed", amount=comparison.amount, before=self._before)
        check.copy_of = original.key if original is not None else b""
        return "changed", is_one_text

    def _moved(self, outcome: Redirect) -> tuple[str, bool]:
        """Write the edge, whatever becomes of the target; queue the target if it is new."""
        visit, check, url = self._visit, self._check, self._url
        assert visit is not None
        self._totals.redirect(outcome.head.status)
        target = visit.target or presentable(outcome.target)[:2048]
        earlier = self._store.tables.redirects.edge(url.key)
        was_page = check.standing == "page"
        if check.standing == "redirect" and earlier is not None and earlier.to_text == target:
            return "same", False
        key = self._context.urls.key(visit.target) if visit.target else b""
        self._store.tables.redirects.put(url.key, key, target, outcome.head.status, self._now)
        self._store.tables.seen.settle(url.key, State.DONE, visit.refused.reason if visit.refused else None)
        if visit.sifted is not None:
            self._admission.admit(url, visit.sifted, self._now, is_redirect=True)
            self._revisits.learn(visit.sifted.deliberation, self._now)
        check.standing, check.etag, check.last_modified, check.sha256 = "redirect", "", "", b""
        check.n_changes, check.changed_at = check.n_changes + 1, self._now
        self._tell("moved", to=target, before=check.versions[-1] if was_page and check.versions else 0)
        is_one_place = was_page and target == self._watch.last_target
        self._watch.last_target = target
        return "moved", is_one_place

    def _missing(self, outcome: Fetched, since: float) -> tuple[str, bool]:
        check, status = self._check, outcome.head.status
        self._totals.page(status)
        if check.standing in ("none", "gone"):
            return "missing", False
        if not is_gone(status, since, self._now, is_doubted=self._watch.is_doubted):
            check.missing_since = since or self._now
            return "missing", True
        self._store.tables.pages.put(page_record(outcome, None, "", None, self._now), None)
        before = check.versions[-1] if check.versions else 0
        self._revisits.keep_version(self._url.text, self._url.key, check)
        check.standing, check.gone_at, check.missing_since = "gone", self._now, 0.0
        check.etag, check.last_modified, check.sha256, check.fingerprint = "", "", b"", b""
        check.n_changes, check.changed_at = check.n_changes + 1, self._now
        self._tell("gone", before=before)
        return "gone", True

    def _failed(self) -> tuple[str, bool]:
        match self._outcome:
            case Failed(cause=cause, detail=detail):
                self._check.failed = f"{cause}: {detail}"[:300]
            case Fetched(refused=Reason() as reason):
                self._check.failed = str(reason)
            case outcome:
                self._check.failed = f"status {outcome.head.status}" + (" that nobody asked for" if outcome.head.status == 304 else "")
        return "failed", self._check.standing in ("page", "redirect")

    def _tell(self, kind: str, *, amount: float | None = None, to: str = "", before: int = 0, by: str = "") -> None:
        """Write a change."""
        before, status = 0 if is_elsewhere(before) else before, self._check.status
        change = ChangeRecord(self._url.text, self._url.key, kind, self._now, self._revisit.round, status, amount, to, before, by)
        self._store.tables.rounds.put_change(change)

    # -- its host

    def _look_after_host(self, *, is_lost: bool) -> None:
        """Record the host's answer; park the host if it has lost too much at once, or trust it again."""
        watch = self._watch
        watch.history = (watch.history << 1 | is_lost) & ((1 << WINDOW) - 1)
        watch.n_answers += 1
        if not is_sudden(watch.history):
            n_lost = watch.history.bit_count()
            if watch.n_answers >= MOST_LOST and 2 * n_lost < min(watch.n_answers, WINDOW):
                watch.is_doubted = False
                if self._revisits.coming.is_on:
                    watch.trusted = 0  # a schedule has no next round in which the operator could be asked again
        elif (
            self._context.overriding.of_host(queue_name(self._url.host)).recrawl.park and watch.trusted != watch.round and not watch.parked
        ):
            n = min(watch.n_answers, WINDOW)
            watch.parked = f"{watch.history.bit_count()} of its last {n} answers were losses, the last one: {self._words()}"
            watch.is_doubted = True
            self._frontier.park(self._queue, Reason.SUDDEN_LOSS, self._now)
        self._store.tables.rounds.save_watch(self._queue, watch)

    def _words(self) -> str:
        match self._outcome:
            case Redirect(target=target):
                return f"moved to {presentable(target)[:200]}"
            case Failed(cause=cause):
                return str(cause)
            case _:
                return f"status {self._check.status}"
