"""The real filters over a recorded graph: their panel, with memories of its own.

Pages are read again from a store. A recording of texts alone has no pages: then the words of a page are made from its text's hash, so that
pages with equal hashes are equal and others have nothing in common. Redirects are followed as in a crawl: the pair is judged when its end
has settled. Requests of filters are not made: filters get the answers and findings from the crawl's journal, each after the same page as in
the crawl.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from thresher.crawler.analysis.recorded_graph import RecordedGraph
from thresher.crawler.core.effects import Conclude, Effect, Hold, Release, ReleaseURL, Request, Rewrite, Worthless
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import CrawlURL, Directives, Judgement, Page, RedirectPair
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import URLRules, URLSpace
from thresher.filters.base import Gate, LinkJudgement
from thresher.filters.capabilities import Relinks
from thresher.filters.deliberation import Asked, Deliberation
from thresher.filters.evidence.decay import Recent
from thresher.filters.panel import Panel
from thresher.filters.pattern_yield.replay import UnboundedMemory
from thresher.filters.spec import FilterSpec

_WORDS = 80  # words of a page
SPACE = URLSpace(bytes(16), URLRules(ports=None))


class JudgedAnswer(NamedTuple):
    """What the panel decides about an answer and its links, and what it asks for."""

    held: dict[int, str]  # new links that are held → the class that holds them
    left_out: frozenset[int]  # new links that are refused, or aliases of other URLs
    aliases: list[int]  # the URLs that these aliases stand for
    asked: list[Effect]
    is_good: bool  # the page gave something new
    is_alike: bool  # the page resembles a kept one
    is_kept: bool
    stopped_by: str  # the filter that stops its links from being followed; "" for none
    n_asked: int  # number of requests that filters ask for


class ReplayedRuling(NamedTuple):
    """What the panel decides about a URL whose turn has come."""

    holder: str = ""
    is_refused: bool = False
    alias: int | None = None  # the URL that it is an alias of


class ReplayedPanel:
    """The panel of a simulated crawl."""

    def __init__(self, graph: RecordedGraph, specs: Sequence[FilterSpec], space: URLSpace = SPACE, *, audit_share: float = 0.0) -> None:
        """Create the panel.

        Args:
            graph: The answers.
            specs: The filters, with empty memories.
            space: The form of URLs.
            audit_share: Share of refused links that are fetched as audits, 0 to 1.
        """
        self._graph = graph
        self._space = space
        self._memories: dict[str, Memory] = {}
        self._specs = {spec.name: spec for spec in specs}
        self._panel = Panel(list(specs), self._memory, audit_share=audit_share)
        self._urls = {root: space.url(space.canonical(graph.urls[root])) for root in graph.roots}
        self._numbers = {url.key: number for number, url in self._urls.items()}
        self._settled: dict[int, str] = {}  # requested URLs, and the texts they showed
        self._waiting: dict[int, list[int]] = {}  # URL → redirects that end at it

    def judged(self, number: int, text: str, new: Sequence[int], waiting: Sequence[int]) -> JudgedAnswer:
        """Let the panel judge an answer and its links, and learn from both.

        Args:
            number: Number of the URL.
            text: Hash of its visible text.
            new: Its links that no page had before.
            waiting: Its links that another page had before, and that are not fetched yet.
        """
        source, is_redirect = self._urls[number], self._graph.is_redirect(number)
        self._place(source, new, is_redirect=is_redirect)
        shown = None if is_redirect else self._page(source, text, number)
        page = None if shown is None else self._panel.page(shown)
        links = self._panel.links(self._batch(source, new, is_redirect=is_redirect)) if new else None
        asked: list[Effect] = []
        for deliberation in (page, links):
            if deliberation is not None:
                asked += self._concluded((*deliberation.effects, *self._panel.learn(deliberation)[0]))
        if page is not None and waiting and self._panel.wants_relinks(source):
            relinks = Relinks(source, [self._urls[target].key for target in waiting])
            asked += [effect for _, effect in self._panel.learn(self._panel.relinks(relinks, page.judgement))[0]]
        asked += self._ended(number, text)
        asked += self._told(number)
        return self._summed(source, shown, page, links, new, asked)

    def _summed(
        self,
        source: CrawlURL,
        shown: Page | None,
        page: Deliberation[Judgement] | None,
        links: Deliberation[LinkJudgement] | None,
        new: Sequence[int],
        asked: list[Effect],
    ) -> JudgedAnswer:
        held = {number: e.holder for e in asked if isinstance(e, Hold) and (number := self._number(e.url)) is not None}
        rewrites = {number: e.to for e in asked if isinstance(e, Rewrite) and (number := self._number(e.url)) is not None}
        refused = {new[i] for i in links.judgement.refused if i not in links.audited} if links is not None else set()
        judgement = page.judgement if page is not None else None
        worthless = any(isinstance(effect, Worthless) and effect.key == source.key for effect in asked)
        stops = [v.filter for v in judgement.standing if not v.follow and self._panel.enforces(v.filter)] if judgement is not None else []
        return JudgedAnswer(
            held,
            frozenset(refused | set(rewrites)),
            [self._number_of_alias(to, source) for to in rewrites.values()],
            [e for e in asked if isinstance(e, Release) or (isinstance(e, ReleaseURL) and e.key in self._numbers)],
            shown is not None and shown.status == 200 and judgement is not None and judgement.is_new and not worthless,
            judgement is not None and self._panel.finds_likeness(judgement),
            judgement is not None and judgement.keep,
            stops[0] if stops and judgement is not None and not judgement.follow else "",
            sum(isinstance(effect, Request) for effect in asked),
        )

    def turn(self, number: int) -> ReplayedRuling:
        """Return what the panel decides about a URL whose turn has come."""
        turn = self._panel.turn(self._urls[number])
        for _, effect in turn.held:
            if isinstance(effect, Hold):
                return ReplayedRuling(effect.holder)
            if isinstance(effect, Rewrite):
                return ReplayedRuling(alias=self._number_of_alias(effect.to, self._urls[number]))
        return ReplayedRuling(is_refused=turn.refused is not None)

    def recent(self, holder: str) -> Recent | None:
        """Return what a class of held URLs gave before it was opened; None if no filter knows it."""
        name = holder.partition(" ")[0]
        spec = self._specs.get(name)
        return spec.recent(holder, self._memories[name]) if spec is not None and spec.recent is not None else None

    def number(self, key: bytes) -> int:
        """Return the number of a URL by its key."""
        return self._numbers[key]

    def _number(self, text: str) -> int | None:
        """Return the number of a URL, None if nothing has named it in this replay."""
        return self._numbers.get(self._space.key(text))

    def _number_of_alias(self, text: str, alias: CrawlURL) -> int:
        """Return the number of the URL that an alias stands for; if it is new, it takes the alias's place in the crawl."""
        key = self._space.key(self._space.canonical(text))
        if key not in self._numbers:
            number = self._graph.number_of(text)
            url = self._space.url(self._space.canonical(text), via=alias.key)
            self._urls[number] = replace(url, site_depth=alias.site_depth, seed_distance=alias.seed_distance)
            self._numbers[key] = number
        return self._numbers[key]

    def _batch(self, source: CrawlURL, new: Sequence[int], *, is_redirect: bool) -> LinkBatch:
        return LinkBatch.from_urls(source, [self._urls[target] for target in new], is_redirect=is_redirect)

    def _told(self, number: int) -> list[Effect]:
        """Give the filters the answers and findings that came after this answer; return what they ask for."""
        asked: list[Effect] = []
        for record in self._graph.told.get(number, ()):
            for name, data in record.measures:
                if record.gate == Gate.STUDY:
                    asked += [effect for _, effect in self._panel.reports.on_finding(name, record.judgement, data)[0]]
                elif record.gate == Gate.ANSWER:
                    asked += [effect for _, effect in self._panel.reports.on_reduced_answer(name, data)[0]]
                else:
                    asked += self._concluded(self._panel.reports.on_news(name, data)[0])
        return asked

    def _concluded(self, asked: Iterable[Asked]) -> list[Effect]:
        """Give the filters their findings at once (there are no walls in a replay); return what they ask for."""
        found: list[Effect] = []
        for who, effect in asked:
            if isinstance(effect, Conclude):
                found += self._concluded(self._panel.reports.on_finding(who, effect.site, effect.finding)[0])
            else:
                found.append(effect)
        return found

    def _memory(self, name: str) -> Memory:
        return self._memories.setdefault(name, UnboundedMemory())

    def _place(self, source: CrawlURL, new: Sequence[int], *, is_redirect: bool) -> None:
        """Give new URLs their places in the crawl."""
        for target in new:
            url = self._space.url(self._space.canonical(self._graph.urls[target]), via=source.key)
            depth = source.site_depth + (not is_redirect) if url.site == source.site else 0
            self._urls[target] = replace(url, site_depth=depth, seed_distance=source.seed_distance + (not is_redirect))
            self._numbers[url.key] = target

    def _page(self, url: CrawlURL, text: str, number: int) -> Page:
        if (read := self._graph.pages.get(number)) is not None:
            return replace(read, url=url)
        seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
        tokens = np.random.default_rng(seed).integers(0, 1 << 63, _WORDS if text else 0, dtype=np.uint64)
        status = self._graph.statuses[number] if text == self._graph.texts[number] else 200
        links = tuple([self._graph.urls[target] for target in self._graph.links[number]])
        fingerprint = seed.to_bytes(16, "big") if text else b""
        return Page(url, status, "text/html", "", "", tokens, fingerprint, links, "", Directives(), _WORDS)

    def _ended(self, number: int, text: str) -> list[Effect]:
        """Judge the redirects that end at a URL; one that ends at a redirect goes on to where that leads. What goes round has no end."""
        self._settled[number] = text
        ended, way = self._waiting.pop(number, []), set()
        while self._graph.is_redirect(number):
            way.add(number)
            ended.append(number)
            number = self._graph.links[number][0]
            if number in way:
                return []
            if self._settled.get(number) is None:
                self._waiting.setdefault(number, []).extend(ended)
                return []
            ended = [*self._waiting.pop(number, []), *ended]
        asked = []
        for original in ended:
            pair = RedirectPair(self._urls[original], self._urls[number], 1, self._graph.statuses[number])
            deliberation = self._panel.redirect(pair)
            asked += [effect for _, effect in (*deliberation.effects, *self._panel.learn(deliberation)[0])]
        return asked
