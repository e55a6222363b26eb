"""Fits the models to measured sessions: q by maximum likelihood and by least squares, and how well each model describes the data [BC04].

Page depth is the level of each page view, session depth the deepest level of each session. Least squares are computed on the cumulative
shares of views by level; the error is their root mean square, `worst` the largest difference. A and B give the same distribution for
different q, so that only C can be told from them. Views from browsers' caches are counted as far as they can be estimated (cached.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thresher.filters.depth_cutoff.cached import tally
from thresher.filters.depth_cutoff.cached import views as views_of
from thresher.filters.depth_cutoff.chains import Action, chain, solve
from thresher.filters.depth_cutoff.interval import MOST_GROUPS, of_mean, of_share
from thresher.filters.depth_cutoff.models import (
    F64,
    MODELS,
    Model,
    levels_for,
    q_of_mean,
    q_of_ratio,
    ratio,
    share,
    share_of_ratio,
    stationary,
)
from thresher.filters.depth_cutoff.sessions import Sessions
from thresher.filters.evidence.intervals import Interval

I64 = npt.NDArray[np.int64]
SHARES = (0.5, 0.8, 0.9, 0.95)
_GRID = 64
_CHAIN_LEVELS = 200
LEAST_STEPS = 50  # with fewer moves one level deeper, no q is suggested
WIDEST = 0.1  # a q with a wider interval is not suggested
_FEWEST_MOVES = 30  # with fewer moves out of a level, it and all deeper ones are taken together


@dataclass(frozen=True, slots=True)
class Fit:
    """One model fitted to shares of views by level."""

    model: Model
    q: float  # by least squares
    error: float  # root of the mean squared difference of cumulative shares
    worst: float  # largest difference
    q_likely: float  # by maximum likelihood
    log_likelihood: float  # mean of a view, natural logarithm, at q_likely
    levels: tuple[int, ...]  # smallest k for each of SHARES, at q
    q_interval: Interval = (0.0, 1.0)  # 95 %
    q_likely_interval: Interval = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Depths:
    """Counts of a set of sessions."""

    n_sessions: int
    n_views: int
    by_level: I64  # page views that are in the log
    views: F64  # by level, with the estimated ones from caches
    views_without: F64  # the same without each of some groups of sessions, [n_groups, n_levels]
    by_session: I64  # sessions by their deepest level
    mean_length: float  # views a session
    mean_length_interval: Interval
    single_share: float  # of sessions, of one page
    single_share_interval: Interval
    actions: tuple[Mapping[Action, int], ...]  # moves out of each level
    levels: tuple[int, ...]  # measured, for each of SHARES
    has_referers: bool = True  # without Referers, levels and every q are estimated too large

    @property
    def n_steps(self) -> int:
        """How often a visitor went one level deeper."""
        return sum(row[Action.NEXT] for row in self.actions)

    @property
    def n_cached(self) -> float:
        """How many views from caches are estimated beyond those that Referers name."""
        return max(0.0, float(self.views.sum()) - self.n_views)

    def cumulative(self) -> F64:
        """Return the share of views on levels 0 to k for each k."""
        return np.asarray(np.cumsum(self.views) / max(1.0, float(self.views.sum())), dtype=np.float64)

    def fits(self) -> dict[Model, Fit]:
        """Fit every model."""
        return fits(self.views, self.views_without, n_draws=float(self.by_level @ np.arange(1, len(self.by_level) + 1)))


def depths(of: Sessions) -> Depths:
    """Measure sessions."""
    by_level = np.bincount(of.levels, minlength=1)
    deepest = np.maximum.reduceat(of.levels, of.starts) if len(of) else np.zeros(0, np.int32)
    lengths = np.diff(np.append(of.starts, len(of.levels)))
    n_groups = max(1, min(len(of), MOST_GROUPS))
    group = np.arange(len(of)) * n_groups // max(1, len(of))
    counted = tally(of, group, n_groups)
    views = views_of(counted.total())
    cumulative = np.cumsum(views) / max(1.0, float(views.sum()))
    means, singles = (_without_each(values, group, n_groups) for values in (lengths, lengths == 1))
    mean, single = (float(lengths.mean()), float((lengths == 1).mean())) if len(of) else (0.0, 0.0)
    return Depths(
        n_sessions=len(of),
        n_views=len(of.levels),
        by_level=by_level,
        views=views,
        views_without=np.array([views_of(counted.without(i)) for i in range(n_groups)]),
        by_session=np.bincount(deepest, minlength=1),
        mean_length=mean,
        mean_length_interval=of_mean(mean, means),
        single_share=single,
        single_share_interval=of_share(single, singles, len(of)),
        actions=_actions(of, len(by_level)),
        levels=tuple(int(np.searchsorted(cumulative, wanted - 1e-12)) for wanted in SHARES),
        has_referers=of.has_referers,
    )


def _without_each(values: npt.NDArray[np.integer | np.bool_], group: I64, n_groups: int) -> list[float]:
    """Return the mean of the values without each group of them; of a single group nothing."""
    if n_groups < 2:
        return []
    sums, counts = np.bincount(group, weights=values, minlength=n_groups), np.bincount(group, minlength=n_groups)
    means: list[float] = ((sums.sum() - sums) / (len(values) - counts)).tolist()
    return means


def _actions(of: Sessions, n_levels: int) -> tuple[Mapping[Action, int], ...]:
    """Count moves by the level that they leave."""
    if not len(of):
        return ()
    is_first = np.zeros(len(of.levels) + 1, dtype=np.bool_)
    is_first[of.starts] = is_first[-1] = True
    left_by = np.where(is_first[1:], np.int8(Action.EXIT), np.append(of.reached_by[1:], np.int8(Action.EXIT)))
    counts = np.bincount(of.levels.astype(np.int64) * len(Action) + left_by, minlength=n_levels * len(Action)).reshape(n_levels, -1)
    return tuple({action: int(row[action]) for action in Action} for row in counts)


def fit(model: Model, by_level: npt.NDArray[np.integer] | F64, without: F64 | None = None, n_draws: float = 0.0) -> Fit:
    """Fit one model to numbers of views by level.

    Args:
        without: Views by level without each of some groups of sessions, [n_groups, n_levels], for the intervals.
        n_draws: How often q was drawn, at most: the logged views and the sum of their levels.

    Raises:
        ValueError: If there are no views.
    """
    n = float(by_level.sum())
    if n <= 0:
        raise ValueError("expected page views, found none")
    shares = by_level / n
    cumulative = np.cumsum(shares)
    likely = _most_likely(model, shares)
    q = q_of_ratio(model, _least(model, cumulative))
    apart = cumulative - share(model, q, np.arange(len(shares)))
    density = stationary(model, likely, len(shares))
    seen = shares > 0
    others = [row / row.sum() for row in (without if without is not None else ()) if row.sum() > 0]
    return Fit(
        model=model,
        q=q,
        error=float(np.sqrt(np.mean(apart**2))),
        worst=float(np.abs(apart).max()),
        q_likely=likely,
        log_likelihood=float(shares[seen] @ np.log(density[seen])),
        levels=tuple(levels_for(model, q, wanted) for wanted in SHARES),
        q_interval=_interval(model, q, [_least(model, np.cumsum(row)) for row in others], n_draws),
        q_likely_interval=_interval(model, likely, [ratio(model, _most_likely(model, row)) for row in others], n_draws),
    )


def _most_likely(model: Model, shares: F64) -> float:
    return q_of_mean(model, float(shares @ np.arange(len(shares))))


def _interval(model: Model, q: float, ratios: list[float], n_draws: float) -> Interval:
    """Return the interval of q, computed from the interval of its ratio, which is a share.

    Args:
        ratios: The ratio without each group of sessions.
    """
    low, high = of_share(ratio(model, q), ratios, n_draws)
    return q_of_ratio(model, low), q_of_ratio(model, high)


def fits(by_level: npt.NDArray[np.integer] | F64, without: F64 | None = None, *, n_draws: float = 0.0) -> dict[Model, Fit]:
    """Fit every model; arguments as of `fit`."""
    return {model: fit(model, by_level, without, n_draws) for model in MODELS}


def suggested(of: Depths, fitted: Fit) -> tuple[float | None, str]:
    """Return the q to suggest for a crawl, None if the log has too little data, and the reasons.

    Args:
        fitted: Model B, whose q is what `filters.depth_cutoff.q` means.
    """
    low, high = fitted.q_interval
    said = f"95 % {low:.3f} to {high:.3f}, by {of.n_steps:,} steps deeper in {of.n_sessions:,} sessions"
    if not of.has_referers:
        return None, f"{said}, but the log has no Referers, so that depths are larger than they are. Log in combined format"
    if of.n_steps < LEAST_STEPS:
        return None, f"{said}; {LEAST_STEPS} steps are wanted. Give more logs"
    if high - low > WIDEST:
        return None, f"{said}; no more than {WIDEST:g} between the two is wanted. Give more logs"
    return fitted.q, said


def best(of: Mapping[Model, Fit]) -> Model:
    """Return the model of least error: B for A and B, which are equal, or C."""
    return "C" if of["C"].error < of["B"].error else "B"


def _least(model: Model, cumulative: F64) -> float:
    """Return the ratio r of least squares by finer and finer grids over [0, 1): their sum has one minimum there."""
    levels = np.arange(len(cumulative))
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        grid = np.linspace(low, high, _GRID + 1)[: _GRID if high == 1 else None]
        apart = cumulative - share_of_ratio(model, grid[:, None], levels)
        at = int(np.argmin((apart * apart).sum(axis=1)))
        low, high = float(grid[max(0, at - 1)]), float(grid[at + 1]) if at + 1 < len(grid) else high
    return (low + high) / 2


def of_actions(actions: tuple[Mapping[Action, int], ...]) -> tuple[F64, tuple[int, ...]]:
    """Solve the chain of measured actions; return the shares of views by level, and the smallest k for each of SHARES.

    From the first level with fewer than 30 moves on, all levels share their actions.
    """
    counts = list(actions)
    first = next((i for i, row in enumerate(counts) if sum(row.values()) < _FEWEST_MOVES), len(counts))
    rest = {action: sum(row[action] for row in counts[max(0, first - 1) :]) for action in Action}
    shares = solve(chain([*counts[: max(0, first - 1)], rest], max(_CHAIN_LEVELS, 2 * len(counts))))
    cumulative = np.cumsum(shares)
    return shares, tuple(int(np.searchsorted(cumulative, wanted - 1e-12)) for wanted in SHARES)
