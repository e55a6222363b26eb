"""Pattern yield as a filter: URLs of barren patterns are set back, an audited share of them is fetched all the same.

Learned gate: what a site's barren patterns cover is held, by a holder named after the pattern; asked again when a URL's turn comes, since
most of a pattern's URLs are queued before it proves barren. Passed as audits: a share by the URL's key, so that they are spread over
identifiers, depth and time; beyond it the first URL at a depth where none of its pattern was fetched, and the first whose largest number
has as many bits, so that a part of an enumeration that no audit has met is looked into. Home pages are never held.
Page gate: a page was worth its fetch if it is a 200 that the panel keeps and follows; short texts, which nobody can tell apart, teach
nothing. An answer whose body a head gate refused (a feed) was worth nothing.
Redirect gate: see filters/pattern_yield/tree.py. A redirect whose target is set back was worth nothing.

Requests that failed teach nothing. In a crawl of several agents a page is no credit to a page of another agent's site.
"""

from __future__ import annotations

import msgspec

from config.settings import PatternYield
from crawler.core.model import Effect, Hold, Judgement, LinkBatch, Page, Reason, RedirectPair, Release, Verdict
from crawler.core.ports import Memory
from crawler.core.url import is_home
from filters.base import NO_EFFECTS, NOTHING_REFUSED, Effects, LinkJudgement, LinkRuling
from filters.pattern_yield.evidence import Rule
from filters.pattern_yield.patterns import magnitude, parse
from filters.pattern_yield.tree import Fetch, Pattern, Tree, glance

NAME = "pattern_yield"
_SCALE = 1 << 32
_MIN_TOKENS = 20  # of a text that tells pages apart
_NO_VERDICT = Verdict(NAME)


def holder(form: str) -> str:
    """Return who holds the URLs of a pattern."""
    return f"{NAME} {form}"


class PageMeasure(msgspec.Struct, array_like=True, frozen=True):
    """What learning needs of a page."""

    url: str
    host: str
    key: bytes
    via: bytes
    depth: int
    text: int  # 0: none
    is_ok: bool
    has_text: bool  # enough to tell it from others
    has_links: bool


class YieldOfPages:
    """Page gate: gives no verdict, and learns from everybody's."""

    name = NAME
    measure_type = PageMeasure

    def __init__(self, settings: PatternYield, *, tells_copies: bool) -> None:
        """tells_copies: no other filter drops exact copies, so this one remembers texts."""
        self._rule = Rule(settings.min_yield, settings.error)
        self._tells_copies = tells_copies

    def measure(self, page: Page, /) -> PageMeasure:
        url = page.url
        return PageMeasure(
            url=url.text,
            host=url.host,
            key=url.key,
            via=url.via,
            depth=url.site_depth,
            text=int.from_bytes(page.fingerprint[:8] or page.status.to_bytes(2, "big"), "big"),
            is_ok=page.status == 200,
            has_text=len(page.tokens) >= _MIN_TOKENS,
            has_links=bool(page.links) and 200 <= page.status < 300,
        )

    def decide(self, measure: PageMeasure, memory: Memory, /) -> tuple[Verdict, Effects]:
        return _NO_VERDICT, NO_EFFECTS

    def observe(self, measure: PageMeasure, judgement: Judgement, memory: Memory, /) -> Effects:
        tree = Tree(memory, measure.key[:8], self._rule)
        worth = self._worth(measure, judgement, memory)
        tree.learn(
            Fetch(
                measure.key,
                parse(measure.url, measure.host),
                measure.depth,
                magnitude(measure.url, measure.host),
                measure.text,
                worth,
                may_lead=judgement.follow and measure.has_links,
            )
        )
        effects = _credit(tree, measure.via, measure.key[:8], memory, self._rule, worth=bool(worth))
        tree.save()
        return effects

    def _worth(self, measure: PageMeasure, judgement: Judgement, memory: Memory) -> bool | None:
        """Return whether the page is new, None if nobody can say."""
        if not (measure.is_ok and judgement.keep and judgement.follow):
            return False
        if not measure.has_text:
            return None
        return not (self._tells_copies and self._is_copy(measure, memory))

    def _is_copy(self, measure: PageMeasure, memory: Memory) -> bool:
        """Return whether another URL was kept with this text; remember it if not."""
        cell = measure.key[:8] + b"t" + measure.text.to_bytes(8, "big")
        kept = memory.get(cell)
        if kept is None:
            memory.put(cell, measure.key[8:], weight=1.0)
        return kept is not None and kept != measure.key[8:]


