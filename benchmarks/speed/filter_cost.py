"""The cost of one filter in a crawl: `python -m benchmarks.speed.filter_cost [FILTER] [--pages 6000] [--pairs 3]` (default: near_replica).

Pairs of crawls of the demo web's ordinary pages (25 KB, 60 links; `--new-links` as in `thresher bench crawl`), without the filter and with
it, take turns in this process, which has the loop and the garbage collector of an agent. It prints CPU seconds for each page, with the
store's writer thread, and how much more the second crawl took; on a shared machine that is mostly noise. It also prints the filter's own
steps, by the CPU time of the crawling thread, as a share of the rest of the same crawl: other work on the machine slows both alike.

With `all` in place of a filter, the pairs are crawls without any filter and with every one, as `python -m benchmarks.peers` has them. Their
difference is what a user pays for filters (`paid_us`, and `paid_share` of a page with filters). It is the sum of three parts:

    own_us     steps of filters at the panel's gates and the reports of each visit to the filter canary (crawler/settlement/canaries.py),
               measured in one more crawl, which also prints them by filter; less those of the scope and the types of files, which are
               always on
    writer_us  the writer thread commits memories and the journal
    rest_us    the panel itself, memories and the journal until the commit, and that other code and its data leave the CPU's caches

So the steps alone (`own_share`) are far less than what filters cost.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

import msgspec
import uvloop

from thresher.config.settings import Settings
from thresher.crawler.agent.agent import Agent
from thresher.crawler.analysis.filter_clock import clocked, with_clock
from thresher.crawler.bench.ablations import names
from thresher.crawler.bench.crawl_bench import bench_settings
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.process.agent_process import tune_interpreter
from thresher.crawler.settlement.canaries import Canaries
from thresher.crawler.visit import Visit
from thresher.filters.deliberation import Learned
from thresher.filters.registry import specs
from thresher.filters.spec import FilterSpec
from thresher.storage.store import Store


async def _crawl(path: Path, settings: Settings, filters: tuple[FilterSpec, ...]) -> tuple[int, float]:
    """Crawl; return the number of pages, and the CPU seconds of the store's writer thread."""
    pages = [0]
    with Store.create(path, settings, time.time()) as store:
        agent = Agent(path, store, settings, report=lambda status: pages.append(status.pages), filters=filters)
        try:
            await agent.run()
        finally:
            await agent.close()
        return pages[-1], store.writer_cpu_s


class Cost(NamedTuple):
    """What a crawl took."""

    page_s: float  # CPU seconds for each page
    writer_s: float  # of these, of the store's writer thread
    n_pages: int


def crawl(settings: Settings, modes: dict[str, str], spent: Counter[str] | None = None) -> Cost:
    """Crawl with some filters in other modes.

    Args:
        settings: The configuration.
        modes: Name of a filter → its mode.
        spent: Gets the nanoseconds of their steps; None: these are not measured, which takes time itself.
    """
    parts = {name: msgspec.structs.replace(getattr(settings.filters, name), mode=mode) for name, mode in modes.items()}
    settings = msgspec.structs.replace(settings, filters=msgspec.structs.replace(settings.filters, **parts))
    asked = {*modes, "scope"} if len(modes) > 1 else modes
    filters = specs(settings, settings.seeds)
    if spent is not None:
        filters = tuple(clocked(spec, spent) if spec.name in asked else spec for spec in filters)
    told = clocked_canaries(spent) if spent is not None and "canary" in modes else nullcontext()
    with told, tempfile.TemporaryDirectory(prefix="thresher-cost-") as directory:
        tune_interpreter()
        before = time.process_time()
        n_pages, writer_s = uvloop.run(_crawl(Path(directory) / "store", settings, filters))
        return Cost((time.process_time() - before) / n_pages, writer_s / n_pages, n_pages)


