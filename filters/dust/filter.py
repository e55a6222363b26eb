"""DUST as it is plugged in: a site's URL aliases are learnt while it is crawled, and no longer fetched [BKS07].

`plug` puts together:
    PageGate   puts each page into its site's list, and asks for a study of the list when it has doubled, or grown by a fifth if it
               holds copies that its rules do not explain; compares pages that were fetched in spite of a rule (audits, seeds) with their
               canonical page, and withdraws a rule that turns bad
    LinkGate   rewrites new links by the site's valid rules; asked again when a URL's turn comes, so that what was queued before a rule was
               valid is rewritten then. A canonical URL of which an alias was fetched before becomes an alias of that one where hardly
               any pair of the rule disagrees: its page is known, and comes back with the rule if that is withdrawn
    Miner      the study: mining and judging (filters/dust/study.py), and what follows from it

While a site shows no copies, one page in four is put into its list, chosen before it is looked at by its title, which copies share; from
the third copy on, of which the panel or a study tells, or the third of the list whose title another has, every page is. Without a filter
that tells copies every page is from the first.

Mining runs off the loop, on a copy of the list. Rules are judged by pairs of pages that were fetched anyway. What is missing are canonical
URLs: they are asked for as pages of the crawl, ahead of their host's queue, a few for each rule at first and more while they agree. So
only those that turn out to be no page are wasted, and these are kept below a share of the copies met so far.

A rule's later life is a cumulative sum [Page 1954]: each audited pair that disagrees raises it, each that agrees lowers it to zero at
most; two that disagree with few between them withdraw the rule, and its aliases are enqueued again. A canonical URL that turns out to be an
error gives its alias back.

Memory: per site the list (170 bytes and the URL for each page, `max_urls` at most) and the rules. Time: 60 µs a page of the list, 8 µs of
others, 3 µs a batch of links to sites without rules, 2 µs a link to one with ten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from types import NoneType
from typing import Final

import msgspec
import xxhash

from thresher.config.settings import Dust
from thresher.crawler.core.model import (
    Effect,
    Judgement,
    LinkBatch,
    Mode,
    Page,
    Purpose,
    Reason,
    Recall,
    Request,
    Revise,
    Rewrite,
    Study,
    Verdict,
)
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import hostname_of, origin_of
from thresher.filters.base import NO_EFFECTS, NOTHING_LEARNED, NOTHING_REFUSED, Effects, LinkJudgement, LinkRuling, Plug
from thresher.filters.dust.canonize import Canonizer
from thresher.filters.dust.memory import NAME, RuleBook, read_book, version, write_book
from thresher.filters.dust.records import (
    Look,
    Progress,
    list_of,
    look_at,
    note_asked,
    read_common,
    read_fetched,
    read_key,
    read_look,
    read_origins,
    read_progress,
    was_asked,
    write_common,
    write_fetched,
    write_look,
    write_origins,
    write_progress,
)
from thresher.filters.dust.rules import LearnedRule, Rule, site_named
from thresher.filters.dust.study import Finding, Known, written
from thresher.filters.dust.validate import BOUND, STEP_AGREE, STEP_DISAGREE

_SITE: Final = 8
_ASK_EVERY: Final = 64  # pages after which a study is asked for again: the last may have been lost in a crash, or pages never come
_JUDGE_EVERY: Final = 16  # and pages after which rules are judged again that wait for pages: some never come
_AT_ONCE: Final = 100  # pages asked for at once
_GROWTH: Final = 1.2  # of the list until it is mined again, while there are copies that no rule explains
_FEWEST_COPIES: Final = 3  # fewer are no rule's support
_MOST_REVISED: Final = 500  # records of pages fetched under an alias that are told so by one study
_FREE: Final = 10  # pages asked for in vain that are always allowed
_COUNTED: Final = 8  # one page in so many has its links counted
_SAMPLE: Final = 4  # one title in so many is of the list while a site shows no copies
_OTHERS: Final = 16  # and one page in so many, whatever its title
_MOST_TITLES: Final = 64  # of a sample that are remembered
_TELLS_COPIES: Final = "exact_duplicate"  # the filter whose word is needed
_COPIES: Final = frozenset((Reason.DUPLICATE_CONTENT, Reason.NEAR_REPLICA))
_MOST_ORIGINS: Final = 64
_MOST_SITES: Final = 1_000  # whose rules are kept ready
_NO_VERDICT: Final = Verdict(NAME)


def plug(settings: Dust, *, judges: Collection[str] = ()) -> Plug:
    """Return the filter with all its parts. judges: filters that drop pages; if none tells exact copies, every page is learnt from."""
    books = _Books()
    pages = PageGate(settings, books, judges=judges)
    miner = Miner(settings)
    return Plug(NAME, Mode(settings.mode), learned=LinkGate(books), again=has_rules, page=pages, student=miner)


def has_rules(key: bytes, memory: Memory, /) -> bool:
    """Return whether a URL of this site may be an alias when its turn comes."""
    return version(memory, key[:_SITE]) is not None


class _Books:
    """The rules of sites, ready to be applied. A cache: what it gives follows from the memory alone."""

    def __init__(self) -> None:
        self._ready: dict[bytes, tuple[bytes, Canonizer]] = {}

    def canonizer(self, memory: Memory, site: bytes) -> Canonizer | None:
        """Return what canonizes a site's URLs, None if no rule is valid."""
        current = version(memory, site)
        if current is None:
            return None
        ready = self._ready.get(site)
        if ready is None or ready[0] != current:
            book = read_book(memory, site)
            if len(self._ready) >= _MOST_SITES:
                self._ready.clear()
            ready = self._ready[site] = (current, Canonizer(book.applied if book else ()))
        return ready[1]


