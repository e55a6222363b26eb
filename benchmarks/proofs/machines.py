"""A crawl on three machines under faults finds what one agent finds, and no host is asked by two: network namespaces, Ray, real kills.

    python -m benchmarks.proofs.machines [--faults 8] [--seed 1] [--sites 30] [--pause 12] [--only WORD]

The web is served to all three from one process, so its log says who asked what and when. Faults come one after another while the crawl
runs: an agent, what runs on a machine, the directory or all of a machine's part of Ray is killed; a machine is stopped, or cut off, for
longer than a lease; the crawl's command is stopped by a signal, or killed, and resumed; a machine gives its shards to others at a resume,
and takes part again at a later one; a disk is lost, and restored from a snapshot, and every other one comes back and is merged. Then the
crawl goes on to its end. The reference is one agent's crawl on one machine, without Ray and without a fault.

Prints each fault and the results. Exits with 1 if a page is missing or extra, if the store is not sound, or if two requests to a host
overlap or follow each other too soon. If this machine cannot make the three network namespaces, it says why and exits with 0.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec

_TESTS = Path(__file__).parents[2] / "tests"
sys.path[:0] = [str(_TESTS), str(_TESTS / "crash"), str(_TESTS / "machines")]

from harness import Findings, differences, findings
from killing import CONCURRENCY, GROUP, MIN_DELAY_S, TOLERANCE_S, Bench, bench
from namespaces import NAMES, Machines, Server, why_not
from server_log import refetches, shortest_gap

from thresher.crawler.children import python
from thresher.crawler.cluster.lease import LEASE_S
from thresher.crawler.demo.log import ServerLog
from thresher.crawler.demo.truth import Truth
from thresher.crawler.machines.reading import reach_machines
from thresher.storage.verify import verify

_FAULTS = (
    *("kill an agent", "kill what runs on a machine", "kill the directory", "kill a machine"),
    *("stop a machine", "cut a machine off", "interrupt the crawl", "kill the crawl"),
    *("drain a machine, or let it join again", "lose a disk"),
)
_KILLS = (
    *("kill an agent", "kill what runs on a machine", "kill a machine", "kill the crawl"),
    *("stop a machine", "cut a machine off", "lose a disk"),
)
_LONGEST_S = 900.0
_READ = "--read"


def main() -> None:
    """Run the proof; exit 0 only if it holds."""
    if sys.argv[1:2] == [_READ]:
        _read(Path(sys.argv[2]))
        return
    options = _options()
    if why := why_not():
        print(f"skipped: {why}")
        return
    with tempfile.TemporaryDirectory(prefix="machines-", dir="/var/tmp") as name:
        proof = Proof(Path(name), bench(n_sites=options.sites), random.Random(options.seed), options.pause, options.only)
        sys.exit(1 if proof.run(options.faults) else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proofs.machines", description="A crawl on three machines, under faults.")
    parser.add_argument("--faults", type=int, default=len(_FAULTS), help="how many")
    parser.add_argument("--seed", type=int, default=1, help="of the faults and their times")
    parser.add_argument("--sites", type=int, default=30, help="of the web, a hundred URLs each")
    parser.add_argument("--pause", type=float, default=LEASE_S + 2, help="seconds that a machine is stopped or cut off")
    parser.add_argument("--only", default="", metavar="WORD", help="only faults that have this word, as drain, or cut")
    return parser.parse_args()


class Proof:
    """One crawl and its reference."""

    def __init__(self, directory: Path, web: Bench, rng: random.Random, pause_s: float, only: str) -> None:
        self._directory = directory
        self._web = web
        self._rng = rng
        self._pause_s = pause_s
        self._faults = [fault for fault in _FAULTS if only in fault]
        self._done: Counter[str] = Counter()
        self._log = directory / "server.log"
        self._store = "store"
        self._kept = directory / "kept"  # on the disk of no machine
        self._begun_at = 0.0  # when the last run of the command began
        self._n_lost = 0  # requests since the snapshots of disks that were lost

    def run(self, n_faults: int) -> list[str]:
        """Crawl, and return what is wrong."""
        reference, truth = self._web.reference(self._directory / "reference")
        print(f"reference: {len(reference.urls):,} URLs", flush=True)
        with Machines(self._directory / "machines") as machines:
            config = self._config(machines)
            with Server(machines, self._web.profile, self._log, port=self._web.port, changes=self._web.changes):
                self._crawl(machines, config, n_faults)
            found, problems = self._look(machines)
        return self._judge(reference, truth, found, problems)

    def _config(self, machines: Machines) -> Path:
        """Write the configuration onto the head's disk."""
        sections = msgspec.json.decode((self._directory / "reference" / "crawl.yaml").read_bytes())
        path = machines.folder(NAMES[0], "disk") / "crawl.yaml"
        path.write_bytes(msgspec.json.encode(sections | {"engine": "ray", "snapshots": {"target": str(self._kept), "every": 15}}))
        return machines.disk / "crawl.yaml"

    def _crawl(self, machines: Machines, config: Path, n_faults: int) -> None:
        """Crawl to the end, and do the faults meanwhile."""
        store, faults = str(machines.disk / self._store), self._chosen(n_faults)
        words = ["crawl", "-c", str(config), "-o", store]
        machines.wait_for_cluster()
        while True:
            self._begun_at = time.time()
            command = machines.thresher(NAMES[0], *words, "--progress", "none", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            words = ["resume", store]
            while faults and self._is_running(machines, command):
                self._do(faults.pop(), machines, command)
                if command.poll() is not None:
                    break
            self._wait(machines, command, lambda: False)
            code = command.wait()
            if code == 0:
                print(f"the crawl has ended; faults left: {len(faults)}", flush=True)
                return
            assert code != 2, "the command is refused; standard error says why"
            print(f"exit {code}; it is resumed", flush=True)
            machines.wait_for_cluster()

    def _chosen(self, n: int) -> list[str]:
        faults = [fault for _ in range(-(-n // len(self._faults))) for fault in self._rng.sample(self._faults, len(self._faults))]
        return faults[:n]

    def _n_requests(self) -> int:
        return self._log.read_bytes().count(b"\n") if self._log.exists() else 0

    def _is_running(self, machines: Machines, command: subprocess.Popen[bytes]) -> bool:
        """Wait until the crawl has made some more requests; return whether it still runs."""
        until = self._n_requests() + self._rng.randint(50, 200)
        return self._wait(machines, command, lambda: self._n_requests() >= until)

    def _wait(self, machines: Machines, command: subprocess.Popen[bytes], what: Callable[[], bool]) -> bool:
        end = time.monotonic() + _LONGEST_S
        while not what() and command.poll() is None:
            machines.tend()
            assert time.monotonic() < end, "the crawl does not get on"
            time.sleep(0.05)
        return command.poll() is None

    def _do(self, fault: str, machines: Machines, command: subprocess.Popen[bytes]) -> None:
        """Do one fault; if it is one that ends, undo it later."""
        name, other = self._rng.choice(NAMES), self._rng.choice(NAMES[1:])
        print(f"after {self._n_requests():,} requests: {fault} ({other if 'machine' in fault else name})", flush=True)
        self._done[fault] += 1
        match fault:
            case "kill an agent":
                machines.signal(name, signal.SIGKILL, "agent_process")
            case "kill what runs on a machine":
                machines.signal(other, signal.SIGKILL, "ray::MachineActor")
            case "kill the directory":
                machines.signal(NAMES[0], signal.SIGKILL, "ray::DirectoryActor")
            case "kill a machine":
                machines.end(other)
                machines.wait_for_cluster()
            case "stop a machine":
                machines.signal(other, signal.SIGSTOP)
                time.sleep(self._pause_s)
                machines.signal(other, signal.SIGCONT)
            case "cut a machine off":
                machines.cut_off(other, is_cut=True)
                time.sleep(self._pause_s)
                machines.cut_off(other, is_cut=False)
            case "interrupt the crawl":
                command.send_signal(signal.SIGINT)
                command.wait(_LONGEST_S)
            case "kill the crawl":
                command.kill()
                command.wait()
            case "lose a disk":
                self._lose(other, machines, command)
            case _:
                command.send_signal(signal.SIGINT)
                command.wait(_LONGEST_S)
                machines.end(other)
                machines.cores[other] = 1 - machines.cores[other]

    def _lose(self, name: str, machines: Machines, command: subprocess.Popen[bytes]) -> None:
        """Take a machine's disk away while it crawls; others restore what it had. It joins again, with an empty disk, or with the old one,
        whose results are merged: then nothing of them is fetched again.
        """
        if not machines.cores[name] or not self._wait(machines, command, lambda: self._snapshot_at(name) > self._begun_at):
            return
        before = self._n_requests()
        self._is_running(machines, command)
        machines.end(name)
        n_lost = self._n_requests() - before
        disk = machines.folder(name, "disk")
        (disk / self._store).rename(disk / "lost")
        command.send_signal(signal.SIGINT)
        command.wait(_LONGEST_S)
        giving_up = machines.thresher(NAMES[0], "cluster", "lost", str(machines.disk / self._store), name)
        assert giving_up.wait(_LONGEST_S) == 0, "the machine could not be given up"
        if self._done["lose a disk"] % 2 == 0:
            shutil.rmtree(disk / "lost")
            self._n_lost += n_lost
        else:
            (disk / "lost").rename(disk / self._store)
            machines.wait_for_cluster()
            merging = machines.thresher(NAMES[0], "cluster", "merge", str(machines.disk / self._store), name)
            assert merging.wait(_LONGEST_S) == 0, "the disk that came back could not be merged"

    def _snapshot_at(self, name: str) -> float:
        """Return when the last snapshot of a machine was written."""
        return max((path.stat().st_mtime for path in (self._kept / name / "snapshots").glob("0*")), default=0.0)

    def _look(self, machines: Machines) -> tuple[Findings, list[str]]:
        """Read the crawl from the head, as its user would."""
        machines.wait_for_cluster()
        source = f"import runpy; runpy.run_path({str(Path(__file__).resolve())!r}, run_name='__main__')"
        command = python.code(source, _READ, str(machines.disk / self._store))
        reading = machines.popen(NAMES[0], command, stdout=subprocess.PIPE)
        out, _ = reading.communicate(timeout=_LONGEST_S)
        return msgspec.json.decode(out, type=tuple[Findings, list[str]])

    def _judge(self, reference: Findings, truth: Truth, found: Findings, problems: list[str]) -> list[str]:
        missing, extra, other = differences(reference, found)
        log = ServerLog.read(self._log)
        again, gap_s = refetches(log, truth).total(), shortest_gap(log)
        n_kills = sum(self._done[fault] for fault in _KILLS)
        bound = len(NAMES) * n_kills * (CONCURRENCY + GROUP) + self._n_lost
        wrong = {
            "verify": problems,
            "missing": missing,
            "extra": extra,
            "told otherwise": other,
            "stored twice": found.twice,
            "queued in the end": [str(found.n_queued)] if found.n_queued else [],
            "refetches": [f"{again} > {bound}"] if again > bound else [],
            "gap": [f"{gap_s:.4f} s"] if gap_s < MIN_DELAY_S - TOLERANCE_S else [],
        }
        print(
            f"{len(found.urls):,} URLs; missing {len(missing)}, extra {len(extra)}, otherwise {len(other)}; {self._done.total()} faults; "
            f"refetches {again}; shortest gap at a host {gap_s * 1000:.1f} ms of {MIN_DELAY_S * 1000:.0f}"
        )
        faults = [f"{what}: {len(items)}, as {items[0]}" for what, items in wrong.items() if items]
        print("\n".join(faults) or "nothing is wrong")
        return faults


def _read(store: Path) -> None:
    """Write to standard output what a crawl has found, and what `verify` says."""
    reach_machines()
    sys.stdout.buffer.write(msgspec.json.encode((findings(store), verify(store))))


if __name__ == "__main__":
    main()
