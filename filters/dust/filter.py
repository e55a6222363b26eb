"""DUST as a filter: learns the URL aliases of a site while it is crawled, and no longer fetches them [BKS07].

`spec` puts together:
    PageGate   enters each page into its site's list. Asks for a study of the list when it has doubled, or has grown by a fifth if it has
               copies that its rules do not explain, or when one family of aliases has enough copies. Compares pages that were fetched in
               spite of a rule (audits, seeds) with their canonical page, and withdraws a rule that has turned bad. Compares each page with
               those whose URLs differ at one place (families.py)
    LinkGate   rewrites new links by the site's valid rules, and holds those in a family of aliases. Judges a URL again just before it is
               requested, since many were queued before the rule was known. If an alias of a canonical URL was fetched first and hardly any
               pair of the rule disagrees, the canonical URL becomes an alias of that one: its page is known. It is queued again if the rule
               is withdrawn
    Miner      the study: mining and judging (filters/dust/study.py), and its effects

While a site shows no copies, one page in four enters its list. It is chosen by its title, which copies share, before the page is compared.
Every page enters from the third copy on (by the panel or a study), or from the third page of the list whose title another one has, or from
the beginning if no filter finds copies.

Mining runs in another process, on a copy of the list. Rules are judged by pairs of pages that were fetched anyway. Canonical URLs that are
missing are requested as pages of the crawl, before the rest of their host's queue and at their alias's depth: a few for each rule at first,
more while they agree. Those that turn out to be no page, or to show what was known, are wasted. Waste is limited by the number of requests
that the undecided rules would have saved of the list; a rule that becomes valid adds what it saves.

A rule that turns bad later is withdrawn (alarm.py). If a canonical URL gives no page, its aliases become ordinary URLs, whatever the filter
says (crawler/settlement/canonical.py).

Memory: per site the list (170 bytes and the URL for each page, `max_urls` at most), the rules, and families. Time: 60 µs a page of the
list, families 30 µs (60 with storage) a page, 3 µs a batch of links to sites without rules, 2 µs a link to one with ten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final

import msgspec
import xxhash

from thresher.config.settings import DustSettings
from thresher.crawler.core.effects import Effect, Release, Request, Revise, Study
from thresher.crawler.core.model import Judgement, Mode, Page, Purpose, Verdict
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import hostname_of, origin_of
from thresher.filters.base import NO_EFFECTS, NOTHING_LEARNED, Effects
from thresher.filters.dust import collisions, families, leads
from thresher.filters.dust.alarm import on_page
from thresher.filters.dust.canonize import Canonizer
from thresher.filters.dust.links import Books, DustLinkGate
from thresher.filters.dust.memory import NAME, RuleBook, read_book, version, write_book
from thresher.filters.dust.records import (
    Progress,
    StoredLook,
    count_origins,
    digest_of,
    list_of,
    look_of,
    note_asked,
    read_key,
    read_look,
    read_origins,
    read_progress,
    read_url,
    was_asked,
    write_common,
    write_fetched,
    write_look,
    write_progress,
)
from thresher.filters.dust.rules import LearnedRule, site_named
from thresher.filters.dust.shown import ShownPage, copy_verdict, original_of, words_of
from thresher.filters.dust.study import KnownSite, StudyResult, written
from thresher.filters.evidence.blocks import BLOCK
from thresher.filters.spec import FilterSpec

_SITE: Final = 8
_ASK_EVERY: Final = 64  # pages after which a study is requested again: the last request may have been lost
_JUDGE_EVERY: Final = 16  # pages after which rules that lack pages are judged again: requested pages wait, and some never come
_JUDGE_SHARE: Final = 8  # or pages that are an eighth of the list, if that is more
_LOST_AFTER: Final = 1_000  # pages after which requested ones are waited for no longer
_AT_ONCE: Final = 100  # pages requested at once
_GROWTH: Final = 1.2  # growth of the list until it is mined again, while it has copies that no rule explains
_FEWEST_COPIES: Final = 3  # fewer copies cannot support a rule
_MOST_REVISED: Final = 500  # records that one study may revise, of pages fetched under an alias
_FEWEST_PAGES: Final = 20  # pages that a list must have to be studied
_APART: Final = 20  # between two studies that copies caused, the list must grow by a twentieth; by twice as much after each without a rule,
_FRUITLESS_APART: Final = 4  # but by no more than a quarter: many sites have copies that no rule explains
_COUNTED: Final = 8  # the links of one page in so many are counted
_SAMPLE: Final = 4  # while a site shows no copies, one title in so many enters the list
_OTHERS: Final = 16  # and one page in so many of other titles
_MOST_TITLES: Final = 64  # titles that are remembered while the list is a sample
_TELLS_COPIES: Final = "exact_duplicate"  # the filter whose verdict is needed
_NO_VERDICT: Final = Verdict(NAME)


OfSite = Callable[[str], DustSettings]  # the name of a site → the options that hold for it


def spec(settings: DustSettings, *, judges: Collection[str] = (), of_site: OfSite | None = None, shared: Books | None = None) -> FilterSpec:
    """Return the filter with all its parts.

    Args:
        settings: Its options.
        judges: Filters that drop pages. If none finds exact copies, every page enters its list.
        of_site: Its options for a site, but for the mode; None: the same for each.
        shared: What the parts of the same filter under other settings keep of the memory.
    """
    books, by_site = shared or Books(), of_site or (lambda _name: settings)
    pages = PageGate(by_site, books, judges=judges)
    miner = Miner(by_site)
    links = DustLinkGate(books, only_observes=settings.mode == "observe")
    return FilterSpec(
        NAME,
        Mode(settings.mode),
        learned=links,
        again=has_rules,
        page=pages,
        learner=miner,
        foresee=pages.foresee,
        recent=families.recent,
        adopts=adopts,
        shared=books,
        learns_late=True,
    )


def adopts(site: bytes, finding: StudyResult, memory: Memory, /) -> bool:
    """Return whether a study has found a valid rule that is not applied yet."""
    book = read_book(memory, site)
    applied = set(book.applied) if book is not None else set()
    return any(learned.is_applied and learned.rule not in applied for learned in finding.rules)


def has_rules(key: bytes, memory: Memory, /) -> bool:
    """Return whether a URL of this site may be an alias when it is about to be requested."""
    return version(memory, key[:_SITE]) is not None or bool(families.known_places(memory, key[:_SITE]))


class DustPageMeasure(msgspec.Struct, array_like=True, dict=True):
    """What learning needs of a page. The page itself is at hand but not journaled: what a page shows is computed for a few of them only."""

    url: str
    site: str
    key: bytes
    via: bytes
    title: int  # hash
    shown: StoredLook | None = None  # None: not computed
    origins: dict[str, int] = {}  # links to each origin of its site; counted for a sample of the pages
    text: bytes = b""  # hash of its words, in any order; b"": nothing to compare

    def look(self) -> StoredLook:
        """Return what the page shows."""
        if self.shown is None:
            page: Page = self.__dict__["page"]
            self.shown = look_of(page)
            if self.key[-1] % _COUNTED == 0:
                self.origins = _own_origins(page.links, self.site)
        return self.shown


class PageGate:
    """Page gate: drops nothing; if an alias was fetched, the verdict names the canonical URL."""

    name = NAME
    measure_type = DustPageMeasure

    def __init__(self, of_site: OfSite, books: Books, *, judges: Collection[str]) -> None:
        self._of_site = of_site
        self._books = books
        self._judges = frozenset(judges)
        self._samples = _TELLS_COPIES in self._judges

    def measure(self, page: Page, /) -> DustPageMeasure:
        url = page.url
        text = words_of(page) if 200 <= page.status < 300 else b""
        measure = DustPageMeasure(url.text, url.site, url.key, url.via, _title_of(page), text=text)
        measure.__dict__["page"] = page
        return measure

    def foresee(self, page: Page, _queue: bytes, memory: Memory, /) -> None:
        if self._samples and _is_of_sample(_title_of(page), page.url.key):
            progress = read_progress(memory, page.url.key[:_SITE])
            if progress is None or progress.n_pages < self._of_site(progress.site).max_urls:
                look_of(page)

    def decide(self, measure: DustPageMeasure, memory: Memory, /) -> tuple[Verdict, Effects]:
        canonizer = self._books.canonizer(memory, measure.key[:_SITE])
        if canonizer is None or (settled := canonizer.settle(measure.url)).url == measure.url:
            return _NO_VERDICT, NO_EFFECTS
        return _alias(settled.url, settled.names), NO_EFFECTS

    def observe(self, measure: DustPageMeasure, judgement: Judgement, memory: Memory, /) -> Effects:
        learned = self._compare(measure, judgement, memory)
        effects = self._list(measure, judgement, memory, learned.n_alike if learned is not None else 0)
        alike_at = learned.alike_at if learned is not None else ()
        is_new = judgement.is_new and learned is not None and not alike_at
        freed = leads.learn(memory, measure.key, measure.via, measure.url, alike_at, is_new=is_new)
        if learned is None and freed is None:
            return effects
        return (*effects, *map(Release, [*(learned.sunk if learned is not None else ()), *(freed or ())]))

    def _compare(self, measure: DustPageMeasure, judgement: Judgement, memory: Memory) -> families.Learned | None:
        """Compare a page with those whose URLs differ at one place, unless it was dropped for another reason than being a copy.

        Return what was learned of its families, None if nothing was.
        """
        original = original_of(judgement, self._judges)
        if not measure.text or not (judgement.is_new or original) or _is_soft_error(judgement):
            return None
        shown = ShownPage.of(measure.text, measure.key, original)
        return families.learn(memory, measure.key[:_SITE], measure.url, origin_of(measure.url), shown)

    def _list(self, measure: DustPageMeasure, judgement: Judgement, memory: Memory, n_alike: int) -> Effects:
        """Enter a page into its site's list; learn for or against rules.

        Args:
            n_alike: Alike pages of the largest family of which it is a member; 0: of none.
        """
        site = measure.key[:_SITE]
        canonizer = self._books.canonizer(memory, site)
        progress = read_progress(memory, site) or Progress(measure.site, next_at=self._of_site(measure.site).first_mining)
        was_wanted = progress.outstanding > 0 and was_asked(memory, site, measure.url)
        is_copy = self._samples and progress.copies < _FEWEST_COPIES and self._is_copy(judgement)
        progress.copies += is_copy
        is_of_list = was_wanted or (self._is_chosen(measure, progress) and progress.n_pages < self._of_site(measure.site).max_urls)
        if not is_of_list and canonizer is None:
            if not is_copy:
                return NOTHING_LEARNED
            write_progress(memory, site, progress)
            return NO_EFFECTS
        effects = NO_EFFECTS if canonizer is None else on_page(measure.url, site, partial(_shown, measure, judgement), canonizer, memory)
        if not is_of_list:
            return effects
        look = _shown(measure, judgement)
        if look.is_good:
            is_copy = self._meets(measure, look, canonizer, progress, memory, n_alike) or is_copy
        if measure.origins:
            count_origins(memory, site, measure.origins)
        is_met = bool(measure.via) or not was_wanted
        is_new = write_look(memory, measure.key, measure.url, look, is_met=is_met)
        progress.n_pages += is_new
        self._note_title(measure.title & 0xFFFF, progress)
        if was_wanted and is_new:
            progress.outstanding -= 1
            progress.wasted += is_copy or self._is_copy(judgement) or not look.is_good
        is_due = is_new and _is_due(progress)
        write_progress(memory, site, progress)
        return (*effects, Study(site)) if is_due else effects

    def _meets(
        self, measure: DustPageMeasure, look: StoredLook, canonizer: Canonizer | None, progress: Progress, memory: Memory, n_alike: int
    ) -> bool:
        """Record the first page of the list with this text; return whether that is another page. May ask for a study of a family."""
        site, own = measure.key[:_SITE], digest_of(measure.url)
        first = collisions.first_with(memory, site, look.fingerprint)
        if first is None:
            collisions.remember_first(memory, site, look.fingerprint, own)
        is_copy = first not in (None, own)
        is_explained = canonizer is not None and canonizer(measure.url) != measure.url
        is_known = (not is_copy and not n_alike) or read_look(memory, site, measure.url) is not None
        if is_known or is_explained:
            return is_copy
        url = read_url(memory, site, first) if first is not None and is_copy and not n_alike else ""
        is_worth_it = collisions.is_due(n_alike) if n_alike else bool(url) and collisions.note(memory, site, measure.url, url, canonizer)
        if is_worth_it and not progress.pending_at:
            apart = max(_FRUITLESS_APART, _APART >> progress.n_fruitless)
            progress.pending_at = max(_FEWEST_PAGES, progress.asked_at + progress.asked_at // apart + 1)
        return is_copy

    def _is_chosen(self, measure: DustPageMeasure, progress: Progress) -> bool:
        """Return whether a page enters the list. If the page before had the same title, the whole site may have it: it is then ignored."""
        if not self._samples or max(progress.copies, progress.repeated) >= _FEWEST_COPIES:
            return True
        return _is_of_sample(measure.title, measure.key)

    def _note_title(self, title: int, progress: Progress) -> None:
        """Remember the title of a page of the list while the list is a sample: pages of one title may be copies."""
        if not self._samples or max(progress.copies, progress.repeated) >= _FEWEST_COPIES:
            progress.titles = []
        elif title in progress.titles:
            progress.repeated += 1
        else:
            progress.titles = [*progress.titles[1 - _MOST_TITLES :], title]

    def _is_copy(self, judgement: Judgement) -> bool:
        """Return whether a page showed what the site had shown before."""
        return copy_verdict(judgement, self._judges) is not None


def _title_of(page: Page) -> int:
    return xxhash.xxh3_64_intdigest(page.title.encode())


def _is_of_sample(title: int, key: bytes) -> bool:
    return title % _SAMPLE == 0 or key[-1] % _OTHERS == 0


def _shown(measure: DustPageMeasure, judgement: Judgement) -> StoredLook:
    """Return what a page shows, for comparing; a soft error is like no other page."""
    return StoredLook() if _is_soft_error(judgement) else measure.look()


class Miner:
    """Gathers what is studied in another process, and applies the findings."""

    name = NAME
    study = "thresher.filters.dust.study:study"
    finding_type = StudyResult

    def __init__(self, of_site: OfSite) -> None:
        self._of_site = of_site

    def gather(self, site: bytes, memory: Memory, /) -> Iterator[bytes]:
        """Yield a copy of what is known of a site."""
        progress, book = read_progress(memory, site) or Progress(), read_book(memory, site)
        mines = not progress.is_judging or bool(progress.pending_at) or progress.n_pages >= progress.next_at
        max_rules = self._of_site(progress.site).max_rules
        yield written(KnownSite(book.rules if book else [], read_origins(memory, site), mines, max_rules, progress.n_pages))
        for pages in list_of(memory, site):
            yield written(pages)

    def on_finding(self, site: bytes, finding: StudyResult, memory: Memory, /) -> Effects:
        """Adopt the rules, request the pages that they lack, and decide when to study again."""
        progress = read_progress(memory, site) or Progress()
        write_book(memory, site, RuleBook(progress.site, _as_of_now(read_book(memory, site), finding.rules)))
        progress.wasted = max(0, progress.wasted - finding.new_saving)
        settings = self._of_site(progress.site)
        if progress.n_pages - progress.waits_since > _LOST_AFTER:
            progress.outstanding = 0
        budget = int(settings.validation_share * finding.open_saving) - progress.wasted - progress.outstanding
        room = min(settings.validations - progress.asked, budget)
        new = (pair for pair in finding.wanted if site_named(pair[0]) == progress.site and note_asked(memory, site, pair[0]))
        wanted = list(islice(new, min(_AT_ONCE, max(0, room))))
        if any(learned.standing == "valid" for learned in finding.rules):
            write_common(memory, site, finding.common)
        told: list[Effect] = []
        for canonical, alias, rule in finding.fetched:
            write_fetched(memory, site, canonical, alias)
            if len(told) < _MOST_REVISED and (key := read_key(memory, site, alias)):
                told.append(Revise(key, _alias(canonical, rule)))
        progress.copies = max(progress.copies, finding.n_copies)
        progress.outstanding += len(wanted)
        progress.is_judging, progress.waits_since = progress.outstanding > 0, progress.n_pages if wanted else progress.waits_since
        if finding.mined:
            progress.pending_at, progress.n_fruitless = 0, 0 if finding.new_saving else progress.n_fruitless + 1
        if finding.waits and not progress.pending_at:
            progress.pending_at = progress.n_pages + BLOCK
        progress.asked, progress.asked_at = progress.asked + len(wanted), progress.n_pages
        if finding.mined and progress.n_pages >= progress.next_at:
            grows = _GROWTH if finding.n_unexplained >= _FEWEST_COPIES else 2.0
            progress.next_at = max(settings.first_mining, int(grows * finding.n_pages))
        write_progress(memory, site, progress)
        if progress.n_pages >= progress.next_at:  # the list has grown during the study, when no other study could be asked for
            told.append(Study(site))
        return (*told, *(Request(url, Purpose.AUDIT, read_key(memory, site, alias), can_wait=True) for url, alias in wanted))


def _as_of_now(book: RuleBook | None, found: Sequence[LearnedRule]) -> list[LearnedRule]:
    """Return the rules of a finding; settled ones as the book has them now, since audits may have changed them during the study."""
    settled = {learned.rule: learned for learned in book.rules if learned.is_settled} if book else {}
    rules = [settled.pop(learned.rule, learned) for learned in found]
    return [*rules, *settled.values()]


def _own_origins(links: Sequence[str], site: str) -> dict[str, int]:
    """Count a page's links to each origin of its own site."""
    below = f".{site}"
    return {each: n for each, n in Counter(map(origin_of, links)).items() if (host := hostname_of(each)) == site or host.endswith(below)}


def _is_due(progress: Progress) -> bool:
    """Return whether the site is to be studied after the page that has just entered its list; if so, not again for long."""
    every = max(_JUDGE_EVERY, progress.asked_at // _JUDGE_SHARE)
    if progress.is_judging and (not progress.outstanding or (progress.n_pages - progress.asked_at) % every == 0):
        return True
    if progress.pending_at and progress.n_pages >= progress.pending_at:
        progress.pending_at = progress.n_pages + _JUDGE_EVERY
        return True
    late = progress.n_pages - progress.next_at
    return late >= 0 and late % _ASK_EVERY == 0


def _alias(canonical: str, rule: str) -> Verdict:
    """Return the verdict on a page that was fetched under an alias: the canonical URL, and the rule."""
    return Verdict(NAME, evidence={"canonical": canonical, "rule": rule})


def _is_soft_error(judgement: Judgement) -> bool:
    dropped = not (judgement.keep and judgement.follow)
    return dropped and any(verdict.filter == "soft_error" and not verdict.keep for verdict in judgement.standing)
