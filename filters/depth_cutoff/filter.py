"""Depth cutoffs as a filter: URLs deeper than their place is worth are held.

**Learned gate.** A URL is held if it is deeper than the limit of its place (filters/depth_cutoff/evidence.py) and if either a worthless
page named it, or its place has shown nothing new for long. Its class is one of its host, named after place and depth, from which the tail
draws (filters/tail/). URLs are judged again just before they are requested, since links are queued before it is known what their page and
their places are worth. Entries, depth 0, are never held. A URL is released if a page that was worth its fetch names it later. Beyond the
ceiling, which the user has set, URLs are refused.

**Page gate.** Every answer is learned from. If a place was held wrongly, its URLs up to the limit are released. **Redirect gate.** A
redirect to a known URL was worth nothing.

**Time.** If nothing is cut and hardly any of the latest pages was old (a new site begins so), the filter learns from one page in sixteen,
chosen by its URL's key, from the first two of each kind of URL, and from all that filters dropped: 150 µs each, 60 the first
pages of a site (early.py). A page that is passed over costs 6 µs.
"""

from __future__ import annotations

from functools import partial
from operator import itemgetter

import msgspec

from thresher.config.settings import DepthCutoffSettings
from thresher.crawler.core.effects import Release, ReleaseURL, Worthless
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import CrawlURL, Judgement, Mode, Page, Reason, RedirectPair, Verdict
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NO_EFFECTS, NOTHING_LEARNED, NOTHING_REFUSED, Effects, HeldLink, LinkJudgement, LinkRuling, hold_links
from thresher.filters.capabilities import Relinks
from thresher.filters.depth_cutoff import early
from thresher.filters.depth_cutoff.evidence import UNLIMITED, CutRule, PlaceCounts
from thresher.filters.depth_cutoff.ledger import DepthFetch, Ledger, Released
from thresher.filters.depth_cutoff.namers import may_be_endless, names_of
from thresher.filters.depth_cutoff.novelty import sample_of
from thresher.filters.depth_cutoff.places import is_choice, kind_of
from thresher.filters.depth_cutoff.records import LOW, SAMPLE, Sites, SiteSummary, is_barren, is_poor, poor_key
from thresher.filters.evidence.leading import on_settled, wait_for_links, waits_for
from thresher.filters.pattern_yield.patterns import parse
from thresher.filters.spec import FilterSpec

NAME = "depth_cutoff"
_DEEPEST = 63  # a place has one holder for each depth; this one is for all deeper
_NO_VERDICT = Verdict(NAME)
_SITE = itemgetter(slice(8))  # of a key
_DROPS = {"exact_duplicate": "duplicate", "near_replica": "near_replica", "soft_error": "soft_error"}


def holder(form: str, depth: int) -> str:
    """Return the name under which the URLs of a place at a depth are held."""
    return f"{NAME} {min(depth, _DEEPEST)} {form}"


def rule_of(settings: DepthCutoffSettings) -> CutRule:
    return CutRule(settings.target, settings.floor, settings.ceiling, settings.q)


def drop_of(judgement: Judgement, *, is_ok: bool) -> str:
    """Return why a page was worth nothing; "" if it is a 200 that every filter kept, whatever they say of its links."""
    if not is_ok:
        return "error"
    if judgement.is_new:
        return ""
    against = [_DROPS.get(verdict.filter, "other") for verdict in judgement.standing if verdict.is_against]
    return against[0] if against else "other"


class DepthPageMeasure(msgspec.Struct, array_like=True, dict=True):
    """What learning needs of a page. It refers to the page itself, which is not journaled: most pages are skipped."""

    url: str
    host: str
    key: bytes  # b"" for a URL that a filter made up: it has no depth
    depth: int
    text: int
    is_ok: bool
    n_links: int
    sampled: bytes = b""  # result of novelty.sample, once computed
    via: bytes = b""  # key of the page that named it first

    def asked_for_sample(self) -> bytes:
        """Return the sample of the page's words."""
        page: Page | None = self.__dict__.get("page")
        if page is not None and self.is_ok and not self.sampled:
            self.sampled = sample_of(page)
        return self.sampled