class PairMeasure(msgspec.Struct, array_like=True, frozen=True):
    """What learning needs of a redirect that was followed to its end."""

    url: str
    host: str
    key: bytes
    text: int  # of the target's key: what the redirect "shows"


class YieldOfRedirects:
    """Redirect gate."""

    name = NAME
    measure_type = PairMeasure

    def __init__(self, settings: PatternYield) -> None:
        self._rule = Rule(settings.min_yield, settings.error)

    def measure(self, pair: RedirectPair, /) -> PairMeasure:
        return PairMeasure(pair.original.text, pair.original.host, pair.original.key, int.from_bytes(pair.target.key[8:], "big"))

    def decide(self, measure: PairMeasure, memory: Memory, /) -> tuple[Verdict, Effects]:
        return _NO_VERDICT, NO_EFFECTS

    def observe(self, measure: PairMeasure, judgement: Judgement, memory: Memory, /) -> Effects:
        site = measure.key[:8]
        tree = Tree(memory, site, self._rule)
        source = tree.ended(measure.key)
        worth = source is not None and source.worth
        if worth or source is None or source.n_waiting:
            far = magnitude(measure.url, measure.host)
            tree.learn(Fetch(measure.key, parse(measure.url, measure.host), source.depth if source else 0, far, measure.text, worth))
        effects = _credit(tree, source.via if source and not worth else b"", site, memory, self._rule, worth=False)
        tree.save()
        return effects


class LinksMeasure(msgspec.Struct, array_like=True, dict=True):
    """What learning needs of a page's new links. Deciding needs their texts too: the batch stands beside it and not in the journal."""

    source: bytes  # 16; b"" if the batch is one known URL that is judged again
    via: bytes
    depth: int
    url: str = ""  # of a source with a single new link, which may be a redirect
    host: str = ""


