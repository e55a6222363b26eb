"""The cost of link graphs: `python -m benchmarks.speed.graph_speed [--links 10000000] [--store 100000000]`.

Prints the CPU seconds of a PageRank iteration. With --store, a store of that many links is written to a temporary directory (about 2 bytes
for each link), and the CPU seconds and the peak memory of reading them are printed.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from thresher.config.settings import Settings
from thresher.crawler.core.model import CrawlURL, State
from thresher.crawler.graph.csr import Graph
from thresher.crawler.graph.pagerank import pagerank
from thresher.storage.graph import read_links
from thresher.storage.records import PageRecord
from thresher.storage.store import Store
from thresher.storage.view import View

_OF_A_PAGE = 60  # links of each page
_NEW_OF_A_PAGE = 6
_MOST_PAGES_OF_A_GROUP = 2_000


def iteration(n_links: int) -> None:
    """Measure iterations over a random graph in which popular pages get most of the links."""
    rng, n_nodes = np.random.default_rng(1), n_links // 10
    targets = (rng.random(n_links) ** 3 * n_nodes).astype(np.int64)
    began = time.process_time()
    graph = Graph.from_links(rng.integers(0, n_nodes, n_links), targets, n_nodes)
    built = time.process_time()
    few = pagerank(graph, tolerance=1e-300, most_iterations=2)
    once = time.process_time()
    many = pagerank(graph, tolerance=1e-300, most_iterations=12)
    twice = time.process_time()
    per_iteration = ((twice - once) - (once - built)) / (many.n_iterations - few.n_iterations)
    print(
        f"{graph.n_links:,} links, {n_nodes:,} nodes: built in {built - began:.1f} CPU s, one PageRank iteration {per_iteration:.3f} CPU s"
    )


def store(n_links: int) -> None:
    """Write a crawl of pages with 60 links each, then read its link graph in one pass."""
    with tempfile.TemporaryDirectory(prefix="graph-speed-") as directory:
        path = Path(directory) / "crawl"
        n_pages = n_links // _OF_A_PAGE
        _write(path, n_pages)
        size = (path / "results" / "data.mdb").stat().st_size
        before, began = _peak_mib(), time.process_time()
        with View(path) as view:
            found = read_links(view)
        print(f"{len(found.targets):,} links of {n_pages:,} pages, {len(found.known.states):,} URLs; results {size / 2**20:,.0f} MiB")
        print(f"read in {time.process_time() - began:.1f} CPU s; peak memory {_peak_mib():,.0f} MiB (before: {before:,.0f})")


def _write(path: Path, n_pages: int) -> None:
    rng, n_known = np.random.default_rng(1), 1
    with Store.create(path, Settings(), 1.0) as made:
        for n in range(n_pages):
            for _ in range(_NEW_OF_A_PAGE if n else 60):
                made.tables.seen.add(_url(n_known), State.QUEUED, None, 1.0)
                n_known += 1
            url = _url(n + 1)
            made.tables.pages.put(PageRecord(url=url.text, key=url.key, status=200), None)
            near = rng.integers(max(1, n_known - 2_000), n_known, 30)
            made.tables.links.put(
                [*(rng.random(_OF_A_PAGE) ** 4 * (n_known - 1) + 1).astype(int).tolist(), *near.tolist()][: _OF_A_PAGE + 10]
            )
            made.tables.seen.settle(url.key, State.DONE)
            made.end_visit()
            if n % _MOST_PAGES_OF_A_GROUP == 0:
                made.flush(1.0).result()


def _url(n: int) -> CrawlURL:
    site = (n // 500).to_bytes(8)
    return CrawlURL(f"http://h{n // 500}.example/{n}", f"h{n // 500}.example", f"http://h{n // 500}.example", site + n.to_bytes(8))


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--links", type=int, default=10_000_000, help="links of the graph whose iterations are timed")
    parser.add_argument("--store", type=int, default=0, help="links of the store that is written and read")
    options = parser.parse_args()
    if options.links:
        iteration(options.links)
    if options.store:
        store(options.store)


if __name__ == "__main__":
    main()
