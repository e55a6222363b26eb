"""Judges rules by the pages of a list. If the list lacks pages, they are fetched from the site: judging and fetching alternate until every
rule is judged.
"""

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
_AT_ONCE = 400  # URLs fetched in a round: the rules are judged by them before more are fetched


@dataclass(frozen=True, slots=True)
class JudgedRules:
    """Rules with their standing."""

    rules: list[LearnedRule]
    n_fetched: int

    @property
    def summary(self) -> str:
        """How many rules have each standing, in words."""
        counts = Counter(learned.standing for learned in self.rules)
        parts = [f"{n:,} {standing}" for standing, n in counts.most_common()]
        return ", ".join(parts) + (f"; {self.n_fetched:,} pages asked for" if self.n_fetched else "")


def judged(rules: Sequence[LearnedRule], known: UrlList, seen: Sequence[Sighting], trial: Trial, settings: Settings | None) -> JudgedRules:
    """Judge rules by the pages that are known; with settings, fetch the pages that are not.

    Raises:
        UsageError: For settings that no crawl may start with.
    """
    if settings is not None and known.texts is None:  # sizes say less than pages, and pages can be fetched
        seen = [msgspec.structs.replace(sighting, size=None) for sighting in seen]
        known = UrlList.of(seen)
    first = judge(rules, known, trial)
    if settings is None or not first.wanted:
        return JudgedRules(first.rules, 0)
    return asyncio.run(_live(rules, list(seen), trial, settings, first))


async def _live(rules: Sequence[LearnedRule], seen: list[Sighting], trial: Trial, settings: Settings, found: Judgements) -> JudgedRules:
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
        return JudgedRules(found.rules, pages.n_asked)
