"""A crawl on three machines under faults finds what one agent finds, and no host is asked by two: network namespaces, Ray, real kills.

    python -m benchmarks.proofs.machines [--faults 13] [--seed 1] [--sites 30] [--pages 50] [--pause 12] [--min-delay 0.02]
        [--only WORDS] [--enforce] [--archive]

The web is served to all three from one process, so its log says who asked what and when. Its sites share a few addresses, at each of which
the crawl may have one connection, whichever machine has it. Faults come one after another while the crawl
runs, spread over its requests: an agent, what runs on a machine, a raylet, the directory, all that runs on a machine or on the head is
killed; a machine is stopped, or cut off, for longer than a lease, the head, too; the crawl's command is stopped by a signal, or killed, and
resumed; a machine gives its shards to others at a resume, and takes part again at a later one; a disk is lost, and restored from a
snapshot, for good or until it comes back and is merged. Then the crawl goes on to its end. The reference is one agent's crawl on one
machine, without Ray and without a fault. Some answers are 503 with a Retry-After that is longer than any other rest.

With --enforce the filters whose verdicts depend on order enforce them. Then there is no reference to be equal to: the store must be sound,
nothing may wait or be stored twice, and what filters remember must be what the journals teach empty memories.

With --archive the crawl writes WARC files. Then each visit's records must be there once, whole, each answer must be in the archive, and
each record to which another one refers; and the head must be able to pack all of it from the machines' disks (WACZ).

In the end snapshots are taken by hand, a page is taken down, and all others are visited again.

What `rank`, `dust mine` and `replicas` print, which the machines compute together, must be what they print of the same shards on one disk.

Prints each fault and the results. Exits with 1 if a page is missing or extra, if the store is not sound, if two requests to a host overlap
or follow each other too soon, if there were two connections to an address, or if a host is asked before its Retry-After is over. If this
machine cannot make the three network namespaces, it says why and exits with 0.
"""

from __future__ import annotations

import argparse
import io
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
sys.path[:0] = [str(_TESTS), str(_TESTS / "crash"), str(_TESTS / "machines"), str(_TESTS / "stories")]

from analyses import on_one_disk, said
from archive_oracle import archive_faults
from harness import Findings, differences, findings
from judging import crowded_addresses, returning_connections
from killing import CONCURRENCY, GROUP, MIN_DELAY_S, TOLERANCE_S, Bench, bench
from log_of_machines import early_requests, n_shared
from namespaces import NAMES, Machines, Server, why_not
from replaying import misremembered
from server_log import refetches, shortest_gap

from thresher.crawler.children import python
from thresher.crawler.cluster.lease import LEASE_S
from thresher.crawler.demo.log import ServerLog
from thresher.crawler.demo.truth import Truth
from thresher.crawler.machines.reading import reach_machines
from thresher.storage.archive.cdxj import warc_files
from thresher.storage.archive.wacz import write_wacz
from thresher.storage.partitions import read_partitions
from thresher.storage.shards import ShardsView, open_view
from thresher.storage.verify import verify

_FAULTS = (
    *("kill an agent", "kill what runs on a machine", "kill a raylet", "kill the directory", "kill a machine", "kill the head"),
    *("stop a machine", "cut a machine off", "interrupt the crawl", "kill the crawl"),
    *("drain a machine, or let it join again", "lose a disk", "lose a disk until it is merged"),
)
_OF_OTHERS = ("kill a machine", "drain a machine, or let it join again", "lose a disk", "lose a disk until it is merged")
_NO_KILLS = ("kill the directory", "interrupt the crawl", "drain a machine, or let it join again")
_RETRY_AFTER_S = 15
_ADDRESS_DELAY_S = 0.05
_LONGEST_S = 900.0
_READ = "--read"


