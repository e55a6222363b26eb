"""What a second agent brings: pages per second and CPU per page of one agent and of several, on this machine's cores.

    python -m benchmarks.agents [--agents 1 2] [--sites 60] [--profile median] [--runs 3]

The same web of pages is crawled to its end by each number of agents in turn, all filters on and politeness at its lowest, the rounds
interleaved. It is served as files by nginx, which costs a twentieth of what the crawler does; its share of the CPU is printed, as it takes
from the same cores. One agent has a core of its own and nginx another; several share all cores with nginx. Prints the medians and
the rate of each as a multiple of that of the first. The time runs from the first agent's start to the last page.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from benchmarks.nginx import serving
from config.settings import Dns, Fetch, Frontier, Identity, Limits, Politeness, Scope, Settings
from crawler.agent_bench import timed_crawl
from crawler.demo.knobs import profile
from crawler.demo.web import Web
from crawler.supervisor import AGENT

_PORT = 18_080
_TICK = os.sysconf("SC_CLK_TCK")


class Run(NamedTuple):
    """One crawl."""

    pages: int
    wall_s: float
    cpu_s: float
    server_cpu_s: float


def main() -> None:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agents", description="Compare numbers of agents.")
    parser.add_argument("--agents", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sites", type=int, default=60, help="of two hosts with 50 pages each")
    parser.add_argument("--profile", choices=["median", "small"], default="median")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if max(options.agents) > len(cores):
        print(f"{max(options.agents)} agents have {len(cores)} core(s) to share: the figures say nothing of more cores", file=sys.stderr)
    runs: dict[int, list[Run]] = {n: [] for n in options.agents}
    with _served(options.profile, options.sites) as (web, server):
        for _ in range(options.runs):
            for n in options.agents:
                runs[n].append(_crawl(web, n, server, cores))
                print(n, runs[n][-1], file=sys.stderr, flush=True)
    base = statistics.median(run.pages / run.wall_s for run in runs[options.agents[0]])
    print("agents  pages  pages/s  of the first  CPU ms a page  server's")
    for n, found in runs.items():
        rate = statistics.median(run.pages / run.wall_s for run in found)
        cpu_ms = statistics.median(1000 * run.cpu_s / run.pages for run in found)
        server_ms = statistics.median(1000 * run.server_cpu_s / run.pages for run in found)
        print(f"{n:6} {found[0].pages:6} {rate:8.0f} {rate / base:12.2f}x {cpu_ms:14.2f} {server_ms:9.3f}")


@contextmanager
def _served(name: str, n_sites: int) -> Iterator[tuple[Web, int]]:
    """Write the web's pages to files and serve them; yield the web and the pid of nginx's worker."""
    web = Web(profile(f"bench_{name}", n_sites=n_sites, n_seeds=2 * n_sites), port=_PORT)
    with tempfile.TemporaryDirectory(prefix="bench-agents-") as directory:
        files = Path(directory) / "files"
        os.chmod(directory, 0o755)
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
        server = (
            f"listen 0.0.0.0:{_PORT} backlog=4096; root {files}/$host; default_type text/html; charset utf-8; sendfile on; "
            "keepalive_requests 100000; location = /robots.txt { default_type text/plain; try_files /robots.txt.page =404; } "
            "location / { try_files $request_uri.page =404; }"
        )
        with serving(Path(directory) / "nginx", [server], [f"http://127.0.0.1:{_PORT}/"]):
            yield web, _worker(int((Path(directory) / "nginx" / "pid").read_text()))


def _worker(master: int) -> int:
    return int(Path(f"/proc/{master}/task/{master}/children").read_text().split()[0])


def _crawl(web: Web, n_agents: int, server: int, cores: list[int]) -> Run:
    """Crawl the web to its end."""
    settings = msgspec.structs.replace(_settings(web), agents=n_agents)
    with tempfile.TemporaryDirectory(prefix="bench-agents-") as temporary:
        before = _cpu_s(server)
        os.sched_setaffinity(server, cores[-1:] if n_agents == 1 else cores)
        agent = ("taskset", "-c", str(cores[0]), *AGENT) if n_agents == 1 else AGENT
        status, watch = timed_crawl(Path(temporary) / "crawl", settings, agent=agent)
        return Run(status.pages, watch.wall_s, status.cpu_s, _cpu_s(server) - before)


def _settings(web: Web) -> Settings:
    return Settings(
        seeds=web.seeds(),
        identity=Identity(agent="thresher-bench", contact="https://example.org/bench"),
        scope=Scope(type="any"),
        limits=Limits(min_free_disk=0, max_wait=1.0),
        politeness=Politeness(
            min_delay=0.0, delay_factor=0.0, jitter=0.0, address_delay=0.0, address_connections=1000, site_connections=1000
        ),
        fetch=Fetch(allow_addresses=["127.0.0.0/8"], allow_ports=[_PORT]),
        frontier=Frontier(workbench=4_000),
        dns=Dns(static=web.static_dns()),
    )


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


if __name__ == "__main__":
    main()
