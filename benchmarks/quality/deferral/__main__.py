"""The gain and the loss by deferral: `python -m benchmarks.quality.deferral [RECORDING…] [--record DIR] [--kinds] [--short]`.

Simulated crawls of graphs, recorded ones (`--record DIR` crawls the living sites of benchmarks.living, as far as their
packages are installed, and writes DIR/NAME.jsonl.gz) and made-up ones: five kinds of sites and eight
adversaries. Each is crawled twice: plainly, breadth-first, and with opinions that hold URLs (opinions.py), with the real evidence and the
real policy of the tail. With several hosts, the curves are those of a crawl that may make as many requests as the plain crawl; losses are
those of a crawl without that limit.

A line for each site has the documents found after 10, 25, 50, 75 and 100 % of the plain crawl's requests, divided by those that plain has
found by then. After the slash stands the same for an oracle, which fetches nothing but new documents from the first request on. `gain` is
the share of the oracle's logarithmic gain at half, `fetched` the requests divided by plain's. Then follow documents lost, of how many; URLs
left alone and their classes; and how the hosts' tails ended. Exit 1 if a goal is missed: 75 % of the oracle's gain at half over all sites
that are no adversaries, 50 % on each where it has 1.1 times or more, nowhere below plain by more than max(2 %, 5 documents), lost .1 % over
all sites and .5 % on the worst.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log
from pathlib import Path

from benchmarks.quality.deferral.classes import WORST, closings
from benchmarks.quality.deferral.generated import ADVERSARIES, SITES
from benchmarks.quality.deferral.graph import read
from benchmarks.quality.deferral.kinds import KINDS
from benchmarks.quality.deferral.opinions import Beliefs
from benchmarks.quality.deferral.replay import crawled, filters_of, plain
from thresher.config.settings import Settings
from thresher.crawler.analysis.recorded_graph import RecordedGraph
from thresher.crawler.analysis.replayed_crawl import Result
from thresher.filters.tail.records import TailPolicy

POINTS = (0.1, 0.25, 0.5, 0.75, 1.0)
GAIN, GAIN_EACH, WORTH = 0.75, 0.5, 1.1
LOST, LOST_EACH = 0.001, 0.005
BELOW, BELOW_DOCUMENTS = 0.02, 5
_HALF = POINTS.index(0.5)


@dataclass(frozen=True)
class Measured:
    """One site's figures."""

    name: str
    plain: list[int]  # documents found at each point
    found: list[int]
    oracle: list[int]
    n_plain: int  # its requests
    n_requests: int
    lost: int
    documents: int
    result: Result

    @property
    def gains(self) -> tuple[float, float]:
        """Logarithmic gain over plain at half: ours and the oracle's."""
        return log(self.found[_HALF] / self.plain[_HALF]), log(self.oracle[_HALF] / self.plain[_HALF])

    @property
    def is_below(self) -> bool:
        """Whether plain found more at some point, by more than the goal allows."""
        return any(p - f > max(BELOW * p, BELOW_DOCUMENTS) for p, f in zip(self.plain, self.found, strict=True))

    def line(self) -> str:
        """Return the figures as a line."""
        curve = " ".join(f"{f / p:5.2f}/{o / p:.2f}" for f, p, o in zip(self.found, self.plain, self.oracle, strict=True))
        ours, oracles = self.gains
        gain = f"{ours / oracles:5.0%}" if oracles > log(1.005) else "    -"
        ends = ",".join(sorted({end.name.lower() for end in self.result.ends.values()}))
        left = f"left {sum(self.result.left.values()):5} in {len(self.result.left):3}"
        fetched = f"fetched {self.n_requests / self.n_plain:.2f}"
        return f"{self.name:16} {curve}  gain {gain}  {fetched}  lost {self.lost:3} of {self.documents:5}  {left}  {ends}"


def measure(graph: RecordedGraph, policy: TailPolicy, beliefs: Beliefs, settings: Settings | None = None) -> Measured:
    """Crawl a graph plainly and with deferral.    settings: of the real filters, if these shall judge"""
    base = plain(graph)
    n = len(base.texts)
    free = crawled(graph, policy, beliefs, settings=settings)
    capped = free if graph.has_one_host else crawled(graph, policy, beliefs, settings=settings, max_pages=n)
    budgets = [max(1, int(n * point)) for point in POINTS]
    documents = base.documents
    found = [capped.found(budget) for budget in budgets]
    oracle = [min(len(documents), budget) for budget in budgets]
    lost = len(documents - free.documents - free.struck)
    return Measured(graph.name, [base.found(budget) for budget in budgets], found, oracle, n, len(free.texts), lost, len(documents), free)


def missed(sites: Sequence[Measured], adversaries: Sequence[Measured]) -> list[str]:
    """Return the goals that are missed, in words."""
    found = []
    ours, oracles = (sum(site.gains[i] for site in sites) for i in (0, 1))
    if oracles > 0 and ours < GAIN * oracles:
        found.append(f"{ours / oracles:.0%} of the oracle's gain over all sites, goal {GAIN:.0%}")
    found += [
        f"{site.name}: {site.gains[0] / site.gains[1]:.0%} of the oracle's gain, goal {GAIN_EACH:.0%}"
        for site in sites
        if site.gains[1] >= log(WORTH) and site.gains[0] < GAIN_EACH * site.gains[1]
    ]
    every = [*sites, *adversaries]
    found += [f"{site.name}: below plain" for site in every if site.is_below]
    found += [f"{site.name}: lost {site.lost} of {site.documents}" for site in every if site.lost > LOST_EACH * site.documents]
    lost, documents = sum(site.lost for site in every), sum(site.documents for site in every)
    if lost > LOST * documents:
        found.append(f"lost {lost} of {documents} over all sites, goal {LOST:.1%}")
    return found


