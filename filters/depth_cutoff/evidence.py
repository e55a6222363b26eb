"""Computes how deep one place of a site is worth crawling, by its share of new pages on each level: model B with varying probabilities
[BC04].

In [BC04] a surfer goes one level deeper with a probability f; here f rises with the share of new pages. A **place** is a pattern of URLs, a
parameter, a directory, or the whole host. Its level 0 is what surrounds it, its first pages are level 1. With ν_i the share of new pages
among those fetched on level i, f_0 = g(ν_1), f_1 = g(ν_2) and so on; below the deepest level that was fetched, f stays the same. g is 0 up
to ν = .05, one new page in twenty fetches, and 1 from .3 on, one in three. The place is worth its levels up to the first k whose cumulative
share reaches the target. This one rule cuts a calendar, whose pages are alike, and also facets, which are all on one level: where next to
nothing is new, k is 0. A chain of pages each of which is new is not cut. A level is worth at least as much as a deeper one that is known by
8 fetches or more, since it leads there.

**Smoothing.** ν_i is the mean of a Beta distribution. Its prior is the place's own share over all levels, with the weight of 8 fetches; the
prior of that is the share of what surrounds the place, without the place's own fetches, with the weight of 1.5; for the whole host it is
.95. So a place that was never fetched is judged by what surrounds it, and a few fetches of its own outweigh that.

**Deep is not endless.** The forms and indexes of a wiki, or the versions of a file, show no new words, and yet they are documents. There is
an end to them, since each belongs to a page that leads to it. There is no end only to what worthless pages lead to. So beyond its limit a
place is held

    at once         for URLs that a worthless page named, and that may be endless (namers.py)
    for all others  after 14 pages in a row without novelty (filters/evidence/opinion.py)

The tail draws from what is held, and orders it by what its pages gave; a page that was kept without novelty counts half (`yields`). For the
tail, a page that every filter kept is a document and no barren fetch: otherwise the tail would be closed although it holds documents. But
after a thousand such pages in a row the place is taken to be endless (`QUOTA`). One new page does not release the URLs up to the limit:
they are released when the opinion turns out to be wrong.

Words in a query choose a view (an order, an action), and choices combine without end. All choices of one path are evidence together: once
they are held, half as many pages in a row hold each that is met. A path, or a number in a query, names one thing, and
a good page names only so many things. So a URL of this second kind that a good page names is held only where filters also keep less than
elsewhere on the host: days of a calendar, records, or works of a painter have the same words, and are documents.

**q.** If it is known from visitors' logs with which probability q they go deeper (`thresher depth fit`), f is q g(ν): the crawl then goes
as deep as visitors do, also along a chain of new pages. The floor holds for all cuts by depth alone: those by q and those of whole hosts.

**Lists.** A page that shows nothing new, and that others than worthless pages have named, counts as new once its links have decided that it
leads to what is new (filters/evidence/leading.py): so lists of records are not held for what they say themselves.

**Decay.** When 256 fetches are counted, all counts are halved, so that a place may change.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from thresher.filters.depth_cutoff.models import levels_for_varying
from thresher.filters.evidence.decay import Recent
from thresher.filters.evidence.opinion import Belief, Opinion
from thresher.filters.evidence.posterior import upper_share
from thresher.filters.evidence.standing import Standing

PRIOR = 0.95  # share of new pages on a host of which nothing is known
WEIGHT = 1.5  # weight of what surrounds a place, in fetches
LEVEL_WEIGHT = 8.0  # weight of the whole place for one of its levels, in fetches
WORTHLESS = 0.05  # share of new pages up to which no surfer goes on
WORTHWHILE = 0.3  # share from which every surfer does: three fetches for a new page
ENOUGH = 8  # fetches on a level from which the levels above are worth at least as much
WINDOW = 256  # fetches after which counts are halved
UNLIMITED = 1000  # levels
SPEAKS = 8  # fetches of a place before which nothing is cut by its counts
QUOTA = 1_000  # pages in a row that were kept without novelty, after which such pages count as barren
BELIEF = Belief(barren=14)  # pages in a row without novelty after which a place is held, whatever page names a URL
_DEEPEST = 63  # level that stands for all deeper ones


class PlaceCounts(msgspec.Struct, array_like=True):
    """The counts of one place. fetched, new: by depth in the site."""

    form: str
    fetched: list[int] = []
    new: list[int] = []
    limit: int = UNLIMITED  # greatest depth that is fetched
    n_taught: int = 0  # worthless fetches that were also counted for the place that surrounds it
    n_ever: int = 0  # fetches, never halved
    first: int = _DEEPEST  # least depth that was fetched, without 0, where sites are entered
    bound: int = UNLIMITED  # greatest depth by visitors' q or the ceiling: holds whatever page names a URL
    opinion: Opinion = msgspec.field(default_factory=Opinion)  # opinion on whether anything new is found here
    kept: Recent = msgspec.field(default_factory=Recent)  # latest fetches, whether every filter kept them
    standing: Standing = msgspec.field(default_factory=Standing)  # its part of the host's results

    def learn(self, depth: int, *, is_new: bool, is_good: bool) -> bool:
        """Count one more fetch; return whether the place was held wrongly.

        Args:
            is_good: A 200 that every filter kept.
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

    def credit(self, depth: int) -> bool:
        """Count a fetch that was not new as one that was, since its page has led to what is new; return as `learn` does."""
        at = min(depth, _DEEPEST)
        if at >= len(self.fetched) or self.new[at] >= self.fetched[at]:
            return False
        self.new[at] += 1
        return BELIEF.credit(self.opinion)

    def is_less(self, every: Standing, *, by_kept: bool = False) -> bool:
        """Return whether less is new here than elsewhere on the host, or nothing was new for so long that the place counts as endless.

        Args:
            every: Results of all fetches of the host.
            by_kept: Whether also less must be kept here.
        """
        rest = every.without(self.standing)
        elsewhere = (rest.s + LEVEL_WEIGHT * PRIOR) / (rest.n + LEVEL_WEIGHT)
        upper = max(self.standing.upper(), upper_share(self.kept.n, self.kept.s)) if by_kept else self.standing.upper()
        return upper < elsewhere or self.opinion.recent.streak >= QUOTA

    def yields(self) -> Recent:
        """Return the yield of its latest fetches; a page that was kept without novelty counts half."""
        recent = self.opinion.recent
        return Recent(recent.n, (recent.s + self.kept.s) / 2, self.kept.streak)

    @property
    def n_new(self) -> int:
        return sum(self.new)

    @property
    def n_old(self) -> int:
        return sum(self.fetched) - sum(self.new)

    def share(self, prior: float, *, new: int = 0, old: int = 0) -> float:
        """Return the share of new pages over all levels, smoothed.

        Args:
            prior: The share of what surrounds the place.
            new: New pages of a place within this one, which are left out.
            old: Pages of that place that were not new, which are left out, too.
        """
        n_new, n_old = max(0, self.n_new - new), max(0, self.n_old - old)
        return (n_new + WEIGHT * prior) / (n_new + n_old + WEIGHT)


