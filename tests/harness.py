"""A crawl as its operator runs it: real processes, signals and kills. The demo server's log shows what happened.

    with demo("kill", tmp_path) as server:
        conf = write_config(tmp_path, options(server))
        with Life(store, "crawl", "-c", conf, "-o", store) as life:
            life.wait_for_requests(server, 100)
            life.kill()
        assert verify(store) == []

Nothing here judges a crawl by the crawler's own words, except `findings`, which reads its store.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import forking
import msgspec
from forking import AGENT_NAME, Forked

from thresher.crawler.children import python
from thresher.crawler.core.model import State
from thresher.crawler.demo.process import ServerProcess
from thresher.storage.shards import open_view

if TYPE_CHECKING:
    from stopping_demo import StoppingServer

ROOT = Path(__file__).parents[1]
AGENT = "thresher-test"
CONTACT = "https://example.org/bot"
# below the ports that the kernel gives to clients, so that a port stays free between two servers; above that of stories/little_web.py
_PORTS = range(18_000, 32_000)
_LONGEST_S = 600.0
_POLL_S = 0.01

# seconds. Tests wait for a server that answers, however slow the machine is
PATIENT = {"connect_timeout": 300.0, "first_byte_timeout": 300.0, "read_timeout": 300.0, "total_timeout": 600.0}

Options = dict[str, Any]


# -- the web --------------------------------------------------------------------------------------------------------------------------


def free_port() -> int:
    """Return a port that a server may use now, and again after it has ended; no other program gets it until these tests end."""
    rng = random.SystemRandom()
    while True:
        port, holder = rng.choice(_PORTS), socket.socket()
        try:
            holder.bind(("0.0.0.0", port))
        except OSError:
            holder.close()
            continue
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # lets a server in that asks so, and no other holder, who does not
        atexit.register(holder.close)
        return port


def demo(profile: str, directory: Path, *, port: int = 0, **changes: object) -> ServerProcess:
    """Return a demo server with a log in `directory`; a line is on disk when its request has ended."""
    return _ForkedServer(profile, port=port, log=directory / "server.log", flush_lines=True, changes=changes)


class _ForkedServer(ServerProcess):
    """A demo server that is forked from a process that has imported it."""

    def start(self) -> subprocess.Popen[bytes]:
        taken, given = os.pipe()
        told, tells = os.pipe()
        words = self._command[self._command.index("-m") + 2 :]
        forked = forking.start_demo(words, env=python.environment(), stdin=taken, stdout=tells)
        os.close(taken)
        os.close(tells)
        if forked is None:
            os.close(given)
            os.close(told)
            return super().start()
        forked.stdin, forked.stdout = os.fdopen(given, "wb"), os.fdopen(told, "rb")
        return cast("subprocess.Popen[bytes]", forked)  # it has the parts that are used


def options(server: ServerProcess, **sections: Any) -> Options:
    """Return the configuration of a crawl of the whole demo web, as fast as the server can. `sections` replace its values."""
    base: Options = {
        "identity": {"agent": AGENT, "contact": CONTACT},
        "scope": {"type": "any"},
        "limits": {"min_free_disk": 0, "max_pages_per_host": None, "max_wait": 5.0},
        "politeness": {"min_delay": 0.0, "delay_factor": 0.0, "address_delay": 0.0, "address_connections": 100},
        "fetch": {"allow_addresses": ["127.0.0.0/8"], "allow_ports": [server.port], "concurrency": 32, **PATIENT},
        "dns": {"static": server.web.static_dns()},
        "retry": {"scale": 0.005},
        "sitemaps": "off",  # the demo web has none, and the requests in its log are counted
        "filters": {"canary": {"mode": "off"}},  # its requests would be counted, too
    }
    for name, section in sections.items():
        base[name] = merged(base.get(name, {}), section) if isinstance(section, dict) else section
    return base


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Return one mapping with the values of another put in, key by key."""
    both = dict(below)
    for name, value in above.items():
        both[name] = merged(both[name], value) if isinstance(value, dict) and isinstance(both.get(name), dict) else value
    return both


