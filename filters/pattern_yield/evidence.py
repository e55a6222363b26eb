"""What the fetches of one pattern came to, and what is believed of it.

A pattern is barren as long as an opinion (filters/evidence/opinion.py) holds it. A coarser pattern stands for all below it: it takes the
barren fetches of several.

Memory: 15 bytes a pattern. Time: 1 µs per fetch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec

from thresher.filters.evidence.opinion import Belief, Opinion
from thresher.filters.evidence.posterior import lower_share

SEVERAL = 3  # times as many barren fetches make an opinion of a coarser pattern
_OWN = 8  # fetches from which a pattern speaks for itself; fewer, if their lower bound is that of an opinion that is wrong
_SPARED = 0.1  # share of the last fetches that must be worth it, if it does


class YieldEvidence(msgspec.Struct, array_like=True):
    """What is known of one pattern. Changed by `Rule` alone."""

    fetched: int = 0
    worth: int = 0  # of them: new themselves, or led to something new
    opinion: Opinion = msgspec.field(default_factory=Opinion)
    n_barren: int = 0  # times that it became so

    @property
    def barren(self) -> bool:
        """Whether its URLs are postponed."""
        return self.opinion.is_held


@dataclass(frozen=True)
class Rule:
    """When a pattern is barren."""

    own: Belief = field(default_factory=Belief)  # of the most specific patterns

    def learn(self, of: YieldEvidence, worth: bool, *, is_coarse: bool = False) -> bool:
        """Take one more fetch into account; return whether the pattern is to be released."""
        of.fetched += 1
        of.worth += worth
        was_barren = of.barren
        is_wrong = self._belief(is_coarse).learn(of.opinion, worth)
        of.n_barren += of.barren and not was_barren
        return is_wrong

    def credit(self, of: YieldEvidence, *, is_coarse: bool = False) -> bool:
        """Let a fetch that was barren count as worth it, since it led to something; return as `learn` does."""
        of.worth = min(of.fetched, of.worth + 1)
        return self._belief(is_coarse).credit(of.opinion)

    def take_back(self, of: YieldEvidence) -> None:
        """Let a fetch that counted as worth it count as one that was not."""
        of.worth, of.opinion.recent.s = max(0, of.worth - 1), max(0.0, of.opinion.recent.s - 1)

    def yields(self, of: YieldEvidence) -> bool:
        """Return whether the pattern's own fetches speak for it, whatever those of a coarser one say."""
        recent = of.opinion.recent
        if of.barren or of.worth == 0:
            return False
        return (of.fetched >= _OWN and recent.s >= _SPARED * recent.n) or lower_share(recent.n, recent.s) >= self.own.right

    def _belief(self, is_coarse: bool) -> Belief:
        return self._coarse if is_coarse else self.own

    @cached_property
    def _coarse(self) -> Belief:
        return replace(self.own, barren=SEVERAL * self.own.barren)
