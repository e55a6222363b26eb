"""Cash: what a URL is worth by the pages that link to it, kept while the crawl runs [APC03, OPIC].

Every URL begins with a cash of 1; a page that is fetched gives what it has to the URLs that it links to, in equal parts. Cash given to a
page that was fetched before is lost to the order. Differs from the paper in that orders and rows know a level, the whole part of
log2(cash): it stands in the `seen` row, which a link has at hand anyway, and is written only when it rises, at most log2(cash) times for
each URL, while a sum would be written with each link. What a URL has beyond its level is remembered here, for those that were linked to
lately; the rest, and everything after a restart, begin anew at their level.

Memory: at most 2 × 131,072 sums, 30 MB. Time: 0.2 µs a link.
"""

from __future__ import annotations

HIGHEST = 31
_GENERATION = 131_072


def level_of(cash: float) -> int:
    """Return the level of a cash of 1 or more; level k begins with a cash of 2^k."""
    return min(HIGHEST, int(cash).bit_length() - 1)


class Cash:
    """What URLs have beyond their levels, by sequence number, in two generations."""

    def __init__(self) -> None:
        self._young: dict[int, float] = {}
        self._old: dict[int, float] = {}

    def gift(self, seq: int, worth: int, n_links: int) -> float:
        """Return what a fetched page gives to each of the URLs that it links to, 0 if there are none."""
        rest = self._young.pop(seq, None)
        if rest is None:
            rest = self._old.pop(seq, 0.0)
        return ((1 << worth) + rest) / n_links if n_links else 0.0

    def gain(self, seq: int, worth: int, amount: float) -> int:
        """Add to a URL's cash; return its level after that."""
        rest = self._young.get(seq)
        if rest is None:
            rest = self._older(seq)
        rest += amount
        if rest >= 1 << worth:
            cash = (1 << worth) + rest
            worth = level_of(cash)
            rest = cash - (1 << worth)
        self._young[seq] = rest
        return worth

    def begin(self, seq: int, cash: float) -> None:
        """Remember the cash of a URL that has just been found."""
        self._older(seq)
        self._young[seq] = cash - (1 << level_of(cash))

    def _older(self, seq: int) -> float:
        """Return what is remembered of a URL that is not in the young generation; start another when that is full."""
        rest = self._old.get(seq, 0.0)
        if len(self._young) >= _GENERATION:
            self._young, self._old = {}, self._young
        return rest
