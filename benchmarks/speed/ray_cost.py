"""What Ray costs: the same web crawled by two agents over unix sockets, and by one agent on each of two machines; on the same cores.

    python -m benchmarks.speed.ray_cost [--sites 12] [--runs 3] [--idle 20]

The machines are network namespaces with a disk folder each, as in `benchmarks.proofs.machines`; the two agents over unix sockets crawl in
the first of them. One demo server answers all; it is not counted. The runs take turns. Every process of the machines is looked at four
times a second, so up to a quarter of a second of each that ends is not counted.

    CPU a page        ms, user and system, from the first request to the last: of the agents, of the crawl's command and our actors, of
                      Ray's own processes; what beginning and ending take is told once for the whole crawl
    memory            MiB that a process has for itself and its share of what it shares (PSS), the most of each added up
    bytes a link      on the wire between the machines, of both directions, for each URL that an agent sent to the other one; what the
                      cluster sends while it does nothing is told for a second, and taken off

Ray's processes cost the same a second whether pages come or not, so its CPU a page is worth as much as the rate that is printed beside it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec

from benchmarks.support.ending import exit_with

_TESTS = Path(__file__).parents[2] / "tests"
sys.path[:0] = [str(_TESTS), str(_TESTS / "machines")]

from harness import AGENT, CONTACT, free_port
from namespaces import Machines, Server, why_not

from thresher.crawler.children import python
from thresher.crawler.cli.common import print_table
from thresher.crawler.core.errors import UsageError
from thresher.crawler.demo.demo_settings import profile
from thresher.crawler.demo.log import ServerLog
from thresher.crawler.demo.web import Web
from thresher.crawler.machines.reading import reach_machines
from thresher.storage.shards import ShardsView, open_view

_PROFILE = "bench_median"
_LOOK_S = 0.25
_TICK_S = 0.01  # /proc counts hundredths of a second
_NAMES = ("a", "b")
_READ = "--read"
_KINDS = {  # a word of the command → what it belongs to; the first that fits
    "agent_process": "agents",
    "ray::MachineActor": "command and actors",
    "ray::DirectoryActor": "command and actors",
    "ray::ShardActor": "command and actors",
    "thresher crawl": "command and actors",
}


class Cost(NamedTuple):
    """What one crawl cost. cpu_s, memory: by kind of process; wall_s and cpu_s: from the first request to the last"""

    engine: str
    pages: int
    wall_s: float
    cpu_s: dict[str, float]
    ends_cpu_s: float  # before and after that
    memory: dict[str, int]  # bytes
    wire_bytes: int
    idle_bytes: float  # a second
    idle_cpu_s: float  # a second
    n_sent: int


def main() -> int:
    """Run the pairs and print the table."""
    if sys.argv[1:2] == [_READ]:
        return _read(Path(sys.argv[2]))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.ray_cost", description="Compare Ray with unix sockets.")
    parser.add_argument("--sites", type=int, default=12, help="of two hosts with 64 pages each")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--idle", type=float, default=20.0, help="seconds that the cluster is watched before it crawls")
    of = parser.parse_args()
    if why := why_not():
        print(f"skipped: {why}")
        return 0
    found: dict[str, list[Cost]] = {"processes": [], "ray": []}
    for _ in range(of.runs):
        for engine, costs in found.items():
            with tempfile.TemporaryDirectory(prefix="ray-cost-", dir="/var/tmp") as directory:
                costs.append(_crawl(Path(directory), engine, of.sites, of.idle))
            print(costs[-1], file=sys.stderr, flush=True)
    _print(found)
    return 0


def _print(found: dict[str, list[Cost]]) -> None:
    kinds = ("agents", "command and actors", "Ray")
    rows = []
    for engine, costs in found.items():
        n = {kind: _median(1000 * cost.cpu_s.get(kind, 0.0) / cost.pages for cost in costs) for kind in kinds}
        mib = {kind: _median(cost.memory.get(kind, 0) / 2**20 for cost in costs) for kind in kinds}
        rate = _median(cost.pages / cost.wall_s for cost in costs)
        ends_s = _median(cost.ends_cpu_s for cost in costs)
        figures = (f"{rate:.0f}", *(f"{n[kind]:.2f}" for kind in kinds), f"{ends_s:.1f}", *(f"{mib[kind]:.0f}" for kind in kinds))
        rows.append([engine, costs[0].pages, *figures])
    columns = (*(f"ms: {kind}" for kind in kinds), "s: begin, end", *(f"MiB: {kind}" for kind in kinds))
    print_table(("engine", "pages", "pages/s", *columns), rows)
    far = found["ray"]
    a_link = _median((cost.wire_bytes - cost.idle_bytes * cost.wall_s) / max(1, cost.n_sent) for cost in far)
    print(f"bytes a link between the machines: {a_link:.0f}, of {far[0].n_sent:,} URLs sent")
    idle_bytes, idle_cpu = _median(cost.idle_bytes for cost in far), _median(cost.idle_cpu_s for cost in far)
    print(f"a cluster that does nothing: {idle_bytes:,.0f} bytes a second, {1000 * idle_cpu:.0f} ms of CPU a second on both machines")


def _median(values: Iterable[float]) -> float:
    return float(statistics.median(values))


def _crawl(directory: Path, engine: str, n_sites: int, idle_s: float) -> Cost:
    """Crawl the web to its end by one of the engines.

    Raises:
        UsageError: If that fails.
    """
    port, changes = free_port(), {"n_sites": n_sites, "n_seeds": 2 * n_sites, "pages_per_host": [64, 64]}
    with Machines(directory / "machines", _NAMES) as machines, Server(machines, _PROFILE, directory / "log", port=port, changes=changes):
        config = machines.folder("a", "disk") / "crawl.yaml"
        config.write_bytes(msgspec.json.encode(_sections(port, changes, engine)))
        idle_bytes = idle_cpu_s = 0.0
        if engine == "ray":
            machines.wait_for_cluster()
            time.sleep(idle_s)  # until it has settled
            idle_bytes, idle_cpu_s = _idle(machines, idle_s)
        store, before = str(machines.disk / "store"), _n_bytes(machines)
        with _Watch(machines) as watch:
            words = ("crawl", "-c", str(machines.disk / "crawl.yaml"), "-o", store, "--progress", "none")
            command = machines.thresher("a", *words, stdin=subprocess.DEVNULL, stderr=(directory / "said").open("wb"))
            if code := command.wait():
                raise UsageError(f"{engine}: the crawl ended with exit {code}: {(directory / 'said').read_text()[-2000:]}")
        wire_bytes = _n_bytes(machines) - before
        pages, n_sent = _counts(machines, store)
        log = ServerLog.read(directory / "log")
        began, ended = log.requests[0].start, max(request.end for request in log.requests)
        cpu_s = watch.cpu_s(began, ended)
        ends_cpu_s = sum(watch.cpu_s().values()) - sum(cpu_s.values())
        return Cost(engine, pages, ended - began, cpu_s, ends_cpu_s, watch.memory(), wire_bytes, idle_bytes, idle_cpu_s, n_sent)


def _sections(port: int, changes: dict[str, Any], engine: str) -> dict[str, Any]:
    """Return the configuration: all filters as they are, no delays."""
    web = Web(profile(_PROFILE, **changes), port=port)
    return {
        "seeds": web.seeds(),
        "identity": {"agent": AGENT, "contact": CONTACT},
        "scope": {"type": "any"},
        "limits": {"min_free_disk": 0, "max_wait": 1.0, "max_pages_per_host": None},
        "politeness": dict.fromkeys(("min_delay", "delay_factor", "jitter", "address_delay"), 0.0)
        | dict.fromkeys(("address_connections", "site_connections"), 1000),
        "fetch": {"allow_addresses": ["127.0.0.0/8"], "allow_ports": [port]},
        "dns": {"static": web.static_dns()},
        "engine": engine,
        "agents": 1 if engine == "ray" else len(_NAMES),  # on each machine
    }


def _idle(machines: Machines, idle_s: float) -> tuple[float, float]:
    """Return the bytes and the CPU seconds a second of a cluster that does nothing."""
    before = _n_bytes(machines)
    with _Watch(machines) as watch:
        time.sleep(idle_s)
    return (_n_bytes(machines) - before) / idle_s, sum(watch.cpu_s().values()) / idle_s


def _n_bytes(machines: Machines) -> int:
    """Return how many bytes the machines have sent to each other so far."""
    command = ["ip", "-n", machines.namespace("switch"), "-s", "-j", "link", "show", "type", "veth"]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return sum(int(link["stats64"]["rx"]["bytes"]) for link in found)  # received from a machine


class _Watch:
    """Looks at all processes of the machines, again and again, inside a `with` block."""

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self._before: dict[tuple[int, int], float] = {}  # (pid, start) → CPU seconds before the block
        self._last: dict[tuple[int, int], float] = {}
        self._looks: list[tuple[float, dict[tuple[int, int], float]]] = []  # (when, CPU seconds of all so far)
        self._kind: dict[tuple[int, int], str] = {}
        self._memory: Counter[tuple[int, int]] = Counter()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._look()
        self._before = self._last.copy()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._look()

    def cpu_s(self, began: float = -inf, ended: float = inf) -> dict[str, float]:
        """Return the CPU seconds by kind of process, in the block or between two times of the monotonic clock."""
        first = [cpu for at, cpu in self._looks if at <= began][-1:] or [self._before]
        last = [cpu for at, cpu in self._looks if at >= ended][:1] or [self._last]
        found: dict[str, float] = {}
        for one, cpu_s in last[0].items():
            found[self._kind[one]] = found.get(self._kind[one], 0.0) + cpu_s - first[0].get(one, 0.0)
        return found

    def memory(self) -> dict[str, int]:
        """Return the most bytes of memory of each process, added up by kind."""
        found: Counter[str] = Counter()
        for one, n_bytes in self._memory.items():
            found[self._kind[one]] += n_bytes
        return dict(found)

    def _run(self) -> None:
        n = 0
        while not self._is_over.wait(_LOOK_S):
            n += 1
            self._look(with_memory=n % 8 == 0)

    def _look(self, *, with_memory: bool = False) -> None:
        for pid in [pid for name in _NAMES for pid in self._machines.pids(name)]:
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                one, cpu_s = (pid, int(fields[19])), (int(fields[11]) + int(fields[12])) * _TICK_S
                if with_memory:
                    self._memory[one] = max(self._memory[one], _pss(pid))
            except OSError:
                continue  # it has ended
            self._last[one] = cpu_s
            kind = next((kind for word, kind in _KINDS.items() if word in words), "")
            self._kind[one] = kind or self._kind.get(one) or "Ray"  # a process takes its name after it was started
        self._looks.append((time.monotonic(), self._last.copy()))


def _pss(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def _counts(machines: Machines, store: str) -> tuple[int, int]:
    """Return the pages of a crawl, and the URLs that its agents have sent to each other."""
    here = Path(__file__).resolve()
    source = f"import runpy, sys; sys.path.insert(0, {str(here.parents[2])!r}); runpy.run_path({str(here)!r}, run_name='__main__')"
    reading = machines.popen("a", python.code(source, _READ, store), stdout=subprocess.PIPE)
    said, _ = reading.communicate()
    return msgspec.json.decode(said, type=tuple[int, int])


def _read(store: Path) -> int:
    """Write `_counts` to standard output."""
    reach_machines()
    with open_view(store, at_once=True) as view:
        assert isinstance(view, ShardsView), "of two agents"
        n_sent = sum(shard.counters.get("state:outbox") for shard in view.shards)
        sys.stdout.buffer.write(msgspec.json.encode((view.counters.get("pages"), n_sent)))
    return 0


if __name__ == "__main__":
    exit_with(main)
