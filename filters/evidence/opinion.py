"""An opinion that a class yields nothing. It holds the class's URLs early: held URLs are fetched last, but they are not lost.

**Held.** A class is held after `barren` fetches in a row that gave nothing new. That is no proof: even a class in which every fifth page is
new has such a run some day. What its URLs lose is their place in the queue.

**Resumed.** While a class is held, the URLs that are fetched of it are drawn at random (audits.py). One good draw shows only that the class
is not empty: it stays held, and the tail serves it by its yield (filters/tail/serve.py). If `resumes` of the draws or more are good, at
least two, URLs found from now on are not held; those that are held already stay in the tail.

**Wrong.** If the lower bound of the draws' yield reaches `right`, the opinion was wrong: the class is no worse than what is fetched before
it, and is released. After each such error the next opinion needs twice as many barren fetches in a row, so that a class which is held and
released by turns is soon left in the queue.

Memory: 8 numbers a class. Time: 1 µs a fetch.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from thresher.filters.evidence.decay import Recent, halved
from thresher.filters.evidence.posterior import lower_share

_SEVERAL = 2  # good draws needed before anything changes
_MOST_DOUBLED = 5  # times


class Opinion(msgspec.Struct, array_like=True):
    """The state of the opinion on one class. Changed by `Belief` alone."""

    recent: Recent = msgspec.field(default_factory=Recent)
    is_held: bool = False  # URLs found from now on are held
    waits: bool = False  # URLs were held, and have not been released
    n: int = 0  # fetches since it was last held, halved when they are `window`
    s: int = 0  # of them good
    n_wrong: int = 0


@dataclass(frozen=True)
class Belief:
    """The thresholds at which a class is held and released. Chosen by `python -m benchmarks.quality.deferral --filters`."""

    barren: int = 8  # fetches in a row that gave nothing
    right: float = 0.3  # lower bound of the draws' yield from which the opinion was wrong
    resumes: float = 0.2  # share of good draws from which no more URLs are held
    window: float = 60.0  # fetches that are remembered

    def learn(self, of: Opinion, is_good: bool, *, cost: int = 1) -> bool:
        """Count one more fetch; return True if the opinion was wrong, so that what was held is to be released.

        Args:
            cost: Number of barren fetches that a barren one counts for, as long as the class is not held (cost.py).
        """
        of.recent.learn(is_good, window=self.window, cost=1 if of.is_held else cost)
        if of.waits:
            of.n, of.s = halved(of.n, of.s, int(self.window))
            of.n += 1
            if is_good:
                return self._draw(of)
        if not of.is_held and of.recent.streak >= self.enough(of):
            of.is_held, of.waits, of.n, of.s = True, True, 0, 0
        return False

    def enough(self, of: Opinion) -> int:
        """Return how many barren fetches in a row hold the class."""
        return self.barren << min(of.n_wrong, _MOST_DOUBLED)

    def is_likely(self, of: Opinion) -> bool:
        """Return whether half of the fetches that it takes to hold a class were barren: enough where its like is held."""
        return of.recent.streak >= (self.barren + 1) // 2 << min(of.n_wrong, _MOST_DOUBLED)

    def hold(self, of: Opinion) -> None:
        """Hold the class for another reason than barren fetches in a row."""
        if not of.waits:
            of.waits, of.n, of.s = True, 0, 0

    def credit(self, of: Opinion) -> bool:
        """Change a barren fetch to a good one, because a page that it named was good; return as `learn` does."""
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
