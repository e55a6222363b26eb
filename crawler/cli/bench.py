"""`thresher bench`: what a page costs on this machine."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import msgspec

from config.settings import Dns, Fetch, Frontier, Identity, Limits, Politeness, Scope, Settings
from crawler.cli.common import json_option, print_json, print_table, set_option
from crawler.core.errors import UsageError
from crawler.demo.process import ServerProcess
from crawler.metrics import Status
from crawler.opening import create_store, with_sets
from crawler.version import VERSION


@click.group()
def bench() -> None:
    """Measure this machine: pages per CPU second of the crawler's processes, on a web served from another core."""


@bench.command(epilog="Example: thresher bench crawl --pages 5000 --runs 3")
@click.option(
    "--profile",
    type=click.Choice(["median", "small"]),
    default="median",
    show_default=True,
    help="25 KB and 60 links a page, or 4 KB and 15.",
)
@click.option("--pages", type=click.IntRange(100), default=10_000, show_default=True, help="Pages a run.")
@click.option(
    "--hosts",
    type=click.IntRange(2, 2000),
    default=200,
    show_default=True,
    help="Hosts of the web; more of them mean more new URLs a page.",
)
@click.option("--runs", type=click.IntRange(1, 50), default=3, show_default=True, help="Runs; the median is the figure to quote.")
@set_option
@json_option
def crawl(profile: str, pages: int, hosts: int, runs: int, sets: tuple[str, ...], as_json: bool) -> int:
    """Crawl the demo web with politeness at its lowest and all filters on, the crawler on one core and the server on the other.

    Prints pages per CPU second (user and system, of the agent with its writer thread and parsers), wall-clock rate, peak memory, and the
    share of the CPU time by stage. On a machine with one core the two share it, and that is said.
    """
    cores = sorted(os.sched_getaffinity(0))
    results = [_run(profile, hosts, pages, sets, cores) for _ in range(runs)]
    rates = [result["pages_per_cpu_s"] for result in results]
    stages = {stage: statistics.median(result["stages"].get(stage, 0.0) for result in results) for stage in results[0]["stages"]}
    report = {
        "profile": profile,
        "hosts": hosts,
        "runs": runs,
        "pages_per_cpu_s": {"median": statistics.median(rates), "min": min(rates), "max": max(rates)},
        "pages": results[0]["pages"],
        "known_urls": results[0]["known_urls"],
        "pages_per_s_wall": statistics.median(result["pages_per_s_wall"] for result in results),
        "peak_rss_bytes": max(result["peak_rss_bytes"] for result in results),
        "loop_lag_ms_max": max(result["loop_lag_ms_max"] for result in results),
        "stages": dict(sorted(stages.items(), key=lambda item: -item[1])),
        "thresher": VERSION,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {len(cores)} cores",
    }
    if as_json:
        print_json(report)
    else:
        _show(report)
    return 0


def _run(profile: str, hosts: int, pages: int, sets: tuple[str, ...], cores: list[int]) -> dict[str, Any]:
    """Make one crawl in a store of its own; return what it cost."""
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as temporary, _server(profile, hosts) as server:
        os.sched_setaffinity(server.pid, cores[-1:])
        directory, stages = Path(temporary) / "crawl", Path(temporary) / "stages.json"
        create_store(directory, bench_settings(server, pages, sets))
        status, cpu_s, wall_s, lag_ms = _crawl(directory, stages, cores[0])
        if status.pages < pages:
            raise UsageError(f"the crawl ended after {status.pages} of {pages} pages: {status.why}. A figure of it would mean nothing")
        return {
            "pages": status.pages,
            "known_urls": status.known,
            "pages_per_cpu_s": status.pages / cpu_s,
            "pages_per_s_wall": status.pages / wall_s,
            "peak_rss_bytes": status.rss_bytes,
            "loop_lag_ms_max": lag_ms,
            "stages": json.loads(stages.read_bytes()),
        }


def _server(profile: str, hosts: int) -> ServerProcess:
    """Make a web of `hosts` hosts, two a site, all of them seeds."""
    return ServerProcess(f"bench_{profile}", changes={"n_sites": hosts // 2, "n_seeds": hosts // 2 * 2})


def _crawl(directory: Path, stages: Path, core: int) -> tuple[Status, float, float, float]:
    """Run an agent to its end on one core; return its last status, its CPU seconds, the time it took, the worst lag of its loop."""
    decode = msgspec.json.Decoder(Status).decode
    started = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-m", "crawler.agent_process", str(directory), str(stages)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    os.sched_setaffinity(process.pid, {core})
    assert process.stdin is not None
    assert process.stdout is not None
    status, lag_ms = Status(), 0.0
    for line in process.stdout:
        status = decode(line)
        lag_ms = max(lag_ms, status.loop_lag_ms)
    _, code, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(code)
    process.stdin.close()
    process.stdout.close()
    if process.returncode != 0:
        raise UsageError(f"the crawl ended with exit {process.returncode}: {status.why}")
    return status, usage.ru_utime + usage.ru_stime, time.monotonic() - started, lag_ms


def bench_settings(server: ServerProcess, pages: int | None, sets: tuple[str, ...] = ()) -> Settings:
    """Return the configuration of the benchmark: everything on but the waiting."""
    base = Settings(
        seeds=server.web.seeds(),
        identity=Identity(agent="thresher-bench", contact="https://example.org/bench"),
        scope=Scope(type="any"),
        limits=Limits(max_pages=pages, min_free_disk=0),
        politeness=Politeness(
            min_delay=0.0, delay_factor=0.0, jitter=0.0, address_delay=0.0, address_connections=100_000, site_connections=100_000
        ),
        fetch=Fetch(allow_addresses=["127.0.0.0/8"], allow_ports=[server.port]),
        frontier=Frontier(workbench=4_000),
        dns=Dns(static=server.web.static_dns()),
    )
    return with_sets(base, sets)


def _show(report: dict[str, Any]) -> None:
    rate = report["pages_per_cpu_s"]
    rows = [
        ("pages per CPU second", f"{rate['median']:.0f}  (min {rate['min']:.0f}, max {rate['max']:.0f}, {report['runs']} runs)"),
        (
            "pages",
            f"{report['pages']:,} of profile {report['profile']} on {report['hosts']:,} hosts, {report['known_urls']:,} URLs known",
        ),
        ("pages per second", f"{report['pages_per_s_wall']:.0f} on the wall clock"),
        ("peak memory", f"{report['peak_rss_bytes'] / 2**20:.0f} MiB"),
        ("worst loop lag", f"{report['loop_lag_ms_max']:.0f} ms"),
        ("machine", f"{report['machine']}, Python {report['python']}, thresher {report['thresher']}"),
    ]
    print_table(("", ""), rows)
    print_table(
        ("stage", "share of CPU", "µs per page"), [(s, f"{n:.1%}", round(n / rate["median"] * 1e6)) for s, n in report["stages"].items()]
    )
