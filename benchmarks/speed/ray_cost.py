"""What several machines cost: three agents on three machines under Ray against three on one machine over unix sockets, on the same cores.

    python -m benchmarks.speed.ray_cost [--sites 10]

Three network namespaces are the machines; the web is served on the loopback of each, so that between them there is nothing but Ray and our
messages. CPU is that of every process of the crawl, Ray's included, from the 30th to the 90th request for each site, so no start is in it.
Where no three machines can be had, it says why and exits with 0. It tells and judges nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

_TESTS = Path(__file__).parents[2] / "tests"
sys.path[:0] = [str(_TESTS), str(_TESTS / "crash"), str(_TESTS / "machines")]

from killing import Bench, bench
from namespaces import NAMES, Machines, Server, why_not

from thresher.crawler.core.model import State
from thresher.storage.export.reading import reading_shard
from thresher.storage.schema import STATE

_ENGINE: Final = re.compile(r"raylet|gcs_server|ray::|/ray/|ray start")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_LONGEST_S: Final = 900.0
_IDLE_S: Final = 10.0


class Spent(NamedTuple):
    """What a crawl has used: in the middle of its requests, and between its machines in all."""

    cpu_s: float
    n_requests: int
    engine_mib: float
    n_bytes: int = 0
    duration_s: float = 0.0


def main() -> None:
    """Print the cost of both."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.ray_cost", description="What several machines cost.")
    parser.add_argument("--sites", type=int, default=10, help="of the web, more than a hundred URLs each")
    options = parser.parse_args()
    if why := why_not():
        print(f"skipped: {why}")
        return
    with tempfile.TemporaryDirectory(prefix="ray-cost-", dir="/var/tmp") as name:
        Cost(Path(name), bench(n_sites=options.sites, mode="off"), options.sites).measure()


class Cost:
    """Both crawls of one web."""

    def __init__(self, directory: Path, web: Bench, n_sites: int) -> None:
        self._directory = directory
        self._web = web
        self._between = (30 * n_sites, 90 * n_sites)  # requests
        self._log = directory / "server.log"

    def measure(self) -> None:
        """Crawl twice, and print what each has cost."""
        with self._web.serve(self._directory / "config") as server:
            config = msgspec.json.decode(self._web.config(server, self._directory / "config").read_bytes())
        served = Machines(self._directory / "machines")
        with served as machines, Server(machines, self._web.profile, self._log, port=self._web.port, changes=self._web.changes):
            sockets = self._crawl(machines, config | {"agents": len(NAMES)}, "one")
            machines.wait_for_cluster()
            before = _sent(machines)
            time.sleep(_IDLE_S)
            idle = (_sent(machines) - before) / _IDLE_S
            several = self._crawl(machines, config | {"engine": "ray", "agents": 1}, "several")
            n_links = sum(_n_abroad(machines.folder(name, "disk") / "several") for name in NAMES)
        for what, spent in (("unix sockets", sockets), ("Ray", several)):
            print(f"{what}: {spent.cpu_s / spent.n_requests * 1000:.2f} ms of CPU a request ({spent.n_requests:,} requests)")
        ours = several.n_bytes - idle * several.duration_s
        print(f"the engine: {several.engine_mib / len(NAMES):.0f} MiB a machine (proportional set size)")
        print(f"between machines: {several.n_bytes / 1e6:.1f} MB in {several.duration_s:.0f} s; idle {idle / 1000:.1f} kB/s")
        print(f"beyond that {ours / max(1, n_links):,.0f} bytes for each of {n_links:,} URLs that a machine has told another")

    def _crawl(self, machines: Machines, config: dict[str, object], name: str) -> Spent:
        """Crawl to the end from the head, and measure on the way."""
        (machines.folder(NAMES[0], "disk") / f"{name}.yaml").write_bytes(msgspec.json.encode(config))
        first, sent, began = self._n_requests(), _sent(machines), time.monotonic()
        words = ["crawl", "-c", str(machines.disk / f"{name}.yaml"), "-o", str(machines.disk / name), "--progress", "none"]
        command = machines.thresher(NAMES[0], *words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        used = []
        for bound in self._between:
            self._until(first + bound, command)
            used.append((_cpu_s(machines), self._n_requests()))
        spent = Spent(used[1][0] - used[0][0], used[1][1] - used[0][1], _engine_mib(machines))
        assert command.wait(_LONGEST_S) == 0, f"the crawl {name} has failed"
        return spent._replace(n_bytes=_sent(machines) - sent, duration_s=time.monotonic() - began)

    def _n_requests(self) -> int:
        return self._log.read_bytes().count(b"\n") if self._log.exists() else 0

    def _until(self, n_requests: int, command: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + _LONGEST_S
        while self._n_requests() < n_requests:
            assert command.poll() is None, "the crawl has ended before it could be measured: take more --sites"
            assert time.monotonic() < end, "the crawl does not get on"
            time.sleep(0.05)


def _cpu_s(machines: Machines) -> float:
    """Return the CPU seconds of all processes of the machines, and of their children that have ended."""
    ticks = 0
    for pid in _pids(machines):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / _TICKS


def _engine_mib(machines: Machines) -> float:
    """Return the memory of Ray's own processes; memory that several share counts in parts."""
    kib = 0
    for pid in _pids(machines):
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
            if "agent_process" not in command and _ENGINE.search(command):
                kib += int(re.findall(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)[0])
    return kib / 1024


def _pids(machines: Machines) -> list[int]:
    return [pid for name in NAMES for pid in machines.pids(name)]


def _sent(machines: Machines) -> int:
    """Return the bytes that the machines have sent each other."""
    n_bytes = 0
    for name in NAMES:
        words = ["ip", "-j", "-s", "-n", machines.namespace(name), "link", "show", "dev", "eth0"]
        said = msgspec.json.decode(subprocess.run(words, check=True, capture_output=True).stdout)
        n_bytes += int(said[0]["stats64"]["tx"]["bytes"])
    return n_bytes


def _n_abroad(directory: Path) -> int:
    """Return how many URLs the shards on a disk have told other agents."""
    n_urls = 0
    for shard in (directory, *directory.glob("agent-*")):
        if (shard / STATE / "data.mdb").exists():
            with reading_shard(shard) as view:
                n_urls += view.tables.seen.count(State.OUTBOX)
    return n_urls


if __name__ == "__main__":
    main()
