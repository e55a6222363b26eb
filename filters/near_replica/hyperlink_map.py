"""The hyperlink map: a page's signature together with those of the pages it links to [DDGMP03, eq. 1].

    x_p(t+1) = r_p + γ Σ over children q of p of x_q(t)·r_q     per component     x_p(0) = r_p

After s iterations a page's value depends on the pages up to s links away; at the end all values are divided by the greatest one. Two
pages of equal text with different children get different values, while pages of different text can have equal children.

The paper leaves γ open. As written, the sum grows with the number of children and may diverge unless γ < 1 / the greatest out-degree;
with `mean` γ is divided by the page's own out-degree, so that every γ < 1 converges. Children are distinct, none is the page itself, and
pages that were never fetched are no children.

Memory: 4 bytes a link, 16·K bytes a page, and 24 MB. Time: 0.03 s of CPU per million links and iteration for K = 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from thresher.filters.near_replica.random_projection import F64

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
_BLOCK: Final = 1 << 20  # links summed at a time


@dataclass(frozen=True, slots=True)
class Children:
    """The links between pages: the children of page p are `targets[starts[p]:starts[p + 1]]`."""

    starts: I64  # n + 1
    targets: I32

    @classmethod
    def of(cls, sources: I64, targets: I64, n_pages: int) -> Children:
        """Build it from links in any order; repeated links and links of a page to itself are dropped."""
        links = np.unique(sources[sources != targets] * n_pages + targets[sources != targets])
        starts = np.zeros(n_pages + 1, dtype=np.int64)
        np.cumsum(np.bincount(links // max(n_pages, 1), minlength=n_pages), out=starts[1:])
        return cls(starts, (links % max(n_pages, 1)).astype(np.int32))

    def of_page(self, page: int) -> I32:
        """Return the children of one page, ascending."""
        return self.targets[self.starts[page] : self.starts[page + 1]]

    @property
    def degrees(self) -> I64:
        return np.diff(self.starts)


def hyperlink_map(children: Children, signatures: F64, *, gamma: float, iterations: int, mean: bool) -> F64:
    """Return x after `iterations` steps, not yet scaled, (n, k).

    Args:
        signatures: r, (n, k).
    """
    own = np.ascontiguousarray(signatures.T)
    x = own.copy()
    factor = gamma / np.maximum(children.degrees, 1) if mean else np.full(own.shape[1], gamma)
    blocks = _blocks(children)
    for _ in range(iterations):
        passed = x * own
        for component, values in enumerate(passed):
            x[component] = own[component] + factor * _sums(children, values, blocks)
    return np.ascontiguousarray(x.T)


def scaled(x: F64) -> F64:
    """Divide by the greatest value of all pages and components."""
    greatest = float(x.max(initial=0.0))
    return x / greatest if greatest > 0.0 else x


def _sums(children: Children, values: F64, blocks: list[tuple[int, int]]) -> F64:
    """Return the sum of `values` over each page's children."""
    sums = np.zeros(values.size)
    for first, last in blocks:
        starts = children.starts[first : last + 1]
        held = np.flatnonzero(starts[1:] > starts[:-1])
        taken = values[children.targets[starts[0] : starts[-1]]]
        if held.size:
            sums[first + held] = np.add.reduceat(taken, starts[held] - starts[0])
    return sums


def _blocks(children: Children) -> list[tuple[int, int]]:
    """Divide the pages into runs of about `_BLOCK` links; a page with more links is a run of its own."""
    n = children.starts.size - 1
    edges = np.searchsorted(children.starts, np.arange(0, children.targets.size + _BLOCK, _BLOCK), side="left")
    edges = np.unique(np.concatenate(([0], np.minimum(edges, n), [n])))
    return [(int(first), int(last)) for first, last in pairwise(edges)]
