"""What a second agent brings: pages per second and CPU per page of one agent and of several, on this machine's cores.

    python -m benchmarks.speed.agents [--agents 1 2] [--sites 60] [--profile median] [--runs 3] [--out DIR]

Each number of agents crawls four fifths of the same web, with all filters as configured and without delays; the runs take turns. (The last
fifth would measure something else: at the end of a small web one agent waits for the other.) nginx serves the pages as files. It needs a
twentieth of the crawler's CPU; its share is printed, because it uses the same cores. A single agent has one core and nginx another; several
agents share all cores with nginx. The time runs from the start of the first agent to the last page.

Prints medians, and the rate of each number of agents as a multiple of the first one's. There is no multiple for more agents than cores: it
would measure nothing. If an agent or the server dies, or a page is not fetched, the benchmark ends without a result. With --out the result
is written to agents.json in DIR.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from benchmarks.peers.versions import machine
from benchmarks.support.ending import exit_with
from benchmarks.support.nginx import serving
from benchmarks.support.ports import free_port
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
from thresher.crawler.bench.agent_bench import timed_crawl
from thresher.crawler.cli.common import folder, print_table
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.ownership import MOST_AGENTS
from thresher.crawler.demo.demo_settings import profile
from thresher.crawler.demo.web import Web
from thresher.crawler.process.supervisor import AGENT
from thresher.crawler.version import VERSION

CRAWLED = 0.8  # of the web's pages
_TICK = os.sysconf("SC_CLK_TCK")


class Run(NamedTuple):
    """One crawl."""

    pages: int
    wall_s: float
    cpu_s: float
    server_cpu_s: float
    lag_ms_p99: float


class Served(NamedTuple):
    """A web and its server."""

    web: Web
    port: int
    server: int  # pid of nginx's worker
    n_pages: int

    @property
    def is_running(self) -> bool:
        return Path(f"/proc/{self.server}").exists()


_COLUMNS = ("agents", "pages", "pages/s", "of the first", "CPU ms a page", "server's", "lag ms p99")


def main() -> int:
    """Run the rounds and print the table."""
    of = _arguments()
    folder(of.out)
    cores = sorted(os.sched_getaffinity(0))
    if max(of.agents) > len(cores):
        print(f"{max(of.agents)} agents have {len(cores)} core(s) to share: no multiple is given of them", file=sys.stderr)
    runs: dict[int, list[Run]] = {n: [] for n in of.agents}
    try:
        with _served(of.profile, of.sites) as served:
            for _ in range(of.runs):
                for n in of.agents:
                    runs[n].append(_crawl(served, n, cores))
                    print(n, runs[n][-1], file=sys.stderr, flush=True)
    except UsageError as error:
        print(f"benchmarks.speed.agents: {error}", file=sys.stderr)
        return 1
    rows = [_row(n, found, runs[of.agents[0]], len(cores)) for n, found in runs.items()]
    print_table(_COLUMNS, [[row[column] for column in _COLUMNS] for row in rows])
    if of.out is not None:
        result = {"machine": machine(), "thresher": VERSION, "profile": of.profile, "sites": of.sites, "runs": of.runs, "rows": rows}
        (of.out / "agents.json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.agents", description="Compare numbers of agents.")
    parser.add_argument("--agents", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sites", type=int, default=60, help="of two hosts with 50 pages each")
    parser.add_argument("--profile", choices=["median", "small"], default="median")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path, help="folder for the result as JSON")
    of = parser.parse_args()
    if not all(1 <= n <= MOST_AGENTS for n in of.agents) or of.sites < 1 or of.runs < 1:
        parser.error(f"expected at least one site and one run, and 1 to {MOST_AGENTS} agents")
    return of


def _row(n: int, found: list[Run], first: list[Run], n_cores: int) -> dict[str, Any]:
    """Return the medians over the runs with one number of agents, and the rate as a multiple of the rate with the first number."""
    rate, base = (statistics.median(run.pages / run.wall_s for run in runs) for runs in (found, first))
    return {
        "agents": n,
        "pages": found[0].pages,
        "pages/s": round(rate),
        "of the first": round(rate / base, 2) if n <= n_cores else None,
        "CPU ms a page": round(statistics.median(1000 * run.cpu_s / run.pages for run in found), 2),
        "server's": round(statistics.median(1000 * run.server_cpu_s / run.pages for run in found), 3),
        "lag ms p99": round(max(run.lag_ms_p99 for run in found)),
    }


@contextmanager
def _served(name: str, n_sites: int) -> Iterator[Served]:
    """Write the web's pages to files and serve them."""
    port = free_port("0.0.0.0")
    web = Web(profile(f"bench_{name}", n_sites=n_sites, n_seeds=2 * n_sites), port=port)
    with tempfile.TemporaryDirectory(prefix="bench-agents-") as directory:
        files = Path(directory) / "files"
        Path(directory).chmod(0o755)
        n_pages = 0
        urls = [*web.truth().urls, *(f"{web.origin(host)}/robots.txt" for host in web.hosts())]
        for url in urls:
            parts = urlsplit(url)
            path = f"{parts.path}?{parts.query}" if parts.query else parts.path
            assert parts.hostname is not None
            reply = web.respond(parts.hostname, path)
            if reply.status == 200:
                file = files / parts.hostname / (path.lstrip("/") + ".page")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(reply.body)
                n_pages += parts.path != "/robots.txt"
        server = (
            f"listen 0.0.0.0:{port} backlog=4096; root {files}/$host; default_type text/html; charset utf-8; sendfile on; "
            "keepalive_requests 100000; location = /robots.txt { default_type text/plain; try_files /robots.txt.page =404; } "
            "location / { try_files $request_uri.page =404; }"
        )
        with serving(Path(directory) / "nginx", [server], [f"http://127.0.0.1:{port}/"]):
            yield Served(web, port, _worker(int((Path(directory) / "nginx" / "pid").read_text())), n_pages)


