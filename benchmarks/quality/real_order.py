"""Manuals of Debian crawled together, in each order: `python -m benchmarks.quality.real_order [--orders A,B] [--keep DIR]`.

nginx serves the manuals that are installed, each under a host name of its own on one loopback address. A crawl by the command line starts
at the first page of each, with all filters off but media, and ends when nothing is left. There is one fetcher for four hosts, so that an
order has a choice. The gap between requests to a host is Mercator's: ten times what its last response took. For each order it prints the
share of all PageRank that the crawl had after parts of its fetches, beside the same graph in strict order, in random order, and at best.
For the default order it also prints the measures of [NW01].

No manual links to another one, so this crawl does not show the effect of links between hosts. benchmarks/quality/graph_orders.py does.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.living.crawls import filter_names
from benchmarks.support.nginx import serving
from thresher.crawler.analysis.crawl_measures import CrawlMeasures, measure
from thresher.crawler.analysis.ranking import of_store
from thresher.crawler.children import python
from thresher.crawler.core.order.by_name import NAMES
from thresher.crawler.graph.csr import F64, I64
from thresher.crawler.graph.measures import captured, mean_by_slice
from thresher.crawler.graph.pagerank import pagerank
from thresher.crawler.graph.simulate import breadth_first, depth_first, random_frontier
from thresher.storage.packing import unpack_links
from thresher.storage.schema import LINKS
from thresher.storage.view import View

ADDRESS, PORT = "127.0.0.4", 8807
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
HOSTS_PER_FETCHER = 4
_WIDTH = 30


class Manual(NamedTuple):
    """One manual."""

    name: str
    package: str
    root: Path
    first: str


MANUALS = (
    Manual("postgresql", "postgresql-doc-15", Path("/usr/share/doc/postgresql-doc-15/html"), "index.html"),
    Manual("python", "python3-doc", Path("/usr/share/doc/python3.11-doc/html"), "index.html"),
    Manual("linux", "linux-doc-6.1", Path("/usr/share/doc/linux-doc-6.1/html"), "index.html"),
    Manual("boost", "libboost1.74-doc", Path("/usr/share/doc/libboost1.74-doc/doc/html"), "index.html"),
    Manual("sqlite", "sqlite3-doc", Path("/usr/share/doc/sqlite3"), "index.html"),
    Manual("handbook", "debian-handbook", Path("/usr/share/doc/debian-handbook/html"), "en-US/index.html"),
    Manual("reference", "developers-reference", Path("/usr/share/developers-reference"), "index.html"),
    Manual("mhonarc", "mhonarc", Path("/usr/share/doc/mhonarc"), "index.html"),
)
FEWEST = 4


class Crawl(NamedTuple):
    """The data of a crawl at its end.    order: nodes in the order in which they were fetched"""

    measures: CrawlMeasures
    ranks: F64
    order: I64
    seeds: I64
    curves: dict[str, list[float]]  # of other orders, over the same graph
    bytes_per_link: float  # rows of the link table, with keys


def crawl(manuals: Sequence[Manual], order: str, directory: Path) -> None:
    """Crawl the manuals with the command line."""
    sets = {
        "frontier.order": order,
        "fetch.concurrency": max(1, len(manuals) // HOSTS_PER_FETCHER),
        "fetch.allow_addresses": "[127.0.0.0/8]",
        "fetch.allow_ports": "any",
        "identity.contact": "https://example.org/bot",
        "dns.static": f'{{".example": "{ADDRESS}"}}',
        "limits.min_free_disk": 0,
        "limits.max_wait": 20,
        "politeness.min_delay": 0,
        "politeness.address_delay": 0,
        "politeness.address_connections": len(manuals),
        **{f"filters.{name}.mode": "off" for name in filter_names()},
    }
    options = [part for key, value in sets.items() for part in ("--set", f"{key}={value}")]
    seeds = [_url(manual) for manual in manuals]
    command = python.command("thresher", "crawl", *seeds, *options, "-o", str(directory), "--progress", "none")
    subprocess.run(command, env=python.environment(), check=True, stdout=subprocess.DEVNULL)


def read(directory: Path) -> Crawl:
    """Rank the URLs that a crawl knows; judge its order, and others over the same graph."""
    with View(directory) as view:
        subject = of_store(view, collapsed=False)
        found = measure(subject)
        graph, crawled = subject.graph, subject.crawled
        assert crawled is not None
        ranks, order = pagerank(graph).ranks, crawled.fetches
        seeds = order[crawled.depths[order] == 0]
        rng = np.random.default_rng(1)
        others = {
            "strict breadth-first": breadth_first(graph, seeds),
            "strict depth-first": depth_first(graph, seeds),
            "any page known": random_frontier(graph, seeds, rng),
            "best possible": order[np.argsort(-ranks[order], kind="stable")],
        }
        fetched = np.zeros(graph.n_nodes, dtype=np.bool_)
        fetched[order] = True
        curves = {name: captured(ranks, nodes[fetched[nodes]], SHARES) for name, nodes in others.items()}
        rows = list(view.rows(LINKS))
        n_links = unpack_links([value for _, value in rows])[0].sum()
        return Crawl(found, ranks, order, seeds, curves, float(sum(len(key) + len(value) for key, value in rows) / n_links))


def show(name: str, shares: Sequence[float]) -> None:
    print(f"  {name:{_WIDTH}}" + "".join(f"{share:8.3f}" for share in shares), flush=True)


def show_measures(crawl: Crawl) -> None:
    """Print the measures of [NW01]: when good pages came, and how soon their ranks were known."""
    found, slices = crawl.measures, mean_by_slice(crawl.ranks, crawl.order)
    quarters = ", ".join(f"{part.mean():.2f}" for part in np.array_split(slices, 4))
    print(f"  mean rank of slice 1 of 58: {slices[0]:.2f}, slice 2: {slices[1]:.2f}; of quarters of the crawl: {quarters}")
    print("  mean slice of the best pages: " + ", ".join(f"top {n:,}: {at:.1f}" for n, at in found.mean_slice_of_top))
    print("  of the best pages known after 28 of 58 slices: " + ", ".join(f"top {n:,}: {share:.0%}" for n, share in found.overlap))
    spread = found.concentration
    print(
        f"  {found.fidelity.share:.1%} of pairs breadth-first; {spread.n_hosts} hosts, as even as {spread.effective_hosts:.1f} equal ones"
    )


def main() -> int:
    """Serve, crawl in each order, print; return 2 if too few manuals are installed."""
    options = _options()
    manuals = [manual for manual in MANUALS if (manual.root / manual.first).is_file()]
    missing = " ".join(manual.package for manual in MANUALS if manual not in manuals)
    if missing:
        print(f"not there: apt-get install --no-install-recommends nginx-light {missing}", file=sys.stderr)
    if len(manuals) < FEWEST:
        return 2
    with ExitStack() as stack:
        keep = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thresher-order-")))
        servers = [f"listen {ADDRESS}:{PORT}; server_name {manual.name}.example; root {manual.root};" for manual in manuals]
        stack.enter_context(serving(keep, servers, [f"http://{ADDRESS}:{PORT}/{manuals[0].first}"]))
        crawls: dict[str, Crawl] = {}
        for order in options.orders.split(","):
            crawl(manuals, order, keep / order)
            crawls[order] = read(keep / order)
    first = next(iter(crawls.values()))
    found = first.measures
    print(f"{', '.join(manual.name for manual in manuals)}: {found.n_nodes:,} URLs, {found.n_links:,} links, {found.n_fetches:,} fetched")
    print(f"  {first.bytes_per_link:.2f} bytes a link in the store")
    print(f"  {'share of PageRank after':{_WIDTH}}" + "".join(f"{share:8.0%}" for share in SHARES))
    for order, made in crawls.items():
        show(order, captured(made.ranks, made.order, SHARES))
    for name, shares in first.curves.items():
        show(name, shares)
    print(next(iter(crawls)))
    show_measures(first)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.real_order", description="Crawl Debian's documentation by each order."
    )
    parser.add_argument("--orders", default=",".join(NAMES), help="names of frontier.order, by commas (default: all)")
    parser.add_argument("--keep", type=Path, help="leave the crawls here, for `thresher report DIR/ORDER` and `thresher rank DIR/ORDER`")
    return parser.parse_args()


def _url(manual: Manual) -> str:
    return f"http://{manual.name}.example:{PORT}/{manual.first}"


if __name__ == "__main__":
    sys.exit(main())