class DepthOfPages:
    """Page gate: gives no verdict; learns from the verdicts of all filters."""

    name = NAME
    measure_type = DepthPageMeasure

    def __init__(self, sites: Sites, settings: DepthCutoffSettings, *, samples: bool = True) -> None:
        """Create the page gate.

        Args:
            samples: Whether one page in sixteen of a plain site is enough to learn from.
        """
        self._sites = sites
        self._rule = rule_of(settings)
        self._is_unbound = self._rule.unknown() == UNLIMITED  # nothing is cut in a place that is not known
        self._samples = samples

    def measure(self, page: Page, /) -> DepthPageMeasure:
        url = page.url
        key = url.key if url.via or not url.seed_distance else b""
        text = int.from_bytes(page.fingerprint[:8], "big") or page.status
        measure = DepthPageMeasure(url.text, url.host, key, url.site_depth, text, page.status == 200, len(page.links), via=url.via)
        measure.__dict__["page"] = page
        return measure

    def foresee(self, page: Page, _queue: bytes, memory: Memory, /) -> None:
        url = page.url
        is_sampled = not url.key[8] % SAMPLE
        if page.status == 200 and (is_sampled or not self._is_usual(self._sites.summary(memory, url.key[:8]), kind_of(url.text, url.host))):
            sample_of(page)
            parse(url.text, url.host)  # it is remembered by URL

    def _is_usual(self, summary: SiteSummary, kind: int) -> bool:
        """Return whether of the pages of a kind that every filter keeps a sample is enough to learn from."""
        return self._samples and summary.is_plain and summary.met(kind)

    def decide(self, measure: DepthPageMeasure, memory: Memory, /) -> tuple[Verdict, Effects]:
        return _NO_VERDICT, NO_EFFECTS

    def observe(self, measure: DepthPageMeasure, judgement: Judgement, memory: Memory, /) -> Effects:
        key = measure.key
        if not key:
            return NOTHING_LEARNED
        site = key[:8]
        summary = self._sites.summary(memory, site)
        kind = kind_of(measure.url, measure.host)
        drop = drop_of(judgement, is_ok=measure.is_ok)
        poor = summary.n_old > 0 and is_poor(memory, key)
        is_usual = not (drop or poor) and self._is_usual(summary, kind)
        leader = waits_for(memory, measure.via) if summary.n_old and measure.via[:8] == site else False
        if is_usual and key[8] % SAMPLE and not leader:
            return NOTHING_LEARNED
        parts = parse(measure.url, measure.host)
        stands_for = SAMPLE if is_usual else 1
        sampled = measure.asked_for_sample()
        fetch = DepthFetch(parts, measure.depth, measure.text, sampled, drop, measure.n_links, key[8:], kind, stands_for, poor)
        may_be_early = self._is_unbound and not (drop or poor or summary.n_old or summary.n_limited)
        if may_be_early and (head := early.enter(memory, site, measure.url, fetch)) is not None:
            self._sites.remember(memory, site, head)
            return NO_EFFECTS
        ledger = Ledger(memory, site, self._rule)
        wrong = ledger.learn(fetch)
        if is_barren(memory, key) and not poor:
            wait_for_links(memory, key, f"{measure.depth} {measure.url}".encode())
        if leader and (found := on_settled(memory, measure.via, is_new=not is_barren(memory, key))) is not None and found.leads:
            wrong += ledger.led_on(found.note)
        self._sites.remember(memory, site, ledger.save())
        released = _released(wrong, ledger)
        is_vain = bool(drop) or ledger.is_spent
        return (*released, Worthless(key)) if is_vain and is_barren(memory, key) else released


class DepthPairMeasure(msgspec.Struct, array_like=True, frozen=True):
    """What learning needs of a redirect that was followed to its end."""

    url: str
    host: str
    key: bytes
    depth: int
    text: int  # hash of the target's key, used as the text of the redirect
    is_first: bool  # whether its target was found through it


class DepthOfRedirects:
    """Redirect gate: gives no verdict; counts a redirect to a known URL as a fetch that was worth nothing."""

    name = NAME
    measure_type = DepthPairMeasure

    def __init__(self, sites: Sites, settings: DepthCutoffSettings) -> None:
        self._sites = sites
        self._rule = rule_of(settings)

    def measure(self, pair: RedirectPair, /) -> DepthPairMeasure:
        url, target = pair.original, pair.target
        return DepthPairMeasure(
            url.text, url.host, url.key, url.site_depth, int.from_bytes(target.key[8:], "big"), is_first=target.via == url.key
        )

    def decide(self, measure: DepthPairMeasure, memory: Memory, /) -> tuple[Verdict, Effects]:
        return _NO_VERDICT, NO_EFFECTS

    def observe(self, measure: DepthPairMeasure, judgement: Judgement, memory: Memory, /) -> Effects:
        ledger = Ledger(memory, measure.key[:8], self._rule)
        drop = drop_of(judgement, is_ok=True) if measure.is_first else "alias"
        parts = parse(measure.url, measure.host)
        wrong = ledger.learn(DepthFetch(parts, measure.depth, measure.text, b"", drop, key=measure.key[8:]))
        self._sites.remember(memory, measure.key[:8], ledger.save())
        return _released(wrong, ledger)


