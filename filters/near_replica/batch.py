"""Near-replicas of a whole set of pages [DDGMP03].

    sketches → signatures R, maps X → classes of equal text → candidate classes → ‖R¹ − R²‖∞ < D → pages of them: ‖X¹ − X²‖∞ < C

Pages of equal text form a class and are compared as one; HM alone decides between them. Candidates come from MinHash bands, or, as in the
paper, from the projections themselves (`Candidates.GRID`). With `resemblance` the sketches must agree to that share as well.

A cluster is its first page and every later page that collides with that one; so no chain of small steps leads from a page to one that is
no replica of it.

Memory: 200 bytes a page beside its sketch, 16 bytes a candidate. Time: benchmarks/replicas_demo.py prints it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from filters.near_replica.collide import close_pairs, spread
from filters.near_replica.hm import I64, Children, hyperlink_map, scaled
from filters.near_replica.minhash import agreement, band_pairs
from filters.near_replica.rp import F64, Scale
from filters.near_replica.sketching import Sketches

_MOST_LEADERS = 512  # of one class, that a page is compared with: the latest


class Candidates(StrEnum):
    """Which pages are compared at all."""

    BANDS = "bands"
    GRID = "grid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """When two pages collide."""

    d: float = 0.03  # RP, exclusive
    c: float = 0.03  # HM, exclusive; 1 and above: off
    resemblance: float = 0.85  # least estimated resemblance of shingles
    gamma: float = 0.8
    mean: bool = True  # γ over the page's out-degree
    iterations: int = 4
    candidates: Candidates = Candidates.BANDS
    rows: int = 4  # slots a band


class Classes(NamedTuple):
    """Pages of equal text. Pages without words are in none."""

    of: I64  # (n,), number of each page's class, −1 for none
    firsts: I64  # (g,), the first page of each
    order: I64  # pages by class, then by number
    starts: I64  # (g + 1,), where each class begins in `order`


class TextPairs(NamedTuple):
    """Pairs of classes, the smaller number first; every class stands beside itself too."""

    pairs: I64  # (m, 2)
    rp: F64  # (m,), L∞ distance of signatures


@dataclass(slots=True)
class Cluster:
    """A page and its replicas with their RP and HM distances from it."""

    representative: int
    members: list[tuple[int, float, float]] = field(default_factory=list)


class Space:
    """A set of pages with their signatures, maps and classes."""

    def __init__(self, sketches: Sketches, tolerance: Tolerance, children: Children | None = None) -> None:
        self.sketches = sketches
        self.tolerance = tolerance
        self.classes = _classes(sketches.texts)
        said = sketches.projections[self.classes.firsts]
        self.r = Scale.of(said)(sketches.projections) if len(said) else np.zeros_like(sketches.projections)
        self.children = children if children is not None else sketches.children()
        rule = tolerance
        self.x = scaled(hyperlink_map(self.children, self.r, gamma=rule.gamma, iterations=rule.iterations, mean=rule.mean))

    def text_pairs(self) -> TextPairs:
        """Return the classes that collide by text."""
        r, rule = self.r[self.classes.firsts], self.tolerance
        if rule.candidates is Candidates.BANDS:
            pairs = band_pairs(self.sketches.minima[self.classes.firsts], r[:, 0], rows=rule.rows)
        else:
            blocks = close_pairs(r, np.full(r.shape[1], rule.d))
            pairs = np.concatenate([np.empty((0, 2), dtype=np.int64), *blocks])
        rp = _distances(r, pairs)
        keep = rp < rule.d
        if rule.resemblance > 0.0:
            keep[keep] = agreement(self.sketches.minima[self.classes.firsts], pairs[keep]) >= rule.resemblance
        alone = np.arange(len(r))
        return TextPairs(np.concatenate((np.column_stack((alone, alone)), pairs[keep])), np.concatenate((np.zeros(len(r)), rp[keep])))

    def pairs(self, found: TextPairs) -> Iterator[tuple[I64, F64, F64]]:
        """Yield all colliding pages in blocks: (m, 2) with the smaller number first, RP distances, HM distances."""
        starts, order = self.classes.starts, self.classes.order
        sizes = np.diff(starts)
        one, other = found.pairs[:, 0], found.pairs[:, 1]
        for row, place in spread(starts[one], sizes[one]):  # each page of the first class …
            for nth, place_of_other in spread(starts[other[row]], sizes[other[row]]):  # … beside each of the second
                left, right = order[place[nth]], order[place_of_other]
                is_pair = (left < right) | (one[row[nth]] != other[row[nth]])
                pairs = np.column_stack((np.minimum(left, right), np.maximum(left, right)))[is_pair]
                hm = _distances(self.x, pairs)
                keep = hm < self.tolerance.c if self.tolerance.c < 1.0 else np.ones(len(hm), dtype=np.bool_)
                if keep.any():
                    yield pairs[keep], found.rp[row[nth][is_pair][keep]], hm[keep]

    def clusters(self, found: TextPairs) -> list[Cluster]:
        """Return the clusters of two pages and more, by their first page."""
        near = _neighbours(found, len(self.classes.firsts))
        leaders: list[list[int]] = [[] for _ in self.classes.firsts]
        clusters: dict[int, Cluster] = {}
        for page in np.flatnonzero(self.classes.of >= 0).tolist():
            own = int(self.classes.of[page])
            known = [leader for one in near[own] for leader in leaders[one][-_MOST_LEADERS:]]
            if (cluster := self._joined(page, known, clusters)) is not None:
                cluster.members.append((page, *self._apart(cluster.representative, page)))
            else:
                leaders[own].append(page)
                clusters[page] = Cluster(page)
        return [cluster for cluster in clusters.values() if cluster.members]

    def _joined(self, page: int, leaders: list[int], clusters: dict[int, Cluster]) -> Cluster | None:
        """Return the cluster whose representative is nearest to the page by HM and collides with it."""
        if not leaders:
            return None
        hm = np.abs(self.x[leaders] - self.x[page]).max(axis=1)
        nearest = int(hm.argmin())
        return clusters[leaders[nearest]] if hm[nearest] < self.tolerance.c or self.tolerance.c >= 1.0 else None

    def _apart(self, one: int, other: int) -> tuple[float, float]:
        return float(np.abs(self.r[one] - self.r[other]).max()), float(np.abs(self.x[one] - self.x[other]).max())


def _classes(texts: list[bytes]) -> Classes:
    """Number the classes by their first page."""
    numbers: dict[bytes, int] = {}
    of = np.array([numbers.setdefault(text, len(numbers)) if text else -1 for text in texts], dtype=np.int64)
    order = np.argsort(of, kind="stable")[np.count_nonzero(of < 0) :]
    starts = np.zeros(len(numbers) + 1, dtype=np.int64)
    np.cumsum(np.bincount(of[order], minlength=len(numbers)), out=starts[1:])
    return Classes(of, order[starts[:-1]], order, starts)


def _distances(points: F64, pairs: I64) -> F64:
    """Return the L∞ distance of each pair, a block at a time."""
    found = np.empty(len(pairs), dtype=np.float64)
    for first in range(0, len(pairs), 1 << 18):
        part = pairs[first : first + (1 << 18)]
        found[first : first + (1 << 18)] = np.abs(points[part[:, 0]] - points[part[:, 1]]).max(axis=1)
    return found


def _neighbours(found: TextPairs, n: int) -> list[list[int]]:
    near: list[list[int]] = [[] for _ in range(n)]
    for one, other in found.pairs.tolist():
        near[one].append(other)
        if one != other:
            near[other].append(one)
    return near
