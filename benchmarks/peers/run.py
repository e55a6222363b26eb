"""One crawler on one web: started, watched, stopped, and judged by the server's log.

A run ends when the crawler ends, when it has used its CPU seconds, or when the server has seen nothing new from it for a while. Only the
first two give a figure; a crawler that failed, hung, or fetched next to nothing is listed with the reason. If the server ends, the
benchmark ends too, without a result.

CPU: user and system time of the crawler's processes from start to end, those in sessions of their own too. Memory: the largest sum over its
processes, measured ten times a second; mapped files that they share count once for each process.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from thresher.crawler.demo.log import ROBOTS, ServerLog
from thresher.crawler.demo.process import ServerProcess

STALLED_S = 20.0
FEWEST_PAGES = 100  # with fewer there is no figure
_LOOK_S = 0.1
_GRACE_S = 5.0
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class ServerStoppedError(Exception):
    """The server ended in the middle of a run: there is no result."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may use."""

    cpu_s: float = 10.0
    stalled_s: float = STALLED_S


@dataclass(frozen=True, slots=True)
class Run:
    """The result of one run."""

    ended: str  # "finished", "budget", or why there is no figure
    pages: int  # different URLs answered with 200, without robots.txt
    requests: int
    again: int  # pages fetched more than once
    hosts: int  # hosts that gave a page
    hosts_without_robots: int  # whose first request was not for robots.txt
    per_connection: float  # requests for each connection
    cpu_s: float
    later_rate: float  # pages per CPU second of the second half of the CPU seconds: start-up and compilers at run time left out
    server_cpu_s: float
    wall_s: float
    peak_bytes: int

    @property
    def is_valid(self) -> bool:
        return self.ended in ("finished", "budget") and self.pages >= FEWEST_PAGES

    @property
    def rate(self) -> float | None:
        """Return pages per CPU second; None if a figure would mean nothing."""
        return self.pages / self.cpu_s if self.is_valid else None


def run(
    command: list[str], server: ServerProcess, budget: Budget, directory: Path, *, cores: Collection[int], ok_codes: tuple[int, ...] = (0,)
) -> Run:
    """Run a crawler on these cores; what it prints goes to `output` in the directory. Raises ServerStoppedError."""
    log = server.log_path
    assert log is not None
    skipped = _size(log)
    served, began = processes_cpu_s([server.pid]), time.monotonic()
    with (directory / "output").open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),  # noqa: PLW1509 - no other thread runs here
        )
        watched = _Watched(process)
        try:
            ended = watched.until(server, budget, log)
        finally:
            cpu_s = watched.end()
    wall_s = time.monotonic() - began
    if ended == "finished" and process.returncode not in ok_codes:
        ended = f"failed with exit {process.returncode}: {_last_words(directory / 'output')}"
    if not server.is_running:
        raise ServerStoppedError("the server stopped in the middle of a run: there is no result of it, nor of what would follow")
    time.sleep(2 * _GRACE_S / 10)  # the server's log is written within 0.2 s
    served = processes_cpu_s([server.pid]) - served
    return _judged(ended, _read(log, skipped), cpu_s, watched, served, wall_s)


