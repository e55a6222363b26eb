"""A link graph as two arrays: compressed sparse rows.

    targets of node v  =  targets[offsets[v] : offsets[v + 1]]

Nodes are 0 … n_nodes - 1, fewer than 2³¹. A node's targets are sorted and distinct in graphs that `from_links` made.

Memory: 4 bytes a link and 8 a node; 16 bytes a link while it is built from links.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MOST_NODES = 2**31 - 1
_LOW = np.int64(2**32 - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Which node links to which. offsets: [n_nodes + 1], non-decreasing from 0; targets: [n_links]."""

    offsets: I64
    targets: I32

    @classmethod
    def from_links(cls, sources: npt.NDArray[np.integer], targets: npt.NDArray[np.integer], n_nodes: int) -> Graph:
        """Build a graph from links in any order; a link that is there twice counts once.

        Args:
            sources: [n_links] node where each link starts, 0 … n_nodes - 1.
            targets: [n_links] node where each link ends, 0 … n_nodes - 1.
            n_nodes: Fewer than 2³¹.
        """
        assert n_nodes <= MOST_NODES, f"{n_nodes:,} nodes: numbers of nodes have 31 bits"
        links = (sources.astype(np.int64) << 32) | targets.astype(np.int64)
        links.sort()
        if len(links):
            distinct = np.empty(len(links), dtype=np.bool_)
            distinct[0] = True
            np.not_equal(links[1:], links[:-1], out=distinct[1:])
            if not distinct.all():
                links = links[distinct]
        return cls(_offsets(links, n_nodes), (links & _LOW).astype(np.int32))

    @property
    def n_nodes(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_links(self) -> int:
        return len(self.targets)

    def of(self, node: int) -> I32:
        """Return the targets of a node."""
        return self.targets[self.offsets[node] : self.offsets[node + 1]]

    def out_degrees(self) -> I64:
        """Return how many targets each node has, [n_nodes]."""
        return np.diff(self.offsets)

    def in_degrees(self) -> I64:
        """Return how many links lead to each node, [n_nodes]."""
        return np.bincount(self.targets, minlength=self.n_nodes).astype(np.int64)

    def sources(self) -> I32:
        """Return where each link starts, [n_links]."""
        return np.repeat(np.arange(self.n_nodes, dtype=np.int32), self.out_degrees())

    def reversed(self) -> Graph:
        """Return the graph with all links reversed: each node's targets are the nodes that link to it."""
        links = self.targets.astype(np.int64) << 32
        links |= self.sources()
        links.sort()
        offsets = _offsets(links, self.n_nodes)
        links &= _LOW
        return Graph(offsets, links.astype(np.int32))

    def keeping(self, links: Bools) -> Graph:
        """Return the graph with only some of the links; all nodes stay.

        Args:
            links: [n_links] whether each link stays.
        """
        kept = np.zeros(self.n_links + 1, dtype=np.int64)
        np.cumsum(links, out=kept[1:])
        return Graph(kept[self.offsets], self.targets[links])

    def from_nodes(self, nodes: Bools) -> Graph:
        """Return the graph with only the links that start at some of the nodes; all nodes stay.

        Args:
            nodes: [n_nodes] whether the links of each node stay.
        """
        return self.keeping(np.repeat(nodes, self.out_degrees()))

    def across(self, groups: npt.NDArray[np.integer]) -> Bools:
        """Return for each link whether it leads from one group of nodes to another (hosts, sites).

        Args:
            groups: [n_nodes] the group of each node.

        Returns:
            [n_links].
        """
        return np.asarray(np.repeat(groups, self.out_degrees()) != groups[self.targets], dtype=np.bool_)

    def grouped(self, groups: npt.NDArray[np.integer], n_groups: int) -> Graph:
        """Return the graph of groups: a group links to another if one of its nodes links to a node of the other.

        Args:
            groups: [n_nodes] the group of each node, 0 … n_groups - 1.
        """
        links = self.across(groups)
        return Graph.from_links(np.repeat(groups, self.out_degrees())[links], groups[self.targets[links]], n_groups)


def _offsets(links: I64, n_nodes: int) -> I64:
    """Return [n_nodes + 1] where the links of each node begin in sorted links (source node ‖ target node)."""
    return np.searchsorted(links, np.arange(n_nodes + 1, dtype=np.int64) << 32).astype(np.int64)