class LinkGate:
    """Learned gate; it learns nothing itself."""

    name = NAME
    measure_type = NoneType

    def __init__(self, books: _Books) -> None:
        self._books = books

    def measure(self, batch: LinkBatch, /) -> LinkBatch:
        return batch

    def decide(self, batch: LinkBatch, memory: Memory, /) -> tuple[LinkRuling, Effects]:
        if batch.source.seed_distance == 0 and len(batch) == 1 and batch.keys[0] == batch.source.key:
            return NOTHING_REFUSED, NO_EFFECTS  # a seed whose turn has come: it was asked for by name
        of_site = {site: canonizer for site in batch.by_site if (canonizer := self._books.canonizer(memory, site)) is not None}
        if not of_site:
            return NOTHING_REFUSED, NO_EFFECTS
        effects: list[Effect] = []
        for i in batch.of_sites(of_site):
            text, site = batch.texts[i], batch.keys[i][:_SITE]
            canonizer = of_site[site]
            settled = canonizer.settle(text)
            if settled.url != text:
                effects += [Rewrite(text, settled.url, settled.names)] if _is_of(batch.sites[i], settled.url) else []
            elif (fetched := read_fetched(memory, site, text)) and not was_asked(memory, site, text):
                back = canonizer.settle(fetched)
                effects += [Rewrite(text, fetched, back.names)] if back.url == text else []
        return NOTHING_REFUSED, tuple(effects)

    def observe(self, batch: LinkBatch, judgement: LinkJudgement, memory: Memory, /) -> Effects:
        return NO_EFFECTS


class PageMeasure(msgspec.Struct, array_like=True, dict=True):
    """What learning needs of a page. The page itself stands beside it and not in the journal: what it shows is asked for of few."""

    url: str
    site: str
    key: bytes
    via: bytes
    title: int  # hash
    status: int
    shown: Look | None = None  # None: not asked for
    origins: dict[str, int] = {}  # of its site: links to each; of a sample of the pages of the list

    def look(self) -> Look:
        """Return what the page shows."""
        if self.shown is None:
            page: Page = self.__dict__["page"]
            self.shown = look_of(page)
            if self.key[-1] % _COUNTED == 0:
                self.origins = _own_origins(page.links, self.site)
        return self.shown


