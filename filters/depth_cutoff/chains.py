"""Markov chains of the paper's atomic actions, by level, solved numerically: for the models, and for measured actions [BC04].

    next    one level deeper                      start   to the page where the session began
    fwd     two levels deeper or more             jump    to a page that nothing seen links to: a new level 0
    stay    another page of the level             exit    leaves: in the long run another surfer begins on level 0
    back    one level up
    prev    to a level seen so far, each as likely, the current one included

In measured sessions, a move upwards by two levels or more counts as `prev`; `fwd` goes down by two. Start, jump and exit lead to level 0,
so the chain treats them as one action. Model A is {next: q, back: 1-q}, B {next: q, start: 1-q}, C {next: q, prev: 1-q}.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

import numpy as np

from thresher.filters.depth_cutoff.models import F64

_FWD_LEVELS = 2


class Action(IntEnum):
    """What leads from one page view to the next."""

    NEXT = 0
    BACK = 1
    STAY = 2
    PREV = 3
    FWD = 4
    START = 5
    JUMP = 6
    EXIT = 7


def chain(actions: Mapping[Action, float] | Sequence[Mapping[Action, float]], n_levels: int) -> F64:
    """Return the chain over `n_levels` levels, [from, to], rows of sum 1.

    Args:
        actions: Weights, the same for all levels or one mapping for each; the last holds for all deeper levels. From a level without any
            weight the chain goes to level 0. Moves beyond the deepest level stay on it; `back` from level 0 stays there.
    """
    by_level = [actions] if isinstance(actions, Mapping) else list(actions)
    moves = np.zeros((n_levels, n_levels))
    for level in range(n_levels):
        row = by_level[min(level, len(by_level) - 1)]
        if sum(row.values()) <= 0:
            row = {Action.EXIT: 1.0}
        for action, weight in row.items():
            first, last = _reach(action, level, n_levels - 1)
            moves[level, first : last + 1] += weight / (last - first + 1)
    return np.asarray(moves / moves.sum(axis=1, keepdims=True), dtype=np.float64)


def _reach(action: Action, level: int, deepest: int) -> tuple[int, int]:
    """Return the first and the last level to which an action leads; all levels between them are equally likely."""
    match action:
        case Action.NEXT:
            return (to := min(level + 1, deepest)), to
        case Action.FWD:
            return (to := min(level + _FWD_LEVELS, deepest)), to
        case Action.STAY:
            return level, level
        case Action.BACK:
            return (to := max(level - 1, 0)), to
        case Action.PREV:
            return 0, level
        case _:
            return 0, 0


def solve(moves: F64) -> F64:
    """Return the stationary distribution of a chain, [n].

    Args:
        moves: [from, to], rows of sum 1.

    Raises:
        ValueError: If there is more than one such distribution, or the rows are not probabilities.
    """
    n = len(moves)
    if moves.shape != (n, n) or (moves < 0).any() or not np.allclose(moves.sum(axis=1), 1):
        raise ValueError("expected a square matrix of probabilities whose rows sum to 1")
    system = np.vstack((moves.T - np.eye(n), np.ones(n)))
    if np.linalg.matrix_rank(system) < n:
        raise ValueError("the chain falls into parts that cannot be left: its long run depends on where it begins")
    found = np.linalg.lstsq(system, np.concatenate((np.zeros(n), [1.0])), rcond=None)[0]
    return np.asarray(np.clip(found, 0, None) / np.clip(found, 0, None).sum(), dtype=np.float64)
