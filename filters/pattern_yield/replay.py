"""Replays a crawl's answers in their order: the filter decides and learns as it would inline, with a dict as its memory.

The parts are those of the inline filter (filters/pattern_yield/filter.py). A held URL stays held here, except for the share that the tail
draws at once. Whether a page's links led to something is known from `n_led`: the number of answers in the recording whose URL that page
named first.

Memory: unbounded, about 250 bytes per answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np

from thresher.config.settings import PatternYieldSettings
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import CrawlURL, Judgement
from thresher.filters.base import LinkJudgement
from thresher.filters.evidence.audits import is_audited
from thresher.filters.pattern_yield.filter import YieldLinksMeasure, YieldOfLinks, YieldOfPages, YieldPageMeasure, rule_of
from thresher.filters.pattern_yield.records import Pattern
from thresher.filters.pattern_yield.sites import Sites, patterns_of
from thresher.filters.tail.records import TailPolicy

_KEPT = Judgement(keep=True, follow=True, verdicts=())


class UnboundedMemory:
    """A filter's memory without a size limit."""

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


class PatternReplay:
    """Decides on one URL after the other and learns from those that are fetched."""

    def __init__(self, settings: PatternYieldSettings, *, judges: Collection[str] = (), samples: bool = True) -> None:
        """Create the replay.

        Args:
            judges: Filters whose verdicts on pages count.
            samples: Whether most answers of a good site are passed over, as inline.
        """
        self._sites, self._rule = Sites(), rule_of(settings)
        self._pages = YieldOfPages(self._sites, settings, judges=judges, samples=samples)
        self._links = YieldOfLinks(self._sites, settings)
        self._memory = UnboundedMemory()

    def decide(self, url: CrawlURL) -> tuple[Pattern | None, bool]:
        """Return the barren pattern that holds a URL, None if there is none, and whether the URL is fetched now, as audits are in any case.

        A URL that is not fetched does not count as a link whose page is still to come: inline it would not have been admitted.
        """
        pattern = self._links.of_one(LinkBatch.of(url), self._memory)
        is_fetched = pattern is None or is_audited(url.key, TailPolicy().audit_share)
        if not is_fetched and url.via:
            tree = self._sites.tree(self._memory, url.via[:8], self._rule)
            tree.on_settled(url.via, worth=False)
            self._sites.save(self._memory, tree)
        return pattern, is_fetched

    def learn(
        self, url: CrawlURL, status: int, text: int | None, *, judgement: Judgement = _KEPT, n_led: int = 0, n_bytes: int = 0
    ) -> None:
        """Learn from the answer to a URL.

        Args:
            text: Code of what it showed; None if that is not known.
            n_led: Answers whose URL this page named first.
            n_bytes: Size of the page, 0: not known.
        """
        shown = (status if text is None else text).to_bytes(8, "big")
        measure = YieldPageMeasure(url.text, url.key, url.via, status == 200, shown, text is not None, n_led > 0, n_bytes=n_bytes)
        self._pages.observe(measure, judgement, self._memory)
        if n_led:
            admitted = LinkJudgement(np.ones(n_led, dtype=np.bool_), {})
            self._links.observe(YieldLinksMeasure(url.key, url.via), admitted, self._memory)

    def patterns(self, site: bytes) -> list[Pattern]:
        """Return the patterns of a site, which is given by the first 8 bytes of its URLs' keys."""
        return patterns_of(self._memory, site)