class PageGate:
    """Page gate: drops nothing, says of an alias that was fetched which URL is the canonical one."""

    name = NAME
    measure_type = PageMeasure

    def __init__(self, settings: Dust, books: _Books, *, judges: Collection[str]) -> None:
        self._settings = settings
        self._books = books
        self._judges = frozenset(judges)
        self._samples = _TELLS_COPIES in self._judges

    def measure(self, page: Page, /) -> PageMeasure:
        url = page.url
        measure = PageMeasure(url.text, url.site, url.key, url.via, xxhash.xxh3_64_intdigest(page.title.encode()), page.status)
        measure.__dict__["page"] = page
        return measure

    def decide(self, measure: PageMeasure, memory: Memory, /) -> tuple[Verdict, Effects]:
        canonizer = self._books.canonizer(memory, measure.key[:_SITE])
        if canonizer is None or (settled := canonizer.settle(measure.url)).url == measure.url:
            return _NO_VERDICT, NO_EFFECTS
        return _alias(settled.url, settled.names), NO_EFFECTS

    def observe(self, measure: PageMeasure, judgement: Judgement, memory: Memory, /) -> Effects:
        site = measure.key[:_SITE]
        canonizer = self._books.canonizer(memory, site)
        progress = read_progress(memory, site) or Progress(measure.site, next_at=self._settings.first_mining)
        was_wanted = progress.outstanding > 0 and was_asked(memory, site, measure.url)
        is_copy = self._samples and progress.copies < _FEWEST_COPIES and self._is_copy(judgement)
        progress.copies += is_copy
        is_of_list = was_wanted or (progress.n_pages < self._settings.max_urls and self._is_chosen(measure, progress))
        if not is_of_list and canonizer is None:
            if not is_copy:
                return NOTHING_LEARNED
            write_progress(memory, site, progress)
            return NO_EFFECTS
        effects = NO_EFFECTS if canonizer is None else _heard(measure, judgement, canonizer, memory)
        if not is_of_list:
            return effects
        look = _shown(measure, judgement)
        if measure.origins:
            origins = read_origins(memory, site)
            _add(origins, measure.origins)
            write_origins(memory, site, origins)
        is_met = bool(measure.via) or not was_wanted
        is_new = write_look(memory, measure.key, measure.url, look, is_met=is_met)
        progress.n_pages += is_new
        self._note_title(measure.title & 0xFFFF, progress)
        if was_wanted and is_new:
            progress.outstanding -= 1
            progress.wasted += not look.is_good
        write_progress(memory, site, progress)
        return (*effects, Study(site)) if is_new and _is_due(progress) else effects

    def _is_chosen(self, measure: PageMeasure, progress: Progress) -> bool:
        """Return whether a page goes into the list. A title that the last one had too may be that of the whole site: it says nothing."""
        if not self._samples or max(progress.copies, progress.repeated) >= _FEWEST_COPIES:
            return True
        return measure.title % _SAMPLE == 0 or measure.key[-1] % _OTHERS == 0

    def _note_title(self, title: int, progress: Progress) -> None:
        """Note the title of a page of the list, as long as the list is a sample: pages of one title may be copies."""
        if not self._samples or max(progress.copies, progress.repeated) >= _FEWEST_COPIES:
            progress.titles = []
        elif title in progress.titles:
            progress.repeated += 1
        else:
            progress.titles = [*progress.titles[1 - _MOST_TITLES :], title]

    def _is_copy(self, judgement: Judgement) -> bool:
        """Return whether a page was dropped since the site showed the same before."""
        dropped = not (judgement.keep and judgement.follow)
        return dropped and any(verdict.reason in _COPIES and verdict.filter in self._judges for verdict in judgement.verdicts)


def _shown(measure: PageMeasure, judgement: Judgement) -> Look:
    """Return what a page shows for comparing; a soft error is like no other page."""
    return Look() if _is_soft_error(judgement) else measure.look()


def _heard(measure: PageMeasure, judgement: Judgement, canonizer: Canonizer, memory: Memory) -> Effects:
    """Learn from a page what it says of the rules that are applied."""
    site = measure.key[:_SITE]
    settled = canonizer.settle(measure.url)
    if settled.url == measure.url:  # an error is no canonical page of what led to it
        return (Recall(measure.via, measure.url),) if measure.status >= 400 and measure.via[:_SITE] == site else NO_EFFECTS
    look = _shown(measure, judgement)
    canonical = read_look(memory, site, settled.url)
    if canonical is None and look.is_good and _are_clean(settled.by, memory, site):
        write_fetched(memory, site, settled.url, measure.url)
    if canonical is None or not look.is_good:
        return NO_EFFECTS
    return _count(memory, site, settled.by, look, canonical)


class Miner:
    """What is studied off the loop, and what follows."""

    name = NAME
    finding_type = Finding

    def __init__(self, settings: Dust) -> None:
        self._settings = settings

    def gather(self, site: bytes, memory: Memory, /) -> Iterator[bytes]:
        """Yield a copy of what is known of a site."""
        progress, book = read_progress(memory, site) or Progress(), read_book(memory, site)
        mines = not progress.is_judging or progress.n_pages >= progress.next_at
        yield written(Known(book.rules if book else [], read_origins(memory, site), mines, self._settings.max_rules))
        for pages in list_of(memory, site):
            yield written(pages)

    def found(self, site: bytes, finding: Finding, memory: Memory, /) -> Effects:
        """Take over the rules, ask for the pages that they lack, say when to study again."""
        progress = read_progress(memory, site) or Progress()
        write_book(memory, site, RuleBook(progress.site, _as_of_now(read_book(memory, site), finding.rules)))
        most_wasted = _FREE + self._settings.validation_share * finding.n_copies
        room = self._settings.validations - progress.asked if progress.wasted <= most_wasted else 0
        new = (url for url in finding.wanted if site_named(url) == progress.site and note_asked(memory, site, url))
        wanted = list(islice(new, min(_AT_ONCE, max(0, room))))
        if any(learned.standing == "valid" for learned in finding.rules):
            write_common(memory, site, finding.common)
        told: list[Effect] = []
        for canonical, alias, rule in finding.fetched:
            write_fetched(memory, site, canonical, alias)
            if len(told) < _MOST_REVISED and (key := read_key(memory, site, alias)):
                told.append(Revise(key, _alias(canonical, rule)))
        progress.copies = max(progress.copies, finding.n_copies)
        progress.is_judging, progress.outstanding = bool(wanted), len(wanted)
        progress.asked, progress.asked_at = progress.asked + len(wanted), progress.n_pages
        if finding.mined and progress.n_pages >= progress.next_at:
            grows = _GROWTH if finding.n_unexplained >= _FEWEST_COPIES else 2.0
            progress.next_at = int(grows * progress.n_pages)
        write_progress(memory, site, progress)
        return (*told, *(Request(url, Purpose.AUDIT) for url in wanted))


