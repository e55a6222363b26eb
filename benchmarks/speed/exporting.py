"""Pages a CPU second of an export: `python -m benchmarks.speed.exporting [DIR…] [--pages 4000] [--only plain|texts|files] [--short]`.

A large and a small crawl of the demo web's ordinary pages (25 KB, 60 links) are exported by the code of `thresher export`, in each format:
without text, with visible text, and with main text and language. A rate is the difference in pages divided by the difference in CPU seconds
of this process and its children, so that the cost of a start is left out. Exports without texts run seven times, those with texts three
times, and the fastest counts, because other work on the machine makes CPU seconds longer. If a store is smaller than 128 MiB, an export
first reads every page of its files to find damage (storage/rot.py). That takes at most two seconds, is left out of the rates, and is
printed in a line of its own.
Then the same children take main text and language from the HTML files below DIR…, at most 400 chosen at random. The default are the manuals
that Debian has installed.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import random
import resource
import sys
import tempfile
import time
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path

from thresher.config.settings import ParseSettings, Settings
from thresher.crawler.agent.agent import Agent
from thresher.crawler.bench.crawl_bench import bench_settings
from thresher.crawler.children.text_extractor import TextExtractor
from thresher.crawler.cli.export import ExportOptions, export_rows
from thresher.crawler.demo.process import ServerProcess
from thresher.storage.export.kinds import KINDS
from thresher.storage.export.reading import reading
from thresher.storage.store import Store

_DOCS = Path("/usr/share/doc")
_MOST = 400
_TIMES, _TIMES_OF_TEXTS = 7, 3
_LEAST_S = 0.02
_PARQUET = ExportOptions("", "parquet", force=True)
_WAYS = {
    "pages as JSON lines": replace(_PARQUET, format="jsonl"),
    "pages as CSV": replace(_PARQUET, format="csv"),
    "pages as Parquet": _PARQUET,
    "URLs as Parquet": replace(_PARQUET, what="urls"),
    "links as Parquet": replace(_PARQUET, what="links"),
    "skipped as Parquet": replace(_PARQUET, what="skipped"),
    "redirects as Parquet": replace(_PARQUET, what="redirects"),
    "visible text as Parquet": replace(_PARQUET, what="texts", text="visible", fields="url,text"),
    "main text as Parquet": replace(_PARQUET, what="texts", fields="url,text"),
    "main text and language as Parquet": replace(_PARQUET, what="texts"),
}


async def crawl_into(path: Path, settings: Settings) -> int:
    """Crawl into a new store; return the number of pages."""
    pages = [0]
    with Store.create(path, settings, time.time()) as store:
        agent = Agent(path, store, settings, report=lambda status: pages.append(status.pages))
        try:
            await agent.run()
        finally:
            await agent.close()
    return pages[-1]


def cpu_s() -> float:
    """Return the CPU seconds of this process and of all children that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def exported_s(store: Path, wanted: ExportOptions) -> tuple[float, float]:
    """Return the CPU seconds of an export by the command's own code, in this process: without the check of the store's files, and of it."""
    kind = KINDS[wanted.what]
    before = cpu_s()
    with redirect_stderr(io.StringIO()), reading(store, walks=True) as view:
        export_rows(view, kind, wanted.choose(kind), wanted)
    return cpu_s() - before - view.checked_s, view.checked_s


def files_below(folders: list[Path]) -> list[Path]:
    """Return the HTML files below some folders, at most 400 of them, chosen at random."""
    found = sorted(path for folder in folders for path in folder.rglob("*.html") if path.is_file() and not path.is_symlink())
    random.Random(1).shuffle(found)
    return found[:_MOST]


def text_rate(files: list[Path]) -> tuple[float, float]:
    """Return how many pages a CPU second main text and language are taken from, and the mean KB of a page."""
    bodies = [path.read_bytes() for path in files]
    with TextExtractor(ParseSettings(), is_main=True, tells_language=True, processes=1) as extractor:
        list(extractor.each([(0, (bodies[0], "text/html", "text/html"))]))
        start = cpu_s()
    start = cpu_s() - start  # what a child costs that ends at once
    before = cpu_s()
    with TextExtractor(ParseSettings(), is_main=True, tells_language=True, processes=1) as extractor:
        list(extractor.each((0, (body, "text/html", "text/html")) for body in bodies))
    return len(bodies) / max(cpu_s() - before - start, 1e-9), sum(map(len, bodies)) / len(bodies) / 1000


def said(n_pages: int, cpu_s: float) -> str:
    """Return a rate in words. There is none if the difference is smaller than what starts vary by."""
    if cpu_s < _LEAST_S:
        return "lost in the noise: take more pages, or a quiet machine"
    return f"{n_pages / cpu_s:>10,.0f} pages a CPU second"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=[_DOCS])
    parser.add_argument("--pages", type=int, default=4_000)
    parser.add_argument(
        "--only", choices=("plain", "texts", "files"), help="what takes no texts, what does, or the files below DIR; default: all"
    )
    parser.add_argument("--short", action="store_true", help="60 pages and 10 files: to see that it runs; figures mean nothing")
    options = parser.parse_args()
    if options.only != "files":
        measure_exports(60 if options.short else options.pages, options.only, is_short=options.short)
    files = files_below(options.folders)[: 10 if options.short else _MOST] if options.only in (None, "files") else []
    if files:
        rate, size = max(text_rate(files) for _ in range(1 if options.short else _TIMES_OF_TEXTS))
        print(f"main text and language, {len(files)} files of {size:,.1f} KB {rate:>10,.0f} pages a CPU second")
    return 0


def measure_exports(n_large: int, only: str | None, *, is_short: bool) -> None:
    """Print the rates of exports: from a crawl of this many pages, and one of a twentieth of them.

    Args:
        only: "plain" or "texts", if the others are left out.
    """
    n_small = max(10, n_large // 20)
    with tempfile.TemporaryDirectory() as folder:
        stores = [(n, Path(folder) / str(n)) for n in (n_small, n_large)]
        with ServerProcess("bench_median", changes={"n_sites": 100, "n_seeds": 200}) as server:
            counts = [asyncio.run(crawl_into(path, bench_settings(server, n))) for n, path in stores]
        (Path(folder) / "out").mkdir()
        looked: list[list[float]] = [[], []]
        for name, options in _WAYS.items():
            has_texts = options.what == "texts"
            if only and has_texts is not (only == "texts"):
                continue
            n_times = 1 if is_short else _TIMES_OF_TEXTS if has_texts else _TIMES
            spent = []
            for (n, path), looks in zip(stores, looked, strict=True):
                wanted = replace(options, output=str(Path(folder) / "out" / f"{n}-{name}"))
                exports = [exported_s(path, wanted) for _ in range(n_times)]
                spent.append(min(export for export, _ in exports))
                looks += [look for _, look in exports]
            print(f"{name:<36} {said(counts[1] - counts[0], spent[1] - spent[0])}", flush=True)
        print(f"{'check of the files of a small store':<36} {said(counts[1] - counts[0], min(looked[1]) - min(looked[0]))}")


if __name__ == "__main__":
    sys.exit(main())
