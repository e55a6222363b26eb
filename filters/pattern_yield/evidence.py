"""The fetches of one pattern, counted, and the opinion that follows from them.

A pattern is barren as long as an opinion (filters/evidence/opinion.py) holds its URLs. A coarser pattern stands for all patterns below it:
it needs more barren fetches, from several of them.

Memory: 15 bytes a pattern. Time: 1 µs per fetch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec

from thresher.filters.evidence.opinion import Belief, Opinion
from thresher.filters.evidence.posterior import lower_share

SEVERAL = 3  # a coarser pattern needs so many times as many barren fetches
_OWN = 8  # fetches from which a pattern's own counts go before a coarser one's; fewer, if it is surely good
_SPARED = 0.1  # share of the last fetches that must then have been worth it


class YieldEvidence(msgspec.Struct, array_like=True):
    """The counts of one pattern, and the opinion on it. Changed by `Rule` alone."""

    fetched: int = 0
    worth: int = 0  # fetches that were new, or led to something new
    opinion: Opinion = msgspec.field(default_factory=Opinion)
    n_barren: int = 0  # how often it became barren

    @property
    def barren(self) -> bool:
        """Whether its URLs are held."""
        return self.opinion.is_held


@dataclass(frozen=True)
class Rule:
    """Decides when a pattern is barren."""

    own: Belief = field(default_factory=Belief)  # for the most specific patterns

    def learn(self, of: YieldEvidence, worth: bool, *, is_coarse: bool = False) -> bool:
        """Count one more fetch; return whether the pattern's URLs are to be released."""
        of.fetched += 1
        of.worth += worth
        was_barren = of.barren
        is_wrong = self._belief(is_coarse).learn(of.opinion, worth)
        of.n_barren += of.barren and not was_barren
        return is_wrong

    def credit(self, of: YieldEvidence, *, is_coarse: bool = False) -> bool:
        """Change a barren fetch to one that was worth it, since it led to something new; return as `learn` does."""
        of.worth = min(of.fetched, of.worth + 1)
        return self._belief(is_coarse).credit(of.opinion)

    def take_back(self, of: YieldEvidence) -> None:
        """Change a fetch that counted as worth it to one that was not."""
        of.worth, of.opinion.recent.s = max(0, of.worth - 1), max(0.0, of.opinion.recent.s - 1)

    def yields(self, of: YieldEvidence) -> bool:
        """Return whether the pattern's own fetches are enough to fetch its URLs, whatever those of a coarser one say."""
        recent = of.opinion.recent
        if of.barren or of.worth == 0:
            return False
        return (of.fetched >= _OWN and recent.s >= _SPARED * recent.n) or lower_share(recent.n, recent.s) >= self.own.right

    def _belief(self, is_coarse: bool) -> Belief:
        return self._coarse if is_coarse else self.own

    @cached_property
    def _coarse(self) -> Belief:
        return replace(self.own, barren=SEVERAL * self.own.barren)
