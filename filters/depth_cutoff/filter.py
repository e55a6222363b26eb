"""Depth cutoffs as a filter: what lies deeper than its place is worth is held until later evidence raises the limit.

Learned gate: a URL that lies deeper than the limit of its place (filters/depth_cutoff/evidence.py) and was named by a worthless page, or
whose place is closed, is held, by a holder named after place and depth; asked again when its turn comes, since a page's links are queued
before it is known what the page and their places are worth. Entries, depth 0, are never held.
Page gate: every answer teaches; when a limit rises or a place opens, what was held up to it is released. Redirect gate: a redirect to what
was known before was worth nothing. The panel's audited share passes whatever is held, so that a limit that is wrong is found out.
"""

from __future__ import annotations

from functools import partial

import msgspec
import numpy as np

from config.settings import DepthCutoff
from crawler.core.model import Judgement, LinkBatch, Mode, Page, Reason, RedirectPair, Release, Verdict
from crawler.core.ports import Memory
from filters.base import NO_EFFECTS, Effects, LinkJudgement, LinkRuling, Plug, SetBack, always, set_back
from filters.depth_cutoff.evidence import Place, Rule
from filters.depth_cutoff.ledger import LOW, Change, Fetch, Ledger, least_limit
from filters.depth_cutoff.novelty import sample
from filters.pattern_yield.patterns import parse

NAME = "depth_cutoff"
_DEEPEST = 63  # holders of a place: one for each depth, this one for all deeper
_NO_VERDICT = Verdict(NAME)


def holder(form: str, depth: int) -> str:
    """Return who holds the URLs of a place at a depth."""
    return f"{NAME} {min(depth, _DEEPEST)} {form}"


def directory_of(url: str) -> str:
    """Return a canonical URL up to the last slash of its path."""
    path = url.partition("?")[0]
    return path[: path.rindex("/") + 1]


def rule_of(settings: DepthCutoff) -> Rule:
    return Rule(settings.target, settings.floor, settings.ceiling, settings.q)


class PageMeasure(msgspec.Struct, array_like=True, frozen=True):
    """What learning needs of a page."""

    url: str
    host: str
    key: bytes  # b"" of a URL that a filter made up: it lies at no depth
    depth: int
    text: int
    sampled: bytes
    is_ok: bool
    n_links: int
    via: bytes = b""  # key of who named it


class DepthOfPages:
    """Page gate: gives no verdict, and learns from everybody's."""

    name = NAME
    measure_type = PageMeasure

    def __init__(self, settings: DepthCutoff) -> None:
        self._rule = rule_of(settings)

    def measure(self, page: Page, /) -> PageMeasure:
        is_ok = page.status == 200
        return PageMeasure(
            url=page.url.text,
            host=page.url.host,
            key=page.url.key if page.url.via or not page.url.seed_distance else b"",
            depth=page.url.site_depth,
            text=int.from_bytes(page.fingerprint[:8], "big") or page.status,
            sampled=sample(page.tokens, page.url.text[len(page.url.host) :]) if is_ok else b"",
            is_ok=is_ok,
            n_links=len(page.links),
            via=page.url.via,
        )

    def decide(self, measure: PageMeasure, memory: Memory, /) -> tuple[Verdict, Effects]:
        return _NO_VERDICT, NO_EFFECTS

    def observe(self, measure: PageMeasure, judgement: Judgement, memory: Memory, /) -> Effects:
        if not measure.key:
            return NO_EFFECTS
        ledger = Ledger(memory, measure.key[:8], self._rule)
        is_good = measure.is_ok and judgement.keep and judgement.follow
        parts = parse(measure.url, measure.host)
        via = measure.via[8:] if measure.via[:8] == measure.key[:8] else b""
        fetch = Fetch(parts, measure.depth, measure.text, measure.sampled, is_good, measure.n_links, measure.key[8:], via)
        raised = ledger.learn(fetch)
        ledger.save()
        return _released(raised, ledger)


class PairMeasure(msgspec.Struct, array_like=True, frozen=True):
    """What learning needs of a redirect that was followed to its end."""

    url: str
    host: str
    key: bytes
    depth: int
    text: int  # of the target's key: what the redirect shows
    is_first: bool  # its target was found through it


