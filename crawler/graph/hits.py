"""Hubs and authorities [KLE99], to compare PageRank with: good hubs link to good authorities, and good authorities are linked from good
hubs.

It ranks the whole graph, not a query's neighbourhood as in the paper. It is known to be misled by local-link farms.

Means are taken from sums of integers, so that a graph whose nodes lie on several machines has the same values, to the last bit
(crawler/analysis/hits_share.py).

Memory: 8 bytes a link for both directions. Time: 25 ns a link and iteration; it converges slowly where two communities are nearly equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thresher.crawler.graph.csr import F64, Graph
from thresher.crawler.graph.pagerank import UNITS, InLinks, exact_sum

TOLERANCE = 1e-9
MOST_ITERATIONS = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Hub and authority of each node, [n_nodes], mean 1 (all 0 in a graph without links)."""

    hubs: F64
    authorities: F64
    n_iterations: int
    converged: bool


def hits(graph: Graph, *, tolerance: float = TOLERANCE, most_iterations: int = MOST_ITERATIONS) -> Hits:
    """Rank the nodes as hubs and authorities.

    Args:
        tolerance: The iteration ends when the mean change of an authority is below.
        most_iterations: It also ends after so many.
    """
    inward, outward = InLinks(graph.reversed()), InLinks(graph)
    hubs, authorities = np.ones(graph.n_nodes), np.zeros(graph.n_nodes)
    if graph.n_links == 0:
        return Hits(authorities, authorities, 0, converged=True)

    def step() -> float:
        nonlocal hubs, authorities
        new = np.zeros(graph.n_nodes)
        inward.add(hubs, 1.0, new)
        new /= exact_mean(exact_sum(new), graph.n_nodes)
        hubs = np.zeros(graph.n_nodes)
        outward.add(new, 1.0, hubs)
        hubs /= exact_mean(exact_sum(hubs), graph.n_nodes)
        change, authorities = exact_sum(np.abs(new - authorities)), new
        return exact_mean(change, graph.n_nodes)

    n, converged = until_settled(step, tolerance, most_iterations)
    return Hits(hubs, authorities, n, converged)


def until_settled(step: Callable[[], float], tolerance: float = TOLERANCE, most_iterations: int = MOST_ITERATIONS) -> tuple[int, bool]:
    """Compute new hubs and authorities until these change little; return (number of iterations, whether they do).

    Args:
        step: Computes all of them; returns the mean change of an authority.
        tolerance, most_iterations: As for `hits`.
    """
    change, n = np.inf, 0
    while change > tolerance and n < most_iterations:
        change, n = step(), n + 1
    return n, change <= tolerance


def exact_mean(total: int, n: int) -> float:
    """Return the mean of n values whose sum is `total`, by `exact_sum`."""
    return total / UNITS / n