@dataclass(frozen=True, slots=True)
class CutRule:
    """The target and the bounds of cuts."""

    target: float  # share of a surfer's page views that is to be crawled, above 0 and below 1
    floor: int  # depth up to which nothing is cut for its depth
    ceiling: int | None  # depth beyond which everything is cut
    q: float | None  # probability that a visitor goes deeper, None: unknown

    def limit(self, place: PlaceCounts, prior: float, *, is_host: bool) -> tuple[int, int]:
        """Return (greatest depth at which a place is fetched, greatest depth whatever page names a URL)."""
        overall = place.share(prior)
        new = _by_level(place, overall)
        limit = place.first - 1 + levels_for_varying(new, self.target, most=UNLIMITED)
        if is_host:
            limit = max(limit, self.floor)
        bound = self._by_visitors(place.first, new)
        return min(limit, bound), bound

    def unknown(self) -> int:
        """Return the greatest depth for a place without any fetch."""
        return self._by_visitors(1, [1.0])

    def _by_visitors(self, first: int, new: list[float]) -> int:
        limit = UNLIMITED
        if self.q is not None:
            deeper = [self.q] * (first - 1) + [self.q * share for share in new]
            limit = max(self.floor, levels_for_varying(deeper, self.target, most=UNLIMITED))
        return limit if self.ceiling is None else min(limit, self.ceiling)


def _by_level(place: PlaceCounts, overall: float) -> list[float]:
    """Return the probability with which a surfer goes on to each level from the first; the last value holds for all deeper levels."""
    found: list[float] = []
    deeper = 0.0
    for n_new, n in zip(reversed(place.new[place.first :]), reversed(place.fetched[place.first :]), strict=True):
        share = (n_new + LEVEL_WEIGHT * overall) / (n + LEVEL_WEIGHT)
        found.append(max(share, deeper))
        if n >= ENOUGH:
            deeper = max(deeper, share)
    return [min(1.0, max(0.0, (share - WORTHLESS) / (WORTHWHILE - WORTHLESS))) for share in reversed(found or [overall])]