class DepthOfRedirects:
    """Redirect gate: downloading an alias is going back."""

    name = NAME
    measure_type = PairMeasure

    def __init__(self, settings: DepthCutoff) -> None:
        self._rule = rule_of(settings)

    def measure(self, pair: RedirectPair, /) -> PairMeasure:
        url, target = pair.original, pair.target
        return PairMeasure(
            url.text, url.host, url.key, url.site_depth, int.from_bytes(target.key[8:], "big"), is_first=target.via == url.key
        )

    def decide(self, measure: PairMeasure, memory: Memory, /) -> tuple[Verdict, Effects]:
        return _NO_VERDICT, NO_EFFECTS

    def observe(self, measure: PairMeasure, judgement: Judgement, memory: Memory, /) -> Effects:
        ledger = Ledger(memory, measure.key[:8], self._rule)
        is_good = measure.is_first and judgement.keep and judgement.follow
        parts = parse(measure.url, measure.host)
        raised = ledger.learn(Fetch(parts, measure.depth, measure.text, b"", is_good, key=measure.key[8:]))
        ledger.save()
        return _released(raised, ledger)


class LinksMeasure(msgspec.Struct, array_like=True, dict=True):
    """What learning needs of a page's new links. Deciding needs their texts too: the batch stands beside it and not in the journal."""

    key: bytes  # of the page; b"" if the batch is one known URL that is judged again
    depth: int
    n_new: int
    n_kin: int  # of them in the page's own directory
    via: bytes = b""  # of a redirect


class DepthOfLinks:
    """Learned gate: holds what lies too deep."""

    name = NAME
    measure_type = LinksMeasure

    def __init__(self, settings: DepthCutoff) -> None:
        self._rule = rule_of(settings)
        self._only_says = settings.mode == "observe"

    def measure(self, batch: LinkBatch, /) -> LinksMeasure:
        source = batch.source
        is_itself = batch.keys[:1] == (source.key,)
        own = directory_of(source.text)
        measure = LinksMeasure(
            b"" if is_itself else source.key,
            source.site_depth,
            len(batch),
            sum([text.startswith(own) for text in batch.texts]),
            source.via if batch.is_redirect else b"",
        )
        measure.__dict__["batch"] = batch
        return measure

    def decide(self, measure: LinksMeasure, memory: Memory, /) -> tuple[LinkRuling, Effects]:
        batch: LinkBatch = measure.__dict__["batch"]
        sites = {key[:8]: None for key in batch.keys}
        return set_back(batch, [cut for site in sites for cut in self._cut(batch, site, memory)], only_says=self._only_says)

    def _cut(self, batch: LinkBatch, site: bytes, memory: Memory) -> list[SetBack]:
        """Return the links of a site that are cut off."""
        unknown = self._rule.unknown()
        least = min(least_limit(memory, site), unknown)
        deep = [i for i in np.flatnonzero(batch.site_depths > least).tolist() if batch.keys[i][:8] == site]
        if not deep:
            return []
        ledger = Ledger(memory, site, self._rule)
        source = batch.source
        parent = source.via if batch.keys[0] == source.key else source.key
        is_barren = parent[:8] == site and ledger.is_barren(parent[8:])
        found = []
        for i in deep:
            depth = int(batch.site_depths[i])
            where = ledger.where(parse(batch.texts[i], batch.hosts[i]))
            place = ledger.cut(where, depth, barren_parent=is_barren)
            if place is None and depth > unknown and ledger.speaker(where) is None:
                place = Place(where.host, limit=unknown)
            if place is not None and depth > 0:
                found.append(SetBack(i, holder(place.form, depth), partial(_verdict, place, depth)))
        return found

    def observe(self, measure: LinksMeasure, judgement: LinkJudgement, memory: Memory, /) -> Effects:
        if measure.key:
            ledger = Ledger(memory, measure.key[:8], self._rule)
            ledger.links(measure.key[8:], measure.depth, measure.n_new, measure.n_kin)
            if measure.via[:8] == measure.key[:8]:
                ledger.redirects(measure.key[8:], measure.via[8:])
            ledger.save()
        return NO_EFFECTS


def plug(settings: DepthCutoff) -> Plug:
    """Return the filter with its parts."""
    return Plug(
        NAME,
        Mode(settings.mode),
        learned=DepthOfLinks(settings),
        redirect=DepthOfRedirects(settings),
        page=DepthOfPages(settings),
        again=always,
    )


def _released(raised: list[Change], ledger: Ledger) -> Effects:
    """Return the releases of what was held between a place's old limit and its new one, as deep as URLs of the site are known."""
    if not raised:
        return NO_EFFECTS
    deepest = min(_DEEPEST, max(LOW, len(ledger.head.levels) + 1))
    return tuple(
        Release(holder(change.form, depth)) for change in raised for depth in range(change.before + 1, min(change.after, deepest) + 1)
    )


def _verdict(place: Place, depth: int) -> Verdict:
    evidence: dict[str, str | int | float] = {
        "place": place.form,
        "depth": depth,
        "limit": place.limit,
        "fetched": sum(place.fetched),
        "new": sum(place.new),
        "closed": place.is_closed,
    }
    return Verdict(NAME, keep=False, follow=False, score=1.0, reason=Reason.HELD_BY_FILTER, evidence=evidence)
