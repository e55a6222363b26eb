"""Near-replicas of a whole set of pages [DDGMP03].

    sketches → signatures R, maps X → classes of equal text → candidate classes → resemblance, ‖R¹ − R²‖∞ < D → pages of them: HM

Pages of equal text form a class and are compared as one. Candidates come from MinHash bands, or, as in the paper, from the projections
themselves (`Candidates.GRID`).

`neighbours` says what the hyperlink map (HM) decides. In the paper (`Neighbours.ALL`) two pages collide when ‖R¹ − R²‖∞ < D and
‖X¹ − X²‖∞ < C. But a newer version of a page that has one more link is further away than that: of 312 pairs with equal words, C = .03 lost
201. So by default (`Neighbours.EQUAL_TEXTS`) pages with similar texts are replicas, whatever HM says. HM only separates pages of one host
that have one text, such as a template that nothing was filled into. For that, ‖X¹ − X²‖∞ must reach C and the links must differ
(neighbours.py): a neighbourhood that has grown is still the same.

A cluster is its first page and every later page that collides with that first page. So no chain of small differences joins two pages that
are not replicas of one another.

Memory: 200 bytes a page beside its sketch, 16 bytes a candidate. Time: benchmarks/quality/replicas_demo.py prints it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from thresher.config.settings import NearReplicaSettings
from thresher.filters.near_replica.collide import close_pairs, spread
from thresher.filters.near_replica.hyperlink_map import I64, Children, hyperlink_map, scaled
from thresher.filters.near_replica.minhash import agreement, band_pairs
from thresher.filters.near_replica.neighbours import is_same
from thresher.filters.near_replica.random_projection import F64, Scale
from thresher.filters.near_replica.resemblance import U32, resemblances
from thresher.filters.near_replica.sketching import Sketches

Bools = npt.NDArray[np.bool_]

_DEFAULTS: Final = NearReplicaSettings()
_MOST_LEADERS: Final = 512  # a page is compared with so many cluster heads of its class: the latest
_MOST_LOOKED_AT: Final = 16  # and its links are compared with those of so many of these heads: the nearest by HM
_WIDTH: Final = 3.0  # least width of the scale of R̂: that of some thousand pages, words counted 1 + ln n, vectors of length 1
_CHANCE: Final = 0.5  # texts are not compared if their common slots give less than this share of the wanted resemblance


class Candidates(StrEnum):
    """The source of candidates: which pages are compared at all."""

    BANDS = "bands"
    GRID = "grid"


class Neighbours(StrEnum):
    """Which pairs HM may separate."""

    EQUAL_TEXTS = "equal"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """The thresholds at which two pages collide."""

    d: float = _DEFAULTS.max_distance  # of signatures, exclusive
    c: float = _DEFAULTS.max_neighbour_distance  # of maps, exclusive; 1 and above: off
    resemblance: float = _DEFAULTS.resemblance  # least estimated resemblance of shingles; 0: any
    neighbours: Neighbours = Neighbours.EQUAL_TEXTS
    gamma: float = 0.8  # γ: weight of what a page links to, 0 to 1
    mean: bool = True  # γ is divided by the number of the page's links
    iterations: int = 4  # of the hyperlink map
    candidates: Candidates = Candidates.BANDS
    rows: int = 4  # slots a band


class Classes(NamedTuple):
    """Pages of equal text. Pages without words are in none."""

    of: I64  # (n,), number of each page's class, −1 for none
    firsts: I64  # (g,), the first page of each
    order: I64  # pages by class, then by number
    starts: I64  # (g + 1,), where each class begins in `order`


class TextPairs(NamedTuple):
    """Pairs of classes, the smaller number first; each class is also paired with itself."""

    pairs: I64  # (m, 2)
    random_projection: F64  # (m,), L∞ distance of signatures
    resemblance: F64  # (m,)


class Points(NamedTuple):
    """Where all pages lie: signatures, maps."""

    r: F64
    x: F64


class ComparedTexts(NamedTuple):
    """A text of each class. The fields are those of `Space` and `Sketches`."""

    r: F64
    minima: U32
    least: U32


class CollidingPages(NamedTuple):
    """A block of colliding pages."""

    pages: I64  # (m, 2), the smaller number first
    random_projection: F64
    hyperlink_map: F64
    resemblance: F64


class Replica(NamedTuple):
    """A replica as it compares with the representative of its cluster."""

    page: int
    random_projection: float
    hyperlink_map: float
    resemblance: float


@dataclass(slots=True)
class Cluster:
    """A page and its replicas."""

    representative: int
    members: list[Replica] = field(default_factory=list)

    def copies(self, resemblance: float = _DEFAULTS.drop_resemblance) -> list[int]:
        """Return the representative and the members that resemble it enough to be dropped: the pages by which mirrors are found."""
        return [self.representative, *(member.page for member in self.members if member.resemblance >= resemblance)]


class Space:
    """A set of pages with their signatures, maps and classes."""

    def __init__(self, sketches: Sketches, tolerance: Tolerance, children: Children | None = None, points: Points | None = None) -> None:
        """Create the space.

        Args:
            children: The links between the pages, if known.
            points: Their signatures and maps, if known.
        """
        self.sketches = sketches
        self.tolerance = tolerance
        self.classes = _classes(sketches.texts)
        self.children = children if children is not None else sketches.children()
        self.r, self.x = points if points is not None else self._points()
        self._hosts = np.unique(np.array(sketches.hosts, dtype=np.str_), return_inverse=True)[1]

    def _points(self) -> Points:
        said, rule = self.sketches.projections[self.classes.firsts], self.tolerance
        r = Scale.of(said, least=_WIDTH)(self.sketches.projections) if len(said) else np.zeros_like(self.sketches.projections)
        return Points(r, scaled(hyperlink_map(self.children, r, gamma=rule.gamma, iterations=rule.iterations, mean=rule.mean)))

    def text_pairs(self) -> TextPairs:
        """Return the classes that collide by text."""
        return together([similar(self.compared(), self.tolerance)], len(self.classes.firsts))

    def compared(self) -> ComparedTexts:
        """Return the first page of each class: the texts that are compared."""
        firsts = self.classes.firsts
        return ComparedTexts(self.r[firsts], self.sketches.minima[firsts], self.sketches.least[firsts])

    def pairs(self, found: TextPairs) -> Iterator[CollidingPages]:
        """Yield all colliding pages in blocks."""
        starts, order = self.classes.starts, self.classes.order
        sizes = np.diff(starts)
        one, other = found.pairs[:, 0], found.pairs[:, 1]
        for row, place in spread(starts[one], sizes[one]):  # each page of the first class …
            for nth, place_of_other in spread(starts[other[row]], sizes[other[row]]):  # … with each of the second
                left, right = order[place[nth]], order[place_of_other]
                is_pair = (left < right) | (one[row[nth]] != other[row[nth]])
                pairs = np.column_stack((np.minimum(left, right), np.maximum(left, right)))[is_pair]
                of = row[nth][is_pair]
                hyperlink_map = _distances(self.x, pairs)
                keep = self._collide(pairs, hyperlink_map, one[of] == other[of])
                if keep.any():
                    yield CollidingPages(pairs[keep], found.random_projection[of[keep]], hyperlink_map[keep], found.resemblance[of[keep]])

    def _collide(self, pairs: I64, hyperlink_map: F64, is_one_text: Bools) -> Bools:
        """Return which pairs of pages with similar texts are replicas, that is, are not separated by HM."""
        near = hyperlink_map < self.tolerance.c
        if self.tolerance.c >= 1.0 or (self.tolerance.neighbours is Neighbours.ALL and near.all()):
            return np.ones(len(hyperlink_map), dtype=np.bool_)
        if self.tolerance.neighbours is Neighbours.ALL:
            return near
        near |= ~is_one_text | (self._hosts[pairs[:, 0]] != self._hosts[pairs[:, 1]])
        for at in np.flatnonzero(~near).tolist():
            near[at] = is_same(*(self.children.of_page(page) for page in pairs[at].tolist()), is_one_host=True)
        return near

    def clusters(self, found: TextPairs) -> list[Cluster]:
        """Return the clusters of two pages and more, by their first page."""
        near = _neighbours(found, len(self.classes.firsts))
        leaders: list[list[int]] = [[] for _ in self.classes.firsts]
        clusters: dict[int, Cluster] = {}
        for page in np.flatnonzero(self.classes.of >= 0).tolist():
            own = int(self.classes.of[page])
            known = [leader for one in near[own] for leader in leaders[one][-_MOST_LEADERS:]]
            if (cluster := self._joined(page, known, clusters)) is not None:
                cluster.members.append(self._member(cluster.representative, page))
            else:
                leaders[own].append(page)
                clusters[page] = Cluster(page)
        return [cluster for cluster in clusters.values() if cluster.members]

    def _joined(self, page: int, leaders: list[int], clusters: dict[int, Cluster]) -> Cluster | None:
        """Return the cluster whose representative is nearest to the page by HM and collides with it."""
        if not leaders:
            return None
        near = np.array(leaders, dtype=np.int64)
        hyperlink_map = np.abs(self.x[near] - self.x[page]).max(axis=1)
        near, hyperlink_map = near[np.argsort(hyperlink_map, kind="stable")], np.sort(hyperlink_map, kind="stable")
        is_one_text = self.classes.of[near] == self.classes.of[page]
        others = np.flatnonzero(~is_one_text)[:1]
        looked_at = np.sort(np.concatenate((np.flatnonzero(is_one_text)[:_MOST_LOOKED_AT], others)))
        pairs = np.column_stack((near, np.full(len(near), page)))[looked_at]
        joined = np.flatnonzero(self._collide(pairs, hyperlink_map[looked_at], is_one_text[looked_at]))
        return clusters[int(pairs[joined[0], 0])] if joined.size else None

    def _member(self, one: int, other: int) -> Replica:
        """Return how a page compares with the representative `one`."""
        random_projection, hyperlink_map = (float(np.abs(points[one] - points[other]).max()) for points in (self.r, self.x))
        is_one_text = self.classes.of[one] == self.classes.of[other]
        alike = 1.0 if is_one_text else float(resemblances(self.sketches.least, np.array([[one, other]]))[0])
        return Replica(other, random_projection, hyperlink_map, alike)


def similar(texts: ComparedTexts, rule: Tolerance, bands: Sequence[int] | None = None) -> TextPairs:
    """Return the pairs of different texts that collide.

    Args:
        texts: One of each class.
        rule: The thresholds.
        bands: Those by which candidates are found, of `Candidates.BANDS`; None: all.
    """
    if rule.candidates is Candidates.BANDS:
        pairs = band_pairs(texts.minima, texts.r[:, 0], rows=rule.rows, bands=bands)
    else:
        blocks = close_pairs(texts.r, np.full(texts.r.shape[1], rule.d))
        pairs = np.concatenate([np.empty((0, 2), dtype=np.int64), *blocks])
    random_projection = _distances(texts.r, pairs)
    keep = random_projection < rule.d
    keep[keep] = agreement(texts.minima, pairs[keep]) >= _CHANCE * rule.resemblance
    pairs, random_projection = pairs[keep], random_projection[keep]
    alike = resemblances(texts.least, pairs)
    keep = alike >= rule.resemblance
    return TextPairs(pairs[keep], random_projection[keep], alike[keep])


def together(parts: Sequence[TextPairs], n: int) -> TextPairs:
    """Return the pairs of all parts, each once, and each of `n` classes with itself.

    Args:
        parts: One, or several that are sorted.
    """
    pairs, random_projection, alike = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    if len(parts) > 1:
        _, firsts = np.unique(pairs[:, 0] * max(n, 1) + pairs[:, 1], return_index=True)
        pairs, random_projection, alike = pairs[firsts], random_projection[firsts], alike[firsts]
    alone = np.arange(n)
    return TextPairs(
        np.concatenate((np.column_stack((alone, alone)), pairs)),
        np.concatenate((np.zeros(n), random_projection)),
        np.concatenate((np.ones(n), alike)),
    )


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
