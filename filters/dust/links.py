"""Applies what is known of a site's aliases to links: at the learned gate, and again just before a URL is requested.

A URL that a valid rule changes is rewritten, since that is proved. A URL in a family of aliases (families.py) is held, since that is an
opinion. If both apply, it is held only if the target of the rewrite can give no page any more.

Time: 3 µs a batch of links to sites without rules and families, 2 µs a link to one with ten rules, 10 µs to one with a family.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import NoneType
from typing import Final

from thresher.crawler.core.effects import Effect, Rewrite
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Reason, Verdict
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import is_home
from thresher.filters.base import NO_EFFECTS, NOTHING_REFUSED, Effects, HeldLink, LinkJudgement, LinkRuling, hold_links
from thresher.filters.dust import families
from thresher.filters.dust.canonize import Canonizer
from thresher.filters.dust.memory import NAME, read_book, version
from thresher.filters.dust.records import read_fetched, was_asked
from thresher.filters.dust.rules import site_named

_SITE: Final = 8
_MOST_SITES: Final = 1_000  # sites whose rules are kept ready


class Books:
    """The rules of sites, ready to be applied. A cache: its content follows from the memory alone."""

    def __init__(self) -> None:
        self._ready: dict[bytes, tuple[bytes, Canonizer]] = {}

    def canonizer(self, memory: Memory, site: bytes) -> Canonizer | None:
        """Return the canonizer of a site's URLs, None if no rule is valid."""
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


class DustLinkGate:
    """Learned gate: rewrites and holds links, and learns nothing itself."""

    name = NAME
    measure_type = NoneType

    def __init__(self, books: Books, *, only_observes: bool = False) -> None:
        """Create the gate.

        Args:
            only_observes: Whether links in families are only reported, and not held.
        """
        self._books = books
        self._only_observes = only_observes

    def measure(self, batch: LinkBatch, /) -> LinkBatch:
        return batch

    def decide(self, batch: LinkBatch, memory: Memory, /) -> tuple[LinkRuling, Effects]:
        if batch.source.seed_distance == 0 and len(batch) == 1 and batch.keys[0] == batch.source.key:
            return NOTHING_REFUSED, NO_EFFECTS  # a seed before its request: the user wants it as it is
        ruled = [site for site in batch.site_keys if version(memory, site) is not None]
        placed = [site for site in batch.site_keys if families.known_places(memory, site)]
        if not (ruled or placed):  # nearly every page
            return NOTHING_REFUSED, NO_EFFECTS
        effects = self._rewrites(batch, ruled, memory)
        ruling, holds = hold_links(batch, list(_believed(batch, placed, memory)), only_observes=self._only_observes)
        return ruling, (*effects, *holds)

    def _rewrites(self, batch: LinkBatch, sites: list[bytes], memory: Memory) -> list[Effect]:
        """Return the rewrites of some sites' links by valid rules."""
        of_site = {site: canonizer for site in sites if (canonizer := self._books.canonizer(memory, site)) is not None}
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
        return effects

    def observe(self, batch: LinkBatch, judgement: LinkJudgement, memory: Memory, /) -> Effects:
        return NO_EFFECTS


def _believed(batch: LinkBatch, sites: list[bytes], memory: Memory) -> Iterator[HeldLink]:
    """Yield the links of some sites that are in a family of aliases of fetched URLs."""
    for i in batch.of_sites(sites):
        text, site = batch.texts[i], batch.keys[i][:_SITE]
        found = families.alias(memory, site, text, batch.hosts[i])
        if found is not None and not is_home(text) and not was_asked(memory, site, text):
            yield HeldLink(i, found.holder, partial(_verdict, found))


def _verdict(found: families.Alias) -> Verdict:
    """Return the verdict on a link in a family."""
    evidence: dict[str, str | int | float] = {"family": found.holder, "compared": found.compared, "alike": found.alike}
    return Verdict(NAME, keep=False, follow=False, score=round(found.bound, 4), reason=Reason.HELD_BY_FILTER, evidence=evidence)


def _is_of(site: str, url: str) -> bool:
    """Return whether a URL is one of the site: a rule may not lead out of it."""
    return site_named(url) == site
