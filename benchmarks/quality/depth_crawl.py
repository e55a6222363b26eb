"""What the filter depth_cutoff saves and loses on the demo's endless spaces, compared with a crawl without it and one to a fixed depth of
5.

    python -m benchmarks.quality.depth_crawl [--pages 400] [--budget 4000] [--filters none|all] [--q 0.6]

The profile "depth": a calendar beside documents and a chain of 40 chapters, an endless catalogue with facets, notes under ever new session
ids, a plain tree of seven levels. The web's own labels say what is a document and what a trap. The filter path_trap is off, since it would
end the calendar by itself. With `--filters none` all other learning filters but exact_duplicate are off too, so that the figures are those
of depth_cutoff alone.

Trap requests are those that gave no document, or one that was fetched before; audits and the requests from which the filter learns are
among them. They are shown as a share of the budget and of the requests of the crawl. Exits with 1 if, with the filter, traps cost more than
5 % of the budget, or less than 99 % of the documents were fetched.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import msgspec

from thresher.config.settings import DepthCutoffSettings, Settings
from thresher.crawler.agent.agent import Agent
from thresher.crawler.bench.crawl_bench import bench_settings
from thresher.crawler.cli.common import print_table
from thresher.crawler.core.model import State
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.process import ServerProcess
from thresher.filters.registry import specs
from thresher.storage.store import Store
from thresher.storage.view import View

MOST_TRAPS = 0.05
LEAST_FETCHED = 0.99
_FIXED_DEPTH = 5


@dataclass(frozen=True, slots=True)
class Crawl:
    """The figures of one crawl."""

    name: str
    n_requests: int  # URLs that were answered
    n_wasted: int  # requests of these that gave no document, or one fetched before
    by_trap: dict[str, int]
    documents: int  # fetched
    missed: Counter[str]  # documents that were not fetched, by variant
    n_held: int
    cpu_s: float

    @property
    def trap_share(self) -> float:
        return self.n_wasted / max(1, self.n_requests)


def settings_of(server: ServerProcess, budget: int, *, others: bool, cutoff: DepthCutoffSettings, max_depth: int | None = None) -> Settings:
    """Return the configuration of a crawl. others: other learning filters are on."""
    base = bench_settings(server, budget)
    modes = {name: _in_mode(getattr(base.filters, name), "enforce" if others else "off") for name in _learners(base)}
    modes["path_trap"] = _in_mode(base.filters.path_trap, "off")
    filters = msgspec.structs.replace(base.filters, **modes, tail_yield=1.0, depth_cutoff=cutoff)  # held URLs are never fetched
    limits = msgspec.structs.replace(base.limits, max_wait=5.0, max_pages_per_host=None, max_depth=max_depth)
    return msgspec.structs.replace(base, filters=filters, limits=limits)


def _learners(of: Settings) -> list[str]:
    kept = {"media", "exact_duplicate", "depth_cutoff"}
    return [name for name in of.filters.__struct_fields__ if hasattr(getattr(of.filters, name), "mode") and name not in kept]


def _in_mode(part: msgspec.Struct, mode: str) -> msgspec.Struct:
    return msgspec.structs.replace(part, mode=mode)


def crawl(name: str, path: Path, web: LabelledWeb, settings: Settings) -> Crawl:
    """Crawl the whole web and count by its labels."""
    began = time.process_time()
    asyncio.run(_run(path, settings))
    cpu_s = time.process_time() - began
    traps, documents, by_trap, wasted = web.traps(), set(), Counter[str](), 0
    with View(path) as view:
        fetched = [url.text for url, _ in view.all_urls(State.DONE)]
        n_held = sum(1 for _ in view.all_urls(State.HELD))
    for url in fetched:
        document = web.label(url).document
        if document and document not in documents:
            documents.add(document)
            continue
        wasted += 1
        by_trap[next((trap.kind for trap in traps if trap.holds(url)), "other")] += 1
    missed = Counter(web.label(urls[0]).variant for document, urls in web.truth().documents().items() if document not in documents)
    return Crawl(name, len(fetched), wasted, dict(by_trap), len(documents), missed, n_held, cpu_s)


async def _run(path: Path, settings: Settings) -> None:
    with Store.create(path, settings, 0.0) as store:
        agent = Agent(path, store, settings, report=lambda _: None, filters=specs(settings, settings.seeds))
        try:
            await agent.run()
        finally:
            await agent.close()


def compare(directory: Path, n_pages: int, budget: int, *, others: bool, q: float | None = None) -> tuple[int, list[Crawl]]:
    """Make the three crawls; return the number of documents of the web, and the figures of each crawl."""
    off, on = DepthCutoffSettings(mode="off"), DepthCutoffSettings(mode="enforce", q=q)
    with ServerProcess("depth", changes={"part_pages": n_pages}) as server:
        web = server.web
        assert isinstance(web, LabelledWeb)
        crawls = [
            crawl("no cutoff", directory / "none", web, settings_of(server, budget, others=others, cutoff=off)),
            crawl(
                f"depth {_FIXED_DEPTH}",
                directory / "fixed",
                web,
                settings_of(server, budget, others=others, cutoff=off, max_depth=_FIXED_DEPTH),
            ),
            crawl("depth_cutoff", directory / "cutoff", web, settings_of(server, budget, others=others, cutoff=on)),
        ]
        return len(web.truth().documents()), crawls


_COLUMNS = (
    *("crawl", "requests", "documents", "of all", "wasted", "of budget", "of requests"),
    *("calendar", "facet", "session", "other", "held", "CPU s"),
)


def _row(of: Crawl, n: int, budget: int) -> tuple[object, ...]:
    """Return the row of a crawl.

    Args:
        n: Documents of the sites.
        budget: Pages that the crawl might fetch.
    """
    shares = of.documents, f"{of.documents / n:.1%}", of.n_wasted, f"{of.n_wasted / budget:.1%}", f"{of.trap_share:.1%}"
    kinds = (of.by_trap.get(kind, 0) for kind in ("calendar", "facet", "session", "other"))
    return of.name, of.n_requests, *shares, *kinds, of.n_held, round(of.cpu_s, 1)


def main() -> None:
    """Print the comparison; exit 0 only if both bars are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.depth_crawl", description="What depth cutoffs save and lose.")
    parser.add_argument("--pages", type=int, default=400, help="size of each site")
    parser.add_argument("--budget", type=int, default=4_000, help="pages a crawl may fetch")
    parser.add_argument("--filters", choices=["none", "all"], default="none", help="other learning filters that are on")
    parser.add_argument("--q", type=float, default=None, help="filters.depth_cutoff.q")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="depth-") as name:
        n, crawls = compare(Path(name), options.pages, options.budget, others=options.filters == "all", q=options.q)
    print_table(_COLUMNS, [_row(of, n, options.budget) for of in crawls])
    for of in crawls:
        print(f"{of.name}: documents missed, by variant: {dict(of.missed)}")
    ours = crawls[-1]
    sys.exit(0 if ours.n_wasted <= MOST_TRAPS * options.budget and ours.documents >= LEAST_FETCHED * n else 1)


if __name__ == "__main__":
    main()
