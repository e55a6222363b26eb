"""How filters improve PageRank: `python -m benchmarks.quality.graph_collapse [PAGES SITES]` (of each part of the web; default 60 and 20).

The demo web of all parts, with aliases, soft errors, replicas and traps beside honest pages, is crawled once with all filters on. Its
pages are ranked twice: once by URL, and once after each URL is replaced by the page that it stands for, as filters and redirects say
(storage/representatives.py). The truth is PageRank over the web's documents. For each list of the best N the benchmark counts URLs without
a document, URLs whose document stands higher in the list already, and the share of the truth's best N that is in the list.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.living.crawls import filter_names
from thresher.crawler.analysis.ranking import Subject, best, of_store
from thresher.crawler.bench.crawl_bench import bench_settings
from thresher.crawler.children import python
from thresher.crawler.demo.labelled import PARTS, LabelledWeb
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.graph.collapse import DROPPED, collapse
from thresher.crawler.graph.csr import Graph
from thresher.crawler.graph.pagerank import pagerank
from thresher.crawler.start.opening import create_store
from thresher.storage.view import View

TOPS = (50, 200, 1000)
MAX_PAGES = 40_000


def true_order(web: LabelledWeb) -> list[str]:
    """Return the web's documents, best first."""
    links = dict(web.graph())
    number = {url: i for i, url in enumerate(links)}
    labels = [web.label(url) for url in links]
    shown: dict[str, int] = {}
    for i, label in enumerate(labels):
        if label.document:
            shown.setdefault(label.document, i)
    ends = [shown.get(label.document, number.get(label.target, DROPPED)) for label in labels]
    pairs = np.array([(number[url], number[to]) for url, out in links.items() for to in out if to in number])
    found = collapse(Graph.from_links(pairs[:, 0], pairs[:, 1], len(links)), np.array(ends))
    order = best(pagerank(found.graph).ranks, None)
    return [label.document for label in (labels[int(found.nodes[node])] for node in order) if label.document]


def crawl(server: ServerProcess, directory: Path) -> None:
    """Crawl the web with all filters enforced."""
    modes = tuple(f"filters.{name}.mode=enforce" for name in filter_names())
    create_store(directory, bench_settings(server, MAX_PAGES, ("limits.max_wait=2", *modes)))
    command = python.command("thresher", "resume", str(directory), "--progress", "none")
    subprocess.run(command, env=python.environment(), check=True, stdout=subprocess.DEVNULL)


def judge(web: LabelledWeb, subject: Subject, truth: list[str]) -> list[tuple[int, int, int, float]]:
    """Return for each N: URLs without a document, URLs of a document that stands higher, and the share of the true best N in the list."""
    ranks = pagerank(subject.graph).ranks
    documents = [web.label(url).document for url in subject.urls(best(ranks, max(TOPS)).tolist())]
    rows = []
    for top in TOPS:
        shown = [document for document in islice(documents, top) if document]
        n_found = len(set(shown) & set(truth[:top]))
        rows.append((top, min(top, len(documents)) - len(shown), len(shown) - len(set(shown)), n_found / len(truth[:top])))
    return rows


def measure(n_pages: int, n_sites: int, parts: Sequence[str] = tuple(PARTS)) -> dict[bool, list[tuple[int, int, int, float]]]:
    """Crawl and judge; return the rows of `judge` without and with collapsing."""
    with (
        ServerProcess("labelled", changes={"part_pages": n_pages, "part_sites": n_sites, "parts": list(parts)}) as server,
        tempfile.TemporaryDirectory(prefix="thresher-collapse-") as temporary,
    ):
        assert isinstance(server.web, LabelledWeb)
        directory = Path(temporary) / "crawl"
        crawl(server, directory)
        truth = true_order(server.web)
        with View(directory) as view:
            return {collapsed: judge(server.web, of_store(view, collapsed=collapsed), truth) for collapsed in (False, True)}


def main() -> None:
    n_pages, n_sites = map(int, sys.argv[1:3] or ("60", "20"))
    found = measure(n_pages, n_sites)
    print(f"{'':22}{'best N':>8}{'no document':>14}{'shown above':>14}{'of the truth':>15}")
    for collapsed, rows in found.items():
        for top, n_empty, n_again, share in rows:
            print(f"{'collapsed' if collapsed else 'URLs as they are':22}{top:8}{n_empty:14}{n_again:14}{share:15.0%}")


if __name__ == "__main__":
    main()
