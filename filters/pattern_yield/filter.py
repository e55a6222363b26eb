"""Pattern yield as a filter: URLs of patterns that have given nothing new lately are held.

This is an early opinion on little evidence (filters/evidence/opinion.py): eight barren fetches in a row are enough, since a held URL stays
in a class of its host, named after the pattern, from which the tail draws (filters/tail/). The filter audits nothing itself. A class is
released if the opinion was wrong: if the drawn URLs show that it would yield three in ten or more.

**Learned gate.** Links that a barren pattern of the site covers are held. A URL is judged again just before it is requested, since most
URLs of a pattern are queued before it is found barren. Home pages are never held.

**Page gate.** A page was worth its fetch if it is a 200 that the panel keeps and if it shows, apart from what its URL repeats,
something that its pattern did not show lately (news.py); or if a page that it named first was worth its fetch. A page that only one filter
dropped teaches nothing, nor does a text that is too short to be compared. An answer whose body a head gate refused (a feed) was not worth
its fetch.

**Redirect gate.** See filters/pattern_yield/tree.py. A redirect whose target is held was not worth its fetch.

If a rule of filters/dust/ says that a page was fetched under an alias, the page counts under its canonical URL. Requests that failed teach
nothing. If there are several agents, a page is no credit to the page of another agent's site that named it.

**Time.** A site's first pages are only listed (tree.py): 50 µs each. While its last eight answers were all worth it and no pattern is
barren, the filter learns from one in sixteen of the pages that the panel kept, chosen by the URL's key: a page then costs 8 µs on average,
else 20 to 50 µs. A new link on a site without a barren pattern costs nothing, on others 5 to 15 µs.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from math import inf

import msgspec

from thresher.config.settings import PatternYieldSettings
from thresher.crawler.core.effects import Release, Worthless
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Judgement, Mode, Page, Reason, RedirectPair, Verdict
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import is_home, origin_of
from thresher.filters.base import NO_EFFECTS, NOTHING_LEARNED, NOTHING_REFUSED, Effects, HeldLink, LinkJudgement, LinkRuling, hold_links
from thresher.filters.evidence.opinion import Belief
from thresher.filters.pattern_yield.evidence import HoldRule
from thresher.filters.pattern_yield.news import TELLS_COPIES, Novelty, canonical_of, news_of, novelty_of
from thresher.filters.pattern_yield.patterns import Parts, parse
from thresher.filters.pattern_yield.records import GOOD_RUN, MOST_KINDS, SAMPLE, Pattern, PatternFetch, SiteSummary, text_key
from thresher.filters.pattern_yield.sites import Sites
from thresher.filters.pattern_yield.tree import Tree
from thresher.filters.spec import FilterSpec

NAME = "pattern_yield"
_MIN_TOKENS = 8  # words that a text needs to be compared: below that, a picture may be what it shows
_NO_VERDICT = Verdict(NAME)


def spec(settings: PatternYieldSettings, *, judges: Collection[str] = (), shared: Sites | None = None) -> FilterSpec:
    """Build the filter.

    Args:
        settings: Its options.
        judges: Filters that drop pages. If none of them finds exact copies, this filter remembers texts.
        shared: What the parts of the same filter under other settings keep of the memory.
    """
    sites = shared or Sites()
    pages = YieldOfPages(sites, settings, judges=judges)
    links, redirects = YieldOfLinks(sites, settings), YieldOfRedirects(sites, settings)
    return FilterSpec(
        NAME,
        Mode(settings.mode),
        learned=links,
        redirect=redirects,
        page=pages,
        again=links.may_hold,
        unread=True,
        foresee=pages.foresee,
        recent=sites.recent,
        on_restored=sites.drop,
        shared=sites,
        learns_late=True,
    )


def rule_of(settings: PatternYieldSettings) -> HoldRule:
    return HoldRule(Belief(barren=settings.barren, right=settings.release_yield))


def holder(form: str) -> str:
    """Return the name under which the URLs of a class (`Pattern.classes`) are held."""
    return f"{NAME} {form}"


class YieldPageMeasure(msgspec.Struct, array_like=True, dict=True):
    """What learning needs of a page. Most pages are passed over; of the others `read` computes the rest from the page.

    The page itself is at hand, but not journaled.
    """

    url: str
    key: bytes
    via: bytes
    is_ok: bool = False
    text: bytes = b""  # 8 bytes of its fingerprint, or a code for an answer without text
    has_text: bool = False  # enough words to be compared
    has_links: bool = False
    news: int = 0  # filters/pattern_yield/news.py; 0 until it was asked for
    n_bytes: int = 0  # of the body

    def read(self) -> None:
        """Compute what learning needs, if the page is at hand (in a replay it is not)."""
        page: Page | None = self.__dict__.get("page")
        if page is not None:
            self.text = page.fingerprint[:8] or page.status.to_bytes(2, "big")
            self.n_bytes = page.n_bytes
            self.has_text, self.has_links = len(page.tokens) >= _MIN_TOKENS, bool(page.links) and 200 <= page.status < 300

    def asked_for_news(self) -> int:
        """Return a number for what the page shows apart from what its URL repeats, 0 if that is not known."""
        page: Page | None = self.__dict__.get("page")
        if page is not None and not self.news:
            self.news = news_of(page)
        return self.news


class YieldOfPages:
    """Page gate: gives no verdict; learns from the verdicts of all filters."""

    name = NAME
    measure_type = YieldPageMeasure

    def __init__(self, sites: Sites, settings: PatternYieldSettings, *, judges: Collection[str] = (), samples: bool = True) -> None:
        """Create the page gate.

        Args:
            sites: State that the filter's gates share.
            settings: The filter's options.
            judges: Filters that drop pages.
            samples: Whether one answer in sixteen of a good site is enough.
        """
        self._sites = sites
        self._rule = rule_of(settings)
        self._judges = frozenset(judges)
        self._tells_copies = TELLS_COPIES not in self._judges
        self._enough = GOOD_RUN if samples else inf

    def measure(self, page: Page, /) -> YieldPageMeasure:
        url = page.url
        measure = YieldPageMeasure(url.text, url.key, url.via, page.status == 200)
        measure.__dict__["page"] = page
        return measure

    def foresee(self, page: Page, _queue: bytes, memory: Memory, /) -> None:
        key = page.url.key
        if page.status == 200 and len(page.tokens) >= _MIN_TOKENS and not self._is_usual(self._sites.glance(memory, key[:8]), key):
            news_of(page)

    def _is_usual(self, site: SiteSummary, key: bytes) -> bool:
        """Return whether a page that the panel keeps need not be learned from: its site is good, and it is not of the sample."""
        return site.good_run >= self._enough and not site.n_barren and key[8] % SAMPLE > 0

    def decide(self, measure: YieldPageMeasure, memory: Memory, /) -> tuple[Verdict, Effects]:
        return _NO_VERDICT, NO_EFFECTS

    def observe(self, measure: YieldPageMeasure, judgement: Judgement, memory: Memory, /) -> Effects:
        site, via = measure.key[:8], measure.via
        before = self._sites.glance(memory, site)
        is_usual = self._is_usual(before, measure.key)
        may_credit = bool(via) and (before if via[:8] == site else self._sites.glance(memory, via[:8])).n_sources > 0
        novelty = novelty_of(judgement, self._judges) if measure.is_ok else Novelty.OLD
        is_passed_over = is_usual and not novelty.is_barren
        if is_passed_over and not may_credit and not self._tells_copies:
            return NOTHING_LEARNED
        measure.read()
        novelty = self._novelty(novelty, measure, memory)
        if is_usual and not novelty.is_barren and not may_credit:
            return NO_EFFECTS
        if novelty is Novelty.NEW and not may_credit and self._is_early(measure, judgement, memory):
            return NO_EFFECTS
        tree = self._sites.tree(memory, site, self._rule)
        url = canonical_of(judgement) or measure.url
        parts = parse(url, origin_of(url))
        worth = self._worth(measure, novelty, tree, parts)
        if not is_usual or novelty.is_barren:
            counts = worth or url == measure.url  # a copy under an alias is no evidence against the pattern of its canonical URL
            tree.learn(_fetch(measure, parts, worth if counts else None, may_lead=measure.has_links))
        effects = _credit(tree, via, memory, self._sites, self._rule, worth=worth) if may_credit and worth is not None else _released(tree)
        self._sites.save(memory, tree)
        return (*effects, Worthless(measure.key)) if worth is False and novelty is not Novelty.LIKE else effects

    def _is_early(self, measure: YieldPageMeasure, judgement: Judgement, memory: Memory) -> bool:
        """Return whether a new page is one of its site's first, which are listed until there is a tree."""
        if not measure.has_text or canonical_of(judgement) or not (news := measure.asked_for_news()):
            return False
        return self._sites.enter(memory, measure.key[:8], measure.url, news, measure.n_bytes)

    def _novelty(self, novelty: Novelty, measure: YieldPageMeasure, memory: Memory) -> Novelty:
        """Return the panel's judgement as this filter uses it. If no other filter finds exact copies, this filter looks for them."""
        if self._tells_copies and novelty is Novelty.NEW and measure.has_text and self._is_copy(measure, memory):
            return Novelty.OLD
        return novelty

    def _worth(self, measure: YieldPageMeasure, novelty: Novelty, tree: Tree, parts: Parts) -> bool | None:
        """Return whether the page is new, None if that is not known."""
        if novelty.is_barren:
            return False
        if not measure.has_text:
            return None
        if (news := measure.asked_for_news()) and tree.on_page(parts, news, is_kept=novelty is Novelty.NEW):
            measure.text = news.to_bytes(8, "big")
            return False
        return None if novelty is Novelty.DOUBT else True

    def _is_copy(self, measure: YieldPageMeasure, memory: Memory) -> bool:
        """Return whether another URL was kept with this text; remember it if not."""
        cell = text_key(measure.key[:8], measure.text)
        kept = memory.get(cell)
        if kept is None:
            memory.put(cell, measure.key[8:], weight=1.0)
        return kept is not None and kept != measure.key[8:]


