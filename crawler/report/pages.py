"""Sums and samples over the records of a crawl's pages, in one pass.

Novelty: a page shows something new if no page fetched before it had its text. Gaps between requests of a host are measured from one
answer with a record to the next request that has one: redirects, robots.txt and failures without an answer may be in between.

Memory: some MB, whatever the crawl. Time: 30 µs a page.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from thresher.crawler.core.politeness import Rulebook
from thresher.crawler.core.url import origin_of, queue_name
from thresher.crawler.report.sampling import Sample, Timeline, Traces
from thresher.storage.export.judged import keeps, verdict_object
from thresher.storage.export.pages import PageRow, rows
from thresher.storage.records import PageRecord
from thresher.storage.view import View

SAMPLES: Final = 6  # samples of each kind of decision or error
GAPS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0)  # bounds of bins for gaps between requests, seconds
TIMES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)  # bounds of bins for times of answers, seconds
_DEEPEST: Final = 40  # depth that stands for all deeper ones
_MOST_TEXTS: Final = 100_000
_MOST_HOSTS: Final = 50_000


@dataclass(slots=True)
class LevelSums:
    """The pages of one depth.

    `of_texts`: sampled pages with a text. `new_texts`: those of them with a new text.
    """

    pages: int = 0
    kept: int = 0
    of_texts: float = 0.0
    new_texts: float = 0.0


@dataclass(slots=True)
class FilterWords:
    """What one filter decided about pages: counts and samples."""

    verdicts: int = 0
    not_kept: int = 0
    not_followed: int = 0
    revised: int = 0


@dataclass(slots=True)
class Decision:
    """One verdict, as it is shown. evidence: with URLs in place of their keys."""

    url: str
    reason: str
    effect: str
    evidence: dict[str, Any]


@dataclass(slots=True)
class PageSums:
    """Sums over the pages of a crawl. The series of `time` are pages, bytes received, errors, pages with a text, pages with a new text."""

    n: int = 0
    kept: int = 0
    new_share: float | None = None
    time: Timeline = field(default_factory=lambda: Timeline(5))
    from_seed: dict[int, LevelSums] = field(default_factory=dict)
    in_site: dict[int, LevelSums] = field(default_factory=dict)
    types: Counter[str] = field(default_factory=Counter)
    flags: Counter[str] = field(default_factory=Counter)
    filters: dict[str, FilterWords] = field(default_factory=dict)
    decisions: dict[str, Sample[Decision]] = field(default_factory=dict)
    errors: dict[int, Sample[str]] = field(default_factory=dict)
    took: list[int] = field(default_factory=lambda: [0] * (len(TIMES) + 1))
    gaps: list[int] = field(default_factory=lambda: [0] * (len(GAPS) + 1))
    n_short: int = 0  # gaps that were shorter than the host's delay
    shortest: float | None = None


def read_pages(view: View) -> PageSums:
    """Read every page's newest record once."""
    found = PageSums()
    novelty, gaps = _Novelty(), _Gaps(view, found)
    for row in rows(view, frozenset(("verdicts",))):
        page = row.page
        new = novelty.look(page)
        kept = keeps(page, row.verdicts)
        found.n += 1
        found.kept += kept
        is_error = page.status >= 400 or page.status == 0
        found.time.add(page.fetched_at, 1, page.wire_bytes, is_error, *new)
        for levels, depth in ((found.from_seed, page.seed_distance), (found.in_site, page.site_depth)):
            level = levels.setdefault(min(depth, _DEEPEST), LevelSums())
            level.pages += 1
            level.kept += kept
            level.of_texts += new[0]
            level.new_texts += new[1]
        found.types[page.mime_type if page.mime_type in found.types or len(found.types) < 500 else "others"] += 1
        found.flags.update(page.flags)
        found.took[bisect_right(TIMES, page.elapsed_s)] += 1
        if is_error:
            found.errors.setdefault(page.status, Sample(SAMPLES)).offer(page.url, page.url)
        gaps.look(page)
        _hear(row, found)
    found.new_share = novelty.share
    return found


def _hear(row: PageRow, found: PageSums) -> None:
    """Count what the filters decided about a page, and keep samples of refusals and revisions."""
    for standing in row.verdicts:
        verdict = standing.verdict
        words = found.filters.setdefault(verdict.filter, FilterWords())
        words.verdicts += 1
        words.not_kept += not verdict.keep
        words.not_followed += not verdict.follow
        words.revised += bool(standing.revised_at)
        if verdict.keep and verdict.follow and not standing.revised_at:
            continue
        effects = ("not kept" if not verdict.keep else "", "not followed" if not verdict.follow else "")
        effect = " and ".join(filter(None, effects)) or ("noted" if verdict.reason else "let off")
        evidence = verdict_object(standing, row.texts)["evidence"]
        sample = found.decisions.setdefault(verdict.filter, Sample(SAMPLES))
        sample.offer(row.page.url, Decision(row.page.url, verdict.reason, effect, evidence))


class _Novelty:
    """Which pages show a text for the first time; if there are very many texts, only a sample of them is followed."""

    def __init__(self) -> None:
        self._texts: Traces[bool] = Traces(_MOST_TEXTS)
        self._of = self._new = 0.0

    def look(self, page: PageRecord) -> tuple[float, float]:
        """Return (how many pages with a text this page stands for, how many pages with a new text)."""
        text = page.fingerprint
        if not text or not self._texts.follows(text):
            return 0.0, 0.0
        weight = float(self._texts.weight)
        new = 0.0 if self._texts.get(text) else weight
        self._texts.put(text, True)
        self._of += weight
        self._new += new
        return weight, new

    @property
    def share(self) -> float | None:
        return self._new / self._of if self._of else None


class _Gaps:
    """Times between an answer of a host and the next request to it; if there are very many hosts, only a sample of them is followed."""

    def __init__(self, view: View, found: PageSums) -> None:
        self._found = found
        self._hosts: Traces[tuple[float, float]] = Traces(_MOST_HOSTS)
        self._book = Rulebook(view.settings)

    def look(self, page: PageRecord) -> None:
        name = _host(origin_of(page.url))
        host = name.encode()
        if not self._hosts.follows(host):
            return
        rules = self._book.of(name)
        owed = max(rules.floor, min(rules.delay_factor * page.elapsed_s, rules.max_delay))
        before = self._hosts.get(host)
        self._hosts.put(host, (page.fetched_at, owed))
        if before is None or page.fetched_at < before[0]:
            return
        gap = max(0.0, page.fetched_at - page.elapsed_s - before[0])
        of = self._found
        of.gaps[bisect_right(GAPS, gap)] += 1
        of.n_short += gap < before[1] - 1e-3
        of.shortest = gap if of.shortest is None else min(of.shortest, gap)


@lru_cache(maxsize=_MOST_HOSTS)
def _host(origin: str) -> str:
    return queue_name(origin)
