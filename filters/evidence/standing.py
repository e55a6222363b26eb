"""How a class compares with all else that its site serves: shares of one count that forgets.

A site counts its fetches that no opinion held, and each class its part of them. Both forget by one clock, the site's, so that what all
others came to is the difference. A class yields less than the rest if its interval lies below that of the rest (`wilson`). Fetches may
weigh more than one, where one of many was learned from: then they are worth as many as fetches of equal weight would need to say as much
[KIS65: effective size of a sample, (Σw)² / Σw²].

Memory: 4 numbers. Time: 1 µs.
"""

from __future__ import annotations

import msgspec

from thresher.filters.evidence.intervals import wilson

LATELY = 200  # fetches of the site that are remembered
_Z = 0.84  # one error in five on each side: what is held is only fetched later


class Standing(msgspec.Struct, array_like=True):
    """What fetches that nothing held came to lately: of a site, or of one class of it."""

    n: float = 0.0  # fetches, by what is left of their weight
    s: float = 0.0  # of them good
    squares: float = 0.0  # of the weights
    at: int = 0  # the site's clock when this was last changed

    def age(self, clock: int) -> None:
        """Forget as much as the site has since."""
        if clock > self.at:
            kept = (1 - 1 / LATELY) ** (clock - self.at)
            self.n, self.s, self.squares, self.at = self.n * kept, self.s * kept, self.squares * kept**2, clock

    def learn(self, weight: int, share: float) -> None:
        """Take one more fetch into account, or, if its weight is negative, take one back. Call `age` before.

        Args:
            weight: Fetches that it stands for.
            share: How good it was, 0 to 1.
        """
        self.n = max(0.0, self.n + weight)
        self.s = max(0.0, min(self.n, self.s + weight * share))
        self.squares = max(0.0, self.squares + weight * abs(weight))

    def without(self, part: Standing) -> Standing:
        """Return what all others came to.    part: of the same age"""
        n = max(0.0, self.n - part.n)
        return Standing(n, min(n, max(0.0, self.s - part.s)), max(0.0, self.squares - part.squares), self.at)

    @property
    def size(self) -> float:
        """Fetches of equal weight that would say as much."""
        return self.n * self.n / self.squares if self.squares > 0 else 0.0

    def lower(self, z: float = _Z) -> float:
        """Return a lower bound of the yield."""
        return self._interval(z)[0]

    def upper(self) -> float:
        """Return an upper bound of the yield."""
        return self._interval(_Z)[1]

    def _interval(self, z: float) -> tuple[float, float]:
        return wilson(self.s / self.n if self.n else 0.0, self.size, z)
