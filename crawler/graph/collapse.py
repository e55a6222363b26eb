"""A graph in which the many URLs of one page are one node: what the filters and the redirect log found, applied to PageRank.

Each node names its representative: itself, the page that it leads to or is a copy of, or none (`DROPPED`: a page that is not there,
however it says so). Representatives have representatives; a circle of them is led by its smallest member. Links to a dropped node go
with it, as a broken link endorses nothing; links within a node vanish.

Memory: 16 bytes a link for a while. Time: 0.2 µs a link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thresher.crawler.graph.csr import I64, Graph

DROPPED = -1


@dataclass(frozen=True, slots=True, eq=False)
class Collapsed:
    """A smaller graph and how its nodes are named in the larger one."""

    graph: Graph
    nodes: I64  # [n_nodes of the smaller]: the representative in the larger graph
    at: I64  # [n_nodes of the larger]: the node that each has become, DROPPED if none


def resolve(to: npt.NDArray[np.integer]) -> I64:
    """Return the end of each node's chain of representatives, itself at the least, or DROPPED; [n_nodes]. Time: log(n_nodes) passes."""
    n = len(to)
    first = np.append(np.where(to < 0, n, to), n).astype(np.int64)  # node n stands for those dropped
    jumps, least = first, np.arange(n + 1)
    for _ in range(max(1, n).bit_length()):  # 2^k steps after k passes, and the smallest node met on the way
        least = np.minimum(least, least[jumps])
        jumps = jumps[jumps]
    ends = np.where(first[jumps] == jumps, jumps, least[jumps])  # still moving: in a circle, all of which has been met by now
    return np.asarray(np.where(ends == n, DROPPED, ends)[:n], dtype=np.int64)


def collapse(graph: Graph, to: npt.NDArray[np.integer], *, self_links: bool = False) -> Collapsed:
    """Put each node's links to its representative, and number the nodes that are left in their old order.

    Args:
        to: [n_nodes].
        self_links: Let links of a node to itself stay.
    """
    ends = resolve(to)
    nodes = np.flatnonzero(ends == np.arange(graph.n_nodes))
    numbers = np.full(graph.n_nodes + 1, DROPPED, dtype=np.int64)
    numbers[nodes] = np.arange(len(nodes))
    at = numbers[ends]  # DROPPED is the last place of `numbers`
    sources, targets = np.repeat(at, graph.out_degrees()), at[graph.targets]
    kept = (sources >= 0) & (targets >= 0) & ((sources != targets) | self_links)
    return Collapsed(Graph.from_links(sources[kept], targets[kept], len(nodes)), nodes, at)
