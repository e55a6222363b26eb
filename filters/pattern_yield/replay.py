"""A crawl's answers told again in their order: the filter itself decides and learns, over a memory in a dict.

The same parts as inline (filters/pattern_yield/filter.py) over the same memory's contract. What is postponed stays so here, but for the
share that a tail draws at once. What a page's links led to is known by `n_led`,
how many of the answers that are told name it as what named them first.

Memory: unbounded, about 250 bytes per answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np

from thresher.config.settings import PatternYield
from thresher.crawler.core.model import CrawlURL, Judgement, LinkBatch
from thresher.filters.base import LinkJudgement
from thresher.filters.evidence.audits import is_audited
from thresher.filters.pattern_yield.filter import LinksMeasure, PageMeasure, YieldOfLinks, YieldOfPages, rule_of
from thresher.filters.pattern_yield.records import Pattern, patterns_of
from thresher.filters.pattern_yield.tree import Sites
from thresher.filters.tail.records import TailPolicy

_KEPT = Judgement(keep=True, follow=True, verdicts=())


class Rows:
    """A filter's memory without a cap."""

    def __init__(self) -> None:
        self._rows: dict[bytes, bytes] = {}

    def get(self, key: bytes, /) -> bytes | None:
        return self._rows.get(key)

    def put(self, key: bytes, value: bytes, /, weight: float = 0.0) -> None:
        self._rows[key] = value

    def delete(self, key: bytes, /) -> None:
        self._rows.pop(key, None)

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        return iter(sorted((key, value) for key, value in self._rows.items() if key.startswith(prefix)))

    def get_many(self, keys: Iterable[bytes], /) -> list[bytes | None]:
        return [self._rows.get(key) for key in keys]


class Replay:
    """Decides one URL after the other and learns from those that are fetched."""

    def __init__(self, settings: PatternYield, *, judges: Collection[str] = (), samples: bool = True) -> None:
        """judges: filters whose word on pages counts. samples: pass over most answers of a good site, as inline."""
        self._sites = Sites(rule_of(settings))
        self._pages = YieldOfPages(self._sites, judges=judges, samples=samples)
        self._links = YieldOfLinks(self._sites, settings)
        self._memory = Rows()

    def decide(self, url: CrawlURL) -> tuple[Pattern | None, bool]:
        """Return the barren pattern that postpones a URL, if any does, and whether the URL is fetched now: it is, or is drawn as an audit.

        One that is not is no link to wait for, as inline it would not have been admitted.
        """
        pattern = self._links.of_one(LinkBatch.of(url), self._memory)
        is_fetched = pattern is None or is_audited(url.key, TailPolicy().audit_share)
        if not is_fetched and url.via:
            tree = self._sites.tree(self._memory, url.via[:8])
            tree.on_settled(url.via, worth=False)
            self._sites.save(self._memory, tree)
        return pattern, is_fetched

    def learn(self, url: CrawlURL, status: int, text: int | None, *, judgement: Judgement = _KEPT, n_led: int = 0) -> None:
        """Learn from the answer. text: what it showed, as a number; None if that is not known."""
        shown = (status if text is None else text).to_bytes(8, "big")
        measure = PageMeasure(url.text, url.key, url.via, status == 200, shown, text is not None, n_led > 0)
        self._pages.observe(measure, judgement, self._memory)
        if n_led:
            admitted = LinkJudgement(np.ones(n_led, dtype=np.bool_), {})
            self._links.observe(LinksMeasure(url.key, url.via), admitted, self._memory)

    def patterns(self, site: bytes) -> list[Pattern]:
        """Return what was learned of a site, named by the first 8 bytes of its URLs' keys."""
        return patterns_of(self._memory, site)
