"""What a page costs: crawls of the demo web by an agent of its own process on one core, the server on another.

Webs: `median` and `small` pages on many hosts; the median web again with `gzip`, and over `tls`; `sites`, 20 sites of some 10,000 URLs
each, whose aliases, soft errors and replicas teach the filters something. A run is no result if it fetched
less than was planned, or if its agent or its server died.
"""

from __future__ import annotations

import importlib.util
import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from thresher.config.settings import (
    DnsSettings,
    FetchSettings,
    FrontierSettings,
    IdentitySettings,
    LimitSettings,
    PolitenessSettings,
    ScopeSettings,
    Settings,
)
from thresher.crawler.bench.ablations import with_filters, without_tail
from thresher.crawler.bench.agent_bench import STALLED_S, BenchProgress, timed_crawl
from thresher.crawler.bench.webs import WEBS
from thresher.crawler.children import python
from thresher.crawler.core.errors import UsageError
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.process.agent_life import START_S
from thresher.crawler.start.opening import create_store, with_sets
from thresher.crawler.status import Status

_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """What is crawled, and how far."""

    web: str
    hosts: int
    pages: int
    per_host: int | None = None  # pages fetched from a host at most
    on: tuple[str, ...] | None = None  # filters that are enforced; None: as configured
    agents: int = 1
    sets: tuple[str, ...] = ()
    new_links: int | None = None  # of each page: links that no other page has; None: as the web has them

    def is_met(self, n_pages: int) -> bool:
        """Return whether a crawl of `n_pages` counts as a result. Without a limit per host one page in a hundred may be missing."""
        return n_pages >= (self.pages if self.per_host is None else 0.99 * self.pages)


def measure(plan: BenchPlan) -> dict[str, Any]:
    """Make one crawl in a temporary store; return its figures.

    Raises:
        UsageError: If the crawl fetched less than was planned, or its agent or server died.
    """
    cores = sorted(os.sched_getaffinity(0))
    _check_web(plan)
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as temporary, _server(plan, Path(temporary) / "authority.pem") as server:
        os.sched_setaffinity(server.pid, cores[-1:] if plan.agents == 1 else cores)
        directory, stages = Path(temporary) / "crawl", Path(temporary) / "stages.json"
        settings = _settings(plan, server, Path(temporary) / "authority.pem")
        served = _cpu_s(server.pid)
        if plan.agents > 1:  # their CPU time is not split by stage
            status, watch = timed_crawl(directory, settings, is_served=lambda: server.is_running)
            cpu_s, wall_s, lag_ms = status.cpu_s, watch.wall_s, watch.lag_ms
            stages.write_text("{}")
        else:
            create_store(directory, settings)
            status, cpu_s, wall_s, lag_ms = _crawl(directory, stages, cores[0], server)
        served = _cpu_s(server.pid) - served
        if not plan.is_met(status.pages):
            raise UsageError(f"the crawl ended after {status.pages} of {plan.pages} pages: {status.why}. A figure of it would mean nothing")
        return {
            "pages": status.pages,
            "known_urls": status.known,
            "pages_per_cpu_s": status.pages / cpu_s,
            "pages_per_s_wall": status.pages / wall_s,
            "server_pages_per_cpu_s": status.pages / max(served, 1 / _TICK),
            "server_busy_share": served / wall_s,
            "peak_rss_bytes": status.rss_bytes,
            "loop_lag_ms_max": lag_ms,
            "loop_lag_ms_p99": min(
                status.loop_lag_p99_ms, lag_ms
            ),  # the percentile is the upper bound of a bin, which may lie beyond the worst lag
            "stages": json.loads(stages.read_bytes()),
        }


def _check_web(plan: BenchPlan) -> None:
    if plan.web == "sites" and plan.new_links:
        raise UsageError("the web `sites` has links of its own: --new-links is for the others")
    if plan.web == "tls" and importlib.util.find_spec("trustme") is None:
        raise UsageError("the web under TLS needs the package trustme: pip install trustme")


