"""Precision and recall of collision for many tolerances, against pairs known to be replicas [DDGMP03, section 4, figure 1].

Labels are pairs of pages. If only replicas are labelled, every other pair counts as no replica; if some pairs are labelled as no replicas,
only labelled pairs count. Break-even is where precision equals recall: on the curve over C for one D, or on the curve over D without HM.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thresher.filters.near_replica.batch import CollidingPages
from thresher.filters.near_replica.random_projection import F64

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PrecisionPoint:
    """Precision and recall at one setting."""

    d: float
    c: float  # 1: RP alone
    precision: float
    recall: float
    returned: int

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True, slots=True)
class LabelledPairs:
    """Every pair that collides at the widest tolerances, with its label."""

    random_projection: F64
    hyperlink_map: F64
    is_replica: Bools
    n_replicas: int  # known, found or not

    def at(self, d: float, c: float) -> PrecisionPoint:
        """Return precision and recall at one setting; the precision of an empty set is 1."""
        taken = self.random_projection < d
        if c < 1.0:
            taken &= self.hyperlink_map < c
        returned, right = int(taken.sum()), int((taken & self.is_replica).sum())
        return PrecisionPoint(d, c, right / returned if returned else 1.0, right / self.n_replicas if self.n_replicas else 1.0, returned)


def judge(blocks: Iterable[CollidingPages], replicas: set[tuple[int, int]], others: set[tuple[int, int]]) -> LabelledPairs:
    """Compare colliding pairs with labels.

    Args:
        replicas: Pairs with the smaller number first.
        others: Pairs that are no replicas; empty: all the rest.
    """
    random_projection, hyperlink_map, right = [np.empty(0)], [np.empty(0)], [np.empty(0, dtype=np.bool_)]
    for pairs, of_text, of_links, _ in blocks:
        named = [tuple(pair) for pair in pairs.tolist()]
        is_replica = np.array([pair in replicas for pair in named], dtype=np.bool_)
        counts = (
            is_replica | np.array([pair in others for pair in named], dtype=np.bool_) if others else np.ones(len(named), dtype=np.bool_)
        )
        random_projection.append(of_text[counts])
        hyperlink_map.append(of_links[counts])
        right.append(is_replica[counts])
    return LabelledPairs(np.concatenate(random_projection), np.concatenate(hyperlink_map), np.concatenate(right), len(replicas))


def curve(judged: LabelledPairs, d: float, cs: Sequence[float]) -> list[PrecisionPoint]:
    """Return the curve over C for one D."""
    return [judged.at(d, c) for c in cs]


def break_even(points: Iterable[PrecisionPoint]) -> float:
    """Return the largest value that precision and recall both reach; where the curves cross it is equal to both."""
    return max((min(point.precision, point.recall) for point in points), default=0.0)