def _as_of_now(book: RuleBook | None, found: Sequence[LearnedRule]) -> list[LearnedRule]:
    """Return the rules of a finding; settled ones as the book has them, since audits may have spoken meanwhile."""
    settled = {learned.rule: learned for learned in book.rules if learned.is_settled} if book else {}
    rules = [settled.pop(learned.rule, learned) for learned in found]
    return [*rules, *settled.values()]


def _own_origins(links: Sequence[str], site: str) -> dict[str, int]:
    """Count a page's links to each origin of its own site."""
    below = f".{site}"
    return {each: n for each, n in Counter(map(origin_of, links)).items() if (host := hostname_of(each)) == site or host.endswith(below)}


def _add(counts: dict[str, int], more: Mapping[str, int]) -> None:
    """Add counts, of no more than `_MOST_ORIGINS`."""
    for each, n in more.items():
        if each in counts or len(counts) < _MOST_ORIGINS:
            counts[each] = counts.get(each, 0) + n


def _is_due(progress: Progress) -> bool:
    """Return whether a page that has just come into the list is one after which the site is to be studied."""
    if progress.is_judging and (not progress.outstanding or (progress.n_pages - progress.asked_at) % _JUDGE_EVERY == 0):
        return True
    late = progress.n_pages - progress.next_at
    return late >= 0 and late % _ASK_EVERY == 0


def look_of(page: Page) -> Look:
    """Return what a page shows; that of an error or of an empty page is like no other."""
    return look_at(page.url.text, page.tokens) if 200 <= page.status < 300 else Look()


def _alias(canonical: str, rule: str) -> Verdict:
    """Return what is said of a page that was fetched under an alias: which URL is the canonical one, and by which rule."""
    return Verdict(NAME, evidence={"canonical": canonical, "rule": rule})


def _is_of(site: str, url: str) -> bool:
    """Return whether a URL is one of the site: a rule may not lead out of it."""
    return site_named(url) == site


def _is_soft_error(judgement: Judgement) -> bool:
    dropped = not (judgement.keep and judgement.follow)
    return dropped and any(verdict.filter == "soft_error" and not verdict.keep for verdict in judgement.verdicts)


def _are_clean(rules: Sequence[Rule], memory: Memory, site: bytes) -> bool:
    book = read_book(memory, site)
    return book is not None and {learned.rule for learned in book.rules if learned.is_clean}.issuperset(rules)


def _count(memory: Memory, site: bytes, rules: Sequence[Rule], alias: Look, canonical: Look) -> Effects:
    """Count a pair for or against the rules that joined it; withdraw those that have turned bad."""
    book = read_book(memory, site)
    if book is None:
        return NO_EFFECTS
    concerned = set(rules)
    before = book.applied
    agrees, equal = alias.alike(canonical, read_common(memory, site)), alias.fingerprint == canonical.fingerprint
    book.rules = [_counted(learned, agrees=agrees, equal=equal) if learned.rule in concerned else learned for learned in book.rules]
    write_book(memory, site, book)
    kept = set(book.applied)
    return tuple(_recalls(site, [rule for rule in before if rule not in kept]))


def _counted(learned: LearnedRule, *, agrees: bool, equal: bool) -> LearnedRule:
    alarm = max(0.0, learned.alarm - (STEP_AGREE if agrees else STEP_DISAGREE))
    return msgspec.structs.replace(
        learned,
        agree=learned.agree + agrees,
        equal=learned.equal + equal,
        disagree=learned.disagree + (not agrees),
        alarm=alarm,
        standing="withdrawn" if alarm >= BOUND else learned.standing,
    )


def _recalls(site: bytes, rules: Sequence[Rule]) -> Iterator[Effect]:
    for rule in rules:
        yield Recall(site, rule.name)
