"""Simulates orders of a crawl on a known graph: the order in which each would have fetched the pages.

Without hosts, one page at a time: `breadth_first`, `depth_first`, `random_frontier`, `opic`, `breadth_first_opic`. Each starts at seeds and
returns all nodes that can be reached, in the order of their fetches, [n_reached]. How politeness changes an order is measured with the
crawler's own frontier: benchmarks/quality/graph_orders.py.

OPIC [APC03]: every page has cash; a page that is fetched gives its cash to its targets in equal parts. All pages begin with equal cash, and
the page with the most is next. Cash given to a page that was fetched before has no effect.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

import numpy as np

from thresher.crawler.core.order.breadth_first import BreadthFirst
from thresher.crawler.core.order.cash import Cash
from thresher.crawler.graph.csr import I64, Graph


def breadth_first(graph: Graph, seeds: I64) -> I64:
    """Fetch pages in the order of discovery."""
    return breadth_first_levels(graph, seeds)[0]


def breadth_first_levels(graph: Graph, seeds: I64) -> tuple[I64, I64]:
    """Return ([n_reached] order, [n_nodes] depth of each node, -1 if it cannot be reached)."""
    depths = np.full(graph.n_nodes, -1, dtype=np.int64)
    level = _firsts(seeds)
    levels: list[I64] = []
    while len(level):
        depths[level] = len(levels)
        levels.append(level)
        found = _targets(graph, level)
        level = _firsts(found[depths[found] < 0])
    return np.concatenate(levels) if levels else np.zeros(0, dtype=np.int64), depths


def depth_first(graph: Graph, seeds: I64) -> I64:
    """Fetch the page that was found last, as a stack of links gives it."""
    stack, order, seen = [int(node) for node in seeds], [], bytearray(graph.n_nodes)
    while stack:
        node = stack.pop()
        if not seen[node]:
            seen[node] = 1
            order.append(node)
            stack.extend(graph.of(node).tolist())
    return np.array(order, dtype=np.int64)


def random_frontier(graph: Graph, seeds: I64, rng: np.random.Generator) -> I64:
    """Fetch a random page of those known so far."""
    frontier, order, known = [int(node) for node in seeds], [], bytearray(graph.n_nodes)
    for node in frontier:
        known[node] = 1
    draws = iter(rng.random(graph.n_nodes).tolist())
    while frontier:
        at = int(next(draws) * len(frontier))
        frontier[at], frontier[-1] = frontier[-1], frontier[at]
        node = frontier.pop()
        order.append(node)
        for target in graph.of(node).tolist():
            if not known[target]:
                known[target] = 1
                frontier.append(target)
    return np.array(order, dtype=np.int64)


def opic(graph: Graph, seeds: I64, *, initial_cash: float = 1.0) -> I64:
    """Fetch the known page with the most cash.

    Args:
        initial_cash: The initial cash of each page; 0 gives all cash there is to the seeds.
    """
    return _by_cash(graph, seeds, initial_cash, by_depth=False)


def breadth_first_opic(graph: Graph, seeds: I64, *, initial_cash: float = 1.0, exact: bool = False) -> I64:
    """Fetch by depth, and within a depth the page with the most cash first: the crawler's default order, for one seed.

    Args:
        exact: Compare exact sums of cash; the crawler compares levels (crawler/core/order/cash.py).
    """
    return _by_cash(graph, seeds, initial_cash, by_depth=True, worth=_sum if exact else Cash(BreadthFirst.cash_steps).level_of)


def _sum(cash: float) -> float:
    return cash


def _by_cash(graph: Graph, seeds: I64, initial_cash: float, *, by_depth: bool, worth: Callable[[float], float] = _sum) -> I64:
    n_nodes = graph.n_nodes
    cash, depths, worths = [initial_cash] * n_nodes, [n_nodes] * n_nodes, [-1.0] * n_nodes
    numbers, fetched, order = [0] * n_nodes, bytearray(n_nodes), list[int]()
    heap: list[tuple[int, float, int, int]] = []  # (depth or 0, -cash, age, node); an item with less cash than its node is outdated
    n_known = 0
    for seed in seeds.tolist():
        cash[seed], depths[seed], numbers[seed], n_known = initial_cash or 1.0, 0, n_known, n_known + 1
        heappush(heap, (0, -worth(cash[seed]), numbers[seed], seed))
    while heap:
        node = heappop(heap)[3]
        if fetched[node]:
            continue
        fetched[node] = 1
        order.append(node)
        targets, depth = graph.of(node).tolist(), depths[node] + 1
        share = cash[node] / len(targets) if targets else 0.0
        for target in targets:
            if fetched[target]:
                continue
            if depths[target] == n_nodes:
                numbers[target], n_known = n_known, n_known + 1
            cash[target] += share
            new = worth(cash[target])
            if new > worths[target] or depth < depths[target]:
                depths[target], worths[target] = min(depth, depths[target]), new
                heappush(heap, (depths[target] if by_depth else 0, -new, numbers[target], target))
    return np.array(order, dtype=np.int64)


def _targets(graph: Graph, nodes: I64) -> I64:
    """Return the targets of all nodes, one node after the other."""
    starts, sizes = graph.offsets[nodes], graph.offsets[nodes + 1] - graph.offsets[nodes]
    ends = np.cumsum(sizes)
    at = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)
    return np.asarray(graph.targets[at], dtype=np.int64)


def _firsts(nodes: I64) -> I64:
    """Return the distinct nodes in the order of their first occurrence."""
    _, firsts = np.unique(nodes, return_index=True)
    return np.asarray(nodes[np.sort(firsts)], dtype=np.int64)