def _worker(master: int) -> int:
    return int(Path(f"/proc/{master}/task/{master}/children").read_text().split()[0])


def _crawl(served: Served, n_agents: int, cores: list[int]) -> Run:
    """Crawl the web to its end. Raises UsageError where there is no result."""
    settings = msgspec.structs.replace(_settings(served), agents=n_agents)
    with tempfile.TemporaryDirectory(prefix="bench-agents-") as temporary:
        before = _cpu_s(served.server)
        os.sched_setaffinity(served.server, cores[-1:] if n_agents == 1 else cores)
        agent = ("taskset", "-c", str(cores[0]), *AGENT) if n_agents == 1 else AGENT
        status, watch = timed_crawl(Path(temporary) / "crawl", settings, is_served=lambda: served.is_running, agent=agent)
        if status.pages != settings.limits.max_pages:
            wanted = f"{settings.limits.max_pages} of {served.n_pages} pages"
            raise UsageError(f"{n_agents} agent(s) fetched {status.pages} instead of {wanted}: {status.why}. There is no result")
        return Run(status.pages, watch.wall_s, status.cpu_s, _cpu_s(served.server) - before, status.loop_lag_p99_ms)


def _settings(served: Served) -> Settings:
    return Settings(
        seeds=served.web.seeds(),
        identity=IdentitySettings(agent="thresher-bench", contact="https://example.org/bench"),
        scope=ScopeSettings(type="any"),
        limits=LimitSettings(min_free_disk=0, max_wait=1.0, max_pages=int(CRAWLED * served.n_pages)),
        politeness=PolitenessSettings(
            min_delay=0.0, delay_factor=0.0, jitter=0.0, address_delay=0.0, address_connections=1000, site_connections=1000
        ),
        fetch=FetchSettings(allow_addresses=["127.0.0.0/8"], allow_ports=[served.port]),
        frontier=FrontierSettings(workbench=4_000),
        dns=DnsSettings(static=served.web.static_dns()),
    )


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        raise UsageError("the server ended: there is no result") from None
    return (int(fields[11]) + int(fields[12])) / _TICK


if __name__ == "__main__":
    exit_with(main)
