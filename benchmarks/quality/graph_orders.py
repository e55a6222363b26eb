"""Which order finds good pages early? `python -m benchmarks.quality.graph_orders [cnr] [web] [large] [farms]`; without arguments all.

cnr     orders simulated on cnr-2000 (../shared/data/graphs), from the page with most links: share of PageRank (damping .85) by then
web     the demo web "rank" through the crawler's own frontier and politeness on a simulated clock (tests/polite_crawl.py), 4 to 64 fetchers
large   the same web with 1,500 sites and 60,000 pages; also the share that breadth-first has after a tenth of the crawl
farms   which rank each variant of PageRank, and HITS, gives to local-link farms, and when each order fetches them

Two orders are breadth-first: `plain` by depth within a host, as the default would be without cash and linking sites, and `fifo` by
discovery, as in [NW01]. Shares are means over webs of several seeds, four small ones and two large, because the gain of an order differs
from web to web by a tenth. The table also has the least and the greatest gain over `plain` on one web. Ten minutes of CPU in all.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests"))

from polite_crawl import KnownWeb, Oracle, PlainBreadthFirst, PoliteCrawl, demo_web  # found where the suite finds it

from thresher.crawler.core.order.base import Order
from thresher.crawler.core.order.by_name import NAMES
from thresher.crawler.core.places import places
from thresher.crawler.graph.csr import F64, I64, Bools, Graph
from thresher.crawler.graph.hits import hits
from thresher.crawler.graph.measures import captured, mean_by_slice, mean_slice_of_top
from thresher.crawler.graph.pagerank import Variant, layers, pagerank
from thresher.crawler.graph.reading import read_graph
from thresher.crawler.graph.simulate import breadth_first, breadth_first_opic, depth_first, opic, random_frontier

CNR = ROOT / "../shared/data/graphs/cnr-2000.graph-txt.gz"
CNR_SEED = 46918
SHARES = (0.05, 0.1, 0.2, 0.5)
VARIANTS: tuple[Variant, ...] = ("all", "weighted", "remote")
N_SLICES = 58


def show(name: str, shares: Sequence[float], note: str = "") -> None:
    print(f"  {name:38}" + "".join(f"{share:8.3f}" for share in shares) + f"  {note}", flush=True)


def header(title: str) -> None:
    print(f"{title}\n  {'share of PageRank after':38}" + "".join(f"{share:8.0%}" for share in SHARES))


def cnr() -> None:
    """Print the table of orders on cnr-2000."""
    if not CNR.is_file():
        print(f"cnr: {CNR} is not there", file=sys.stderr)
        return
    graph = read_graph(str(CNR)).graph
    ranks, seed = pagerank(graph, jump=0.15).ranks, np.array([CNR_SEED])
    rng = np.random.default_rng(1)
    any_order = [captured(ranks, rng.permutation(graph.n_nodes), SHARES) for _ in range(20)]
    header(f"cnr-2000: {graph.n_nodes:,} pages, {graph.n_links:,} links, from {CNR_SEED}")
    show("default: breadth-first, cash by depth", captured(ranks, breadth_first_opic(graph, seed), SHARES))
    show("the same by exact cash", captured(ranks, breadth_first_opic(graph, seed, exact=True), SHARES))
    show("plain breadth-first", captured(ranks, breadth_first(graph, seed), SHARES))
    show("OPIC, each page begins with cash", captured(ranks, opic(graph, seed), SHARES))
    show("OPIC, all cash from the seed", captured(ranks, opic(graph, seed, initial_cash=0.0), SHARES))
    show("depth-first", captured(ranks, depth_first(graph, seed), SHARES))
    show("any page known", captured(ranks, random_frontier(graph, seed, rng), SHARES))
    show("any page at all (mean of 20)", np.mean(any_order, axis=0).tolist(), f"± {np.std(any_order, axis=0).max():.3f}")
    show("best possible", captured(ranks, np.argsort(-ranks), SHARES))


def polite(web: KnownWeb, order: str, concurrency: int, ranks: F64, seed: int = 0) -> tuple[list[float], I64]:
    """Return the shares of PageRank that an order has after parts of its fetches, and the fetches.    seed: of the clock"""
    n_pages = web.graph.n_nodes
    others: dict[str, str | Order] = {"plain": PlainBreadthFirst(), "oracle": Oracle(ranks)}
    chosen = others.get(order, order)
    fetched = PoliteCrawl(web, chosen, concurrency=concurrency, seed=seed).run(round(SHARES[-1] * n_pages))
    return captured(ranks, fetched, SHARES, n_pages=n_pages), fetched


def orders(webs: Sequence[KnownWeb], concurrencies: Sequence[int]) -> None:
    """Print the table of all orders under politeness, means over the webs, and the strict ones beside it for the first web."""
    web = webs[0]
    graph, n_hosts = web.graph, int(web.hosts.max()) + 1
    every_rank, rng = [pagerank(each.graph).ranks for each in webs], np.random.default_rng(1)
    n_local = 1 - graph.across(web.hosts).mean()
    header(f"demo web, {len(webs)} seeds: {graph.n_nodes:,} pages, {graph.n_links:,} links, {n_hosts:,} hosts, {n_local:.0%} local")
    for concurrency in concurrencies:
        print(f"  polite, {concurrency} fetchers")
        shares = {}
        for order in ("plain", *NAMES, "oracle"):
            each = enumerate(zip(webs, every_rank, strict=True))
            shares[order] = np.array([polite(web, order, concurrency, ranks, seed)[0] for seed, (web, ranks) in each])
        by_10 = {order: found[:, 1] for order, found in shares.items()}
        for order, found in shares.items():
            gains = by_10[order] / by_10["plain"]
            of_plain, of_fifo = (by_10[order].mean() / by_10[base].mean() for base in ("plain", "fifo"))
            note = f"after 10 % {of_plain:.2f} x plain ({gains.min():.2f} to {gains.max():.2f}), {of_fifo:.2f} x fifo"
            show(f"  {order}", found.mean(axis=0).tolist(), note)
    print("  strict, one page at a time")
    ranks = every_rank[0]
    for name, strict in (("breadth-first", breadth_first), ("breadth-first, cash by depth", breadth_first_opic), ("OPIC", opic)):
        show(f"  {name}", captured(ranks, strict(graph, web.seeds), SHARES))
    show("  any page known", captured(ranks, random_frontier(graph, web.seeds, rng), SHARES))
    show("  depth-first", captured(ranks, depth_first(graph, web.seeds), SHARES))
    show("  best possible", captured(ranks, np.argsort(-ranks), SHARES))


def early_quality(web: KnownWeb, concurrency: int = 64) -> None:
    """Print the PageRank that `plain` and the default order have after a tenth of the crawl: the goal is 1.4 times random's."""
    ranks, n_pages = pagerank(web.graph).ranks, web.graph.n_nodes
    rng = np.random.default_rng(1)
    strict = random_frontier(web.graph, web.seeds, rng), depth_first(web.graph, web.seeds)
    at_random, deep = (captured(ranks, order, [0.1], n_pages=n_pages)[0] for order in strict)
    for name, order in (("plain", PlainBreadthFirst()), ("default", "breadth_first")):
        fetched = PoliteCrawl(web, order, concurrency=concurrency).run(n_pages)
        by_10 = captured(ranks, fetched, [0.1], n_pages=n_pages)[0]
        print(f"  early quality, {name}: by 10 % {by_10:.3f}, random {at_random:.3f} ({by_10 / at_random:.2f} x), depth-first {deep:.3f}")
        _days(web, fetched)


