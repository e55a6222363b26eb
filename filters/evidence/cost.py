"""The cost of a fetch in bytes: a barren page that is at least half as large again as the site's usual ones counts for two.

A class is held after some barren fetches in a row. Of pages ten times as large as what else the site has, so many fetches may cost more
than all that came until then, and to hold a class costs little: its URLs wait. So where large pages show nothing new, half as many are
enough. It is not fewer, however large they are: a third was tried, and so short runs were often chance (a manual in eleven languages had
half of what it gained before). A small barren page counts once, like any other.

A list costs less than it seems to: it names what is fetched next. So it counts once, too, as long as URLs are to be fetched that it named
first, two for each usual page whose bytes it has: if every second one is a document, no more is spent on lists than on documents.

Memory: two numbers a site. Time: under 1 µs.
"""

from __future__ import annotations

from typing import Final

import msgspec

_MEASURED: Final = 64  # pages that the usual size is the mean of, roughly the last ones
_ENOUGH: Final = 16  # pages from which it is known
_HIGHEST: Final = 2
_NAMED: Final = 2  # URLs for each usual page's bytes


class UsualSize(msgspec.Struct, array_like=True):
    """The usual size of a site's pages that were worth their fetch."""

    n_bytes: float = 0.0  # mean
    n: int = 0  # pages of that mean, at most _MEASURED

    def learn(self, n_bytes: int) -> None:
        """Learn the size of a page that was worth its fetch; 0: not known."""
        if n_bytes:
            self.n = min(_MEASURED, self.n + 1)
            self.n_bytes += (n_bytes - self.n_bytes) / self.n

    def cost(self, n_bytes: int) -> int:
        """Return how many usual pages cost as many bytes as one of this size, at least 1; 0 bytes: not known."""
        return max(1, round(n_bytes / self.n_bytes)) if self.n >= _ENOUGH else 1


def counts_for(cost: int, n_named: int = 0) -> int:
    """Return for how many barren fetches a page counts.

    Args:
        cost: Usual pages that cost as much.
        n_named: URLs that it named first and that are still to be fetched.
    """
    return 1 if n_named >= _NAMED * cost else min(_HIGHEST, cost)
