"""Admission: the links of a page become known URLs, each in one state, with a row in its host's queue if it is to be fetched.

A queued URL that is found again nearer to a seed is moved forward (crawler/core/found_again.py); so is one whose worth grows, under an
order that uses cash (crawler/core/order/cash.py). If the robots.txt of its host is being requested instead of it, it is moved when that is
answered. URLs that were fetched meanwhile, or wait for another try, are not moved. A URL that only a sitemap announced moves to the linked
ones when a link names it.
"""

from __future__ import annotations

import logging
from itertools import compress

import msgspec

from thresher.crawler.core.found_again import FoundPlace, Nearer, found_again, nearest_of
from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import CrawlURL, Failed, Purpose, Reason, State
from thresher.crawler.core.order.cash import Cash
from thresher.crawler.core.placing import place as place_of
from thresher.crawler.core.ports import Entry, SeenRow
from thresher.crawler.core.url import origin_of
from thresher.crawler.gates.link_gate import Sifted, Skip
from thresher.crawler.settlement.effects import Effector
from thresher.crawler.settlement.finders import Finders
from thresher.crawler.settlement.outbox import Outbox
from thresher.crawler.settlement.skips import note_skip
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.visit import VisitContext
from thresher.filters.base import LinkJudgement
from thresher.filters.deliberation import Deliberation
from thresher.storage.tables import Tables
from thresher.storage.tables.bare_seeds import http_form

_log = logging.getLogger(__name__)


