"""How deep one place of a site deserves to be crawled, from what its pages were worth level by level: model B whose levels differ [BC04].

A surfer who downloads what is known goes back, says [BC04]: she goes on with a probability f that rises with the share of new pages. A
**place** is a pattern of URLs, a parameter, a directory, or the whole host. Seen from outside of it, level 0, its first pages are level 1;
with ν_i the share of new pages among those fetched on level i, f_0 = g(ν_1), f_1 = g(ν_2) … and beyond the deepest level fetched f stays as
it is there. g is 0 up to ν = .05, a new page for twenty fetches, and 1 from .3 on, a new page for three. The place is worth its levels up
to the first k whose cumulative share reaches the target. That one rule cuts both a calendar, whose pages are alike, and facets, which all
lie on one level: where next to nothing is new, k is 0. A chain of pages that are each new goes on. A level is worth no less than a deeper
one that is known by 8 fetches or more: it leads there.

**Smoothing.** ν_i is the mean of a Beta distribution whose prior is the place's own share over all levels, with the weight of 8 fetches;
that one's prior is the share of what lies around the place, without its own fetches, with the weight of 1.5; that of the whole host is .95.
What surrounds a place speaks for it while nobody has seen it, and a few fetches overrule that.

**Far and endless are two things.** Forms and indexes of a wiki, or a file as each commit left it, show nothing new to somebody who counts
words, and yet are documents, as many as there are pages that lead to them. Only what worthless pages lead to has no end. Beyond its limit
a place is therefore held for what a worthless page named, and whoever named it after 16 pages in a row without novelty
(filters/evidence/opinion.py). Held is all that it is: the tail draws from it, and orders it by what its pages came to, those that were
kept without novelty for half (`yields`). A page that every filter kept is a document of its own, so it is no fetch in vain for the tail,
which would else be closed over documents; but a place that has shown a thousand of them in a row is taken to have no end (`QUOTA`). What is
held up to the limit is released when the opinion was wrong, not when one page was new.

**q.** Where visitors' logs tell with which probability q they go deeper (`thresher depth fit`), f is q g(ν): the crawl then goes as deep as
they do, chains included. The floor holds for all cuts that rest on depth, that is those by q and of whole hosts.

**Decay.** When 256 fetches are counted, all counts are halved, so that a place may change.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from thresher.filters.depth_cutoff.models import levels_for_varying
from thresher.filters.evidence.decay import Recent
from thresher.filters.evidence.opinion import Belief, Opinion

PRIOR = 0.95  # share of new pages on a host of which nothing is known
WEIGHT = 1.5  # of what lies around a place, in fetches
LEVEL_WEIGHT = 8.0  # of the whole place for one of its levels, in fetches
WORTHLESS = 0.05  # share of new pages up to which nobody goes on
WORTHWHILE = 0.3  # from which everybody does: three fetches for a new page
ENOUGH = 8  # fetches on a level, from which it speaks for those above it
WINDOW = 256  # fetches after which counts are halved
UNLIMITED = 1000  # levels
SPEAKS = 8  # fetches of a place, before which nothing is cut for it
QUOTA = 1_000  # pages in a row that were kept without novelty, from which they count as fetched in vain
BELIEF = Belief(barren=16)  # pages in a row without novelty, from which a place is held whoever names a URL
_DEEPEST = 63  # level that stands for all deeper ones


class Place(msgspec.Struct, array_like=True):
    """What is known of one place. fetched, new: by depth in the site."""

    form: str
    fetched: list[int] = []
    new: list[int] = []
    limit: int = UNLIMITED  # greatest depth that is fetched
    n_taught: int = 0  # worthless fetches that the place around it has learned of
    n_ever: int = 0  # fetches, never halved
    first: int = _DEEPEST  # least depth that was fetched, but 0, where sites are entered
    bound: int = UNLIMITED  # greatest depth that visitors, or the ceiling, are worth going to, whoever names a URL
    opinion: Opinion = msgspec.field(default_factory=Opinion)  # of what is new here
    kept: Recent = msgspec.field(default_factory=Recent)  # fetches that every filter kept and followed

    def learn(self, depth: int, *, is_new: bool, is_good: bool) -> bool:
        """Take one more fetch into account; return whether the place was held wrongly.

        Args:
            is_good: A 200 that every filter kept and followed.
        """
        at = min(depth, _DEEPEST)
        if at >= len(self.fetched):
            missing = [0] * (at + 1 - len(self.fetched))
            self.fetched += missing
            self.new += missing
        self.fetched[at] += 1
        self.new[at] += is_new
        self.n_ever += 1
        self.first = min(self.first, max(1, at))
        if sum(self.fetched) >= WINDOW:
            self.fetched = [n // 2 for n in self.fetched]
            self.new = [min(-(-n // 2), of) for n, of in zip(self.new, self.fetched, strict=True)]
        self.kept.learn(is_good, window=BELIEF.window)
        return BELIEF.learn(self.opinion, is_new)

    def yields(self) -> Recent:
        """Return what its fetches came to lately; one that was kept without novelty counts half."""
        recent = self.opinion.recent
        return Recent(recent.n, (recent.s + self.kept.s) / 2, self.kept.streak)

    @property
    def n_new(self) -> int:
        return sum(self.new)

    @property
    def n_old(self) -> int:
        return sum(self.fetched) - sum(self.new)

    def share(self, prior: float, *, new: int = 0, old: int = 0) -> float:
        """Return the share of new pages over all levels, smoothed; new, old: fetches of a place within this one, which are left out."""
        n_new, n_old = max(0, self.n_new - new), max(0, self.n_old - old)
        return (n_new + WEIGHT * prior) / (n_new + n_old + WEIGHT)


@dataclass(frozen=True, slots=True)
class Rule:
    """Where to stop."""

    target: float  # share of a surfer's page views that is to be crawled, above 0 and below 1
    floor: int  # depth up to which nothing is cut for its depth
    ceiling: int | None  # depth beyond which everything is cut
    q: float | None  # probability that a visitor goes deeper, None: unknown

    def limit(self, place: Place, prior: float, *, is_host: bool) -> tuple[int, int]:
        """Return the greatest depth at which a place is fetched, and the one that holds whoever names a URL."""
        overall = place.share(prior)
        new = _by_level(place, overall)
        limit = place.first - 1 + levels_for_varying(new, self.target, most=UNLIMITED)
        if is_host:
            limit = max(limit, self.floor)
        bound = self._by_visitors(place.first, new)
        return min(limit, bound), bound

    def unknown(self) -> int:
        """Return the greatest depth that is fetched where nothing has been fetched yet."""
        return self._by_visitors(1, [1.0])

    def _by_visitors(self, first: int, new: list[float]) -> int:
        limit = UNLIMITED
        if self.q is not None:
            deeper = [self.q] * (first - 1) + [self.q * share for share in new]
            limit = max(self.floor, levels_for_varying(deeper, self.target, most=UNLIMITED))
        return limit if self.ceiling is None else min(limit, self.ceiling)


def _by_level(place: Place, overall: float) -> list[float]:
    """Return with which probability a surfer goes on to each level from the first; the last holds beyond."""
    found: list[float] = []
    deeper = 0.0
    for n_new, n in zip(reversed(place.new[place.first :]), reversed(place.fetched[place.first :]), strict=True):
        share = (n_new + LEVEL_WEIGHT * overall) / (n + LEVEL_WEIGHT)
        found.append(max(share, deeper))
        if n >= ENOUGH:
            deeper = max(deeper, share)
    return [min(1.0, max(0.0, (share - WORTHLESS) / (WORTHWHILE - WORTHLESS))) for share in reversed(found or [overall])]