class DepthLinksMeasure(msgspec.Struct, array_like=True, dict=True):
    """What learning needs of a page's new links. Deciding also needs their texts: the batch itself is at hand, but is not journaled."""

    key: bytes  # key of the page; b"" if the batch is one known URL that is judged again
    depth: int
    is_redirect: bool
    n_new: int
    named: list[bytes] = []  # if the page was worth nothing: 8 bytes of the key of each link on its own site, then POOR or nothing

    def count(self, memory: Memory, ledger: Ledger) -> None:
        """Fill in the fields that are only needed of worthless pages."""
        batch: LinkBatch | None = self.__dict__.get("batch")
        if batch is not None:
            self.named = names_of(batch, memory, ledger.pattern)


class DepthOfLinks:
    """Learned gate: holds URLs that are too deep."""

    name = NAME
    measure_type = DepthLinksMeasure

    def __init__(self, sites: Sites, settings: DepthCutoffSettings) -> None:
        self._sites = sites
        self._rule = rule_of(settings)
        self._unknown = self._rule.unknown()
        self._ceiling = settings.ceiling
        self._only_observes = settings.mode == "observe"

    def measure(self, batch: LinkBatch, /) -> DepthLinksMeasure:
        source = batch.source
        is_itself = batch.keys[0] == source.key
        measure = DepthLinksMeasure(b"" if is_itself else source.key, source.site_depth, batch.is_redirect, len(batch))
        measure.__dict__["batch"] = batch
        return measure

    def decide(self, measure: DepthLinksMeasure, memory: Memory, /) -> tuple[LinkRuling, Effects]:
        batch: LinkBatch = measure.__dict__["batch"]
        if self._unknown == UNLIMITED and self._sites.all_free(memory, batch.sites, batch.keys):
            return NOTHING_REFUSED, NO_EFFECTS
        deepest = max(batch.site_depths)
        found = [cut for site in batch.site_keys if self._least(memory, site) < deepest for cut in self._cut(batch, site, memory)]
        ruling, effects = hold_links(batch, [link for link in found if not self._is_beyond(batch, link)], only_observes=self._only_observes)
        beyond = {link.at: link.verdict() for link in found if self._is_beyond(batch, link)}
        return (LinkRuling({**ruling.refused, **beyond}) if beyond else ruling), effects

    def _is_beyond(self, batch: LinkBatch, link: HeldLink) -> bool:
        """Return whether a link is beyond the ceiling that the user has set: then it is refused, not held."""
        return self._ceiling is not None and batch.site_depths[link.at] > self._ceiling

    def _least(self, memory: Memory, site: bytes) -> int:
        """Return a depth up to which no URL of a site is cut."""
        summary = self._sites.summary(memory, site)
        return min(summary.least_limit(), self._unknown) if summary.n_limited else self._unknown

    def _cut(self, batch: LinkBatch, site: bytes, memory: Memory) -> list[HeldLink]:
        """Return the links of a site that are cut."""
        least = self._least(memory, site)
        deep = [i for i in batch.by_site[site] if batch.site_depths[i] > least]
        if not deep:
            return []
        ledger = Ledger(memory, site, self._rule)
        of_poor = self._names_the_poor(batch, site, memory)
        found = []
        for i in deep:
            depth = batch.site_depths[i]
            parts = parse(batch.texts[i], batch.hosts[i])
            where, chooses = ledger.where(parts), is_choice(parts)
            is_poor = of_poor and (chooses or len(parts.params) > 1 or may_be_endless(batch, i, memory, ledger.pattern))
            place = ledger.cut(where, depth, is_poor=is_poor, is_choice=chooses)
            if place is None and depth > self._unknown and ledger.speaker(where) is None:
                place = PlaceCounts(where.host, limit=self._unknown)
            if place is not None and depth > 0:
                self._sites.hold(holder(place.form, depth), place)
                found.append(HeldLink(i, holder(place.form, depth), partial(_verdict, place, depth)))
        return found

    def _names_the_poor(self, batch: LinkBatch, site: bytes, memory: Memory) -> bool:
        """Return whether only worthless pages named the links of a batch, as far as that is known before its page is judged."""
        key = batch.source.key
        if batch.keys[0] == key:
            return is_poor(memory, key)
        return key[:8] == site and (is_barren(memory, key) or (batch.is_redirect and is_poor(memory, key)))

    def observe(self, measure: DepthLinksMeasure, judgement: LinkJudgement, memory: Memory, /) -> Effects:
        key = measure.key
        if not key:
            return NOTHING_LEARNED
        summary = self._sites.summary(memory, key[:8])
        barren = summary.n_old > 0 and (is_poor(memory, key) if measure.is_redirect else is_barren(memory, key))
        if not barren and summary.awaits[:8] != key[8:]:
            return NOTHING_LEARNED
        if not barren and (head := early.enter_links(memory, key[:8], key[8:], measure.n_new)) is not None:
            self._sites.remember(memory, key[:8], head)
            return NO_EFFECTS
        ledger = Ledger(memory, key[:8], self._rule)
        if barren:
            measure.count(memory, ledger)
        ledger.links(key[8:], measure.depth, measure.n_new)
        ledger.named_by_worthless(measure.named)
        self._sites.remember(memory, key[:8], ledger.save())
        return NO_EFFECTS