def _fetch(measure: YieldPageMeasure, parts: Parts, worth: bool | None, *, may_lead: bool) -> PatternFetch:
    return PatternFetch(measure.key, parts, int.from_bytes(measure.text, "big"), worth, may_lead, measure.n_bytes)


class YieldPairMeasure(msgspec.Struct, array_like=True, frozen=True):
    """What learning needs of a redirect that was followed to its end."""

    url: str
    key: bytes
    text: int  # hash of the target's key, used as the text of the redirect


class YieldOfRedirects:
    """Redirect gate."""

    name = NAME
    measure_type = YieldPairMeasure

    def __init__(self, sites: Sites, settings: PatternYieldSettings) -> None:
        self._sites = sites
        self._rule = rule_of(settings)

    def measure(self, pair: RedirectPair, /) -> YieldPairMeasure:
        return YieldPairMeasure(pair.original.text, pair.original.key, int.from_bytes(pair.target.key[8:], "big"))

    def decide(self, measure: YieldPairMeasure, memory: Memory, /) -> tuple[Verdict, Effects]:
        return _NO_VERDICT, NO_EFFECTS

    def observe(self, measure: YieldPairMeasure, judgement: Judgement, memory: Memory, /) -> Effects:
        url, origin = measure.url, origin_of(measure.url)
        tree = self._sites.tree(memory, measure.key[:8], self._rule)
        source = tree.take(measure.key)
        worth = source is not None and source.worth
        if worth or source is None or source.n_waiting:
            tree.learn(PatternFetch(measure.key, parse(url, origin), measure.text, worth))
        via = source.via if source and not worth else b""
        effects = _credit(tree, via, memory, self._sites, self._rule, worth=False)
        self._sites.save(memory, tree)
        return effects


