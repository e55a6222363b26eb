"""The cost of one filter in a crawl: `python -m benchmarks.speed.filter_cost [FILTER] [--pages 6000] [--pairs 3]` (default: near_replica).

With `all` in place of a filter, it prints the own steps of every filter in one crawl with all of them on: µs for each page, and their share
of a page's time. They include the scope, which is always on, and the reports of each visit to the filter canary
(crawler/settlement/canaries.py).

Pairs of crawls of the demo web's ordinary pages (25 KB, 60 links; `--new-links` as in `thresher bench crawl`), without the filter and with
it, take turns in this process, which has the loop and the garbage collector of an agent. It prints CPU seconds for each page, with the
store's writer thread, and how much more the second crawl took; on a shared machine that is mostly noise. It also prints the filter's own
steps, by the CPU time of the crawling thread, as a share of the rest of the same crawl: other work on the machine slows both alike.
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

import msgspec
import uvloop

from thresher.config.settings import Settings
from thresher.crawler.agent.agent import Agent
from thresher.crawler.analysis.filter_clock import clocked, with_clock
from thresher.crawler.bench.crawl_bench import bench_settings
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.process.agent_process import tune_interpreter
from thresher.crawler.settlement.canaries import Canaries
from thresher.crawler.visit import Visit
from thresher.filters.deliberation import Learned
from thresher.filters.registry import specs
from thresher.filters.spec import FilterSpec
from thresher.storage.store import Store


async def _crawl(path: Path, settings: Settings, filters: tuple[FilterSpec, ...]) -> int:
    pages = [0]
    with Store.create(path, settings, time.time()) as store:
        agent = Agent(path, store, settings, report=lambda status: pages.append(status.pages), filters=filters)
        try:
            await agent.run()
        finally:
            await agent.close()
    return pages[-1]


def crawl(settings: Settings, modes: dict[str, str], spent: Counter[str]) -> tuple[float, int]:
    """Crawl with some filters in other modes, and measure their steps; return CPU seconds for each page, and the number of pages."""
    parts = {name: msgspec.structs.replace(getattr(settings.filters, name), mode=mode) for name, mode in modes.items()}
    settings = msgspec.structs.replace(settings, filters=msgspec.structs.replace(settings.filters, **parts))
    asked = {*modes, "scope"} if len(modes) > 1 else modes
    filters = tuple(clocked(spec, spent) if spec.name in asked else spec for spec in specs(settings, settings.seeds))
    with clocked_canaries(spent) if "canary" in modes else nullcontext(), tempfile.TemporaryDirectory(prefix="thresher-cost-") as directory:
        tune_interpreter()
        before = time.process_time()
        n_pages = uvloop.run(_crawl(Path(directory) / "store", settings, filters))
        return (time.process_time() - before) / n_pages, n_pages


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
            _all(settings)
            return
        crawl(bench_settings(server, 500), {of.filter: "off"}, Counter())  # the first crawl that counts must not pay for imports
        for _ in range(of.pairs):
            spent: Counter[str] = Counter()
            without, _ = crawl(settings, {of.filter: "off"}, spent)
            found, n_pages = crawl(settings, {of.filter: "enforce"}, spent)
            own = {step.partition(" ")[2]: round(ns / n_pages / 1e3, 1) for step, ns in spent.items()}
            more.append(found / without - 1.0)
            own_shares.append(sum(own.values()) / (found * 1e6 - sum(own.values())))
            line = {"off_us": round(without * 1e6), "enforce_us": round(found * 1e6), "more": round(more[-1], 4)}
            print(json.dumps({**line, "own_us": own, "own_share": round(own_shares[-1], 4)}), flush=True)
    medians = {"more_median": round(statistics.median(more), 4), "own_share_median": round(statistics.median(own_shares), 4)}
    print(json.dumps({"filter": of.filter, "pairs": of.pairs, **medians}))


def _all(settings: Settings) -> None:
    """Crawl with every filter on; print the cost of each for a page, and of all together."""
    modes = {name for name in settings.filters.__struct_fields__ if hasattr(getattr(settings.filters, name), "mode")}
    spent: Counter[str] = Counter()
    found, n_pages = crawl(settings, dict.fromkeys(sorted(modes), "enforce"), spent)
    own: dict[str, dict[str, float]] = {}
    for step, ns in spent.most_common():
        name, _, where = step.partition(" ")
        own.setdefault(name, {})[where] = round(ns / n_pages / 1e3, 1)
    for name, steps in own.items():
        print(json.dumps({"filter": name, "own_us": round(sum(steps.values()), 1), **steps}))
    whole = sum(spent.values()) / n_pages / 1e3
    print(json.dumps({"page_us": round(found * 1e6), "own_us": round(whole, 1), "own_share": round(whole / found / 1e6, 4)}))


if __name__ == "__main__":
    main()
