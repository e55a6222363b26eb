"""Which order finds good pages early? `python -m benchmarks.graph_orders [cnr] [web] [large] [farms]`; without arguments all.

cnr     orders simulated on cnr-2000 (../shared/data/graphs), from the page with most links: share of PageRank (damping .85) by then
web     the demo web "rank" through the crawler's own frontier and politeness on a simulated clock (tests/polite_crawl.py), 4 to 64 fetchers
large   the same web of 1,500 sites and 60,000 pages, and what PAPERS' matrix row 15 asks of breadth-first
farms   where local-link farms stand by each variant of PageRank and by HITS, and when each order fetches them

Shares are means over three seeds of the clock. Five minutes of CPU in all.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))

from polite_crawl import KnownWeb, Oracle, PlainBreadthFirst, PoliteCrawl, demo_web  # noqa: E402  # found where the suite finds it

from crawler.core.order.by_name import NAMES  # noqa: E402
from crawler.graph.csr import F64, I64, Bools  # noqa: E402
from crawler.graph.hits import hits  # noqa: E402
from crawler.graph.measures import captured, mean_by_slice, mean_slice_of_top  # noqa: E402
from crawler.graph.pagerank import layers, pagerank  # noqa: E402
from crawler.graph.reading import read_graph  # noqa: E402
from crawler.graph.simulate import breadth_first, breadth_first_opic, depth_first, opic, random_frontier  # noqa: E402

CNR = ROOT / "../shared/data/graphs/cnr-2000.graph-txt.gz"
CNR_SEED = 46918
SHARES = (0.05, 0.1, 0.2, 0.5)
SEEDS = (0, 1, 2)
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


def polite(web: KnownWeb, order: str, concurrency: int, ranks: F64) -> tuple[list[float], list[I64]]:
    """Return the mean shares over the seeds, and each seed's order of fetches."""
    n_pages = web.graph.n_nodes
    made = []
    for seed in SEEDS:
        chosen = {"plain": PlainBreadthFirst(), "oracle": Oracle(ranks)}.get(order, order)
        made.append(PoliteCrawl(web, chosen, concurrency=concurrency, seed=seed).run(round(SHARES[-1] * n_pages)))
    return np.mean([captured(ranks, fetched, SHARES, n_pages=n_pages) for fetched in made], axis=0).tolist(), made


def orders(web: KnownWeb, concurrencies: Sequence[int]) -> None:
    """Print the table of all orders under politeness, and the strict ones beside it."""
    graph = web.graph
    ranks, rng = pagerank(graph).ranks, np.random.default_rng(1)
    n_hosts = int(web.hosts.max()) + 1
    header(f"demo web: {graph.n_nodes:,} pages, {graph.n_links:,} links, {n_hosts:,} hosts, {1 - graph.across(web.hosts).mean():.0%} local")
    for concurrency in concurrencies:
        print(f"  polite, {concurrency} fetchers")
        plain = 1.0
        for order in ("plain", *NAMES, "oracle"):
            shares, _ = polite(web, order, concurrency, ranks)
            plain = shares[1] if order == "plain" else plain
            show(f"  {order}", shares, f"{shares[1] / plain:.2f} x plain after 10 %")
    print("  strict, one page at a time")
    for name, order in (("breadth-first", breadth_first), ("breadth-first, cash by depth", breadth_first_opic), ("OPIC", opic)):
        show(f"  {name}", captured(ranks, order(graph, web.seeds), SHARES))
    show("  any page known", captured(ranks, random_frontier(graph, web.seeds, rng), SHARES))
    show("  depth-first", captured(ranks, depth_first(graph, web.seeds), SHARES))
    show("  best possible", captured(ranks, np.argsort(-ranks), SHARES))


def row_15(web: KnownWeb, concurrency: int = 64) -> None:
    """Check what the verification matrix asks of breadth-first: early quality, over the whole crawl."""
    ranks, n_pages = pagerank(web.graph).ranks, web.graph.n_nodes
    rng = np.random.default_rng(1)
    fetched = PoliteCrawl(web, PlainBreadthFirst(), concurrency=concurrency).run(n_pages)
    at_random, deep = random_frontier(web.graph, web.seeds, rng), depth_first(web.graph, web.seeds)
    by_10 = [captured(ranks, order, [0.1], n_pages=n_pages)[0] for order in (fetched, at_random, deep)]
    days = mean_by_slice(ranks, fetched, N_SLICES)
    quarters = [float(part.mean()) for part in np.array_split(days, 4)]
    tops = [max(1, n_pages // 1000), n_pages]
    top = mean_slice_of_top(ranks, fetched, tops, N_SLICES)
    honest = mean_slice_of_top(np.where(web.is_farm, 0.0, ranks), fetched, tops, N_SLICES)
    print(f"  row 15: by 10 % polite {by_10[0]:.3f}, random {by_10[1]:.3f} ({by_10[0] / by_10[1]:.2f} x), depth-first {by_10[2]:.3f}")
    print(f"  row 15: mean rank of day 1 {days[0]:.2f}, day 2 {days[1]:.2f}, of quarters {', '.join(f'{q:.2f}' for q in quarters)}")
    print(f"  row 15: mean day of the top 0.1 % {top[0]:.1f}, without pages of farms {honest[0]:.1f}, of all {top[1]:.1f}")


def farms(web: KnownWeb) -> None:
    """Show by which PageRank local-link farms lead, and which orders fetch them early."""
    hosts = web.hosts
    print("local-link farms: pages among the best N")
    for variant in ("all", "weighted", "remote"):
        ranks = pagerank(layers(web.graph, variant, hosts)).ranks
        best = web.is_farm[np.argsort(-ranks, kind="stable")]
        print(f"  PageRank over {variant:9} links:  " + _among(best))
    authorities = hits(web.graph).authorities
    print("  HITS, authorities:              " + _among(web.is_farm[np.argsort(-authorities, kind="stable")]))
    print(
        f"  share of farm pages among the fetches; of all pages {web.is_farm.mean():.3f}\n  {'after':38}"
        + "".join(f"{s:8.0%}" for s in SHARES)
    )
    for order in ("plain", *NAMES):
        _, made = polite(web, order, 8, pagerank(web.graph).ranks)
        counts = [np.mean([web.is_farm[fetched[: round(share * len(hosts))]].mean() for fetched in made]) for share in SHARES]
        show(order, [float(count) for count in counts])


def _among(is_farm: Bools) -> str:
    return "  ".join(f"{int(is_farm[:n].sum())} of {n}" for n in (50, 100, 500, 1000))


def main() -> None:
    wanted = set(sys.argv[1:]) or {"cnr", "web", "large", "farms"}
    if "cnr" in wanted:
        cnr()
    if wanted & {"web", "farms"}:
        web = demo_web()
        if "web" in wanted:
            orders(web, (4, 8, 16, 64))
        if "farms" in wanted:
            farms(web)
    if "large" in wanted:
        web = demo_web(1500, 40)
        orders(web, (8, 16, 64))
        row_15(web)


if __name__ == "__main__":
    main()
