"""A weak belief that a class yields nothing: its URLs are held early, since what is held is fetched last and not never.

**Held.** A class is held after `barren` fetches in a row that gave nothing. That is no proof: a class that yields a fifth is held some day.
It costs its URLs their place in the queue.

**Resumed.** What is fetched of a class while it is held is drawn at random (audits.py). One good draw of many says that the class is not
empty, which nobody had said: it stays held, and the tail orders it by what its fetches come to (filters/tail/serve.py). If `resumes` of
the draws or more are good, two at least, URLs that are met from now on are no longer held; those that wait go on waiting for their turn in
the tail.

**Wrong.** If its fetches would yield `right` or more by their lower bound, the opinion was wrong: the class is no worse than what is
fetched before it, and is released. Each time the next opinion takes twice as many barren fetches in a row, so that a class that comes and
goes is left alone.

Memory: 8 numbers a class. Time: 1 µs a fetch.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from thresher.filters.evidence.decay import Recent, halved
from thresher.filters.evidence.posterior import lower_share

_SEVERAL = 2  # good draws, below which nothing changes
_MOST_DOUBLED = 5  # times


class Opinion(msgspec.Struct, array_like=True):
    """What is believed of one class. Changed by `Belief` alone."""

    recent: Recent = msgspec.field(default_factory=Recent)
    is_held: bool = False  # URLs that are met now are held
    waits: bool = False  # some were, and have not been released
    n: int = 0  # fetches since it was last held, halved when they are `window`
    s: int = 0  # of them good
    n_wrong: int = 0


@dataclass(frozen=True)
class Belief:
    """How little is enough to hold a class, and how much to take that back. Chosen by `python -m benchmarks.quality.deferral --filters`."""

    barren: int = 8  # fetches in a row that gave nothing
    right: float = 0.3  # lower bound of the yield of draws, from which the opinion was wrong
    resumes: float = 0.2  # share of the draws that are good, from which nothing more is held
    window: float = 60.0  # fetches that are remembered

    def learn(self, of: Opinion, is_good: bool) -> bool:
        """Take one more fetch into account; return whether the opinion was wrong: what was held is to be released."""
        of.recent.learn(is_good, window=self.window)
        if of.waits:
            of.n, of.s = halved(of.n, of.s, int(self.window))
            of.n += 1
            if is_good:
                return self._draw(of)
        if not of.is_held and of.recent.streak >= self.barren << min(of.n_wrong, _MOST_DOUBLED):
            of.is_held, of.waits, of.n, of.s = True, True, 0, 0
        return False

    def hold(self, of: Opinion) -> None:
        """Note that URLs of the class are held, though for another reason than barren fetches in a row."""
        if not of.waits:
            of.waits, of.n, of.s = True, 0, 0

    def credit(self, of: Opinion) -> bool:
        """Let a fetch that was counted as barren count as good: what it named was worth it. Return as `learn` does."""
        of.recent.s, of.recent.streak = min(of.recent.n, of.recent.s + 1), 0
        return self._draw(of) if of.waits and of.s < of.n else False

    def _draw(self, of: Opinion) -> bool:
        of.s += 1
        if of.s < _SEVERAL:
            return False
        if of.s >= self.resumes * of.n:
            of.is_held = False
        if lower_share(of.n, of.s) < self.right:
            return False
        of.is_held, of.waits, of.n_wrong = False, False, of.n_wrong + 1
        return True
