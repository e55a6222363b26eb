"""Estimates the page views that browsers showed from their caches: logs do not have them, and without them depths are too large [BC04].

A visitor who clicks back sees a page for which the log has no new entry. If she then clicks a link of that page, the Referer of the next
entry names it (`Sessions.cached`). If she leaves then, or clicks back twice, nothing in the log shows the view. The missing views are
estimated by an assumption that the models make themselves: from every view of a page, whatever came before, the next click leads to a new
page with one probability q.

    q_i   of the views of level i that the log itself shows, the share whose next click was on this very page. These need no estimate: what
          follows right after a page was sent is always logged. Levels with fewer than 30 such views share one q_i
    F_i   views of level i from a cache that a Referer names, that is those followed by a click: F_i / q_i were seen
    E_i   sessions that end below level i. Unnamed views are at the end of a session, where a visitor who goes up sees each level at most
          once: so no more than E_i views are added, even if visitors do what no model describes, as opening all links of a page in tabs

One case is not estimated: a click back on the first page is taken as leaving the site. In a simulation of surfers of model B whose clicks
back were all served by the cache, least squares gave q = .34 where it is .3, and .63 where it is .6; with these estimates .30 and .61.

If no Referer names a view from a cache, nothing is added: the browsers of such a log asked again for each page.

Time: O(levels) after one pass over the views.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thresher.filters.depth_cutoff.chains import Action
from thresher.filters.depth_cutoff.models import F64
from thresher.filters.depth_cutoff.sessions import Sessions

_FEWEST = 30  # with fewer logged views, a level and all deeper ones are taken together
_LEAST = 1e-9


@dataclass(frozen=True, slots=True)
class LevelCounts:
    """Counts by level, [n_levels], or of groups of sessions, [n_groups, n_levels]."""

    logged: F64  # views that the log shows
    cached: F64  # views from caches that a Referer names
    direct: F64  # logged views whose next click was on this page
    ends: F64  # sessions that end on this level

    def without(self, group: int) -> LevelCounts:
        """Return the sum of all groups but one."""
        return LevelCounts(*(column.sum(axis=0) - column[group] for column in self._columns()))

    def total(self) -> LevelCounts:
        """Return the sum of all groups."""
        return LevelCounts(*(column.sum(axis=0) for column in self._columns()))

    def _columns(self) -> tuple[F64, ...]:
        return self.logged, self.cached, self.direct, self.ends


def tally(of: Sessions, group: npt.NDArray[np.int64], n_groups: int) -> LevelCounts:
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

    return LevelCounts(count(~is_cached), count(is_cached), count(~is_cached & goes_deeper), count(is_last))


def views(of: LevelCounts) -> F64:
    """Return the views by level, those from caches among them, [n_levels]."""
    logged, direct = of.logged.copy(), of.direct.copy()
    first = int(np.argmax(logged < _FEWEST)) if (logged < _FEWEST).any() else len(logged)
    for column in (logged, direct):
        column[max(0, first - 1) :] = column[max(0, first - 1) :].sum()
    q = np.clip(direct / np.maximum(1, logged), _LEAST, 1)
    end_below = of.ends.sum() - np.cumsum(of.ends)
    return np.asarray(of.logged + of.cached + np.minimum(of.cached * (1 - q) / q, end_below))
