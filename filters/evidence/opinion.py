"""A weak belief that a class yields nothing: it postpones early, since what is postponed is fetched last and not never.

**Held.** A class is held after `barren` fetches in a row that gave nothing, or when its recent fetches, `enough` of them, are expected to
yield less than `least`. That is no proof: of classes that yield a fifth, most are held some day. It costs them their place in the queue.

**Stays held.** One good fetch of a class that is held says that it is not empty, which nobody had said: it stays, and the tail orders it by
what its fetches come to (filters/tail/serve.py).

**Wrong.** What is fetched of a class while it is held is drawn at random (audits.py). If it would yield `right` or more by the lower bound
of these draws, two good ones at least, the opinion was wrong: the class is no worse than what is fetched before it, and is released. Each
time the next opinion takes twice as many barren fetches in a row, so that a class that comes and goes is left alone.

Memory: 7 numbers a class. Time: 1 µs a fetch.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from thresher.filters.evidence.decay import Recent
from thresher.filters.evidence.posterior import lower_share

_MOST_DOUBLED = 5  # times


class Opinion(msgspec.Struct, array_like=True):
    """What is believed of one class. Changed by `Belief` alone."""

    recent: Recent = msgspec.field(default_factory=Recent)
    is_held: bool = False
    n: int = 0  # fetches since it is held, halved when they are `window`
    s: int = 0  # of them good
    n_wrong: int = 0


@dataclass(frozen=True)
class Belief:
    """How little is enough to postpone, and how much to take that back. Chosen by `python -m benchmarks.quality.deferral --filters`."""

    barren: int = 8  # fetches in a row that gave nothing
    least: float = 0.1  # yield of recent fetches, below which a class is held too
    right: float = 0.3  # lower bound of the yield of draws, from which the opinion was wrong
    enough: int = 20  # fetches that `least` takes
    window: float = 60.0  # fetches that are remembered

    def learn(self, of: Opinion, is_good: bool) -> bool:
        """Take one more fetch into account; return whether the opinion was wrong: what was postponed is to be released."""
        of.recent.learn(is_good, window=self.window)
        if of.is_held:
            if of.n >= self.window:
                of.n, of.s = of.n // 2, of.s // 2
            of.n += 1
            return self._draw(of) if is_good else False
        factor = 1 << min(of.n_wrong, _MOST_DOUBLED)
        is_poor = of.recent.n >= self.enough * factor and of.recent.s < self.least * of.recent.n
        if not is_good and (of.recent.streak >= self.barren * factor or is_poor):
            of.is_held, of.n, of.s = True, 0, 0
        return False

    def credit(self, of: Opinion) -> bool:
        """Let a fetch that was counted as barren count as good: what it named was worth it. Return as `learn` does."""
        of.recent.s, of.recent.streak = min(of.recent.n, of.recent.s + 1), 0
        return self._draw(of) if of.is_held and of.s < of.n else False

    def _draw(self, of: Opinion) -> bool:
        of.s += 1
        if of.s < 2 or lower_share(of.n, of.s) < self.right:
            return False
        of.is_held, of.recent, of.n_wrong = False, Recent(of.recent.n, of.recent.s), of.n_wrong + 1
        return True
