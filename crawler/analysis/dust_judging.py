"""Judging rules by a list, and by the living site where the list lacks pages: rounds of judging and fetching until all is clear."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from thresher.config.settings import Settings
from thresher.filters.dust.rules import LearnedRule
from thresher.filters.dust.urllist import Sighting, UrlList
from thresher.filters.dust.validate import Judgements, Trial, judge

_ROUNDS = 6
_AT_ONCE = 400  # URLs fetched in a round, so that what they say is heard before more are asked for


@dataclass(frozen=True, slots=True)
class Judged:
    """Rules with their standing."""

    rules: list[LearnedRule]
    n_fetched: int

    @property
    def summary(self) -> str:
        """How many rules came to what."""
        counts = Counter(learned.standing for learned in self.rules)
        parts = [f"{n:,} {standing}" for standing, n in counts.most_common()]
        return ", ".join(parts) + (f"; {self.n_fetched:,} pages asked for" if self.n_fetched else "")


def judged(rules: Sequence[LearnedRule], known: UrlList, seen: Sequence[Sighting], trial: Trial, settings: Settings | None) -> Judged:
    """Judge rules by what is known; with settings fetch what is not. Raises UsageError for settings that no crawl may start with."""
    if settings is not None and known.texts is None:  # sizes are a makeshift where pages can be had
        seen = [msgspec.structs.replace(sighting, size=None) for sighting in seen]
        known = UrlList.of(seen)
    first = judge(rules, known, trial)
    if settings is None or not first.wanted:
        return Judged(first.rules, 0)
    return asyncio.run(_live(rules, list(seen), trial, settings, first))


async def _live(rules: Sequence[LearnedRule], seen: list[Sighting], trial: Trial, settings: Settings, found: Judgements) -> Judged:
    from thresher.crawler.analysis.dust_live import fetching

    with fetching(settings) as pages:
        for _ in range(_ROUNDS):
            before = pages.n_asked
            seen += await pages.fetch(list(found.wanted)[:_AT_ONCE])
            if pages.n_asked == before:
                break
            found = judge(rules, UrlList.of(seen), trial)
            if not found.wanted:
                break
        return Judged(found.rules, pages.n_asked)
