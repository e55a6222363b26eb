"""The story of one URL from the store: its form, state and reason, how it was found, what became of it, and what decides about it now.

Nothing is written. Every URL has an answer: fetched, redirected, failed, waiting, refused, held, an alias, never seen, no URL at all.
Time: a few reads; a URL that is not known, or was refused, also costs one pass over the log of skipped URLs.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from thresher.config.settings import Settings
from thresher.crawler.analysis.tails import class_of
from thresher.crawler.analysis.walls import standing_of
from thresher.crawler.core.governing import governed, options_of
from thresher.crawler.core.model import NO_KEY, CrawlURL, Purpose, Reason, State
from thresher.crawler.core.order.by_name import order_by_name
from thresher.crawler.core.politeness import Rulebook, rule_of
from thresher.crawler.core.ports import Entry, HostRecord, Lane, SeenRow
from thresher.crawler.core.url import BadURL, URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.explain.announced import announced
from thresher.crawler.explain.held import history
from thresher.crawler.explain.requisite import needed
from thresher.crawler.explain.spelling import steps
from thresher.crawler.explain.story import Hop, QueuePlace, Story
from thresher.crawler.explain.today import Today, decide
from thresher.crawler.explain.visited_again import visited_again, words_of
from thresher.crawler.explain.wording import found_today, recorded
from thresher.storage.export.fields import iso
from thresher.storage.export.judged import NewestVerdict, named_keys, verdict_object
from thresher.storage.export.pages import page_object
from thresher.storage.export.texts import TextLookup
from thresher.storage.records import PageRecord, SkipLine, UrlRecord
from thresher.storage.tables.bare_seeds import BareSeeds, http_form
from thresher.storage.view import View

_MOST_HOPS = 100  # links of the way from a seed that are shown
_MOST_AHEAD = 10_000  # rows of a queue that are counted
_MOST_ORIGINALS = 20  # redirects to the URL that are shown
_MOST_SKIPS = 10


class Explainer:
    """Reads the stories of URLs from one store. What would be decided today depends on `settings`; the canonical form is that of the
    store.
    """

    def __init__(self, view: View, settings: Settings, now: float, *, crawl: str = "") -> None:
        self._view = view
        self._crawl = crawl
        self._settings = msgspec.structs.replace(settings, seeds=[*settings.seeds, *BareSeeds.of(view).http_forms()])
        self._now = now
        self._own = URLSpace(view.secret, url_rules(view.settings))
        self._todays = URLSpace(view.secret, url_rules(settings))
        self._rules = Rulebook(view.settings)
        self._texts = TextLookup(view)

    def story(self, asked: str) -> Story:
        """Return the whole story of a URL, which may be written in any form."""
        story = Story(asked=asked, crawl=self._crawl)
        try:
            url = self._own.seed(asked)
        except BadURL as error:
            story.state, story.reason, story.detail = "bad_url", str(error.reason), error.detail
            story.skips = self._skips(asked.strip())
        else:
            url, row = self._known_form(asked, url)
            story.url, story.steps = url.text, steps(asked, url.text)
            story.requisite = needed(self._view, url.key)
            if row is not None:
                self._known(story, url, row)
            if row is None or row.state is State.REFUSED:
                story.skips = self._skips(url.text)
        story.option = story.option or _option(story)
        story.today = self._today(asked if story.url is None else story.url, story)
        by = f" It is announced by {story.announced.by}." if story.announced is not None else ""
        again = words_of(story.visited_again) if story.visited_again is not None else ""
        story.answer = f"{recorded(story)}{again}{by} {found_today(story)}, it would {story.today.outcome}."
        return story

    def _known_form(self, asked: str, url: CrawlURL) -> tuple[CrawlURL, SeenRow | None]:
        """Return the URL with its row. If no scheme was written, it may be the http form, if the crawl went on with that."""
        row = self._view.tables.seen.row(url.key)
        if (row is None or row.reason is Reason.NO_HTTPS) and self._own.is_bare(asked):
            http = self._own.url(http_form(url.text))
            if (found := self._view.tables.seen.row(http.key)) is not None:
                return http, found
        return url, row

    # -- what the store has recorded

    def _known(self, story: Story, url: CrawlURL, row: SeenRow) -> None:
        record = self._view.tables.seen.record(row.seq)
        story.state, story.reason = row.state.name.lower(), None if row.reason is None else str(row.reason)
        story.found_at = iso(record.found_at)
        story.depth, story.site_depth, story.hops = row.seed_distance, row.site_depth, row.hops
        story.purpose = Purpose(row.purpose).name.lower()
        story.chain = self._chain(url.key, record)
        self._outcome(story, url, row)
        if row.state is State.QUEUED:
            story.waiting = self._waiting(url, row)
        story.holders = self._view.tables.held.holders(url.key)
        of = class_of(self._view, url.key)
        story.held_class = of._asdict() if of is not None else None
        if story.reason == Reason.HELD_BY_FILTER:
            modes = [f"filters.{name}.mode" for holder in story.holders for name in self._names(holder)]
            story.option = ", ".join([*dict.fromkeys(modes), options_of(story.reason)])
        story.history = history(self._view, url.key, row)
        alias = self._view.tables.aliases.get(url.key)
        if alias is not None:
            story.alias_of = {"url": alias.to_text, "rule": alias.rule}
        story.crashes = self._view.tables.suspects.crashes(url.key)
        story.announced = announced(self._view, url.key, self._own.queue_key(url.host))
        story.visited_again = visited_again(self._view, url.key, self._own.queue_key(url.host))

    def _names(self, holder: str) -> list[str]:
        """Return the names of filters in the words for a holder; they come before the class."""
        words = re.findall(r"\w+", holder.partition(">")[0])
        return [word for word in words if hasattr(getattr(self._view.settings.filters, word, None), "mode")]

    def _chain(self, key: bytes, record: UrlRecord) -> list[Hop]:
        """Walk from what named the URL back to a seed."""
        hops: list[Hop] = []
        passed = {key}
        while record.via not in (NO_KEY, *passed) and len(hops) < _MOST_HOPS:
            passed.add(record.via)
            row = self._view.tables.seen.row(record.via)
            if row is None:
                break
            how = self._how(record.via, key)
            key, record = record.via, self._view.tables.seen.record(row.seq)
            hops.append(Hop(url=record.text, how=how, depth=row.seed_distance))
        return hops

    def _how(self, source: bytes, target: bytes) -> str:
        edge = self._view.tables.redirects.edge(source)
        if edge is not None and edge.to_key == target:
            return "redirect"
        return "alias" if self._view.tables.aliases.get(source) is not None else "link"

    def _outcome(self, story: Story, url: CrawlURL, row: SeenRow) -> None:
        """Add the outcome of its requests."""
        view = self._view
        failure = view.tables.failures.get(url.key)
        if failure is not None:
            story.failure = {**msgspec.structs.asdict(failure), "at": iso(failure.at)}
        page = view.tables.pages.read(row.visit) if row.visit else None
        if page is not None and page.key == url.key:
            story.page = page_object(view, row.visit, page)
        story.verdicts = self._verdicts(url.key, page if story.page is not None else None)
        edge = view.tables.redirects.edge(url.key)
        if edge is not None:
            target = view.tables.seen.row(edge.to_key) if edge.to_key else None
            state = "unknown" if target is None else target.state.name.lower()
            refused = self._refused(edge.to_text, url.key) if target is None else None
            story.redirect = {"to": edge.to_text, "status": edge.status, "at": iso(edge.found_at), "state": state, "refused": refused}
            story.option = options_of(refused or "") or None
        story.redirected_from = list(self._texts.of_keys(view.tables.redirects.into(url.key, _MOST_ORIGINALS)).values())
        pair = view.tables.redirects.pair(url.key)
        if pair is not None:
            story.end_of_chain = {"url": pair.target_text, "hops": pair.hops, "status": pair.status or None, "end": "settled"}
        elif edge is not None:
            end, hops = view.tables.redirects.chain_end(url.key)
            story.end_of_chain = {"url": None, "hops": hops, "status": None, "end": end}
            if end == "loop" and view.settings.fetch.cookies == "off":
                story.option = "fetch.cookies"

    def _refused(self, target: str, via: bytes) -> str | None:
        """Return why the target of a redirect was not taken up, as far as the log of skipped URLs tells."""
        return next((line.reason for line in self._view.all_skipped() if line.url == target and line.via == via.hex()), None)

    def _verdicts(self, key: bytes, page: PageRecord | None) -> list[dict[str, Any]]:
        """Return every verdict on a page or a redirect with its time, also revised verdicts."""
        given = [NewestVerdict(verdict, 0.0) for verdict in page.verdicts] if page else []
        revised = [NewestVerdict(revision.verdict, revision.at) for revision in self._view.tables.verdicts.revisions(key)]
        texts = self._texts.of_keys(named_keys([*given, *revised]))
        fetched_at = page.fetched_at if page else 0.0
        return [{**verdict_object(said, texts), "at": iso(said.revised_at or fetched_at)} for said in (*given, *revised)]

    def _skips(self, text: str) -> list[dict[str, Any]]:
        """Return the first lines of the log of skipped URLs that are about this one."""
        found: list[SkipLine] = []
        for line in self._view.all_skipped():
            if line.url == text:
                found.append(line)
                if len(found) == _MOST_SKIPS:
                    break
        names = self._texts.of_keys(bytes.fromhex(line.via) for line in found)
        return [{"reason": line.reason, "by": line.by, "detail": line.detail, "via": names.get(bytes.fromhex(line.via))} for line in found]

    # -- what it waits for

    def _waiting(self, url: CrawlURL, row: SeenRow) -> QueuePlace | None:
        """Find the URL's row in its host's queue; None if it is not there (it may have left a moment ago)."""
        queue = self._own.queue_key(url.host)
        host = self._view.tables.queues.host(queue)
        found = self._find(queue, url, row)
        if host is None or found is None:
            return None
        entry, ahead = found
        due = max(host.next_at, host.backoff_until, host.parked_until)
        if entry.lane is Lane.RETRY:
            due = max(due, entry.rank / 1e6)
        return QueuePlace(
            host=host.name,
            lane=entry.lane.name.lower(),
            rank=entry.rank,
            attempts=entry.attempt,
            ahead=ahead,
            due_at=iso(due) if due > self._now else None,
            why=self._why(host, entry, ahead),
            next_at=iso(host.next_at),
            backoff_until=iso(host.backoff_until),
            crawl_delay=host.crawl_delay if host.crawl_delay >= 0 else None,
            failures=host.failures,
            parked=host.parked or None,
            parked_until=iso(host.parked_until),
        )

    def _find(self, queue: bytes, url: CrawlURL, row: SeenRow) -> tuple[Entry, int | None] | None:
        """Return the URL's row in its queue, and how many rows come before it: None if they are too many to be counted."""
        n_ahead = 0
        for lane in Lane:
            for entry in self._view.tables.queues.head(queue, lane, _MOST_AHEAD):
                if entry.seq == row.seq:
                    return entry, n_ahead
                n_ahead += 1
        rank = order_by_name(self._view.settings.frontier.order, self._view.tables.queues).rank(row.site_depth, row.worth)
        entry = Entry(Lane.FRESH, rank, row.seq, 0, url)
        return (entry, None) if self._view.tables.queues.has(queue, entry) else None

    def _why(self, host: HostRecord, entry: Entry, ahead: int | None) -> str:
        """Return the first thing that the URL waits for."""
        now = self._now
        if host.parked and not 0 < host.parked_until <= now:
            until = f"until {iso(host.parked_until)}" if host.parked_until else "until the configuration changes"
            return f"its host is parked by {governed(host.parked)} {until}"
        wall = standing_of(self._view, self._own.queue_key(entry.url.host)) if host.backoff_until > now else None
        if wall is not None and wall.is_walled:
            return f"a wall answers for its host since {iso(wall.since)} ({wall.told}): nothing before {iso(host.backoff_until)}"
        if host.backoff_until > now:
            return f"its host asked for time or answered 429 or 503: nothing before {iso(host.backoff_until)}"
        if entry.lane is Lane.RETRY and entry.rank / 1e6 > now:
            return f"it failed and is tried again at {iso(entry.rank / 1e6)}"
        if ahead != 0:
            count = f"more than {_MOST_AHEAD:,}" if ahead is None else f"{ahead:,}"
            return "one URL of its host comes first" if ahead == 1 else f"{count} URLs of its host come first"
        if host.next_at > now:
            return f"its host is in its delay ({rule_of(host, self._rules.of(host.name, is_own=True))}) until {iso(host.next_at)}"
        return "it is the next of its host"

    # -- what would be decided today

    def _today(self, text: str, story: Story) -> Today:
        try:
            canonical = self._todays.seed(text).text
        except BadURL as error:
            return Today(rulings=[], robots=None, outcome=f"be refused: {governed(error.reason, error.detail)}")
        is_seed = canonical in self._settings.seeds
        depth = 0 if is_seed else story.depth
        url = self._todays.url(canonical, seed_distance=depth or 0, site_depth=story.site_depth or 0, hops=story.hops or 0)
        return decide(url, depth, self._settings, self._todays, self._view, self._now, is_seed=is_seed)


def without_store(asked: str, settings: Settings) -> Story:
    """Return what the configuration alone says about a URL."""
    story = Story(asked=asked)
    space = URLSpace(bytes(16), url_rules(settings))  # the canonical form does not depend on a crawl's secret
    try:
        url = space.seed(asked)
    except BadURL as error:
        story.state, story.reason, story.detail = "bad_url", str(error.reason), error.detail
        story.option = _option(story)
        story.answer = recorded(story)
        return story
    story.url, story.steps = url.text, steps(asked, url.text)
    story.today = decide(url, None, settings, space, None, 0.0)
    story.answer = f"No store was asked. Under this configuration it would {story.today.outcome}."
    return story


def _option(story: Story) -> str | None:
    """Return the options that govern why the URL was not fetched."""
    failed = story.failure["reason"] if story.failure is not None else story.skips[0]["reason"] if story.skips else ""
    return options_of(story.reason or failed) or None