def _settings(plan: BenchPlan, server: ServerProcess, authority: Path) -> Settings:
    settings = bench_settings(server, plan.pages, per_host=plan.per_host)
    if plan.web == "tls":
        settings = msgspec.structs.replace(settings, fetch=msgspec.structs.replace(settings.fetch, ca_file=str(authority)))
    settings = settings if plan.on is None else with_filters(without_tail(settings), plan.on)
    return msgspec.structs.replace(with_sets(settings, plan.sets), agents=plan.agents)


def _server(plan: BenchPlan, authority: Path) -> ServerProcess:
    """Start the server of the web: `hosts` hosts, two for each site, all of them seeds; the web `sites` has a size of its own."""
    profile, changes = WEBS[plan.web]
    if plan.web != "sites":
        changes = changes | {"n_sites": plan.hosts // 2, "n_seeds": plan.hosts // 2 * 2}
        changes |= {"new_links": plan.new_links} if plan.new_links else {}
    return ServerProcess(profile, changes=changes, authority=authority if plan.web == "tls" else None)


def _crawl(directory: Path, stages: Path, core: int, server: ServerProcess) -> tuple[Status, float, float, float]:
    """Run an agent to its end on one core; return its last status, its CPU seconds, the time it took, the worst lag of its loop."""
    watch = BenchProgress(lambda: server.is_running, stalled_s=STALLED_S)
    status = Status()
    started = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 - our own module
        python.command("thresher.crawler.process.agent_process", str(directory), str(stages)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=python.environment(),
    )
    os.sched_setaffinity(process.pid, {core})
    try:
        for status in _statuses(process, watch):
            watch.update(status)
    except BaseException:
        process.kill()
        raise
    finally:
        _, code, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()
    watch.update(status)
    if process.returncode != 0:
        raise UsageError(f"the crawl ended with exit {process.returncode} after {status.pages} pages: {status.why or 'it did not say why'}")
    return status, usage.ru_utime + usage.ru_stime, time.monotonic() - started, watch.lag_ms


def _statuses(process: subprocess.Popen[bytes], watch: BenchProgress) -> Iterator[Status]:
    """Yield the agent's statuses until it ends. An agent that sends none for `STALLED_S` counts as stopped."""
    assert process.stdout is not None
    decode = msgspec.json.Decoder(Status).decode
    rest, patience_s = b"", max(START_S, STALLED_S)
    while select.select([process.stdout], [], [], patience_s)[0]:
        patience_s = STALLED_S
        read = os.read(process.stdout.fileno(), 1 << 16)
        if not read:
            return
        *lines, rest = (rest + read).split(b"\n")
        yield from map(decode, lines)
    watch.stalled()


def _cpu_s(pid: int) -> float:
    """Return user and system CPU seconds of a process; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(") ")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICK


def bench_settings(server: ServerProcess, pages: int | None, sets: tuple[str, ...] = (), *, per_host: int | None = None) -> Settings:
    """Return the configuration of the benchmark: all filters on, all delays of politeness off."""
    base = Settings(
        seeds=server.web.seeds(),
        identity=IdentitySettings(agent="thresher-bench", contact="https://example.org/bench"),
        scope=ScopeSettings(type="any"),
        limits=LimitSettings(max_pages=pages, min_free_disk=0),
        politeness=PolitenessSettings(
            min_delay=0.0, delay_factor=0.0, jitter=0.0, address_delay=0.0, address_connections=100_000, site_connections=100_000
        ),
        fetch=FetchSettings(allow_addresses=["127.0.0.0/8"], allow_ports=[server.port]),
        frontier=FrontierSettings(workbench=4_000),
        dns=DnsSettings(static=server.web.static_dns()),
    )
    if per_host is not None:
        base = msgspec.structs.replace(base, limits=msgspec.structs.replace(base.limits, max_pages_per_host=per_host))
    return with_sets(base, sets)