class _Watched:
    """The processes of a crawler."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._cpu_s = 0.0
        self.spent: list[tuple[float, float]] = []  # monotonic time, CPU seconds by then
        self.peak_bytes = 0

    def until(self, server: ServerProcess, budget: Budget, log: Path) -> str:
        """Watch until the run is over; return how it ended."""
        size, heard = _size(log), time.monotonic()
        while True:
            self._look()
            if self._process.poll() is not None:
                return "finished"
            if not server.is_running:
                return "server stopped"
            if self._cpu_s >= budget.cpu_s:
                return "budget"
            if (grown := _size(log)) > size:
                size, heard = grown, time.monotonic()
            elif time.monotonic() - heard > budget.stalled_s:
                return f"stalled: no request for {budget.stalled_s:.0f} s"
            time.sleep(_LOOK_S)

    def _look(self) -> None:
        pids = _family(self._process.pid)
        self._cpu_s = max(self._cpu_s, processes_cpu_s(pids))
        self.spent.append((time.monotonic(), self._cpu_s))
        self.peak_bytes = max(self.peak_bytes, sum(_resident(pid) for pid in pids))

    def end(self) -> float:
        """Stop the processes that still run, first by SIGTERM; return the CPU seconds of all."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        family: set[int] = set()
        for number in (signal.SIGTERM, signal.SIGKILL):
            family.update(_family(self._process.pid))  # of an ended process the children are no longer found
            if not _living(family):
                break
            self._look()
            for pid in _living(family):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            deadline = time.monotonic() + _GRACE_S
            while _living(family) and time.monotonic() < deadline:
                self._process.poll()
                time.sleep(_LOOK_S / 2)
        self._process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return max(self._cpu_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _living(pids: Collection[int]) -> list[int]:
    return [pid for pid in pids if (fields := _stat(pid)) and fields[0] != "Z"]


def _family(leader: int) -> list[int]:
    """Return the living processes of a session, and those that they have started into sessions of their own."""
    living = {int(entry.name): fields for entry in Path("/proc").iterdir() if entry.name.isdigit() and (fields := _stat(int(entry.name)))}
    parent_of = {pid: int(fields[1]) for pid, fields in living.items() if fields[0] != "Z"}
    found = {pid for pid in parent_of if int(living[pid][3]) == leader}
    while children := {pid for pid, parent in parent_of.items() if parent in found} - found:
        found |= children
    return sorted(found)


def _stat(pid: int) -> list[str]:
    """Return the fields of a process from its state on; none if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(") ")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def processes_cpu_s(pids: list[int]) -> float:
    """Return user and system time of processes and of the children that they have waited for."""
    return sum(sum(map(int, fields[11:15])) for pid in pids if (fields := _stat(pid))) / _TICK


def _resident(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[21]) * _PAGE if fields else 0


def _last_words(output: Path) -> str:
    """Return the last line that is not indented: in a stack trace, that is the error."""
    lines = [line for line in output.read_text("utf-8", "replace").splitlines() if line[:1].strip(" \t|+")]
    return lines[-1][:200] if lines else "it said nothing"


def _size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def _read(log: Path, skipped: int) -> ServerLog:
    tail = log.with_suffix(".tail")
    with log.open("rb") as whole:
        whole.seek(skipped)
        tail.write_bytes(whole.read())
    return ServerLog.read(tail)


def _judged(ended: str, log: ServerLog, cpu_s: float, watched: _Watched, served: float, wall_s: float) -> Run:
    good = [(request.host, request.path) for request in log.requests if request.status == 200 and request.path != ROBOTS]
    pages = set(good)
    if ended in ("finished", "budget") and len(pages) < FEWEST_PAGES:
        ended = f"{ended}, but with {len(pages)} pages"
    n_connections = len({request.connection for request in log.requests})
    return Run(
        ended=ended,
        pages=len(pages),
        requests=len(log),
        again=len(good) - len(pages),
        hosts=len({host for host, _ in pages}),
        hosts_without_robots=len(log.origins_without_robots_first()),
        per_connection=len(log) / n_connections if n_connections else 0.0,
        cpu_s=cpu_s,
        later_rate=_later_rate(log, watched.spent),
        server_cpu_s=served,
        wall_s=wall_s,
        peak_bytes=watched.peak_bytes,
    )


def _later_rate(log: ServerLog, spent: list[tuple[float, float]]) -> float:
    end, total = spent[-1]
    at, before = next((time, cpu_s) for time, cpu_s in spent if cpu_s >= total / 2)
    first: dict[tuple[str, str], float] = {}
    for request in log.requests:
        if request.status == 200 and request.path != ROBOTS:
            first.setdefault((request.host, request.path), request.end)
    n = sum(at < time <= end for time in first.values())
    return n / (total - before) if total > before else 0.0