class YieldLinksMeasure(msgspec.Struct, array_like=True, dict=True):
    """What learning needs of a page's new links. Deciding also needs their texts: the batch itself is at hand, but is not journaled."""

    source: bytes  # 16 bytes; b"" if the batch is one known URL that is judged again
    via: bytes
    url: str = ""  # of a redirect
    kinds: list[tuple[str, str]] = []  # new kinds of its site's patterns, as `Tree.note_kinds` takes them


class YieldOfLinks:
    """Learned gate: holds the URLs of barren patterns."""

    name = NAME
    measure_type = YieldLinksMeasure

    def __init__(self, sites: Sites, settings: PatternYieldSettings) -> None:
        self._sites = sites
        self._rule = rule_of(settings)
        self._only_observes = settings.mode == "observe"

    def measure(self, batch: LinkBatch, /) -> YieldLinksMeasure:
        source = batch.source
        is_itself = len(batch) == 1 and batch.keys[0] == source.key
        url = source.text if batch.is_redirect else ""
        measure = YieldLinksMeasure(b"" if is_itself else source.key, source.via, url)
        measure.__dict__["batch"] = batch
        return measure

    def decide(self, measure: YieldLinksMeasure, memory: Memory, /) -> tuple[LinkRuling, Effects]:
        batch: LinkBatch = measure.__dict__["batch"]
        barren = [site for site in batch.site_keys if self._sites.glance(memory, site).n_barren]
        if not barren:
            return NOTHING_REFUSED, NO_EFFECTS
        kinds = measure.kinds if measure.source else None
        found = [held for site in barren for held in self._holds_in(batch, site, memory, kinds if site == measure.source[:8] else None)]
        return hold_links(batch, found, only_observes=self._only_observes)

    def _holds_in(self, batch: LinkBatch, site: bytes, memory: Memory, kinds: list[tuple[str, str]] | None) -> list[HeldLink]:
        """Return the links of a site that are held.

        Args:
            kinds: Gets the new kinds of patterns that `observe` is to note; None: there is none after this.
        """
        tree = self._sites.tree(memory, site, self._rule)
        ours = batch.by_site[site]
        parts = [parse(batch.texts[i], batch.hosts[i]) for i in ours]
        forms = {id(part): tree.forms(part) for part in parts}  # links of one shape share their parts
        tree.load(form for texts in forms.values() for form in texts)
        barren = {part: tree.barren(texts) for part, texts in forms.items()}
        found = []
        for i, part in zip(ours, parts, strict=True):
            pattern = barren[id(part)]
            if pattern is not None and not is_home(batch.texts[i]):
                name = holder(self._class_of(tree.kind(part, forms[id(part)], pattern), pattern, kinds))
                self._sites.hold(name, pattern.evidence)
                found.append(HeldLink(i, name, partial(_verdict, pattern)))
        return found

    def _class_of(self, kind: str, pattern: Pattern, kinds: list[tuple[str, str]] | None) -> str:
        """Return the class in which a pattern holds URLs of a kind: the kind's own, unless the pattern has too many."""
        if kind in pattern.classes or (kinds is not None and (pattern.form, kind) in kinds):
            return kind
        if kinds is None or len(pattern.kinds) + sum(form == pattern.form for form, _ in kinds) >= MOST_KINDS:
            return pattern.form
        kinds.append((pattern.form, kind))
        return kind

    def may_hold(self, key: bytes, memory: Memory, /) -> bool:
        """Return whether a URL of this site may be held when it is about to be requested."""
        return self._sites.glance(memory, key[:8]).n_barren > 0

    def of_one(self, batch: LinkBatch, memory: Memory) -> Pattern | None:
        """Return the barren pattern that holds the URL of a batch of one, None if there is none."""
        site = batch.keys[0][:8]
        if not self._sites.glance(memory, site).n_barren or is_home(batch.texts[0]):
            return None
        tree = self._sites.tree(memory, site, self._rule)
        forms = tree.forms(parse(batch.texts[0], batch.hosts[0]))
        tree.load(forms)
        return tree.barren(forms)

    def observe(self, measure: YieldLinksMeasure, judgement: LinkJudgement, memory: Memory, /) -> Effects:
        if not measure.source:
            return NOTHING_LEARNED
        site, key = measure.source[:8], measure.source[8:]
        is_awaited = self._sites.glance(memory, site).awaits == key
        if not (measure.url or is_awaited or measure.kinds):
            return NOTHING_LEARNED
        tree = self._sites.tree(memory, site, self._rule)
        tree.note_kinds(measure.kinds)
        effects = NO_EFFECTS
        if measure.url:
            effects = self._redirected(tree, measure, judgement)
        elif is_awaited:
            n_admitted = int(judgement.admitted.sum())
            if n_admitted:
                tree.led_on(measure.source, measure.via, n_admitted, is_redirect=False)
        self._sites.save(memory, tree)
        return effects

    def _redirected(self, tree: Tree, measure: YieldLinksMeasure, judgement: LinkJudgement) -> Effects:
        """Record a redirect whose target is new. If the target is held, the redirect may never settle, so it is learned from now."""
        n_admitted = int(judgement.admitted.sum())
        tree.led_on(measure.source, measure.via, n_admitted, is_redirect=True)
        if n_admitted or 0 in judgement.refused:
            return NO_EFFECTS
        origin = origin_of(measure.url)
        tree.learn(PatternFetch(measure.source, parse(measure.url, origin), text=0, worth=False))
        return _released(tree)


def _credit(tree: Tree, via: bytes, memory: Memory, sites: Sites, rule: HoldRule, *, worth: bool) -> Effects:
    """Credit the page that named a URL with whether the URL was worth it; return the releases that follow."""
    if via[:8] == tree.site:
        tree.on_settled(via, worth)
    elif via and sites.glance(memory, via[:8]).n_sources:
        other = sites.tree(memory, via[:8], rule)
        other.on_settled(via, worth)
        sites.save(memory, other)
        return (*_released(tree), *_released(other))
    return _released(tree)


def _released(tree: Tree) -> Effects:
    return tuple([Release(holder(of)) for of in tree.released]) if tree.released else NO_EFFECTS


def _verdict(pattern: Pattern) -> Verdict:
    of = pattern.evidence
    evidence: dict[str, str | int | float] = {"pattern": pattern.form, "fetched": of.fetched, "worth": of.worth}
    return Verdict(NAME, keep=False, follow=False, score=1.0, reason=Reason.HELD_BY_FILTER, evidence=evidence)