@contextmanager
def clocked_canaries(spent: Counter[str]) -> Iterator[None]:
    """Measure the reports to the filter canary, which do not come through a gate."""
    told = Canaries.on_answer

    def seen(self: Canaries, visit: Visit) -> Learned:
        learned: Learned = with_clock(told, "canary settlement.seen", spent)(self, visit)
        return learned

    Canaries.on_answer = seen  # type: ignore[method-assign]  # for one crawl in this process
    try:
        yield
    finally:
        Canaries.on_answer = told  # type: ignore[method-assign]  # as it was


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.filter_cost", description="Measure what one filter costs a crawl.")
    parser.add_argument("filter", nargs="?", default="near_replica")
    parser.add_argument("--pages", type=int, default=6_000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--new-links", type=int, default=0, help="of each page: links that no other page has; 2,000 hosts then")
    of = parser.parse_args()
    more, own_shares = [], []
    web: dict[str, object] = (
        {"n_sites": 1_000, "n_seeds": 2_000, "new_links": of.new_links} if of.new_links else {"n_sites": 100, "n_seeds": 200}
    )
    with ServerProcess("bench_median", changes=web) as server:
        settings = bench_settings(server, of.pages)
        if of.filter == "all":
            _all(bench_settings(server, 500), settings, of.pairs)
            return
        crawl(bench_settings(server, 500), {of.filter: "off"})  # the first crawl that counts must not pay for imports
        for _ in range(of.pairs):
            spent: Counter[str] = Counter()
            without = crawl(settings, {of.filter: "off"}, spent).page_s
            found, _, n_pages = crawl(settings, {of.filter: "enforce"}, spent)
            own = {step.partition(" ")[2]: round(ns / n_pages / 1e3, 1) for step, ns in spent.items()}
            more.append(found / without - 1.0)
            own_shares.append(sum(own.values()) / (found * 1e6 - sum(own.values())))
            line = {"off_us": round(without * 1e6), "enforce_us": round(found * 1e6), "more": round(more[-1], 4)}
            print(json.dumps({**line, "own_us": own, "own_share": round(own_shares[-1], 4)}), flush=True)
    medians = {"more_median": round(statistics.median(more), 4), "own_share_median": round(statistics.median(own_shares), 4)}
    print(json.dumps({"filter": of.filter, "pairs": of.pairs, **medians}))


def _all(brief: Settings, settings: Settings, n_pairs: int) -> None:
    """Crawl without any filter and with every one in turn; print what the filters cost for a page, and of what that is the sum."""
    off, on = dict.fromkeys(names(), "off"), dict.fromkeys(names(), "enforce")
    crawl(brief, on)  # the first crawl that counts must not pay for imports
    paid: list[tuple[float, float, float]] = []
    for _ in range(n_pairs):
        without, found = crawl(settings, off), crawl(settings, on)
        paid.append((found.page_s, found.page_s - without.page_s, found.writer_s - without.writer_s))
        line = {"off_us": _us(without.page_s), "on_us": _us(found.page_s), "paid_us": _us(paid[-1][1]), "writer_us": _us(paid[-1][2])}
        print(json.dumps(line), flush=True)
    own = _own_steps(settings, on)
    page, more, writer = (statistics.median(column) for column in zip(*paid, strict=True))
    shares = {"paid_share": round(more / page, 4), "own_share": round(own / page, 4)}
    parts = {"own_us": _us(own), "writer_us": _us(writer), "rest_us": _us(more - own - writer)}
    print(json.dumps({"page_us": _us(page), "paid_us": _us(more), **parts, **shares}))


def _own_steps(settings: Settings, modes: dict[str, str]) -> float:
    """Print the cost of each filter's steps for a page; return the CPU seconds of those that can be left out."""
    spent: Counter[str] = Counter()
    n_pages = crawl(settings, modes, spent).n_pages
    own: dict[str, dict[str, float]] = {}
    for step, ns in spent.most_common():
        name, _, where = step.partition(" ")
        own.setdefault(name, {})[where] = round(ns / n_pages / 1e3, 1)
    for name, steps in own.items():
        print(json.dumps({"filter": name, "own_us": round(sum(steps.values()), 1), **steps}))
    return sum(ns for step, ns in spent.items() if step.partition(" ")[0] in modes) / n_pages / 1e9


def _us(seconds: float) -> int:
    return round(seconds * 1e6)


if __name__ == "__main__":
    main()