def main() -> int:
    """Record if asked, simulate, print; return 1 if a goal is missed, 2 on a wrong option."""
    options = _options()
    if options.classes:
        return _classes(options.classes)
    try:
        policy, beliefs = _settings(options.set)
        settings = None
        if options.filters:
            settings, beliefs = filters_of(options.filters.split("+"), options.set), replace(beliefs, has_shapes=False)
    except ValueError as error:
        print(f"--set: {error}", file=sys.stderr)
        return 2
    if options.kinds:
        return _kinds(policy, replace(beliefs, has_shapes=False))
    recordings = [*options.recordings, *(_record(options.record) if options.record else [])]
    graphs = [*map(read, recordings), *(make() for make in (SITES[:2] if options.short else SITES))]
    sites = [_show(measure(graph, policy, beliefs, settings)) for graph in graphs]
    print("adversaries:")
    adversaries = [_show(measure(make(), policy, beliefs, settings)) for make in (ADVERSARIES[:2] if options.short else ADVERSARIES)]
    ours, oracles = (sum(site.gains[i] for site in sites) for i in (0, 1))
    lost, documents = sum(site.lost for site in sites), sum(site.documents for site in sites)
    print(f"{len(sites)} sites: {ours / max(oracles, 1e-9):.0%} of the oracle's gain at half; lost {lost} of {documents}")
    found = missed(sites, adversaries)
    print("\n".join(f"missed: {words}" for words in found))
    return int(bool(found))


def _classes(n: int) -> int:
    found = closings(n, seed=1)
    print(
        f"{found.hosts} hosts with {found.classes} classes of {found.known} URLs; {found.fetched} fetched, {found.closed} hosts closed "
        f"with something left, {found.wrong} wrongly: {found.wrong / found.hosts:.2%} of the hosts, stated error {WORST.error:.0%}"
    )
    return int(found.wrong > WORST.error * found.hosts)


def _kinds(policy: TailPolicy, beliefs: Beliefs) -> int:
    """Crawl each kind of aliases with families alone; return 1 if anything is lost or plain is better."""
    sites = [_show(measure(make(), policy, beliefs)) for make in KINDS.values()]
    found = [f"{site.name}: {words}" for site in sites for words, is_so in (("below plain", site.is_below), ("lost", site.lost)) if is_so]
    print("\n".join(f"missed: {words}" for words in found))
    return int(bool(found))


def _show(site: Measured) -> Measured:
    print(site.line(), flush=True)
    return site


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.deferral", description="What deferral gains and loses, simulated.")
    parser.add_argument("recordings", nargs="*", type=Path, metavar="RECORDING", help="graphs of crawls: NAME.jsonl.gz")
    parser.add_argument("--record", type=Path, metavar="DIR", help="first record the living sites into it")
    parser.add_argument("--classes", type=int, default=0, metavar="N", help="instead: close N classes that are no random samples")
    parser.add_argument(
        "--filters", default="", metavar="A+B", help="the real filters of these names in place of crude shapes: pattern_yield+depth_cutoff"
    )
    parser.add_argument("--kinds", action="store_true", help="instead: ten honest and ten hostile kinds of aliases, by families alone")
    parser.add_argument("--short", action="store_true", help="two made-up sites and two adversaries, to see that it runs")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of TailPolicy, Beliefs or a real filter: tail_yield=.01, barren=20, pattern_yield.barren=12",
    )
    return parser.parse_args()


def _settings(values: Sequence[str]) -> tuple[TailPolicy, Beliefs]:
    """Return policy and beliefs with these values; raises ValueError for an unknown name."""
    policy, beliefs = TailPolicy(), Beliefs()
    for value in values:
        name, _, number = value.partition("=")
        if hasattr(TailPolicy, name) and isinstance(getattr(policy, name), int | float):
            policy = replace(policy, **{name: type(getattr(policy, name))(float(number))})
        elif "." in name:
            continue
        elif name in Beliefs.__dataclass_fields__:
            beliefs = replace(beliefs, **{name: type(getattr(beliefs, name))(float(number))})
        else:
            known = [*TailPolicy.__dataclass_fields__, *Beliefs.__dataclass_fields__]
            raise ValueError(f"no setting {name!r}; there are {', '.join(known)}")
    return policy, beliefs


def _record(directory: Path) -> list[Path]:
    """Record all living sites whose packages are installed; return the recordings."""
    from benchmarks.living.sites import there
    from benchmarks.quality.deferral.record import record

    directory.mkdir(parents=True, exist_ok=True)
    files = []
    for site in there(()):
        files.append(directory / f"{site.name}.jsonl.gz")
        with tempfile.TemporaryDirectory(prefix="thresher-deferral-") as work:
            record(site, Path(work), files[-1])
    return files


if __name__ == "__main__":
    sys.exit(main())