def main() -> None:
    """Run the proof; exit 0 only if it holds."""
    if sys.argv[1:2] == [_READ]:
        _read(Path(sys.argv[2]), sys.argv[3])
        return
    options = _options()
    if why := why_not():
        print(f"skipped: {why}")
        return
    with tempfile.TemporaryDirectory(prefix="machines-", dir="/var/tmp") as name:
        extent = {"n_sites": options.sites, "pages_per_host": [options.pages, options.pages], "shared_address_share": 1.0}
        web = bench(mode="enforce" if options.enforce else "observe", error_statuses=[500, 502, 503], retry_after_s=1, **extent)
        proof = Proof(Path(name), web, random.Random(options.seed), options)
        sys.exit(1 if proof.run(options.faults) else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proofs.machines", description="A crawl on three machines, under faults.")
    parser.add_argument("--faults", type=int, default=len(_FAULTS), help="how many")
    parser.add_argument("--seed", type=int, default=1, help="of the faults and their times")
    parser.add_argument("--sites", type=int, default=30, help="of the web, of two hosts each")
    parser.add_argument("--pages", type=int, default=50, help="of a host, and half as many other URLs; many: the crawl lasts")
    parser.add_argument("--pause", type=float, default=LEASE_S + 2, help="seconds that a machine is stopped or cut off")
    parser.add_argument("--min-delay", type=float, default=MIN_DELAY_S, help="seconds between two requests to a host; long: it lasts")
    parser.add_argument("--only", default="", metavar="WORDS", help="only faults that have one of these words, as drain,cut")
    parser.add_argument("--archive", action="store_true", help="write an archive, and check it")
    parser.add_argument("--enforce", action="store_true", help="filters enforce")
    return parser.parse_args()


class Proof:
    """One crawl and its reference."""

    def __init__(self, directory: Path, web: Bench, rng: random.Random, options: argparse.Namespace) -> None:
        self._directory = directory
        self._web = web
        self._rng = rng
        self._pause_s: float = options.pause
        self._min_delay_s: float = options.min_delay
        self._faults = [fault for fault in _FAULTS if any(word in fault for word in options.only.split(","))]
        self._archives: bool = options.archive
        self._done: Counter[str] = Counter()
        self._times: list[float] = []  # when each fault was done, by the clock of the server's log
        self._stride = 0  # requests from one fault to the next, if these were all; some are made while a machine is away
        self._log = directory / "server.log"
        self._store = "store"
        self._on_one_disk = directory / "on-one-disk"  # a copy, of what lies on all of them
        self._kept = directory / "kept"  # on the disk of no machine
        self._begun_at = 0.0  # when the last run of the command began
        self._is_behind = False  # a restored disk knows less than the last run of the command, which may have ended
        self._n_lost = 0  # requests since the snapshots of disks that were lost

    def run(self, n_faults: int) -> list[str]:
        """Crawl, and return what is wrong."""
        reference, truth = self._web.reference(self._directory / "reference")
        print(f"reference: {len(reference.urls):,} URLs", flush=True)
        self._stride = max(2, len(reference.urls) // (n_faults + 1))
        with Machines(self._directory / "machines") as machines:
            config = self._config(machines)
            changes = self._web.changes | {"retry_after_s": _RETRY_AFTER_S}
            with Server(machines, self._web.profile, self._log, port=self._web.port, changes=changes):
                self._crawl(machines, config, n_faults)
                found, problems = self._look(machines)
                log = ServerLog.read(self._log)
                if self._archives:
                    problems += archive_faults(self._on_one_disk)
                    problems += self._goes_on(machines, max(found.urls))
        return self._judge(reference, truth, found, problems, log)

    def _config(self, machines: Machines) -> Path:
        """Write the configuration onto the head's disk."""
        sections = msgspec.json.decode((self._directory / "reference" / "crawl.yaml").read_bytes())
        path = machines.folder(NAMES[0], "disk") / "crawl.yaml"
        sections["politeness"] |= {"min_delay": self._min_delay_s, "max_delay": max(1.0, self._min_delay_s)}  # a Retry-After is longer
        sections["politeness"] |= {"address_connections": 1, "address_delay": _ADDRESS_DELAY_S}
        sections["limits"]["max_wait"] = 4 * _RETRY_AFTER_S
        sections |= {"engine": "ray", "snapshots": {"target": str(self._kept), "every": 15}}
        path.write_bytes(msgspec.json.encode(sections | ({"archive": {"format": "warc"}} if self._archives else {})))
        return machines.disk / "crawl.yaml"

    def _crawl(self, machines: Machines, config: Path, n_faults: int) -> None:
        """Crawl to the end, and do the faults meanwhile."""
        store, faults = str(machines.disk / self._store), self._chosen(n_faults)
        words = ["crawl", "-c", str(config), "-o", store]
        machines.wait_for_cluster()
        while True:
            self._begun_at, self._is_behind = time.time(), False
            command = machines.thresher(NAMES[0], *words, "--progress", "none", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            words = ["resume", store]
            while faults and self._is_running(machines, command):
                self._try(faults, machines, command)
                if command.poll() is not None:
                    break
            self._wait(machines, command, lambda: False)
            code = command.wait()
            if code == 0 and not self._is_behind:
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
        until = self._n_requests() + self._rng.randint(self._stride // 4, 3 * self._stride // 4)
        return self._wait(machines, command, lambda: self._n_requests() >= until)

    def _wait(self, machines: Machines, command: subprocess.Popen[bytes], what: Callable[[], bool]) -> bool:
        end = time.monotonic() + _LONGEST_S
        while not what() and command.poll() is None:
            machines.tend()
            assert time.monotonic() < end, "the crawl does not get on"
            time.sleep(0.05)
        return command.poll() is None

    def _try(self, faults: list[str], machines: Machines, command: subprocess.Popen[bytes]) -> None:
        """Do the next fault; if that is not possible now, do it later."""
        fault, began = faults.pop(), time.monotonic()
        name, other = self._rng.choice(NAMES), self._rng.choice(NAMES[1:])
        at = other if fault in _OF_OTHERS else NAMES[0] if "head" in fault or "crawl" in fault or "directory" in fault else name
        print(f"after {self._n_requests():,} requests: {fault} ({at})", end="", flush=True)
        self._times.append(began)
        if self._do(fault, at, machines, command):
            self._done[fault] += 1
            print(f", {time.monotonic() - began:.0f} s", flush=True)
        else:
            faults.insert(0, fault)
            print(", not now", flush=True)

    def _do(self, fault: str, name: str, machines: Machines, command: subprocess.Popen[bytes]) -> bool:
        """Do one fault; if it is one that ends, undo it later. Return whether it was possible."""
        match fault:
            case "kill an agent":
                return machines.signal(name, signal.SIGKILL, "agent_process") > 0
            case "kill what runs on a machine":
                return machines.signal(name, signal.SIGKILL, "ray::MachineActor") > 0
            case "kill a raylet":
                return machines.signal(name, signal.SIGKILL, "raylet/raylet") > 0
            case "kill the directory":
                return machines.signal(name, signal.SIGKILL, "ray::DirectoryActor") > 0
            case "kill a machine":
                machines.end(name)
                machines.wait_for_cluster()
            case "kill the head":
                machines.end(name)
                command.wait()
            case "stop a machine":
                machines.signal(name, signal.SIGSTOP)
                time.sleep(self._pause_s)
                machines.signal(name, signal.SIGCONT)
            case "cut a machine off":
                machines.cut_off(name, is_cut=True)
                time.sleep(self._pause_s)
                machines.cut_off(name, is_cut=False)
            case "interrupt the crawl":
                self._interrupt(command)
            case "kill the crawl":
                command.kill()
                command.wait()
            case "lose a disk" | "lose a disk until it is merged":
                return self._lose(name, machines, command, is_back="merged" in fault)
            case _:
                self._interrupt(command)
                machines.end(name)
                machines.cores[name] = 1 - machines.cores[name]
        return True

    @staticmethod
    def _interrupt(command: subprocess.Popen[bytes]) -> None:
        command.send_signal(signal.SIGINT)
        command.wait(_LONGEST_S)

    def _lose(self, name: str, machines: Machines, command: subprocess.Popen[bytes], *, is_back: bool) -> bool:
        """Take a machine's disk away while it crawls; others restore what it had. It joins again, with an empty disk, or with the old one,
        whose results are merged: then nothing of them is fetched again. Return whether there was something to lose.
        """
        if not machines.cores[name] or not self._wait(machines, command, lambda: self._snapshot_at(name) > self._begun_at):
            return False
        before = self._n_requests()
        if not self._is_running(machines, command):
            return False
        machines.end(name)
        n_lost = self._n_requests() - before
        disk = machines.folder(name, "disk")
        (disk / self._store).rename(disk / "lost")
        self._times.append(time.monotonic())
        self._is_behind = True
        self._interrupt(command)
        giving_up = machines.thresher(NAMES[0], "cluster", "lost", str(machines.disk / self._store), name)
        assert giving_up.wait(_LONGEST_S) == 0, "the machine could not be given up"
        if not is_back:
            shutil.rmtree(disk / "lost")
            self._n_lost += n_lost
        else:
            (disk / "lost").rename(disk / self._store)
            machines.wait_for_cluster()
            going_on = machines.thresher(NAMES[0], "resume", str(machines.disk / self._store), stderr=subprocess.DEVNULL)
            assert going_on.wait(_LONGEST_S) == 2, "a crawl goes on with a disk that came back and is not merged"
            merging = machines.thresher(NAMES[0], "cluster", "merge", str(machines.disk / self._store), name, stdout=subprocess.DEVNULL)
            assert merging.wait(_LONGEST_S) == 0, "the disk that came back could not be merged"
        return True

    def _snapshot_at(self, name: str) -> float:
        """Return when the last snapshot of a machine was written."""
        return max((path.stat().st_mtime for path in (self._kept / name / "snapshots").glob("0*")), default=0.0)

    def _look(self, machines: Machines) -> tuple[Findings, list[str]]:
        """Read the crawl from the head, as its user would."""
        machines.wait_for_cluster()
        source = f"import runpy; runpy.run_path({str(Path(__file__).resolve())!r}, run_name='__main__')"
        command = python.code(source, _READ, str(machines.disk / self._store), self._web.mode)
        reading = machines.popen(NAMES[0], command, stdout=subprocess.PIPE)
        out, _ = reading.communicate(timeout=_LONGEST_S)
        found, problems, told = msgspec.json.decode(out, type=tuple[Findings, list[str], dict[str, str]])
        shutil.rmtree(self._on_one_disk, ignore_errors=True)
        disks = {name: machines.folder(name, "disk") / self._store for name in NAMES}
        expected = said(on_one_disk(disks, self._on_one_disk))
        print(f"computed by tasks: {', '.join(f'{name} ({text.count(chr(10)):,} lines)' for name, text in told.items())}", flush=True)
        return found, problems + [f"{name}: the machines together say otherwise than one" for name in told if told[name] != expected[name]]

    def _goes_on(self, machines: Machines, url: str) -> list[str]:
        """Take snapshots by hand, take a page down and visit all others again; return what is wrong then."""
        store, quiet = str(machines.disk / self._store), {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        n_before = self._n_requests()
        for words in (["snapshot", store, str(self._kept)], ["forget", store, url], ["recrawl", store, "--progress", "none"]):
            code = machines.thresher(NAMES[0], *words, **quiet).wait(_LONGEST_S)
            print(f"{words[0]}: exit {code}", flush=True)
            if code:
                return [f"{words[0]} of several machines: exit {code}"]
            machines.wait_for_cluster()
        _, problems = self._look(machines)
        log = ServerLog.read(self._log)
        asked = [f"http://{one.host}{one.path}" for one in log.requests[n_before:]]
        print(f"{len(asked):,} requests of the round; shortest gap at a host {shortest_gap(log) * 1000:.1f} ms", flush=True)
        return problems + ([f"{url} was asked for again"] if url in asked else []) + ([] if asked else ["the round asks for nothing"])

    def _judge(self, reference: Findings, truth: Truth, found: Findings, problems: list[str], log: ServerLog) -> list[str]:
        missing, extra, other = differences(reference, found) if self._web.mode == "observe" else ([], [], [])
        again, gap_s = refetches(log, truth).total(), shortest_gap(log)
        n_kills = sum(n for fault, n in self._done.items() if fault not in _NO_KILLS)
        bound = len(NAMES) * n_kills * (CONCURRENCY + GROUP) + self._n_lost
        early, n_rests = early_requests(log, self._times, _RETRY_AFTER_S)
        shared = n_shared(log, self._directory / "machines" / NAMES[0] / "disk" / self._store, self._on_one_disk)
        at_addresses = crowded_addresses(log, 1, _ADDRESS_DELAY_S) + returning_connections(log)
        wrong = {
            "verify": problems,
            "missing": missing,
            "extra": extra,
            "told otherwise": other,
            "stored twice": found.twice,
            "queued in the end": [str(found.n_queued)] if found.n_queued else [],
            "refetches": [f"{again} > {bound}"] if again > bound else [],
            "gap": [f"{gap_s:.4f} s"] if gap_s < self._min_delay_s - TOLERANCE_S else [],
            "addresses": at_addresses,
            "Retry-After": early,
        }
        print("\n".join(f"{n:4} {fault}" for fault, n in sorted(self._done.items())))
        print(
            f"{len(found.urls):,} URLs; missing {len(missing)}, extra {len(extra)}, otherwise {len(other)}; {self._done.total()} faults; "
            f"refetches {again}; shortest gap at a host {gap_s * 1000:.1f} ms of {self._min_delay_s * 1000:.0f}; "
            f"Retry-After of {_RETRY_AFTER_S} s held {n_rests - len(early)} of {n_rests} times; "
            f"{shared} addresses with sites of several machines, {len(at_addresses)} times two asked at once"
        )
        faults = [f"{what}: {len(items)}, as {items[0]}" for what, items in wrong.items() if items]
        print("\n".join(faults) or "nothing is wrong")
        return faults


def _read(store: Path, mode: str) -> None:
    """Write to standard output what a crawl has found, what is wrong with its stores and its filters' memories, and what commands that
    compute over all pages say of it.
    """
    reach_machines()
    problems = verify(store)
    if mode == "enforce":
        problems += _misremembered(store)
    with open_view(store) as view:
        if view.settings.archive.format == "warc" and not write_wacz(view, warc_files(view), io.BytesIO(), software="proof"):
            problems.append("the head packs no page of the archive")
    sys.stdout.buffer.write(msgspec.json.encode((findings(store), problems, said(store))))


def _misremembered(store: Path) -> list[str]:
    """Return the filters of each shard whose stored memory is not what a replay of its journal gives (F81)."""
    found, table = [], read_partitions(store)
    with open_view(store, at_once=True) as whole, tempfile.TemporaryDirectory() as folder:
        assert table is not None, "a crawl of several machines has a table"
        assert isinstance(whole, ShardsView), "of several shards"
        for agent, view in enumerate(whole.shards):
            found += misremembered(view, Path(folder) / str(agent), table, agent)
    return found


if __name__ == "__main__":
    main()
