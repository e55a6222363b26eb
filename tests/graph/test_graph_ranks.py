"""PageRank and HITS: worked values of [NW01], and networkx and scipy as oracles to 1e-9."""

from __future__ import annotations

import math

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.graph import pagerank as module
from thresher.crawler.graph.csr import Graph
from thresher.crawler.graph.hits import hits
from thresher.crawler.graph.pagerank import InLinks, exact_sum, layers, pagerank


def graph(n_nodes: int, *links: tuple[int, int]) -> Graph:
    pairs = np.array(links, dtype=np.int64).reshape(-1, 2)
    return Graph.from_links(pairs[:, 0], pairs[:, 1], n_nodes)


WORKED = {
    "two pages that link to each other": (graph(2, (0, 1), (1, 0)), [1, 1]),
    "a chain that ends": (graph(3, (0, 1), (1, 2)), [0.55056, 1.02247, 1.42697]),
    "a hub and four leaves that link back": (
        graph(5, *[(0, i) for i in range(1, 5)], *[(i, 0) for i in range(1, 5)]),
        [2.38462] + [0.65385] * 4,
    ),
    "four leaves and a hub that links nowhere": (graph(5, *[(i, 0) for i in range(1, 5)]), [2.62712] + [0.59322] * 4),
}


@pytest.mark.parametrize("name", WORKED)
def test_pagerank_has_the_worked_values_of_the_paper(name: str) -> None:
    """Four small graphs, worked by hand from the definition in [NW01]."""
    links, expected = WORKED[name]
    assert pagerank(links).ranks == pytest.approx(expected, abs=5e-6)


GRAPHS = st.integers(1, 30).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=4 * n).map(lambda links: graph(n, *links))
)


def as_networkx(links: Graph, weights: dict[tuple[int, int], float] | None = None) -> networkx.DiGraph:
    made = networkx.DiGraph()
    made.add_nodes_from(range(links.n_nodes))
    for pair in zip(links.sources().tolist(), links.targets.tolist(), strict=True):
        made.add_edge(*pair, weight=1.0 if weights is None else weights[pair])
    return made


def oracle(made: networkx.DiGraph, jump: float) -> list[float]:
    found = networkx.pagerank(made, alpha=1 - jump, tol=1e-14, max_iter=2000)
    return [found[v] * len(found) for v in range(len(found))]


@given(GRAPHS, st.sampled_from([1 / 7, 0.15, 0.5]))
@settings(max_examples=60, deadline=None)
def test_pagerank_is_that_of_networkx(links: Graph, jump: float) -> None:
    """Mutation: pages without links vote for nobody."""
    found = pagerank(links, jump=jump, tolerance=1e-12)
    assert found.converged
    assert found.ranks == pytest.approx(oracle(as_networkx(links), jump), abs=1e-9)
    assert found.ranks.sum() == pytest.approx(links.n_nodes)


@given(GRAPHS, st.data())
@settings(max_examples=40, deadline=None)
def test_the_variants_count_links_across_hosts_as_they_say(links: Graph, data: st.DataObject) -> None:
    hosts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=links.n_nodes, max_size=links.n_nodes)))
    remote = {(s, t): hosts[s] != hosts[t] for s, t in zip(links.sources().tolist(), links.targets.tolist(), strict=True)}
    only_remote = as_networkx(links)
    only_remote.remove_edges_from([pair for pair, is_remote in remote.items() if not is_remote])
    found = pagerank(layers(links, "remote", hosts), tolerance=1e-12).ranks
    assert found == pytest.approx(oracle(only_remote, 1 / 7), abs=1e-9)
    weighted = as_networkx(links, {pair: 1.0 if is_remote else 0.25 for pair, is_remote in remote.items()})
    found = pagerank(layers(links, "weighted", hosts, local_weight=0.25), tolerance=1e-12).ranks
    assert found == pytest.approx(oracle(weighted, 1 / 7), abs=1e-9)


def test_the_error_is_bounded_by_what_pagerank_says() -> None:
    links = random_graph(300, 1500)
    exact = pagerank(links, tolerance=1e-14).ranks
    rough = pagerank(links, tolerance=1e-3)
    assert np.abs(rough.ranks - exact).mean() <= rough.error <= 1e-3


def random_graph(n_nodes: int, n_links: int) -> Graph:
    rng = np.random.default_rng(7)
    return Graph.from_links(rng.integers(0, n_nodes, n_links), rng.integers(0, n_nodes // 2, n_links), n_nodes)


def test_links_summed_in_blocks_are_summed_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutation: a cut one row late."""
    links, votes = random_graph(200, 3000), np.random.default_rng(1).random(200)
    whole, parts = np.zeros(200), np.zeros(200)
    InLinks(links.reversed()).add(votes, 2.0, whole)
    monkeypatch.setattr(module, "_BLOCK", 37)
    InLinks(links.reversed()).add(votes, 2.0, parts)
    expected = 2.0 * np.bincount(links.targets, weights=votes[links.sources()], minlength=200)
    assert whole == pytest.approx(expected)
    assert parts == pytest.approx(expected)


def test_a_sum_does_not_depend_on_its_order() -> None:
    """As numpy's own does: the ranks of several machines' nodes are added up in any order. Mutation: it is `values.sum()`."""
    values = np.random.default_rng(3).random(10_000) * 1e5
    sums = {exact_sum(values[np.random.default_rng(n).permutation(10_000)]) for n in range(9)}
    assert len(sums) == 1
    assert sums.pop() / 2**60 == pytest.approx(math.fsum(values), rel=1e-15)
    assert exact_sum(values[:7]) + exact_sum(values[7:]) == exact_sum(values)


def test_hits_is_that_of_scipy() -> None:
    """The principal singular vectors of the adjacency matrix."""
    import scipy.linalg

    links = random_graph(60, 400)
    matrix = np.zeros((60, 60))
    matrix[links.sources(), links.targets] = 1
    left, _, right = scipy.linalg.svd(matrix)
    found = hits(links, tolerance=1e-13)
    assert found.converged
    for ours, theirs in ((found.hubs, np.abs(left[:, 0])), (found.authorities, np.abs(right[0]))):
        assert ours == pytest.approx(theirs / theirs.mean(), abs=1e-9)


def test_a_graph_without_links_has_equal_ranks_and_no_hubs() -> None:
    assert pagerank(graph(3)).ranks.tolist() == [1, 1, 1]
    assert hits(graph(3)).authorities.tolist() == [0, 0, 0]
    assert pagerank(graph(0)).converged
