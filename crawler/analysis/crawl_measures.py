"""The measures of a crawl's order that `rank --measures` prints and a report draws [NW01, CGP98]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.crawler.analysis.rank_far import RankChoice, rank_twice
from thresher.crawler.analysis.ranking import Crawled, Subject, crawled_far, texts_of
from thresher.crawler.core.places import places
from thresher.crawler.graph import measures
from thresher.crawler.graph.csr import F64, I64
from thresher.crawler.graph.pagerank import JUMP, Variant, layers, pagerank
from thresher.storage.view import View

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
    earlier = pagerank(layers(graph.from_nodes(_earlier(crawled)), variant, hosts), jump=jump, tolerance=tolerance).ranks
    return _measured(ranks, earlier, crawled, hosts[crawled.fetches], graph.n_links)


def measure_by_machines(view: View, choice: RankChoice) -> CrawlMeasures | None:
    """Measure a crawl of several machines by ranks that these compute; None where that is not possible (rank_far.py)."""
    crawled = Crawled(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def early(numbers: I64) -> I64:
        nonlocal crawled
        crawled = crawled_far(view, numbers, collapsed=choice.collapsed)
        found: I64 = numbers[_earlier(crawled)]
        return found

    found = rank_twice(view, choice, early)
    if found is None:
        return None
    whole, earlier = found
    hosts = places(texts_of(view, whole.numbers, crawled.fetches.tolist()), "host").of
    return _measured(whole.found.ranks, earlier, crawled, hosts, int(whole.in_degrees.sum()))


def _measured(ranks: F64, earlier: F64, crawled: Crawled, hosts: np.ndarray[Any, np.dtype[np.integer]], n_links: int) -> CrawlMeasures:
    """Measure an order of fetches.

    Args:
        ranks, earlier: Of all nodes, by all links, and by those of early pages.
        hosts: Of each fetch.
    """
    order = crawled.fetches
    best = order[np.argsort(-ranks[order], kind="stable")]
    tops = [top for top in TOPS if top < len(order)] + [len(order)]
    return CrawlMeasures(
        len(ranks),
        n_links,
        len(order),
        measures.mean_by_slice(ranks, order).tolist(),
        list(zip(tops, measures.mean_slice_of_top(ranks, order, tops), strict=True)),
        list(zip(SHARES, measures.captured(ranks, order, SHARES), strict=True)),
        list(zip(SHARES, measures.captured(ranks, best, SHARES), strict=True)),
        list(zip(tops, measures.overlap(earlier, ranks, tops), strict=True)),
        measures.breadth_first_fidelity(crawled.depths[order]),
        measures.concentration(hosts),
    )


def _earlier(crawled: Crawled) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which nodes had been fetched when 28 of 58 parts of the crawl were done."""
    found = np.zeros(len(crawled.depths), dtype=np.bool_)
    found[crawled.fetches[: round(EARLIER * len(crawled.fetches))]] = True
    return found
