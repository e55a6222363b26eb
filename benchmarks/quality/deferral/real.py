"""The real filters as opinions of the simulator: their panel, over pages that are made from the hashes of a graph's texts.

A page's words are drawn from its text's hash, so that equal hashes are equal pages and all others have nothing in common: what filters find
out by texts that resemble each other is not seen here. Redirects are followed as the crawler does it: the pair is told when its end has
settled.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from benchmarks.quality.deferral.graph import Graph
from thresher.config.settings import Filters, Settings
from thresher.crawler.core.model import CrawlURL, Directives, Effect, Hold, LinkBatch, Page, RedirectPair, Release, ReleaseURL
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import URLRules, URLSpace
from thresher.filters.capabilities import Relinks
from thresher.filters.evidence.decay import Recent
from thresher.filters.panel import Panel
from thresher.filters.pattern_yield.replay import Rows
from thresher.filters.registry import specs

_WORDS = 80  # of a page
_SPACE = URLSpace(bytes(16), URLRules(ports=None))
ALWAYS = ("exact_duplicate",)  # whose word on pages the others learn from


def filters_of(names: Sequence[str], sets: Sequence[str] = ()) -> Settings:
    """Return a configuration in which these filters enforce, and no others. sets: "filter.option=value"; raises ValueError."""
    of = Filters(audit_share=0.0)
    options: dict[str, dict[str, Any]] = {name: {"mode": "off"} for name in of.__struct_fields__ if hasattr(getattr(of, name), "mode")}
    for name in (*ALWAYS, *names):
        if name not in options:
            raise ValueError(f"no filter {name!r}; there are {', '.join(options)}")
        options[name]["mode"] = "enforce"
    for each in sets:
        place, _, value = each.partition("=")
        filter_name, dot, option = place.partition(".")
        if dot:
            options[filter_name][option] = json.loads(value)
    return Settings(filters=msgspec.convert({"audit_share": 0.0, **options}, Filters))


class Judged(NamedTuple):
    """What the panel says of an answer's links, and asks for."""

    held: dict[int, str]  # new links, by whom
    asked: list[Effect]


class RealFilters:
    """The panel of a simulated crawl."""

    def __init__(self, graph: Graph, settings: Settings) -> None:
        self._graph = graph
        self._memories: dict[str, Memory] = {}
        self._specs = {spec.name: spec for spec in specs(settings, [graph.urls[0]])}
        self._panel = Panel(list(self._specs.values()), self._memory, audit_share=0.0)
        self._urls = {0: _SPACE.url(_SPACE.canonical(graph.urls[0]))}
        self._numbers = {self._urls[0].key: 0}
        self._settled: dict[int, str] = {}  # what was asked for, and the text it showed
        self._waiting: dict[int, list[int]] = {}  # URL → redirects that end at it

    def judged(self, number: int, text: str, new: Sequence[int], waiting: Sequence[int]) -> Judged:
        """Let the panel judge an answer and its links, and learn from both.

        new: its links that nobody has named before; waiting: those that were not asked for yet
        """
        source, is_redirect = self._urls[number], self._graph.is_redirect(number)
        self._place(source, new, is_redirect=is_redirect)
        batch = LinkBatch(
            source,
            [self._urls[target].text for target in new],
            [self._urls[target].host for target in new],
            [self._urls[target].site for target in new],
            [self._urls[target].key for target in new],
            [self._urls[target].site_depth for target in new],
            is_redirect,
        )
        page = None if is_redirect else self._panel.page(self._page(source, text, number))
        links = self._panel.links(batch) if new else None
        asked: list[Effect] = []
        for deliberation in (page, links):
            if deliberation is not None:
                asked += [effect for _, effect in (*deliberation.effects, *self._panel.learn(deliberation)[0])]
        if page is not None and waiting and self._panel.wants_relinks(source):
            naming = Relinks(source, [self._urls[target].key for target in waiting])
            asked += [effect for _, effect in self._panel.learn(self._panel.relinks(naming, page.judgement))[0]]
        asked += self._ended(number, text)
        held = {self._number(effect.url): effect.holder for effect in asked if isinstance(effect, Hold)}
        return Judged(held, [effect for effect in asked if isinstance(effect, Release | ReleaseURL)])

    def holder(self, number: int) -> str:
        """Return who holds a URL whose turn has come, "" if nobody does."""
        return next((effect.holder for _, effect in self._panel.turn(self._urls[number]).held if isinstance(effect, Hold)), "")

    def recent(self, holder: str) -> Recent | None:
        """Return what a class has come to before it was opened; None if no filter knows it."""
        name = holder.partition(" ")[0]
        spec = self._specs.get(name)
        return spec.recent(holder, self._memories[name]) if spec is not None and spec.recent is not None else None

    def number(self, key: bytes) -> int:
        """Return the number of a URL by its key."""
        return self._numbers[key]

    def _number(self, text: str) -> int:
        return self._numbers[_SPACE.key(text)]

    def _memory(self, name: str) -> Memory:
        return self._memories.setdefault(name, Rows())

    def _place(self, source: CrawlURL, new: Sequence[int], *, is_redirect: bool) -> None:
        """Give new URLs their places in the crawl."""
        for target in new:
            url = _SPACE.url(_SPACE.canonical(self._graph.urls[target]), via=source.key)
            depth = source.site_depth + (not is_redirect) if url.site == source.site else 0
            self._urls[target] = replace(url, site_depth=depth, seed_distance=source.seed_distance + (not is_redirect))
            self._numbers[url.key] = target

    def _page(self, url: CrawlURL, text: str, number: int) -> Page:
        seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
        tokens = np.random.default_rng(seed).integers(0, 1 << 63, _WORDS if text else 0, dtype=np.uint64)
        status = self._graph.statuses[number] if text == self._graph.texts[number] else 200
        links = tuple([self._graph.urls[target] for target in self._graph.links[number]])
        fingerprint = seed.to_bytes(16, "big") if text else b""
        return Page(url, status, "text/html", "", "", tokens, fingerprint, links, "", Directives(), _WORDS)

    def _ended(self, number: int, text: str) -> list[Effect]:
        """Judge the redirects that end at a URL; one that ends at a redirect goes on to where that leads."""
        self._settled[number] = text
        ended = self._waiting.pop(number, [])
        links = self._graph.links[number]
        if self._graph.is_redirect(number) and links:
            self._waiting.setdefault(links[0], []).extend([*ended, number])
            return self._ended(links[0], self._settled[links[0]]) if self._settled.get(links[0]) is not None and links[0] != number else []
        asked = []
        for original in ended:
            pair = RedirectPair(self._urls[original], self._urls[number], 1, self._graph.statuses[number])
            deliberation = self._panel.redirect(pair)
            asked += [effect for _, effect in (*deliberation.effects, *self._panel.learn(deliberation)[0])]
        return asked
