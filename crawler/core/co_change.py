"""Learns which pages change together: if a page is found changed, its siblings have probably changed, too.

A release changes a whole manual, a commit the pages of a chapter. So each node of a host's tree of URL patterns (core/url_tree.py) learns
from the visits how likely that is. A *burst* of a node begins with a change of a page below it that no earlier burst explains. Each page
below the node's other children (directories, or pages if the node is a pattern of pages) is then a trial: had it also changed, at its first
visit after that? Only changes beyond the page's own rate (or the share of its visits that saw a change) count. Pages that were visited
earlier because of a burst of a narrower node do not count, otherwise one directory's pages would decide for all:

    q = (changed - expected by their own rates - one standard deviation) / (trials - expected)

q is computed over the node's last bursts (`CoChange`), and again over the trials of this burst (`Burst`), where the earlier bursts count as
two trials: most commits change one page, some change all, and the first visits show which. If earlier bursts have shown no common change,
they count in full.

A change is only known to lie between two visits. For a page that was visited within this time, q counts by the share of the time after its
visit.

A change that a burst explains does not count for the page's own rate, so this rate falls: if all pages of a group change together, each
needs only its share of the visits that find the next burst. If pages change independently, q is 0, and nothing differs.

A sibling's change is a noisy signal: a page that was visited t seconds ago, with own rate c and a signal of q, is unchanged with
probability (1 - q) exp(-c t), as if it had been visited -ln(1 - q) / c seconds earlier.

Memory: 150 bytes a node. Time: 10 µs a node and visit.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

LEAST: Final = 0.1  # a signal below this is noise
_MOST: Final = 0.98
_STRENGTH: Final = 2.0  # weight of earlier bursts, in trials of this one
_KEPT: Final = 0.85  # share of their weight that earlier bursts keep with each further one
_TRIALS: Final = 3.0  # most trials of a burst that count: otherwise a burst of many pages would dominate all others
_COVERED: Final = 0.5  # a page is a trial only if its last visit left at least this share of the burst's time unseen


class Trials(msgspec.Struct, array_like=True):
    """Pages that were visited after a change elsewhere."""

    n: float = 0.0
    changed: float = 0.0
    expected: float = 0.0  # expected number of changed ones, by their own rates

    def add(self, other: Trials, weight: float = 1.0) -> None:
        """Add other trials."""
        self.n += weight * other.n
        self.changed += weight * other.changed
        self.expected += weight * other.expected

    def fade(self, kept: float) -> None:
        """Reduce the weight of all trials to the share `kept`."""
        self.n, self.changed, self.expected = self.n * kept, self.changed * kept, self.expected * kept

    @property
    def informative(self) -> float:
        """The number of trials that are expected to be unchanged by their own rates."""
        return max(0.0, self.n - self.expected)

    def excess(self) -> float:
        """Return how many more have changed than expected by their own rates, less one standard deviation; at least 0."""
        spread = math.sqrt(self.expected * self.informative / self.n) if self.n else 0.0
        return max(0.0, self.changed - self.expected - spread)


class Burst(msgspec.Struct, array_like=True):
    """The last burst of a node, as far as its pages have shown it. Times are seconds since the epoch."""

    since: float = 0.0  # the change is between `since` and `at`
    at: float = 0.0
    origin: str = ""  # child in which it was found first; "" if the child is a page
    trials: Trials = msgspec.field(default_factory=Trials)
    scanned: bytes = b""  # key of the page up to which visits of siblings were moved forward
    scanned_for: float = 0.0  # q at that time

    def covers(self, visited_at: float) -> float:
        """Return the share of the burst's time that is after a visit, 0 to 1."""
        if visited_at <= self.since:
            return 1.0
        return (self.at - visited_at) / (self.at - self.since) if visited_at < self.at else 0.0

    def is_trial(self, child: str, visited_at: float) -> bool:
        """Return whether a page that was last visited at `visited_at` can show whether it changed with the others.

        Args:
            child: The child of the node below which the page is; "" if the page itself is the child.
        """
        return not (child and child == self.origin) and self.covers(visited_at) >= _COVERED


class CoChange(msgspec.Struct, array_like=True):
    """How far the children of a node change together."""

    past: Trials = msgspec.field(default_factory=Trials)
    burst: Burst | None = None

    def chance(self) -> float:
        """Return the probability that a page has changed with the last burst, beyond its own rate; 0 to .98."""
        if self.burst is None:
            return 0.0
        before = self.past.excess() / (self.past.informative + 1.0)
        strength = _STRENGTH + self.past.informative * max(0.0, 1.0 - before / LEAST)
        now = self.burst.trials
        return min(_MOST, (strength * before + now.excess()) / (strength + now.informative))

    def begin(self, since: float, at: float, origin: str) -> Burst:
        """Record a change that no burst explains: a new burst begins."""
        if self.burst is not None and self.burst.trials.n:
            self.past.fade(_KEPT)
            self.past.add(self.burst.trials, min(1.0, _TRIALS / self.burst.trials.n))
        self.burst = Burst(since, at, origin)
        return self.burst

    def answer(self, *, is_changed: bool, expected: float) -> None:
        """Count a trial.

        Args:
            expected: Probability of a change by its own rate.
        """
        assert self.burst is not None
        self.burst.trials.add(Trials(1.0, float(is_changed), expected))


def explained(q: float, expected: float) -> float:
    """Return the probability that a change came from a burst, and not from the page's own rate.

    Args:
        q: Probability by the burst.
        expected: Chance by its own rate.
    """
    return q / (1.0 - (1.0 - q) * (1.0 - expected)) if q >= LEAST else 0.0


def earlier_s(q: float, rate: float) -> float:
    """Return by how many seconds a visit is moved forward because of a burst: the time in which the page's own rate gives the same
    probability of change.
    """
    return -math.log1p(-q) / rate if q >= LEAST else 0.0
