"""Thresher beside other crawlers: `python -m benchmarks.peers --peers DIR [--profile median] [--runs 3] [--cpu-seconds 10]`.

All crawl the same web: HOSTS hosts on 127.x.y.z with 50 pages each; a page has 25,000 bytes and 60 links (median) or 4,000 and 15 (small),
and is printed before the first request. The crawlers take turns, so that a slow minute of the machine hits all of them. The crawler runs on
the first core, the server on the last. A page is a URL that the server answered with 200, counted once. The figure is the median over the
runs of pages per CPU second of the crawler's processes, with its start. "later half" is the same for the second half of its CPU seconds,
without the start and most of what is compiled at run time. Below the table stands the server's own limit: the most requests per second of
its CPU that any crawler made.

With `--all-cores` the crawler has all cores and shares them with the server, and Thresher has an agent on each. The figure is then
"pages/s", pages a second of the wall clock.

With `--new-links N`, N links of each page are on no other page, as in a crawl's first days, and the web never ends.

DIR is the folder in which `python -m benchmarks.peers.install DIR` has installed the others. A crawler that is not there is skipped, with a
message.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.peers.contestants import CONTESTANTS, Contestant, Job
from benchmarks.peers.run import Budget, Run, ServerStoppedError, run
from benchmarks.peers.versions import machine, versions
from benchmarks.support.ending import exit_with
from thresher.crawler.cli.common import folder, print_table
from thresher.crawler.demo.demo_settings import MOST_LINKS
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.demo.web import Web

PAGES_OF_A_HOST = 50
_COLUMNS = (
    *("crawler", "pages/CPU s", "min-max", "later half", "pages/s", "pages", "again", "hosts"),
    *("no robots", "req/conn", "CPU s", "server s", "peak MiB", "ended"),
)


@contextmanager
def serving(profile: str, hosts: int, log: Path, *, new_links: int = 0) -> Iterator[ServerProcess]:
    """Serve the benchmark's web until the block ends.    new_links: of each page, that no other page has; the web is endless with them"""
    changes: dict[str, object] = {"n_sites": hosts, "hosts_per_site": [1, 1], "n_seeds": hosts, "by_address": True}
    changes |= {"pages_per_host": [PAGES_OF_A_HOST, PAGES_OF_A_HOST], "new_links": new_links}
    with ServerProcess(f"bench_{profile}", changes=changes, log=log, printed=True) as server:
        yield server


def one_run(of: Contestant, server: ServerProcess, peers: Path, budget: Budget, cores: Sequence[int]) -> Run:
    """Run one crawler in a directory of its own, which is removed."""
    directory = Path(tempfile.mkdtemp(prefix="thresher-peer-"))
    try:
        web = server.web
        assert isinstance(web, Web)
        job = Job(server, directory / "seeds", directory / "urls", directory / "run", len(cores))
        job.directory.mkdir()
        job.seeds.write_text("\n".join(web.seeds()) + "\n", "utf-8")
        job.urls.write_text("\n".join(_host_by_host(web.page_urls())) + "\n", "utf-8")
        return run(of.command(peers, job), server, budget, job.directory, cores=cores, ok_codes=of.ok_codes)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _host_by_host(urls: list[str]) -> list[str]:
    """Reorder URLs that come in blocks of a host: the first of each host, then the second of each, and so on."""
    return [url for i in range(PAGES_OF_A_HOST) for url in urls[i::PAGES_OF_A_HOST]]


def measure(
    chosen: Sequence[Contestant],
    profile: str,
    hosts: int,
    runs: int,
    peers: Path,
    budget: Budget,
    *,
    new_links: int = 0,
    all_cores: bool = False,
) -> tuple[dict[str, list[Run]], dict[str, str]]:
    """Run each crawler in turn, for some rounds; return the runs by name, and why others were skipped. Raises ServerStoppedError."""
    cores = sorted(os.sched_getaffinity(0))
    skipped = {of.name: word for of in chosen if (word := of.missing(peers))}
    found: dict[str, list[Run]] = {of.name: [] for of in chosen if of.name not in skipped}
    with (
        tempfile.TemporaryDirectory(prefix="thresher-peers-") as temporary,
        serving(profile, hosts, Path(temporary) / "log", new_links=new_links) as server,
    ):
        os.sched_setaffinity(server.pid, cores if all_cores else cores[-1:])
        for turn in range(runs):
            for of in chosen:
                if of.name in found and (not turn or found[of.name][0].is_valid):
                    result = one_run(of, server, peers, budget, cores if all_cores else cores[:1])
                    found[of.name].append(result)
                    figure = f"{result.rate:,.0f} pages per CPU second" if result.rate else "no figure"
                    print(f"{profile} {turn + 1}/{runs} {of.name}: {figure}, {result.ended}", file=sys.stderr, flush=True)
    return found, skipped


