"""The fetches of one pattern, counted, and the opinion that follows from them.

A pattern is barren as long as an opinion (filters/evidence/opinion.py) holds its URLs. A coarser pattern stands for all patterns below it:
it needs more barren fetches, from several of them.

**Sure.** What names nothing new that is let in, such as a redirect to a known page or a missing one, can lead nowhere. Half as
many of these in a row are enough for a pattern that never gave anything.

**Surpassed.** A most specific pattern that yields something, but less than the rest of its site, is held too
(filters/evidence/standing.py): if only every second page of a kind is worth its fetch, the pages that are always worth it go first. A small
difference holds nothing, since lists and exports count as new and only look better. The two are compared from `barren` fetches on. The
pattern is released when its draws yield nearly as much as the rest, by the lower bound, and when what was counted before turns out to be as
good: what lists lead to is known later. If `barren` draws in a row give nothing, it is held like any barren pattern. Where draws have ended
the opinion that a pattern is barren, it is compared by what comes from then on.

Memory: 35 bytes a pattern. Time: 4 µs per fetch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec

from thresher.filters.evidence.decay import Recent, halved
from thresher.filters.evidence.opinion import Belief, Opinion
from thresher.filters.evidence.posterior import lower_share
from thresher.filters.evidence.standing import Standing

SEVERAL = 3  # a coarser pattern needs so many times as many barren fetches
_OWN = 8  # fetches from which a pattern's own counts go before a coarser one's; fewer, if it is surely good
_MOST_DOUBLED = 5  # times that a comparison which was wrong doubles the fetches that the next one needs
_FREED = 1.64  # one error in twenty on one side: for the bound that the draws must reach
_LESS = 0.85  # of the rest's yield: which page is worth its fetch is not known better than that, lists and exports count as new
_OF_WORDS = 3  # doublings for each word after the first that stands for any word
_SURE = 0.5  # of the barren fetches in a row that hold a pattern: enough if it never gave anything, and none of them could lead on
_SURE_OF_WORDS = 0.75  # the same where several words stand for any word: one of them may name the kind of page
_MIXES_FROM = 2  # such words
_OF_ITS_OWN = 2  # barren fetches
_SPARED = 0.1  # share of its last fetches that must have been worth it when it is free again


class YieldEvidence(msgspec.Struct, array_like=True):
    """The counts of one pattern, and the opinion on it. Changed by `HoldRule` alone."""

    fetched: int = 0
    worth: int = 0  # fetches that were new, or led to something new
    opinion: Opinion = msgspec.field(default_factory=Opinion)
    n_barren: int = 0  # how often it became barren
    standing: Standing = msgspec.field(default_factory=Standing)  # its share of the site's fetches while it was not held
    is_surpassed: bool = False  # held because it yields less than the rest of its site
    n_sure: int = 0  # fetches in a row that were barren and could lead nowhere; below 0: so many more are needed

    @property
    def barren(self) -> bool:
        """Whether its URLs are held."""
        return self.opinion.is_held


@dataclass(frozen=True)
class HoldRule:
    """Decides when a pattern is held."""

    own: Belief = field(default_factory=Belief)  # for the most specific patterns

    def learn(
        self, of: YieldEvidence, worth: bool, *, is_coarse: bool = False, cost: int = 1, is_sure: bool = False, n_words: int = 1
    ) -> bool:
        """Count one more fetch; return whether the pattern's URLs are to be released.

        Args:
            cost: Number of barren fetches in a row that a barren one counts for.
            is_sure: Whether a barren one can lead nowhere: it names nothing new that is let in.
            n_words: Number of `<w>` in the pattern.
        """
        if is_sure and not (worth or is_coarse or of.worth):
            of.n_sure += 1
            cost = max(cost, self._cost_of_sure(of, n_words))
        else:
            of.n_sure = min(of.n_sure, 0)
        of.fetched += 1
        of.worth += worth
        if of.is_surpassed:
            self._draw(of, worth)
            return False
        was_barren = of.barren
        is_wrong = self._belief(is_coarse).learn(of.opinion, worth, cost=cost)
        of.n_barren += of.barren and not was_barren
        return self._resumed(of, was_barren, is_wrong=is_wrong)

    def _cost_of_sure(self, of: YieldEvidence, n_words: int) -> int:
        """Return for how many barren fetches the last one counts, if those that could lead nowhere are enough."""
        enough = self.own.enough(of.opinion)
        share = _SURE if n_words < _MIXES_FROM else _SURE_OF_WORDS
        return enough - of.opinion.recent.streak if of.n_sure >= share * enough else 1

    def begin(self, of: YieldEvidence, general: YieldEvidence) -> None:
        """Begin a pattern with the barren fetches of a more general one, if that has yielded nothing."""
        if not general.worth:
            before = general.opinion.recent
            of.opinion.recent = Recent(before.n, before.s, before.streak)

    def begin_as_word(self, of: YieldEvidence, run: int, n_seen: int) -> None:
        """Begin a pattern one of whose words was seen `n_seen` times: as many of the last fetches as `run` says were barren.

        Two of its own are still needed to hold it. If others were worth their fetches, what can lead nowhere counts no more than the rest.
        """
        n = min(run, self.own.barren - _OF_ITS_OWN)
        if n > of.opinion.recent.streak:
            of.opinion.recent = Recent(n, 0.0, n)
        if run < n_seen:
            of.n_sure = -self.own.barren

    def credit(self, of: YieldEvidence, *, is_coarse: bool = False) -> bool:
        """Change a barren fetch to one that was worth it, since it led to something new; return as `learn` does."""
        of.worth = min(of.fetched, of.worth + 1)
        if of.is_surpassed:
            of.opinion.recent.s, of.opinion.recent.streak = min(of.opinion.recent.n, of.opinion.recent.s + 1), 0
            of.opinion.s = min(of.opinion.n, of.opinion.s + 1)
            return False
        was_barren = of.barren
        return self._resumed(of, was_barren, is_wrong=self._belief(is_coarse).credit(of.opinion))

    def compare(self, of: YieldEvidence, rest: Standing, n_words: int = 1, *, is_credited: bool = False) -> bool:
        """Hold a pattern that yields less than the rest of its site; return whether one that was held for that is to be released.

        Args:
            rest: Counts of the rest of the site, of the same age as the pattern's own.
            n_words: Number of `<w>` in the pattern. If there are several, one of them may name the kind of page: until it is a literal, the
                pattern mixes kinds, so each one requires eight times as many fetches.
            is_credited: Whether a fetch that is counted already was just found to be worth more: then nothing is held.
        """
        opinion = of.opinion
        is_less = of.standing.upper() < _LESS * rest.lower()
        if of.is_surpassed:
            is_free = (is_credited and not is_less) or lower_share(opinion.n, opinion.s) >= _LESS * rest.lower(_FREED)
            return is_free and rest.size >= self.own.barren and self._free(of)
        enough = self.own.barren << min(opinion.n_wrong + _OF_WORDS * max(0, n_words - 1), _MOST_DOUBLED)
        if is_less and not (opinion.is_held or is_credited) and min(of.standing.size, rest.size) >= enough:
            opinion.is_held = opinion.waits = of.is_surpassed = True
            opinion.n = opinion.s = 0
            of.n_barren += 1
        return False

    def _resumed(self, of: YieldEvidence, was_barren: bool, *, is_wrong: bool) -> bool:
        """Begin the comparison anew where draws have ended an opinion: what was fetched before it is not what its URLs show now."""
        if was_barren and not of.barren:
            of.standing = Standing(at=of.standing.at)
        return is_wrong

    def _draw(self, of: YieldEvidence, worth: bool) -> None:
        """Learn from a fetch of a surpassed pattern."""
        opinion = of.opinion
        opinion.recent.learn(worth, window=self.own.window)
        opinion.n, opinion.s = halved(opinion.n, opinion.s, int(self.own.window))
        opinion.n, opinion.s = opinion.n + 1, opinion.s + worth
        if opinion.recent.streak >= self.own.barren:
            of.is_surpassed = False
            opinion.n = opinion.s = 0

    def _free(self, of: YieldEvidence) -> bool:
        opinion = of.opinion
        opinion.is_held = opinion.waits = of.is_surpassed = False
        opinion.n_wrong += 1
        of.standing = Standing(at=of.standing.at)
        return True

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
