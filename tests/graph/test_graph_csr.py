"""Graphs as arrays: what goes in comes out, turned round, thinned and grouped."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.graph.csr import Graph

LINKS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=60)


def build(links: list[tuple[int, int]]) -> Graph:
    pairs = np.array(links, dtype=np.int64).reshape(-1, 2)
    return Graph.from_links(pairs[:, 0], pairs[:, 1], 10)


def links_of(graph: Graph) -> list[tuple[int, int]]:
    return list(zip(graph.sources().tolist(), graph.targets.tolist(), strict=True))


@given(LINKS)
def test_a_graph_holds_each_link_once_in_order(links: list[tuple[int, int]]) -> None:
    graph = build(links)
    assert links_of(graph) == sorted(set(links))
    assert [graph.of(v).tolist() for v in range(10)] == [sorted({t for s, t in links if s == v}) for v in range(10)]
    assert graph.in_degrees().tolist() == [sum(t == v for _, t in set(links)) for v in range(10)]


@given(LINKS)
def test_turned_round_twice_a_graph_is_itself(links: list[tuple[int, int]]) -> None:
    graph = build(links)
    assert links_of(graph.reversed()) == sorted((t, s) for s, t in set(links))
    assert links_of(graph.reversed().reversed()) == links_of(graph)


@given(LINKS, st.lists(st.integers(0, 2), min_size=10, max_size=10))
def test_groups_are_linked_where_a_node_of_one_links_to_a_node_of_another(links: list[tuple[int, int]], groups: list[int]) -> None:
    graph, of = build(links), np.array(groups)
    crossing = {(groups[s], groups[t]) for s, t in links if groups[s] != groups[t]}
    assert links_of(graph.grouped(of, 3)) == sorted(crossing)
    assert [pair for pair, across in zip(links_of(graph), graph.across(of), strict=True) if across] == [
        (s, t) for s, t in sorted(set(links)) if groups[s] != groups[t]
    ]


@given(LINKS, st.lists(st.booleans(), min_size=10, max_size=10))
def test_links_of_some_nodes_are_kept_with_all_nodes(links: list[tuple[int, int]], nodes: list[bool]) -> None:
    kept = build(links).from_nodes(np.array(nodes))
    assert links_of(kept) == [(s, t) for s, t in sorted(set(links)) if nodes[s]]
    assert kept.n_nodes == 10
