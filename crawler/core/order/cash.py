"""Cash: what a URL is worth by the pages that link to it, kept while the crawl runs [APC03].

Every URL begins with a cash of 1; a page that is fetched gives what it has to the URLs that it links to, in equal parts. Cash given to a
page that was fetched before has no effect. Differs from the paper in that orders and rows only use a level: level k begins at a cash of
2^(k/steps), where the order defines the steps per doubling. The level is in the row in `seen`, which is read for each link anyway, and is
written only when it rises, while a sum would be written with each link. Sums are cached here, for URLs that were linked to recently; other
URLs, and all after a restart, begin again at their level.

Memory: at most 2 × 32,768 sums, 9 MB. Time: 0.2 µs a link.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from math import inf

HIGHEST = 31
_GENERATION = 32_768


class Cash:
    """Sums by sequence number, in two generations: a URL that was not linked to during a whole generation is forgotten."""

    def __init__(self, steps: int = 1) -> None:
        """Create the cash.

        Args:
            steps: Levels per doubling.
        """
        self._begins: list[float] = [2.0 ** (level / steps) for level in range(HIGHEST + 1)]
        self._ends = [*self._begins[1:], inf]
        self._young: dict[int, float] = {}
        self._old: dict[int, float] = {}

    def level_of(self, cash: float) -> int:
        """Return the level of a cash of 1 or more."""
        return bisect_right(self._begins, cash) - 1

    def gift(self, seq: int, worth: int, n_links: int) -> float:
        """Return the cash that a fetched page gives to each URL that it links to, 0 if there are none; the page then has none.

        Args:
            seq: The page's sequence number.
            worth: Its level.
            n_links: The number of URLs.
        """
        cash = self._young.pop(seq, None) or self._old.pop(seq, None) or self._begins[worth]
        return cash / n_links if n_links else 0.0

    def gain(self, seq: int, worth: int, amount: float) -> int:
        """Add to the cash of a URL of this level; return its new level."""
        cash = (self._young.get(seq) or self._older(seq, worth)) + amount
        self._young[seq] = cash
        return worth if cash < self._ends[worth] else self.level_of(cash)

    def giver(self, amount: float) -> Callable[[int, int], int] | None:
        """Return a function that gives a URL (by number and level) this amount and returns its new level; None if the amount is 0."""
        return partial(self.gain, amount=amount) if amount else None

    def step(self, before: int, after: int) -> float:
        """Return by how much the least cash of level `after` is more than that of level `before`."""
        begins = self._begins
        return begins[after] - begins[before]

    def begin(self, seq: int, cash: float) -> None:
        """Remember the cash of a URL that has just been found."""
        self._older(seq, 0)
        self._young[seq] = cash

    def begin_all(self, seqs: range, cash: float) -> None:
        """Remember the cash of URLs that have just been found, as `begin` does for each."""
        while seqs:
            self._older(seqs[0], 0)
            room = _GENERATION - len(self._young)
            self._young.update(dict.fromkeys(seqs[:room], cash))
            seqs = seqs[room:]

    def _older(self, seq: int, worth: int) -> float:
        """Return the cash of a URL that is not in the young generation; start a new generation when that is full."""
        cash = self._old.get(seq) or self._begins[worth]
        if len(self._young) >= _GENERATION:
            self._young, self._old = {}, self._young
        return cash
