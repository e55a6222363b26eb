"""What an archive costs a crawl: `python -m benchmarks.speed.archiving [DIR…] [--pages 3000] [--pairs 3]`.

Pairs of crawls of the demo web's ordinary pages (25 KB, 60 links), without an archive and with one, take turns in this process: CPU seconds
for each page, with the store's writer thread. It also prints the CPU time of the archive's own steps, each measured in its thread, as a
share of the whole crawl: `records` (cut, digest, describe) in the loop, `pack` and `append` in the writer's thread. This share does not
depend on what else the machine does.

Then it compares packing by ISA-L (which the archive uses), by zlib, and by zlib-ng (as FastWARC does): µs and bytes for each of the HTML
files below DIR…, at most 400 chosen at random. The default are the manuals that Debian has installed.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import random
import statistics
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastwarc.stream_io import GzipWriter
from isal import isal_zlib

from benchmarks.speed.exporting import crawl_into
from thresher.config.settings import Settings
from thresher.crawler.bench.crawl_bench import bench_settings
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.settlement.archiving import Archiver
from thresher.storage.archive.files import ArchiveWriter

_GZIP = 31
_STEPS = ((Archiver, "add", "records"), (ArchiveWriter, "pack", "pack"), (ArchiveWriter, "append", "append"))


def clock(spent: Counter[str]) -> None:
    """Measure each step of the archive from now on."""
    for owner, method, name in _STEPS:
        setattr(owner, method, _clocked(getattr(owner, method), name, spent))


def _clocked(step: Callable[..., Any], name: str, spent: Counter[str]) -> Callable[..., Any]:
    def run(*arguments: Any) -> Any:
        began = time.thread_time_ns()
        try:
            return step(*arguments)
        finally:
            spent[name] += time.thread_time_ns() - began

    return run


def crawl(settings: Settings) -> tuple[float, int, int]:
    """Return CPU seconds a page, pages, and the bytes of the archive."""
    with tempfile.TemporaryDirectory(prefix="thresher-archiving-") as name:
        store, before = Path(name) / "store", time.process_time()
        n_pages = asyncio.run(crawl_into(store, settings))
        spent_s = time.process_time() - before
        return spent_s / n_pages, n_pages, sum(file.stat().st_size for file in store.glob("archive/*"))


def crawls(n_pages: int, n_pairs: int) -> None:
    """Print a line for each pair, and the medians."""
    spent: Counter[str] = Counter()
    clock(spent)
    more, shares = [], []
    with ServerProcess("bench_median", changes={"n_sites": 100, "n_seeds": 200}) as server:
        with_archive = ("archive.format=warc",)
        crawl(bench_settings(server, 300, with_archive))  # the first crawl that counts must not pay for imports
        for _ in range(n_pairs):
            without, _, _ = crawl(bench_settings(server, n_pages))
            spent.clear()
            found, n, n_bytes = crawl(bench_settings(server, n_pages, with_archive))
            own = {step: round(ns / n / 1e3, 1) for step, ns in spent.items()}
            more.append(found / without - 1.0)
            shares.append(sum(own.values()) / (found * 1e6))
            line = {"without_us": round(without * 1e6), "with_us": round(found * 1e6), "more": round(more[-1], 3), "own_us": own}
            print(json.dumps({**line, "own_share": round(shares[-1], 3), "bytes_a_page": n_bytes // n}), flush=True)
    print(json.dumps({"more_median": round(statistics.median(more), 3), "own_share_median": round(statistics.median(shares), 3)}))


def packers(folders: list[Path]) -> None:
    """Print the time and the bytes of each library for the same files."""
    paths = sorted(path for folder in folders for path in folder.rglob("*.html") if path.is_file())
    chosen = random.Random(1).sample(paths, min(400, len(paths)))
    files = [data for path in chosen if (data := path.read_bytes())]
    if not files:
        print("no HTML file found: name a folder that has some")
        return
    print(json.dumps({"files": len(files), "bytes_a_file": sum(map(len, files)) // len(files)}))
    ways: dict[str, Callable[[bytes], int]] = {
        "isal level 1": lambda data: len(isal_zlib.compress(data, 1, _GZIP)),
        "zlib level 1": lambda data: len(zlib.compress(data, 1, _GZIP)),
        "zlib level 6": lambda data: len(zlib.compress(data, 6, _GZIP)),
        "zlib-ng level 1": lambda data: _by_fastwarc(data, 1),
        "zlib-ng level 6": lambda data: _by_fastwarc(data, 6),
    }
    for name, pack in ways.items():
        began = time.process_time()
        n_bytes = sum(map(pack, files))
        spent_us = (time.process_time() - began) * 1e6
        print(json.dumps({"by": name, "us_a_file": round(spent_us / len(files)), "bytes_a_file": n_bytes // len(files)}))


def _by_fastwarc(data: bytes, level: int) -> int:
    packed = io.BytesIO()
    writer = GzipWriter(packed, compression_level=level)
    writer.write(data)
    writer.finish()
    return packed.tell()


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.archiving", description="Measure what an archive costs a crawl.")
    parser.add_argument("folders", nargs="*", type=Path, default=[Path("/usr/share/doc")])
    parser.add_argument("--pages", type=int, default=3_000)
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()
    crawls(options.pages, options.pairs)
    packers(options.folders)


if __name__ == "__main__":
    main()
