"""Page views that browsers showed from their caches, estimated: no log has them, and depths without them are too large [BC04].

Who goes back sees a page that the log does not show again. A click on a link of that page tells of it by its Referer (`Sessions.cached`),
and that is all: who goes back and then leaves, or goes back twice, leaves no trace. What is missing follows from the models' own
assumption, that from every view of a page, whatever came before it, the next click leads to a new page with one probability q:

    q_i   of the views of level i that the log itself shows, the share whose next click was on this very page: what was done right after a
          page was sent is seen whole, whatever the cache. Levels with fewer than 30 such views share theirs
    F_i   views of level i from a cache that a Referer tells of, those that were followed by a click: F_i / q_i were seen
    E_i   sessions that end below level i. Views that nothing tells of come at the end of a session, where who goes up sees each level at
          most once: no more than E_i are added, whatever visitors do that no model knows, as opening all links of a page in tabs

What is told of no way is a click back on the first page: it is taken to leave the site. Surfers of model B simulated, whose clicks back all
came from the cache: least squares give q = .34 where it is .3, and .63 where it is .6; with these views .30 and .61.

Where no Referer tells of a view from a cache nothing is added, so that a log of browsers that ask again for each page stays as it is.

Time: O(levels) after one pass over the views.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thresher.filters.depth_cutoff.chains import Action
from thresher.filters.depth_cutoff.models import F64
from thresher.filters.depth_cutoff.sessions import Sessions

_FEWEST = 30  # logged views of a level, below which the levels from the one above on are taken together
_LEAST = 1e-9


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts by level, [n_levels], or of groups of sessions, [n_groups, n_levels]."""

    logged: F64  # views that the log shows
    cached: F64  # views that a Referer tells of
    direct: F64  # of the logged: the next click was on this page
    ends: F64  # sessions that end on this level

    def without(self, group: int) -> Tally:
        """Return the sum of all groups but one."""
        return Tally(*(column.sum(axis=0) - column[group] for column in self._columns()))

    def total(self) -> Tally:
        """Return the sum of all groups."""
        return Tally(*(column.sum(axis=0) for column in self._columns()))

    def _columns(self) -> tuple[F64, ...]:
        return self.logged, self.cached, self.direct, self.ends


def tally(of: Sessions, group: npt.NDArray[np.int64], n_groups: int) -> Tally:
    """Count sessions by group.

    Args:
        group: The group of each session.
    """
    n_levels = int(of.levels.max(initial=0)) + 1
    lengths = np.diff(np.append(of.starts, len(of.levels)))
    place = np.repeat(group, lengths) * n_levels + of.levels
    is_cached = np.zeros(len(of.levels), dtype=np.bool_)
    is_cached[of.cached] = True
    is_last = np.zeros(len(of.levels), dtype=np.bool_)
    is_last[(of.starts + lengths - 1)] = True
    goes_deeper = ~is_last & (np.append(of.reached_by[1:], np.int8(Action.EXIT)) == Action.NEXT)

    def count(chosen: npt.NDArray[np.bool_]) -> F64:
        return np.bincount(place[chosen], minlength=n_groups * n_levels).reshape(n_groups, n_levels).astype(np.float64)

    return Tally(count(~is_cached), count(is_cached), count(~is_cached & goes_deeper), count(is_last))


def views(of: Tally) -> F64:
    """Return the views by level, those from caches among them, [n_levels]."""
    logged, direct = of.logged.copy(), of.direct.copy()
    first = int(np.argmax(logged < _FEWEST)) if (logged < _FEWEST).any() else len(logged)
    for column in (logged, direct):
        column[max(0, first - 1) :] = column[max(0, first - 1) :].sum()
    q = np.clip(direct / np.maximum(1, logged), _LEAST, 1)
    end_below = of.ends.sum() - np.cumsum(of.ends)
    return np.asarray(of.logged + of.cached + np.minimum(of.cached * (1 - q) / q, end_below))