def without_farms(web: KnownWeb) -> KnownWeb:
    """Return the web without its local-link farms: the web of [NW01] had none."""
    kept = ~web.is_farm
    number = np.cumsum(kept) - 1
    sources, targets = web.graph.sources(), web.graph.targets
    links = kept[sources] & kept[targets]
    graph = Graph.from_links(number[sources[links]], number[targets[links]], int(kept.sum()))
    urls = [url for url, is_kept in zip(web.urls, kept.tolist(), strict=True) if is_kept]
    return KnownWeb(graph, urls, places(urls, "host").of, web.is_farm[kept], number[web.seeds[kept[web.seeds]]])


def _days(web: KnownWeb, fetched: I64) -> None:
    """Print when good pages are fetched, by each variant of PageRank; pages of farms, which link to each other, should come late."""
    tops = [max(1, web.graph.n_nodes // 1000), web.graph.n_nodes]
    for variant in VARIANTS:
        ranks = pagerank(layers(web.graph, variant, web.hosts)).ranks
        days = mean_by_slice(ranks, fetched, N_SLICES)
        quarters = ", ".join(f"{part.mean():.2f}" for part in np.array_split(days, 4))
        of_farms = web.is_farm[np.argsort(-ranks, kind="stable")[: tops[0]]].mean()
        top, mean = mean_slice_of_top(ranks, fetched, tops, N_SLICES)
        honest = mean_slice_of_top(np.where(web.is_farm, 0.0, ranks), fetched, tops, N_SLICES)[0]
        print(f"    by {variant} links: mean rank of day 1 {days[0]:.2f}, day 2 {days[1]:.2f}, of quarters {quarters}")
        print(f"      mean day of the top 0.1 % {top:.1f}, bar {mean / 2.5:.1f}; {of_farms:.0%} of farms, without {honest:.1f}")


def farms(web: KnownWeb) -> None:
    """Print which variants of PageRank rank local-link farms high, and which orders fetch them early."""
    hosts = web.hosts
    print("local-link farms: pages among the best N")
    for variant in VARIANTS:
        best = web.is_farm[np.argsort(-pagerank(layers(web.graph, variant, hosts)).ranks, kind="stable")]
        print(f"  PageRank over {variant:9} links:  " + _among(best))
    authorities = hits(web.graph).authorities
    print("  HITS, authorities:              " + _among(web.is_farm[np.argsort(-authorities, kind="stable")]))
    print(
        f"  share of farm pages among the fetches; of all pages {web.is_farm.mean():.3f}\n  {'after':38}"
        + "".join(f"{s:8.0%}" for s in SHARES)
    )
    ranks = pagerank(web.graph).ranks
    for order in ("plain", *NAMES):
        fetched = web.is_farm[polite(web, order, 8, ranks)[1]]
        show(order, [float(fetched[: round(share * len(hosts))].mean()) for share in SHARES])


def _among(is_farm: Bools) -> str:
    return "  ".join(f"{int(is_farm[:n].sum())} of {n}" for n in (50, 100, 500, 1000))


def main() -> None:
    wanted = set(sys.argv[1:]) or {"cnr", "web", "large", "farms"}
    if "cnr" in wanted:
        cnr()
    if "web" in wanted:
        orders([demo_web(seed=seed) for seed in range(4)], (4, 8, 16, 64))
    if "farms" in wanted:
        farms(demo_web())
    if "large" in wanted:
        webs = [demo_web(1500, 40, seed) for seed in range(2)]
        orders(webs, (8, 16))
        early_quality(webs[0])
        print("  the same without farms")
        early_quality(without_farms(webs[0]))


if __name__ == "__main__":
    main()
