"""The measures of a crawl's order that `rank --measures` prints and a report draws [NW01, CGP98]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.crawler.analysis.ranking import Crawled, Subject
from thresher.crawler.graph import measures
from thresher.crawler.graph.pagerank import JUMP, Variant, layers, pagerank

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
TOPS = (10, 100, 1_000, 10_000, 100_000)
EARLIER = 28 / 58  # share of the crawl: [NW01] compares with the graph of the first 28 of 58 days


@dataclass(frozen=True, slots=True)
class CrawlMeasures:
    """Measures over a graph's ranks and the order of its fetches; sequences of pairs are (at, value)."""

    n_nodes: int
    n_links: int
    n_fetches: int
    mean_rank_by_slice: list[float]  # mean of all nodes: 1
    mean_slice_of_top: list[tuple[int, float]]
    captured: list[tuple[float, float]]  # share of the fetches, share of all rank
    captured_by_best: list[tuple[float, float]]  # the same for the best order of the same pages
    overlap: list[tuple[int, float]]  # (N, share of the best N nodes after 28 of 58 slices that are among the best N of all)
    fidelity: measures.Fidelity
    concentration: measures.Concentration

    def lines(self) -> list[dict[str, Any]]:
        """Return one object for each measure."""
        pairs = (
            ("mean_slice_of_top", "n", "slice", self.mean_slice_of_top),
            ("captured", "of_fetches", "of_rank", self.captured),
            ("captured_by_best_order", "of_fetches", "of_rank", self.captured_by_best),
            ("overlap_with_earlier_graph", "n", "share", self.overlap),
        )
        return [
            {"measure": "graph", "nodes": self.n_nodes, "links": self.n_links, "fetches": self.n_fetches},
            {"measure": "mean_rank_by_slice", "slices": [round(mean, 6) for mean in self.mean_rank_by_slice]},
            *({"measure": name, x: at, y: round(value, 6)} for name, x, y, found in pairs for at, value in found),
            {"measure": "breadth_first_fidelity", **self.fidelity._asdict(), "share": round(self.fidelity.share, 6)},
            {"measure": "host_concentration", **self.concentration._asdict()},
        ]


def measure(subject: Subject, *, variant: Variant = "all", jump: float = JUMP, tolerance: float = 1e-9) -> CrawlMeasures:
    """Measure a crawl whose graph `of_store` read."""
    crawled, graph = subject.crawled, subject.graph
    assert crawled is not None, "a graph from a file has no order of fetches"
    hosts = subject.places("host").of
    ranks = pagerank(layers(graph, variant, hosts), jump=jump, tolerance=tolerance).ranks
    order = crawled.fetches
    best = order[np.argsort(-ranks[order], kind="stable")]
    tops = [top for top in TOPS if top < len(order)] + [len(order)]
    earlier = pagerank(layers(graph.from_nodes(_earlier(crawled)), variant, hosts), jump=jump, tolerance=tolerance).ranks
    return CrawlMeasures(
        graph.n_nodes,
        graph.n_links,
        len(order),
        measures.mean_by_slice(ranks, order).tolist(),
        list(zip(tops, measures.mean_slice_of_top(ranks, order, tops), strict=True)),
        list(zip(SHARES, measures.captured(ranks, order, SHARES), strict=True)),
        list(zip(SHARES, measures.captured(ranks, best, SHARES), strict=True)),
        list(zip(tops, measures.overlap(earlier, ranks, tops), strict=True)),
        measures.breadth_first_fidelity(crawled.depths[order]),
        measures.concentration(hosts[order]),
    )


def _earlier(crawled: Crawled) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which nodes had been fetched when 28 of 58 parts of the crawl were done."""
    found = np.zeros(len(crawled.depths), dtype=np.bool_)
    found[crawled.fetches[: round(EARLIER * len(crawled.fetches))]] = True
    return found