def write_config(directory: Path, sections: Options, seeds: list[str]) -> Path:
    """Write a configuration file; JSON is YAML."""
    path = directory / "crawl.yaml"
    path.write_bytes(msgspec.json.encode({"seeds": seeds, **sections}))
    return path


# -- the crawler's processes ----------------------------------------------------------------------------------------------------------


class Life:
    """One `thresher crawl` or `thresher resume` with its agent; processes that still run are killed at the end of the `with` block."""

    def __init__(
        self, store: Path, *arguments: str | Path, environ: Mapping[str, str] = {}, before: Callable[[], None] | None = None
    ) -> None:
        """before: called in the new process, for example to set a limit."""
        self.store = store
        self._agents: set[int] = set()  # seen so far
        self._errors = store.with_name(store.name + ".stderr")
        self.process = self._start([*map(str, arguments)], {**forking.clean_environment(), **environ}, before)

    def _start(self, words: list[str], env: dict[str, str], before: Callable[[], None] | None) -> Forked | subprocess.Popen[bytes]:
        with self._errors.open("ab") as stderr, Path(os.devnull).open("r+b", buffering=0) as nowhere:
            self._mark = stderr.tell()
            quiet, told = nowhere.fileno(), stderr.fileno()
            forked = forking.start(words, cwd=ROOT, env=env, stdin=quiet, stdout=quiet, stderr=told) if before is None else None
            command = [sys.executable, "-m", "thresher", *words]
            return forked or subprocess.Popen(command, cwd=ROOT, env=env, stdin=quiet, stdout=quiet, stderr=told, preexec_fn=before)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.end()

    @property
    def said(self) -> str:
        """The text on its standard error so far."""
        return self._errors.read_bytes()[self._mark :].decode()

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def agent(self) -> int:
        """Return the pid of the agent that runs now, 0 if none does."""
        return next(iter(self._running_agents()), 0)

    def _running_agents(self) -> list[int]:
        """Return the process ids of the agents. The command had another child before: one that checks whether the store can be read."""
        return [pid for pid in children(self.process.pid) if is_agent(pid)]

    def wait_for_agent(self, *, other_than: int = 0) -> int:
        """Wait until an agent runs; return its pid, 0 if the crawl ended first."""
        wait_until(lambda: not self.running or self.agent() not in (0, other_than))
        return self.agent()

    def wait_for_requests(self, server: ServerProcess, n: int) -> bool:
        """Wait until the server has answered `n` requests in all; False if the crawl ended first."""
        tail = Tail(server)
        wait_until(lambda: not self.running or tail.count() >= n)
        return self.running

    def signal(self, number: int) -> None:
        """Signal the supervisor."""
        self._agents.update(children(self.process.pid))
        if self.running:
            self.process.send_signal(number)

    def stop(self, server: StoppingServer, n: int, number: int) -> int:
        """Stop the crawl by a signal when the server has stopped after `n` requests in all; return the exit code."""
        assert self.wait_for_requests(server, n), self.said
        self.signal(number)
        wait_until(lambda: not self.running or status(self.store)["state"] == "stopping")
        server.goes_on()
        return self.end()

    def signal_agent(self, number: int, choose: Callable[[list[int]], int] = min) -> bool:
        """Signal the agent, or one of several; False if there is none."""
        pids = self._running_agents()
        if pids:
            send(choose(pids), number)
        return bool(pids)

    def end(self, timeout_s: float = _LONGEST_S) -> int:
        """Wait for the end of all its processes; return the exit code."""
        self._agents.update(children(self.process.pid))
        code = self.process.wait(timeout_s)
        wait_until(lambda: not any(alive(pid) for pid in self._agents))
        return code


@contextlib.contextmanager
def running(command: Sequence[str | Path], **how: Any) -> Iterator[subprocess.Popen[Any]]:
    """Run a process. If it still runs at the end of the block, for example since a test has failed, it is killed and waited for."""
    with subprocess.Popen(command, **how) as process:
        try:
            yield process
        finally:
            process.kill()