class NamingMeasure(msgspec.Struct, array_like=True, dict=True):
    """What learning needs of queued or held URLs that a page names again."""

    source: bytes  # key of the page
    released: list[bytes] = []  # keys of URLs that only worthless pages had named, once looked up


class NamedAgain:
    """No gate: a page that was worth its fetch releases URLs that were held because only worthless pages had named them."""

    name = NAME
    measure_type = NamingMeasure

    def __init__(self, sites: Sites) -> None:
        self._sites = sites

    def listens(self, source: CrawlURL, memory: Memory, /) -> bool:
        return self._sites.any_old(memory, source.key[:8])

    def measure(self, naming: Relinks, /) -> NamingMeasure:
        measure = NamingMeasure(naming.source.key)
        measure.__dict__["keys"] = naming.keys
        return measure

    def observe(self, measure: NamingMeasure, judgement: Judgement, memory: Memory, /) -> Effects:
        keys: list[bytes] | None = measure.__dict__.get("keys")
        if keys is not None:
            if not judgement.is_new or not judgement.follow:
                return NOTHING_LEARNED
            poor = [site for site in dict.fromkeys(map(_SITE, keys)) if self._sites.summary(memory, site).n_old]
            if not poor or is_barren(memory, measure.source):
                return NOTHING_LEARNED
            measure.released = [key for key in keys if key[:8] in poor and is_poor(memory, key)]
        if not measure.released:
            return NOTHING_LEARNED
        for key in measure.released:
            memory.delete(poor_key(key))
        return tuple(map(ReleaseURL, measure.released))


def spec(settings: DepthCutoffSettings, *, shared: Sites | None = None) -> FilterSpec:
    """Return the filter with its parts.

    Args:
        settings: Its options.
        shared: The cached memory that this filter shares with its variants (other settings by overrides).
    """
    sites, cuts_all = shared or Sites(), rule_of(settings).unknown() < UNLIMITED
    pages = DepthOfPages(sites, settings)
    return FilterSpec(
        NAME,
        Mode(settings.mode),
        learned=DepthOfLinks(sites, settings),
        redirect=DepthOfRedirects(sites, settings),
        page=pages,
        relinks=NamedAgain(sites),
        again=lambda key, memory: cuts_all or sites.summary(memory, key[:8]).n_limited > 0,
        foresee=pages.foresee,
        recent=sites.recent,
        on_restored=sites.drop,
        shared=sites,
        learns_late=True,
    )


def _released(released: list[Released], ledger: Ledger) -> Effects:
    """Return the releases of wrongly held URLs, down to the greatest known depth of the site."""
    if not released:
        return NO_EFFECTS
    deepest = min(_DEEPEST, max(LOW, len(ledger.head.levels) + 1))
    return tuple(Release(holder(place.form, depth)) for place in released for depth in range(1, min(place.depth, deepest) + 1))


def _verdict(place: PlaceCounts, depth: int) -> Verdict:
    evidence: dict[str, str | int | float] = {
        "place": place.form,
        "depth": depth,
        "limit": place.limit,
        "fetched": sum(place.fetched),
        "new": sum(place.new),
        "named_by": "anyone" if place.opinion.is_held else "worthless pages",
    }
    return Verdict(NAME, keep=False, follow=False, score=1.0, reason=Reason.HELD_BY_FILTER, evidence=evidence)