def row(name: str, runs: Sequence[Run]) -> dict[str, Any]:
    """Return the line of the table, from the valid runs. If one failed, there is no figure."""
    rates = [run.rate for run in runs if run.rate is not None]
    failed = next((run.ended for run in runs if not run.is_valid), None)
    middle = sorted(runs, key=lambda run: run.rate or 0.0)[len(runs) // 2]
    return {
        "crawler": name,
        "pages/CPU s": None if failed else round(statistics.median(rates)),
        "min-max": None if failed else f"{min(rates):.0f}-{max(rates):.0f}",
        "later half": None if failed else round(statistics.median(run.later_rate for run in runs)),
        "pages/s": None if failed else round(statistics.median(run.pages / run.wall_s for run in runs)),
        "pages": middle.pages,
        "again": middle.again,
        "hosts": middle.hosts,
        "no robots": middle.hosts_without_robots,
        "req/conn": round(middle.per_connection, 1),
        "CPU s": round(middle.cpu_s, 1),
        "server s": round(middle.server_cpu_s, 1),
        "peak MiB": round(middle.peak_bytes / 2**20),
        "ended": failed or middle.ended,
    }


def report(found: dict[str, list[Run]], skipped: dict[str, str], of: argparse.Namespace, profile: str) -> dict[str, Any]:
    """Return a result as it is written: rows, what was skipped, every run, machine and versions."""
    return {
        "profile": profile,
        "hosts": of.hosts,
        "pages_of_a_host": PAGES_OF_A_HOST,
        "new_links": of.new_links,
        "all_cores": of.all_cores,
        "cpu_seconds": of.cpu_seconds,
        "runs": of.runs,
        "machine": machine(),
        "versions": versions(of.peers),
        "server_limit": _server_limit(found),
        "rows": [row(name, runs) for name, runs in found.items()],
        "what": {contestant.name: contestant.what for contestant in CONTESTANTS if contestant.name in found},
        "skipped": skipped,
        "every_run": {name: [asdict(run) for run in runs] for name, runs in found.items()},
    }


def _server_limit(found: dict[str, list[Run]]) -> int:
    every = (run for runs in found.values() for run in runs)
    return round(max((run.requests / run.server_cpu_s for run in every if run.server_cpu_s > 0), default=0))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="Thresher beside other crawlers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(of.name for of in CONTESTANTS)}; all without")
    parser.add_argument("--peers", type=Path, default=Path("peers"), help="where the others are installed")
    parser.add_argument("--profile", choices=("median", "small", "both"), default="both")
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--new-links", type=int, default=0, help="links of each page that no other page has; the web never ends then")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--all-cores", action="store_true", help="crawler and server share all cores: look at pages a second then")
    parser.add_argument("--cpu-seconds", type=float, default=10.0, help="that a run may use; a slower crawler is stopped then")
    parser.add_argument("--out", type=Path, help="folder for the results as JSON")
    of = parser.parse_args()
    known = {contestant.name for contestant in CONTESTANTS}
    if unknown := sorted(set(of.names) - known):
        parser.error(f"no crawler {unknown[0]!r}; there are {', '.join(sorted(known))}")
    if not 0 <= of.new_links <= MOST_LINKS:
        parser.error(f"expected 0 to {MOST_LINKS} new links a page")
    if of.hosts < 4 or of.runs < 1 or of.cpu_seconds <= 0:
        parser.error("expected at least 4 hosts, one run, and some CPU seconds")
    of.peers = of.peers.resolve()
    return of


def main() -> int:
    of = _arguments()
    folder(of.out)
    chosen = [contestant for contestant in CONTESTANTS if not of.names or contestant.name in of.names]
    if len(os.sched_getaffinity(0)) == 1:
        print("one core: crawler and server share it; CPU seconds count, wall clock does not", file=sys.stderr)
    for profile in ("median", "small") if of.profile == "both" else (of.profile,):
        try:
            found, skipped = measure(
                chosen, profile, of.hosts, of.runs, of.peers, Budget(of.cpu_seconds), new_links=of.new_links, all_cores=of.all_cores
            )
        except ServerStoppedError as error:
            print(f"{profile}: {error}", file=sys.stderr)
            return 1
        result = report(found, skipped, of, profile)
        endless = f" and endless ones below, {of.new_links} new links a page" if of.new_links else ""
        print(f"\n{profile}: {of.hosts} hosts, {PAGES_OF_A_HOST} pages each{endless}; {result['machine']}")
        print_table(_COLUMNS, [[line[column] for column in _COLUMNS] for line in result["rows"]])
        print(f"the server: up to {result['server_limit']:,} requests per CPU second of its own")
        for name, word in skipped.items():
            print(f"{name}: skipped, {word}")
        if of.out is not None:
            (of.out / f"peers_{profile}.json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    exit_with(main)