class Admission:
    """Writes the results of `LinkGate.sift`."""

    def __init__(
        self, tables: Tables, frontier: Frontier, context: VisitContext, totals: Totals, effects: Effector, outbox: Outbox | None = None
    ) -> None:
        """Create the admission of new links.

        Args:
            outbox: Messages to the other agents; None: there are none.
        """
        self._outbox = outbox
        self._tables = tables
        self._frontier = frontier
        self._context = context
        self._totals = totals
        self._effects = effects
        self._cash = Cash(frontier.order.cash_steps or 1)
        self._finders = Finders()
        self._later: dict[int, tuple[Entry, SeenRow]] = {}  # sequence number of a leased URL → (its row, its row after the lease)

    def admit(
        self, source: CrawlURL, sifted: Sifted, now: float, *, is_redirect: bool = False, gift: float | None = None, of_class: str = ""
    ) -> list[int]:
        """Write the links of `source`; return the sequence numbers of those that are known now, in any order.

        Args:
            gift: Cash for each link, if another agent has the source; None: computed here.
            of_class: The class of the source, if the source is held or was drawn from a class: links within its site that are new wait in
                that class.
        """
        for skip in sifted.skips:
            note_skip(self._tables, self._totals, skip, source.key)
        each = self._gift(source, sifted) if gift is None else gift
        finding, worth = FoundPlace.of(source, is_redirect=is_redirect), self._cash.giver(each)
        for nearer in found_again(finding, sifted.known, State.QUEUED, worth=worth, first_site=self._first_site):
            self._move_forward(nearer)
        numbers = [row.seq for _, row, _ in sifted.known]
        if sifted.deliberation is not None and sifted.deliberation.said:
            for verdict in sifted.deliberation.said.values():
                self._totals.count_would_save(verdict.filter)
        for name in sifted.said:
            self._totals.count_would_save(name)
        if sifted.fresh is not None:
            numbers += self._admit_new(sifted.fresh, sifted.deliberation, each, now, of_class)
        if self._frontier.order.counts_sites:
            self._count_sites(source, sifted)
        if self._outbox is not None:
            numbers += self._outbox.links(source, sifted, self._cash, each, now, is_redirect=is_redirect)
        return numbers

    def _gift(self, source: CrawlURL, sifted: Sifted) -> float:
        """Return how much cash the page gives to each of its links."""
        row = self._tables.seen.row(source.key) if self._frontier.order.cash_steps else None
        if row is None:
            return 0.0
        n_new = sum(len(links) for links in (sifted.fresh, sifted.foreign) if links is not None)
        return self._cash.gift(row.seq, row.worth, len(sifted.known) + n_new)

    def _count_sites(self, source: CrawlURL, sifted: Sifted) -> None:
        """Count this site as a linking site for each site that it links to."""
        sites = {key[:8] for key, _, _ in sifted.known}
        if sifted.fresh is not None:
            sites.update(sifted.fresh.site_keys)
        for site in self._tables.site_links.add(source.key[:8], sites):
            self._frontier.on_link(site)

    def seed(self, url: CrawlURL, now: float) -> None:
        """Queue a seed that is not known yet, or record why it is refused."""
        answer = self._context.links.check(url.text)
        if isinstance(answer, bytes):
            self.enqueue(url, now)
        else:
            note_skip(self._tables, self._totals, Skip(url.text, *answer), b"")
            self._tables.seen.add(url, State.REFUSED, answer[0], now)

    def give_way(self, url: CrawlURL, failure: Failed, now: float) -> None:
        """Refuse a seed that was given without a scheme and whose host does not speak https; queue its http form instead."""
        http = self._context.urls.url(http_form(url.text))
        _log.warning("%s: no connection by https (%s, %s); %s is asked for", url.text, failure.cause, failure.detail, http.text)
        note_skip(self._tables, self._totals, Skip(url.text, Reason.NO_HTTPS, str(failure.cause)), url.via)
        self._tables.seen.settle(url.key, State.REFUSED, Reason.NO_HTTPS)
        if self._tables.seen.row(http.key) is None:
            self.seed(http, now)

    def enqueue(self, url: CrawlURL, now: float, cash: float = 0.0) -> int:
        """Make a new URL known and queue it, with the cash that it is given; return its sequence number, -1 if it is refused and only
        counted.
        """
        refusal = self._frontier.refuses(url)
        if refusal is not None:
            note_skip(self._tables, self._totals, Skip(url.text, refusal, "limits"), url.via)
            return self._refused(url, refusal, "limits", now)
        worth = self._cash.level_of(1.0 + cash)
        seq = self._tables.seen.add(url, State.QUEUED, None, now, worth)
        self._finders.add(range(seq, seq + 1), url.via)
        if cash:
            self._cash.begin(seq, 1.0 + cash)
        self._frontier.push(Entry(*place_of(self._frontier.order, url, worth), seq, 0, url), now)
        return seq

    def _refused(self, url: CrawlURL, reason: Reason, by: str, now: float) -> int:
        """Make a refused URL known, unless its rule may store no more rows; return its sequence number, -1 if it is only counted."""
        if not self._tables.rules.may_record(f"{by}:{reason}"):
            return -1
        return self._tables.seen.add(url, State.REFUSED, reason, now)

    def requeue(self, url: CrawlURL, row: SeenRow, now: float) -> None:
        """Queue a known URL that was refused before."""
        self._tables.seen.update(url.key, row._replace(state=State.QUEUED, reason=None))
        refusal = self._frontier.push(Entry(*place_of(self._frontier.order, url, row.worth), row.seq, 0, url), now)
        if refusal is not None:
            self._tables.seen.settle(url.key, State.REFUSED, refusal)

    def _admit_new(
        self, links: LinkBatch, deliberation: Deliberation[LinkJudgement] | None, cash: float, now: float, of_class: str
    ) -> list[int]:
        """Write the new links of a page as the panel judged them, in the page's order; return the sequence numbers of those that got one.

        Runs of links are written as columns. Links that are refused, held, rewritten or audited, or whose site has too many hosts, are
        written one by one.
        """
        assert deliberation is not None
        is_plain = deliberation.judgement.admitted.tolist()
        for i in deliberation.audited:
            is_plain[i] = False
        if of_class:
            for i in links.by_site.get(links.source.key[:8], ()):
                is_plain[i] = False
        full = self._frontier.meet(dict(compress(zip(links.hosts, links.sites, strict=True), is_plain)))
        apart = [i for i, plain in enumerate(is_plain) if not plain or (full and links.hosts[i] in full)]
        numbers: list[int] = []
        start = 0
        for i in (*apart, len(links)):
            if start < i:
                numbers += self._enqueue_run(links, range(start, i), cash, now)
            if i < len(links) and (seq := self._admit_one(i, links, deliberation, cash, now, of_class)) > 0:
                numbers.append(seq)
            start = i + 1
        return numbers

    def _enqueue_run(self, links: LinkBatch, at: range, cash: float, now: float) -> range:
        """Make new links known and queue them, with the cash that they are given; return their sequence numbers."""
        worth = self._cash.level_of(1.0 + cash)
        first = self._tables.seen.add_links(links, slice(at.start, at.stop), State.QUEUED, worth, now)
        seqs = range(first, first + len(at))
        self._finders.add(seqs, links.source.key)
        if cash:
            self._cash.begin_all(seqs, 1.0 + cash)
        self._frontier.push_links(links, at, first, worth, now)
        return seqs

    def _admit_one(
        self, i: int, links: LinkBatch, deliberation: Deliberation[LinkJudgement], cash: float, now: float, of_class: str
    ) -> int:
        """Write the i-th new link as the panel judged it; return its sequence number, -1 if it is only counted."""
        is_kin = (
            of_class and links.keys[i][:8] == links.source.key[:8] and self._effects.may_inherit(links.texts[i], links.hosts[i], of_class)
        )
        if is_kin and deliberation.judgement.admitted[i] and i not in deliberation.audited:
            return self._effects.inherit(links.url(i), of_class, now)
        return self.admit_judged(links.url(i, Purpose.AUDIT if i in deliberation.audited else Purpose.PAGE), i, deliberation, now, cash)

    def admit_judged(self, url: CrawlURL, i: int, deliberation: Deliberation[LinkJudgement], now: float, cash: float = 0.0) -> int:
        """Write the i-th URL of a batch as the panel judged it; return its sequence number, -1 if it is only counted."""
        if deliberation.judgement.admitted[i]:
            self._totals.count_audited(int(i in deliberation.audited))
            return self.enqueue(url, now, cash)
        verdict = deliberation.judgement.refused.get(i)
        if verdict is None:
            return self._effects.hold_or_rewrite(url, deliberation.effects, now)
        reason = verdict.reason or Reason.REFUSED_BY_FILTER
        note_skip(self._tables, self._totals, Skip(url.text, reason, verdict.filter), url.via)
        self._totals.count_saved(verdict.filter)
        return self._refused(url, reason, verdict.filter, now)

    def _move_forward(self, found: Nearer) -> None:
        """Move a queued URL forward that was found nearer, or whose worth has grown."""
        key, text, row, nearest = found
        if row.seq in self._later:
            nearest = nearest_of(nearest, self._later[row.seq][1])
        origin = origin_of(text)
        via = self._found_by(row.seq)
        place = (nearest.seed_distance, nearest.site_depth, nearest.hops)
        nearer = CrawlURL(text, self._context.links.site(origin), origin, key, *place, nearest.purpose, via)
        lane, rank = place_of(
            self._frontier.order, msgspec.structs.replace(nearer, site_depth=row.site_depth, purpose=row.purpose), row.worth
        )
        self._move(Entry(lane, rank, row.seq, 0, nearer), nearest)

    def _move(self, waiting: Entry, nearest: SeenRow) -> None:
        """Move a row forward, now or when its lease has ended."""
        is_moved = self._frontier.raise_rank(waiting, self._frontier.order.rank(nearest.site_depth, nearest.worth))
        if is_moved:
            self._tables.seen.update(waiting.url.key, nearest)
        elif is_moved is None:
            self._later[nearest.seq] = waiting, nearest

    def on_unleased(self, seq: int) -> None:
        """Move a URL forward that was found nearer while it was leased, if it is queued again."""
        if seq in self._later:
            self._move(*self._later.pop(seq))

    def _first_site(self, seq: int) -> bytes:
        return self._found_by(seq)[:8]

    def _found_by(self, seq: int) -> bytes:
        """Return the key of the page that named a URL first, b"" for a seed."""
        via = self._finders.get(seq)
        return self._finders.keep(seq, self._tables.seen.record(seq).via) if via is None else via
