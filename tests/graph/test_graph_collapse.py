"""Many URLs of one page become one node, whatever leads to what."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.graph.collapse import DROPPED, collapse, resolve
from thresher.crawler.graph.csr import Graph
from thresher.crawler.graph.pagerank import pagerank

N = 12
TO = st.lists(st.integers(DROPPED, N - 1), min_size=N, max_size=N)


def end_of(to: list[int], node: int) -> int:
    """Walk from representative to representative; a circle is led by its smallest member."""
    path: list[int] = []
    while node not in path and node != DROPPED:
        path.append(node)
        node = to[node]
    return DROPPED if node == DROPPED else min(path[path.index(node) :])


@given(TO)
def test_every_chain_ends_where_a_walk_along_it_ends(to: list[int]) -> None:
    """Mutation: a circle is led by where the walk happens to stop."""
    assert resolve(np.array(to)).tolist() == [end_of(to, node) for node in range(N)]


@given(TO, st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)), max_size=40))
def test_links_join_representatives_and_never_a_node_with_itself(to: list[int], links: list[tuple[int, int]]) -> None:
    pairs = np.array(links, dtype=np.int64).reshape(-1, 2)
    found = collapse(Graph.from_links(pairs[:, 0], pairs[:, 1], N), np.array(to))
    ends = [end_of(to, node) for node in range(N)]
    names = found.nodes.tolist()
    assert names == sorted(set(ends) - {DROPPED})
    assert [DROPPED if at == DROPPED else names[at] for at in found.at.tolist()] == ends
    graph = found.graph
    assert {(names[s], names[t]) for s, t in zip(graph.sources().tolist(), graph.targets.tolist(), strict=True)} == {
        (ends[s], ends[t]) for s, t in links if DROPPED not in (ends[s], ends[t]) and ends[s] != ends[t]
    }


def test_a_page_that_its_copies_shared_gets_its_rank_back() -> None:
    """0 and 1 link to 2, three others to its copies 3, 4, 5, four to 9: alone 2 is behind 9, with its copies before it."""
    links = np.array([(0, 2), (1, 2), (6, 3), (7, 4), (8, 5), (0, 9), (1, 9), (6, 9), (7, 9)])
    graph = Graph.from_links(links[:, 0], links[:, 1], 10)
    to = np.arange(10)
    assert pagerank(graph).ranks[2] < pagerank(graph).ranks[9]
    to[[3, 4, 5]] = 2
    found = collapse(graph, to)
    ranks = pagerank(found.graph).ranks
    assert ranks[found.at[2]] > ranks[found.at[9]]
