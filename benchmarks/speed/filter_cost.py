"""What one filter costs a crawl: `python -m benchmarks.speed.filter_cost [FILTER] [--pages 6000] [--pairs 3]` (near_replica unless told).

Pairs of crawls of the demo web's ordinary pages (25 KB, 60 links), one without the filter and one with it, in turn, in this process: CPU
seconds a page, the store's writer thread included, and how much more the second took, which on a shared machine is mostly noise. Beside
that the filter's own steps, each clocked by the CPU time of the crawling thread, as a share of all else that the same crawl took: both
are slowed alike by whatever else the machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from thresher.config.settings import Settings
from thresher.crawler.agent.agent import Agent
from thresher.crawler.bench.crawl_bench import bench_settings
from thresher.crawler.demo.process import ServerProcess
from thresher.filters.registry import specs
from thresher.filters.spec import FilterSpec
from thresher.storage.store import Store

_STEPS = ("listens", "measure", "decide", "observe")


class Clocked:
    """A part of a filter with a clock on each step."""

    def __init__(self, part: Any, gate: str, spent: Counter[str]) -> None:
        self.name, self.measure_type = part.name, part.measure_type
        for step in _STEPS:
            if hasattr(part, step):
                setattr(self, step, _clocked(getattr(part, step), f"{gate}.{step}", spent))


def _clocked(step: Any, name: str, spent: Counter[str]) -> Any:
    def run(*arguments: Any) -> Any:
        before = time.thread_time_ns()
        begun = time.thread_time_ns()
        try:
            return step(*arguments)
        finally:
            spent[name] += time.thread_time_ns() - begun - (begun - before)  # without what reading the clock takes

    return run


def clocked(every: tuple[FilterSpec, ...], name: str, spent: Counter[str]) -> tuple[FilterSpec, ...]:
    """Return the filters, the parts of one of them with clocks that add nanoseconds to `spent`."""
    gates = ("learned", "redirect", "page", "relinks")
    return tuple(
        replace(spec, **{gate: Clocked(part, gate, spent) for gate in gates if (part := getattr(spec, gate)) is not None})
        if spec.name == name
        else spec
        for spec in every
    )


async def _crawl(path: Path, settings: Settings, filters: tuple[FilterSpec, ...]) -> int:
    pages = [0]
    with Store.create(path, settings, time.time()) as store:
        agent = Agent(path, store, settings, report=lambda status: pages.append(status.pages), filters=filters)
        try:
            await agent.run()
        finally:
            await agent.close()
    return pages[-1]


def crawl(settings: Settings, name: str, mode: str, spent: Counter[str]) -> tuple[float, int]:
    """Crawl with the filter in a mode; return CPU seconds a page, and pages."""
    part = msgspec.structs.replace(getattr(settings.filters, name), mode=mode)
    settings = msgspec.structs.replace(settings, filters=msgspec.structs.replace(settings.filters, **{name: part}))
    with tempfile.TemporaryDirectory(prefix="thresher-cost-") as directory:
        before = time.process_time()
        n_pages = asyncio.run(_crawl(Path(directory) / "store", settings, clocked(specs(settings, settings.seeds), name, spent)))
        return (time.process_time() - before) / n_pages, n_pages


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.filter_cost", description="Measure what one filter costs a crawl.")
    parser.add_argument("filter", nargs="?", default="near_replica")
    parser.add_argument("--pages", type=int, default=6_000)
    parser.add_argument("--pairs", type=int, default=3)
    of = parser.parse_args()
    more, own_shares = [], []
    with ServerProcess("bench_median", changes={"n_sites": 100, "n_seeds": 200}) as server:
        settings = bench_settings(server, of.pages)
        crawl(bench_settings(server, 500), of.filter, "off", Counter())  # so that the first one does not pay for what is loaded once
        for _ in range(of.pairs):
            spent: Counter[str] = Counter()
            without, _ = crawl(settings, of.filter, "off", spent)
            found, n_pages = crawl(settings, of.filter, "enforce", spent)
            own = {step: round(ns / n_pages / 1e3, 1) for step, ns in spent.items()}
            more.append(found / without - 1.0)
            own_shares.append(sum(own.values()) / (found * 1e6 - sum(own.values())))
            line = {"off_us": round(without * 1e6), "enforce_us": round(found * 1e6), "more": round(more[-1], 4)}
            print(json.dumps({**line, "own_us": own, "own_share": round(own_shares[-1], 4)}), flush=True)
    medians = {"more_median": round(statistics.median(more), 4), "own_share_median": round(statistics.median(own_shares), 4)}
    print(json.dumps({"filter": of.filter, "pairs": of.pairs, **medians}))


if __name__ == "__main__":
    main()
