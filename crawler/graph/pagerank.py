"""PageRank as [NW01] computes it: R(p) = d/T + (1 - d) Σ R(q)/c(q), over crawled pages and known pages.

T is the number of pages; d is the probability of a jump to any page, 1/7 in the paper; c(q) is the number of links of q. A page without
links votes for all pages equally. Unlike the paper, ranks are scaled to a mean of 1, and the iteration ends by a bound on the error, not
after 100 iterations: the remaining error is at most (1 - d)/d times the last change.

Variants are layers of links with a weight each: all links (one layer), cross-host links only, or both with local links worth less, so
that pages which endorse each other on one host do not lead. c(q) is then the sum of the weights of q's links.

Sums over all nodes are sums of integers, which do not depend on the order of the nodes. So a graph whose nodes lie on several machines has
the same ranks, to the last bit, as long as each node's in-links are added up in one place, in one order (crawler/analysis/rank_share.py).

Memory: 4 bytes a link for the in-links, 40 bytes a node. Time: 10 to 15 ns a link and iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from thresher.crawler.graph.csr import F64, I32, I64, Graph

JUMP = 1 / 7
LOCAL_WEIGHT = 0.1  # weight of a link within a host, if a link between hosts weighs 1
Variant = Literal["all", "remote", "weighted"]
_BLOCK = 1 << 20  # links summed at a time
_BITS = 30
_SCALE = float(1 << _BITS)
UNITS = 1 << 2 * _BITS  # of `exact_sum`, in 1

Layer = tuple[Graph, float]  # (links, weight of each)


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """The result of the iteration. error: bound on the mean distance of a rank from the exact one."""

    ranks: F64
    n_iterations: int
    error: float
    converged: bool


class InLinks:
    """The in-links of nodes, prepared for sums in each iteration."""

    def __init__(self, backwards: Graph) -> None:
        """Prepare the sums.

        Args:
            backwards: The links reversed; where each starts is its place among the votes.
        """
        self._sources: I32 = backwards.targets
        degrees = backwards.out_degrees()
        self._rows: I64 = np.flatnonzero(degrees)
        self._starts: I64 = backwards.offsets[self._rows]
        firsts = np.searchsorted(self._starts, np.arange(0, backwards.n_links, _BLOCK))
        self._cuts: I64 = np.unique(np.append(firsts, len(self._rows)))

    def add(self, votes: F64, weight: float, to: F64) -> None:
        """Add to each node in `to` the weighted votes of the nodes that link to it.

        Args:
            votes: What each node that links to one of these gives to each of its targets.
            weight: Factor of all votes.
            to: [n_nodes], changed in place.
        """
        ends = np.append(self._starts, len(self._sources))
        for first, end in zip(self._cuts[:-1], self._cuts[1:], strict=True):
            start, stop = ends[first], ends[end]
            sums = np.add.reduceat(votes[self._sources[start:stop]], self._starts[first:end] - start)
            to[self._rows[first:end]] += sums if weight == 1.0 else weight * sums


def layers(graph: Graph, variant: Variant, hosts: npt.NDArray[np.integer] | None, *, local_weight: float = LOCAL_WEIGHT) -> list[Layer]:
    """Return the links that a variant of PageRank counts.

    Args:
        graph: All links.
        variant: Which links count.
        hosts: [n_nodes] host of each node; not needed for `all`.
        local_weight: Weight of a link within a host, if the variant has such.
    """
    if variant == "all":
        return [(graph, 1.0)]
    assert hosts is not None, f"PageRank over {variant} links needs hosts"
    remote = graph.across(hosts)
    if variant == "remote":
        return [(graph.keeping(remote), 1.0)]
    return [(graph.keeping(remote), 1.0), (graph.keeping(~remote), local_weight)]


def pagerank(links: Graph | Sequence[Layer], *, jump: float = JUMP, tolerance: float = 1e-9, most_iterations: int = 1000) -> Ranks:
    """Rank the nodes; their mean is 1.

    Args:
        links: A graph, or layers of links with weights.
        jump: Probability of a jump to any page, 0 to 1.
        tolerance: The iteration ends when the bound on the mean error of a rank is below.
        most_iterations: It also ends after so many.
    """
    found = [(links, 1.0)] if isinstance(links, Graph) else list(links)
    n_nodes = found[0][0].n_nodes
    weights = np.zeros(n_nodes)
    for graph, weight in found:
        weights += weight * graph.out_degrees()
    nodes = RankedNodes([(InLinks(graph.reversed()), weight) for graph, weight in found], weights, jump)
    run = iterate(n_nodes, nodes.idle(), lambda share: (nodes.step(nodes.votes(), share), nodes.idle()), jump, tolerance, most_iterations)
    return Ranks(nodes.ranks, *run)


class RankedNodes:
    """All nodes of a graph, or some of them with all of their in-links, and their ranks so far: 1 each at first."""

    def __init__(self, in_links: Sequence[tuple[InLinks, float]], weights: F64, jump: float) -> None:
        """Create the nodes.

        Args:
            in_links: Links to these nodes, and the weight of each.
            weights: [n_nodes] sum of the weights of each node's links, wherever these lead.
            jump: Probability of a jump to any page, 0 to 1.
        """
        self.ranks = np.ones(len(weights))
        self._in_links = in_links
        self._jump = jump
        self._has_links = weights > 0
        self._per_link = np.divide(1.0, weights, out=np.zeros(len(weights)), where=self._has_links)

    def votes(self) -> F64:
        """Return the vote of each node for each of its targets, [n_nodes]."""
        return self.ranks * self._per_link

    def idle(self) -> int:
        """Return the sum of the ranks of nodes without links, by `exact_sum`: they vote for all nodes."""
        return exact_sum(self.ranks[~self._has_links])

    def step(self, votes: F64, share: float) -> int:
        """Compute new ranks; return by how much they differ in all, by `exact_sum`.

        Args:
            votes: Of all nodes that link to these.
            share: What each node of the whole graph gets from those without links.
        """
        new = np.zeros(len(self.ranks))
        for inward, weight in self._in_links:
            inward.add(votes, weight, new)
        new += share
        new *= 1 - self._jump
        new += self._jump
        change, self.ranks = exact_sum(np.abs(new - self.ranks)), new
        return change


def iterate(
    n_nodes: int, idle: int, step: Callable[[float], tuple[int, int]], jump: float, tolerance: float, most_iterations: int = 1000
) -> tuple[int, float, bool]:
    """Compute new ranks until their error is small; return (number of iterations, error, whether it is small).

    Args:
        n_nodes: Of the whole graph.
        idle: The sum of the first ranks of all nodes without links.
        step: Computes all new ranks from what each node gets from those without links; returns (sum of all changes, the next `idle`).
        jump, tolerance, most_iterations: As for `pagerank`.
    """
    error, n = 0.0 if n_nodes == 0 else np.inf, 0
    while error > tolerance and n < most_iterations:
        change, idle = step(idle / UNITS / n_nodes)
        error, n = change / UNITS / n_nodes * (1 - jump) / jump, n + 1
    return n, error, error <= tolerance


def exact_sum(values: F64) -> int:
    """Return the sum of values that are at least 0, in units of 2⁻⁶⁰; what a value has below one unit is left out.

    It does not depend on their order. The sum must be below 2⁶², and there may be 2³³ values.
    """
    whole = np.floor(values)
    high = (values - whole) * _SCALE
    whole_high = np.floor(high)
    low = (high - whole_high) * _SCALE
    sums = (int(part.astype(np.int64).sum()) for part in (whole, whole_high, low))
    return sum(part << shift for part, shift in zip(sums, (2 * _BITS, _BITS, 0), strict=True))