class YieldOfLinks:
    """Learned gate: holds what barren patterns cover."""

    name = NAME
    measure_type = LinksMeasure

    def __init__(self, settings: PatternYield) -> None:
        self._rule = Rule(settings.min_yield, settings.error)
        self._only_says = settings.mode == "observe"
        self._audit_below = int(settings.audit_share * _SCALE)

    def measure(self, batch: LinkBatch, /) -> LinksMeasure:
        source = batch.source
        is_itself = batch.keys[:1] == (source.key,)
        measure = LinksMeasure(b"" if is_itself else source.key, source.via, source.site_depth)
        if len(batch) == 1 and not is_itself:
            measure.url, measure.host = source.text, source.host
        measure.__dict__["batch"] = batch
        return measure

    def decide(self, measure: LinksMeasure, memory: Memory, /) -> tuple[LinkRuling, Effects]:
        batch: LinkBatch = measure.__dict__["batch"]
        effects: list[Effect] = []
        refused: dict[int, Verdict] = {}
        for site in dict(zip(batch.sites, batch.keys, strict=True)).values():
            if not glance(memory, site[:8]).n_barren:
                continue
            for i, pattern in self._set_back(batch, site[:8], memory):
                if self._only_says:
                    refused[i] = _verdict(pattern)
                else:
                    effects.append(Hold(batch.texts[i], holder(pattern.form)))
        return (LinkRuling(refused) if refused else NOTHING_REFUSED), tuple(effects)

    def _set_back(self, batch: LinkBatch, site: bytes, memory: Memory) -> list[tuple[int, Pattern]]:
        """Return the links of a site that are not to be fetched, and the pattern that says so."""
        tree = Tree(memory, site, self._rule)
        ours = [i for i, key in enumerate(batch.keys) if key[:8] == site]
        parts = [parse(batch.texts[i], batch.hosts[i]) for i in ours]
        forms = {id(part): tree.forms(part) for part in parts}  # links of one shape share their parts
        tree.load(form for texts in forms.values() for form in texts)
        barren = {part: tree.barren(texts) for part, texts in forms.items()}
        found = []
        for i, part in zip(ours, parts, strict=True):
            pattern = barren[id(part)]
            if pattern is not None and not self._is_audit(batch, i, pattern):
                found.append((i, pattern))
        return found

    def _is_audit(self, batch: LinkBatch, i: int, pattern: Pattern) -> bool:
        """Return whether a link that a barren pattern covers is fetched all the same."""
        url, host = batch.texts[i], batch.hosts[i]
        if int.from_bytes(batch.keys[i][-4:], "big") < self._audit_below or is_home(url):
            return True
        return pattern.reach(int(batch.site_depths[i]), magnitude(url, host))

    def of_one(self, batch: LinkBatch, memory: Memory) -> tuple[Pattern | None, bool]:
        """Return the barren pattern that covers the URL of a batch of one, if any does, and whether the URL is fetched."""
        site = batch.keys[0][:8]
        if not glance(memory, site).n_barren:
            return None, True
        tree = Tree(memory, site, self._rule)
        forms = tree.forms(parse(batch.texts[0], batch.hosts[0]))
        tree.load(forms)
        pattern = tree.barren(forms)
        return pattern, pattern is None or self._is_audit(batch, 0, pattern)

    def observe(self, measure: LinksMeasure, judgement: LinkJudgement, memory: Memory, /) -> Effects:
        if not measure.source:
            return NO_EFFECTS
        site = measure.source[:8]
        before = glance(memory, site)
        is_page = before.last == measure.source[8:]
        if (is_page and not before.awaits_links) or not (is_page or measure.url):
            return NO_EFFECTS
        tree = Tree(memory, site, self._rule)
        n_admitted = int(judgement.admitted.sum())
        if is_page:
            again = tuple([Release(holder(form)) for form in tree.head.released])  # of links that were held before the release
            tree.head.released = []
        if n_admitted or not is_page:
            tree.led_on(measure.source, measure.via, measure.depth, n_admitted, is_redirect=not is_page)
        if not is_page and not n_admitted and 0 not in judgement.refused:
            far = magnitude(measure.url, measure.host)
            tree.learn(Fetch(measure.source, parse(measure.url, measure.host), measure.depth, far, text=0, worth=False))
        tree.save()
        return again if is_page else _released(tree)


def _credit(tree: Tree, via: bytes, site: bytes, memory: Memory, rule: Rule, *, worth: bool) -> Effects:
    """Tell what named a URL whether it was worth it; return the releases that all of it comes to."""
    if via[:8] == site:
        tree.arrived(via, worth)
    elif via and memory.get(via[:8] + b"s" + via[8:]) is not None:
        other = Tree(memory, via[:8], rule)
        other.arrived(via, worth)
        other.save()
        return (*_released(tree), *_released(other))
    return _released(tree)


def _released(tree: Tree) -> Effects:
    return tuple([Release(holder(form)) for form in tree.released]) if tree.released else NO_EFFECTS


def _verdict(pattern: Pattern) -> Verdict:
    of = pattern.evidence
    evidence: dict[str, str | int | float] = {"pattern": pattern.form, "fetched": of.fetched, "worth": of.worth}
    return Verdict(NAME, keep=False, follow=False, score=1.0, reason=Reason.HELD_BY_FILTER, evidence=evidence)
