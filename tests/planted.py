"""Filters for tests: each does what a table says, so that a contract is tested without an algorithm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from thresher.crawler.core.effects import Answer, Effect
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Judgement, Page, Reason, RedirectPair, Verdict
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NO_EFFECTS, Effects, LinkJudgement, LinkRuling

Table = Mapping[str, tuple[Effect, ...]]  # URL → effects that the filter asks for when it sees it


class SeenPage(msgspec.Struct, array_like=True, frozen=True):
    url: str
    key: bytes


class SeenAnswer(msgspec.Struct, array_like=True, frozen=True):
    url: str
    status: int = 0
    text: str | None = None  # of the page; None: there was none
    target: str = ""
    failure: str = ""


class PageScript:
    """A filter of pages: gives the verdicts and asks for the effects that its tables have for a URL; remembers the pages that the panel
    kept.
    """

    measure_type = SeenPage
    answer_type = SeenAnswer

    def __init__(
        self,
        name: str,
        *,
        asks: Table | None = None,
        asks_later: Table | None = None,
        drops: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """asks: effects beside the verdict; asks_later: effects once the panel's judgement is known; drops: URLs neither kept nor
        followed.
        """
        self.name = name
        self.asks = asks or {}
        self.asks_later = asks_later or {}
        self.judged: list[str] = []
        self.answers: list[SeenAnswer] = []
        self.asks_on_answer: Table = {}
        self.on_learn: Callable[[str], None] = lambda _: None  # called with each URL that it learns from
        self._drops = drops

    def measure(self, page: Page, /) -> SeenPage:
        return SeenPage(page.url.text, page.url.key)

    def decide(self, measure: SeenPage, memory: Memory, /) -> tuple[Verdict, Effects]:
        self.judged.append(measure.url)
        is_kept = not self._drops(measure.url)
        verdict = Verdict(self.name, is_kept, is_kept, reason=None if is_kept else Reason.REFUSED_BY_FILTER)
        return verdict, self.asks.get(measure.url, NO_EFFECTS)

    def observe(self, measure: SeenPage, judgement: Judgement, memory: Memory, /) -> Effects:
        self.on_learn(measure.url)
        if judgement.keep:
            memory.put(measure.key, measure.url.encode())
        return self.asks_later.get(measure.url, NO_EFFECTS)

    def reduce(self, answer: Answer, /) -> SeenAnswer:
        target = answer.target.text if answer.target else ""
        return SeenAnswer(answer.url.text, answer.status, answer.page.text if answer.page else None, target, answer.failure)

    def on_answer(self, reduced: SeenAnswer, memory: Memory, /) -> Effects:
        self.answers.append(reduced)
        memory.put(bytes(8) + reduced.url.encode(), reduced.target.encode())
        return self.asks_on_answer.get(reduced.url, NO_EFFECTS)


class SeenLinks(msgspec.Struct, array_like=True, frozen=True):
    urls: tuple[str, ...]
    keys: tuple[bytes, ...]


class LinkScript:
    """A filter of new links: refuses and asks by its tables; remembers which links were admitted."""

    measure_type = SeenLinks

    def __init__(
        self, name: str, *, refuses: Callable[[str], bool] = lambda _: False, asks: Callable[[str], Iterable[Effect]] = lambda _: ()
    ) -> None:
        self.name = name
        self.judged: list[str] = []
        self._refuses = refuses
        self._asks = asks

    def measure(self, batch: LinkBatch, /) -> SeenLinks:
        return SeenLinks(tuple(batch.texts), tuple(batch.keys))

    def decide(self, measure: SeenLinks, memory: Memory, /) -> tuple[LinkRuling, Effects]:
        self.judged += measure.urls
        verdict = Verdict(self.name, keep=False, follow=False, reason=Reason.REFUSED_BY_FILTER)
        refused = {i: verdict for i, url in enumerate(measure.urls) if self._refuses(url)}
        return LinkRuling(refused), tuple(effect for url in measure.urls for effect in self._asks(url))

    def observe(self, measure: SeenLinks, judgement: LinkJudgement, memory: Memory, /) -> Effects:
        for i, key in enumerate(measure.keys):
            if judgement.admitted[i]:
                memory.put(key, measure.urls[i].encode())
        return NO_EFFECTS


class SeenPair(msgspec.Struct, array_like=True, frozen=True):
    original: str
    key: bytes
    target: str
    hops: int
    status: int


class PairWitness:
    """A filter of redirects: records every pair that it is given."""

    measure_type = SeenPair

    def __init__(self, name: str = "witness") -> None:
        self.name = name
        self.pairs: list[SeenPair] = []

    def measure(self, pair: RedirectPair, /) -> SeenPair:
        return SeenPair(pair.original.text, pair.original.key, pair.target.text, pair.hops, pair.status)

    def decide(self, measure: SeenPair, memory: Memory, /) -> tuple[Verdict, Effects]:
        return Verdict(self.name), NO_EFFECTS

    def observe(self, measure: SeenPair, judgement: Judgement, memory: Memory, /) -> Effects:
        self.pairs.append(measure)
        memory.put(measure.key, measure.target.encode())
        return NO_EFFECTS
