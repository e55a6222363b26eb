"""Measures how good the order of a crawl was: PageRank of all known URLs, compared with the time of their fetches [NW01, CGP98].

Memory: 12 bytes a link and 100 a URL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.crawler.analysis.ranking import Subject, best, of_store
from thresher.crawler.graph import measures
from thresher.crawler.graph.csr import F64, I64
from thresher.crawler.graph.pagerank import pagerank
from thresher.storage.view import View

POINTS: Final = 50  # points of a curve
TOP: Final = 15
_DEEPEST: Final = 30


@dataclass(frozen=True, slots=True)
class OrderQuality:
    """Curves are pairs of shares, 0–1: share of the fetches, and share of all rank in these fetches. Ranks have a mean of 1."""

    n_urls: int
    n_links: int
    n_fetches: int
    captured: list[tuple[float, float]]
    captured_by_best: list[tuple[float, float]]
    across: list[tuple[float, float]]  # the same, with only links between hosts counted
    across_by_best: list[tuple[float, float]]
    by_slice: list[float]
    by_depth: list[tuple[int, float, int]]  # (clicks from a seed, mean rank of the pages fetched there, number of pages)
    top: list[tuple[str, float, int, int]]  # (URL, rank, number of its fetch from 1 or 0 for none, links to it)
    fidelity: measures.Fidelity
    concentration: measures.Concentration


def read_order(view: View) -> OrderQuality | None:
    """Rank all URLs that the crawl knows; None if nothing was fetched."""
    subject = of_store(view, collapsed=False)
    crawled, graph = subject.crawled, subject.graph
    assert crawled is not None, "a store has fetches"
    fetches = crawled.fetches
    if not len(fetches):
        return None
    hosts = subject.places("host").of
    ranks = pagerank(graph, tolerance=1e-6).ranks
    across = pagerank(graph.keeping(graph.across(hosts)), tolerance=1e-6).ranks
    return OrderQuality(
        n_urls=graph.n_nodes,
        n_links=graph.n_links,
        n_fetches=len(fetches),
        captured=_curve(ranks, fetches),
        captured_by_best=_curve(ranks, _by_rank(ranks, fetches)),
        across=_curve(across, fetches),
        across_by_best=_curve(across, _by_rank(across, fetches)),
        by_slice=measures.mean_by_slice(ranks, fetches).tolist(),
        by_depth=_by_depth(ranks[fetches], crawled.depths[fetches]),
        top=_top(subject, ranks, fetches),
        fidelity=measures.breadth_first_fidelity(crawled.depths[fetches]),
        concentration=measures.concentration(hosts[fetches]),
    )


def _curve(ranks: F64, order: I64) -> list[tuple[float, float]]:
    shares = [i / POINTS for i in range(POINTS + 1)]
    return list(zip(shares, measures.captured(ranks, order, shares), strict=True))


def _by_rank(ranks: F64, fetches: I64) -> I64:
    return fetches[np.argsort(-ranks[fetches], kind="stable")]


def _by_depth(ranks: F64, depths: I64) -> list[tuple[int, float, int]]:
    """Return (depth, mean rank, pages) for each depth that has pages. ranks, depths: [n_fetches]."""
    capped = np.minimum(depths, _DEEPEST)
    counts = np.bincount(capped)
    sums = np.bincount(capped, weights=ranks)
    return [(depth, float(sums[depth] / counts[depth]), int(counts[depth])) for depth in np.flatnonzero(counts).tolist()]


def _top(subject: Subject, ranks: F64, fetches: I64) -> list[tuple[str, float, int, int]]:
    nodes = best(ranks, TOP).tolist()
    numbers = np.zeros(len(ranks), dtype=np.int64)
    numbers[fetches] = np.arange(1, len(fetches) + 1)
    in_degrees = subject.graph.in_degrees()
    texts = subject.urls(nodes)
    return [(text, float(ranks[node]), int(numbers[node]), int(in_degrees[node])) for node, text in zip(nodes, texts, strict=True)]
