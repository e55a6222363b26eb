"""Orders on a given graph: each does what its name says, and cnr-2000 gives the published shares of PageRank."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from long import shortened

from thresher.crawler.graph.csr import I64, Graph
from thresher.crawler.graph.measures import breadth_first_fidelity, captured
from thresher.crawler.graph.pagerank import pagerank
from thresher.crawler.graph.reading import read_graph
from thresher.crawler.graph.simulate import breadth_first, breadth_first_levels, breadth_first_opic, depth_first, opic, random_frontier

CNR = Path(__file__).parents[2] / "../shared/data/graphs/cnr-2000.graph-txt.gz"
SEED = np.array([0])
LINKS = st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=50)
Order = Callable[[Graph, I64], I64]


def build(links: list[tuple[int, int]], n_nodes: int = 15) -> Graph:
    pairs = np.array(links, dtype=np.int64).reshape(-1, 2)
    return Graph.from_links(pairs[:, 0], pairs[:, 1], n_nodes)


def at_random(graph: Graph, seeds: I64) -> I64:
    return random_frontier(graph, seeds, np.random.default_rng(3))


@pytest.mark.parametrize("order", shortened([breadth_first_opic, depth_first, at_random, opic, breadth_first], 2))
@given(links=LINKS)
def test_every_order_fetches_what_can_be_reached_once_and_nothing_before_it_is_known(order: Order, links: list[tuple[int, int]]) -> None:
    graph = build(links)
    fetched = order(graph, SEED).tolist()
    assert sorted(fetched) == np.flatnonzero(breadth_first_levels(graph, SEED)[1] >= 0).tolist()
    known = {0}
    for node in fetched:
        assert node in known
        known.update(graph.of(node).tolist())


@pytest.mark.parametrize("order", [breadth_first, breadth_first_opic])
@given(links=LINKS)
def test_breadth_first_orders_never_go_deeper_before_all_nearer_pages_are_fetched(order: Order, links: list[tuple[int, int]]) -> None:
    graph = build(links)
    depths = breadth_first_levels(graph, SEED)[1]
    assert breadth_first_fidelity(depths[order(graph, SEED)]).n_inversions == 0


def test_cash_decides_within_a_depth_and_opic_across() -> None:
    """0 links to 1, 2, 3; 1 and 2 link to 4; only 1 links to 5; 3 has no links. 4 has the most cash after 1 and 2 have given theirs."""
    graph = build([(0, 1), (0, 2), (0, 3), (1, 5), (1, 4), (2, 4)], 6)
    assert breadth_first(graph, SEED).tolist() == [0, 1, 2, 3, 4, 5]
    assert breadth_first_opic(graph, SEED).tolist() == [0, 1, 2, 3, 4, 5]
    assert opic(graph, SEED).tolist() == [0, 1, 4, 5, 2, 3]
    assert depth_first(graph, SEED).tolist() == [0, 3, 2, 4, 1, 5]


@pytest.mark.long
def test_cnr_2000_gives_the_known_shares_of_pagerank() -> None:
    """Breadth-first and the best possible order; `python -m benchmarks.quality.graph_orders` has all orders."""
    if not CNR.is_file():
        pytest.skip(f"{CNR}: not there")
    graph = read_graph(str(CNR)).graph
    assert (graph.n_nodes, graph.n_links) == (325_557, 3_216_152)
    found = pagerank(graph, jump=0.15, tolerance=1e-6)
    shares = [0.05, 0.1, 0.2, 0.5]
    order = breadth_first(graph, np.array([46918]))
    assert captured(found.ranks, order, shares) == pytest.approx([0.095, 0.163, 0.290, 0.638], abs=0.001)
    assert captured(found.ranks, np.argsort(-found.ranks), shares) == pytest.approx([0.533, 0.608, 0.717, 0.878], abs=0.001)
