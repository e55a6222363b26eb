"""Fits of the models to measured sessions: q by maximum likelihood and by least squares, how well each model tells the data [BC04].

Page depth is the level of each page view, session depth the deepest level of each session. Least squares are taken on the cumulative shares
of views by level; the error is their root mean square, `worst` the largest difference. A and B are one distribution by different q, so
that only C can be told from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from filters.depth_cutoff.chains import Action, chain, solve
from filters.depth_cutoff.models import F64, MODELS, Model, levels_for, q_of_mean, q_of_ratio, share, stationary
from filters.depth_cutoff.sessions import Sessions

I64 = npt.NDArray[np.int64]
SHARES = (0.5, 0.8, 0.9, 0.95)
_GOLDEN = (5**0.5 - 1) / 2
_CHAIN_LEVELS = 200
_FEWEST_MOVES = 30  # out of a level, below which the levels from there on are taken together


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


@dataclass(frozen=True, slots=True)
class Depths:
    """What sessions come to."""

    n_sessions: int
    n_views: int
    by_level: I64  # page views
    by_session: I64  # sessions by their deepest level
    mean_length: float  # views a session
    single_share: float  # of sessions, of one page
    actions: tuple[Mapping[Action, int], ...]  # moves out of each level
    levels: tuple[int, ...]  # measured, for each of SHARES

    def cumulative(self) -> F64:
        """Return the share of views on levels 0 to k for each k."""
        return np.asarray(np.cumsum(self.by_level) / max(1, self.n_views), dtype=np.float64)


def depths(of: Sessions) -> Depths:
    """Measure sessions."""
    by_level = np.bincount(of.levels, minlength=1)
    deepest = np.maximum.reduceat(of.levels, of.starts) if len(of) else np.zeros(0, np.int32)
    lengths = np.diff(np.append(of.starts, len(of.levels)))
    cumulative = np.cumsum(by_level) / max(1, len(of.levels))
    return Depths(
        n_sessions=len(of),
        n_views=len(of.levels),
        by_level=by_level,
        by_session=np.bincount(deepest, minlength=1),
        mean_length=float(lengths.mean()) if len(of) else 0.0,
        single_share=float((lengths == 1).mean()) if len(of) else 0.0,
        actions=_actions(of, len(by_level)),
        levels=tuple(int(np.searchsorted(cumulative, wanted - 1e-12)) for wanted in SHARES),
    )


def _actions(of: Sessions, n_levels: int) -> tuple[Mapping[Action, int], ...]:
    """Count moves by the level that they leave."""
    if not len(of):
        return ()
    is_first = np.zeros(len(of.levels) + 1, dtype=np.bool_)
    is_first[of.starts] = is_first[-1] = True
    left_by = np.where(is_first[1:], np.int8(Action.EXIT), np.append(of.reached_by[1:], np.int8(Action.EXIT)))
    counts = np.bincount(of.levels.astype(np.int64) * len(Action) + left_by, minlength=n_levels * len(Action)).reshape(n_levels, -1)
    return tuple({action: int(row[action]) for action in Action} for row in counts)


def fit(model: Model, by_level: npt.NDArray[np.integer]) -> Fit:
    """Fit one model to numbers of views by level; raises ValueError if there are none."""
    n = int(by_level.sum())
    if n == 0:
        raise ValueError("expected page views, found none")
    shares = by_level / n
    cumulative = np.cumsum(shares)
    likely = q_of_mean(model, float(shares @ np.arange(len(shares))))
    q = q_of_ratio(model, _least(model, cumulative))
    apart = cumulative - share(model, q, np.arange(len(shares)))
    density = stationary(model, likely, len(shares))
    seen = shares > 0
    return Fit(
        model=model,
        q=q,
        error=float(np.sqrt(np.mean(apart**2))),
        worst=float(np.abs(apart).max()),
        q_likely=likely,
        log_likelihood=float(shares[seen] @ np.log(density[seen])),
        levels=tuple(levels_for(model, q, wanted) for wanted in SHARES),
    )


def fits(by_level: npt.NDArray[np.integer]) -> dict[Model, Fit]:
    """Fit every model."""
    return {model: fit(model, by_level) for model in MODELS}


def best(of: Mapping[Model, Fit]) -> Model:
    """Return the model of least error: B for A and B, which are one, or C."""
    return "C" if of["C"].error < of["B"].error else "B"


def _least(model: Model, cumulative: F64) -> float:
    """Return the ratio r of least squares by golden sections of [0, 1): the squares have one valley there."""
    levels = np.arange(len(cumulative))

    def squares(r: float) -> float:
        return float(np.sum((cumulative - share(model, q_of_ratio(model, r), levels)) ** 2))

    grid = np.linspace(0, 1, 129)[:-1]
    at = int(np.argmin([squares(r) for r in grid]))
    low, high = float(grid[max(0, at - 1)]), float(grid[at + 1]) if at + 1 < len(grid) else 1 - 1e-12
    while high - low > 1e-12:
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, right) if squares(left) <= squares(right) else (left, high)
    return (low + high) / 2


def of_actions(actions: tuple[Mapping[Action, int], ...]) -> tuple[F64, tuple[int, ...]]:
    """Solve the chain of measured actions; return the shares of views by level, and the smallest k for each of SHARES.

    Levels from the first with fewer than 30 moves on share their actions.
    """
    counts = list(actions)
    first = next((i for i, row in enumerate(counts) if sum(row.values()) < _FEWEST_MOVES), len(counts))
    rest = {action: sum(row[action] for row in counts[max(0, first - 1) :]) for action in Action}
    shares = solve(chain([*counts[: max(0, first - 1)], rest], max(_CHAIN_LEVELS, 2 * len(counts))))
    cumulative = np.cumsum(shares)
    return shares, tuple(int(np.searchsorted(cumulative, wanted - 1e-12)) for wanted in SHARES)
