"""Merges the URLs of one page into one node, by what filters and redirects have found: for PageRank of pages.

Each node has a representative: itself, the page to which it redirects or of which it is a copy, or none (`DROPPED`: an error page, whatever
its status). Representatives have representatives; in a circle of them the smallest node represents all. Links to a dropped node are
deleted, since a broken link endorses nothing; links within a merged node are deleted, too.

Memory: 16 bytes a link while it is computed. Time: 0.2 µs a link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thresher.crawler.graph.csr import I64, Graph

DROPPED = -1


@dataclass(frozen=True, slots=True, eq=False)
class Collapsed:
    """The smaller graph, and which nodes of the larger graph its nodes are."""

    graph: Graph
    nodes: I64  # [n_nodes of the smaller]: the representative in the larger graph
    at: I64  # [n_nodes of the larger]: the node of the smaller graph that each belongs to, or DROPPED


def resolve(to: npt.NDArray[np.integer]) -> I64:
    """Return the end of each node's chain of representatives, or DROPPED.

    Args:
        to: [n_nodes] the representative of each node, itself if it has no other; below 0: DROPPED.

    Returns:
        [n_nodes]. Time: log(n_nodes) passes.
    """
    n = len(to)
    first = np.append(np.where(to < 0, n, to), n).astype(np.int64)  # node n stands for all dropped nodes
    jumps, least = first, np.arange(n + 1)
    for _ in range(max(1, n).bit_length()):  # k passes follow 2^k steps, and find the smallest node on the way
        least = np.minimum(least, least[jumps])
        jumps = jumps[jumps]
    ends = np.where(first[jumps] == jumps, jumps, least[jumps])  # still going on: in a circle, all of which was met by now
    return np.asarray(np.where(ends == n, DROPPED, ends)[:n], dtype=np.int64)


def collapse(graph: Graph, to: npt.NDArray[np.integer], *, self_links: bool = False) -> Collapsed:
    """Move each node's links to its representative, and renumber the remaining nodes in their old order.

    Args:
        graph: The larger graph.
        to: [n_nodes] the representative of each node, as for `resolve`.
        self_links: Whether links of a node to itself stay.
    """
    ends = resolve(to)
    nodes = np.flatnonzero(ends == np.arange(graph.n_nodes))
    numbers = np.full(graph.n_nodes + 1, DROPPED, dtype=np.int64)
    numbers[nodes] = np.arange(len(nodes))
    at = numbers[ends]  # DROPPED is the last place of `numbers`
    sources, targets = np.repeat(at, graph.out_degrees()), at[graph.targets]
    kept = (sources >= 0) & (targets >= 0) & ((sources != targets) | self_links)
    return Collapsed(Graph.from_links(sources[kept], targets[kept], len(nodes)), nodes, at)