def hear_signals() -> None:
    """Let signals end this process, even if the tests were started with some ignored: SIGHUP by nohup, SIGINT in the background of
    a shell.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def crawl(store: Path, config: Path, *more: str, **environ: str) -> Life:
    """Start a new crawl."""
    return Life(store, "crawl", "-c", config, "-o", store, "--progress", "none", *more, environ=environ)


def resume(store: Path, *more: str, **environ: str) -> Life:
    """Go on with a crawl."""
    return Life(store, "resume", store, "--progress", "none", *more, environ=environ)


def children(pid: int) -> list[int]:
    """Return the process ids of a process's living children."""
    try:
        pids = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [child for child in pids if alive(child)]


def is_agent(pid: int) -> bool:
    """Return whether a process is an agent, and not one that is about to become one."""
    try:
        name, words = (Path(f"/proc/{pid}/{file}").read_text() for file in ("comm", "cmdline"))
    except OSError:
        return False
    return name.strip() == AGENT_NAME or AGENT_NAME in words


def alive(pid: int) -> bool:
    """Return whether a process exists and is no zombie. While one of its threads writes to the disk, it still has its files open."""
    try:
        return state_of(pid) not in "ZX" or len(list(Path(f"/proc/{pid}/task").iterdir())) > 1
    except OSError:
        return False


def state_of(pid: int) -> str:
    """Return the letter that the system has for the state of a process, such as T for a stopped one; X if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def send(pid: int, number: int) -> None:
    """Signal a process that may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def wait_until(what: Callable[[], bool], timeout_s: float = _LONGEST_S) -> None:
    """Wait until something is true that another process does, by polling."""
    deadline = time.monotonic() + timeout_s
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(_POLL_S)


async def until(what: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    async with asyncio.timeout(_LONGEST_S):
        while not what():  # noqa: ASYNC110 - no event comes from another process
            await asyncio.sleep(0.01)


def status(store: Path) -> dict[str, Any]:
    """Return the last status that was written."""
    try:
        return dict(msgspec.json.decode((store / "status.json").read_bytes()))
    except FileNotFoundError:
        return {"state": "", "in_flight": 0, "hosts": 0, "why": ""}


class Tail:
    """Counts the lines of a log that is being written."""

    def __init__(self, server: ServerProcess) -> None:
        assert server.log_path is not None
        self._path = server.log_path
        self._offset = self._n = 0

    def count(self) -> int:
        """Return how many requests have ended."""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._offset)
                new = file.read()
            self._offset += len(new)
            self._n += new.count(b"\n")
        return self._n


# -- what a crawl found ---------------------------------------------------------------------------------------------------------------


class Finding(NamedTuple):
    """The outcome of one known URL, as far as it may not depend on order or kills."""

    state: str
    reason: str
    status: int
    sha256: str
    failure: str
    target: str  # of a redirect


class Findings(NamedTuple):
    """The contents of a store."""

    urls: dict[str, Finding]
    twice: list[str]  # URLs with more than one page
    n_queued: int
    counters: dict[str, int]


def findings(store: Path) -> Findings:
    """Read the results of a crawl."""
    with open_view(store, at_once=True) as view:
        pages = {page.key: page for _, page in view.all_pages()}
        n_pages = Counter(page.url for _, page in view.all_pages())
        edges = dict(view.all_edges())
        urls: dict[str, Finding] = {}
        for url, row in view.all_urls():
            page, failure, edge = pages.get(url.key), view.tables.failures.get(url.key), edges.get(url.key)
            urls[url.text] = Finding(
                row.state.name,
                row.reason or "",
                page.status if page else 0,
                page.sha256.hex() if page else "",
                failure.reason if failure and failure.final else "",
                edge.to_text if edge else "",
            )
        n_queued = sum(1 for _ in view.all_urls(State.QUEUED))
        return Findings(urls, [url for url, n in n_pages.items() if n > 1], n_queued, view.counters.all())


def differences(reference: Findings, found: Findings) -> tuple[list[str], list[str], list[str]]:
    """Return the URLs that are missing, extra, and different."""
    missing = sorted(reference.urls.keys() - found.urls.keys())
    extra = sorted(found.urls.keys() - reference.urls.keys())
    other = [f"{url}: {found.urls[url]}, expected {was}" for url, was in reference.urls.items() if found.urls.get(url, was) != was]
    return missing, extra, other
