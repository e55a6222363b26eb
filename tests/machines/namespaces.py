"""Three machines on one: network namespaces with a disk folder each, joined by a bridge of their own. Their traffic stays inside.

    with Machines(directory) as machines:
        machines.start("a", "--head"); machines.start("b", "--address", machines.address("a"))
        machines.run("a", "crawl", …)

A machine sees its own /tmp, and its own disk under the path `machines.disk`. The demo server is one process that listens on the loopback
of all three, so one log says who asked what. Needs root, and the programs `ip` and `mount`: `why_not` says in words what is missing.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from thresher.crawler.children import python

NAMES = ("a", "b", "c")
_TOKEN = "0123456789abcdef" * 3
_IN = 'mount --bind "$1" "$2" && mount --bind "$3" /tmp && shift 3 && exec "$@"'
_END_S = 20.0
_CLUSTER_S = 300.0
_PATIENT = {"RAY_agent_register_timeout_ms": "300000", "RAY_raylet_start_wait_time_s": "90"}  # three machines share two busy cores


def why_not() -> str:
    """Return why three machines cannot be made here, or "" if they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if inside := [path for path in (Path(__file__).resolve(), Path(sys.prefix)) if path.is_relative_to("/tmp")]:
        return f"{inside[0]}: below /tmp, of which each of the machines has one of its own"
    if missing := [name for name in ("ip", "mount") if shutil.which(name) is None]:
        return f"{' and '.join(missing)} of iproute2 and util-linux: not installed"
    name = f"thresher-{os.getpid()}-try"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"network namespaces are not allowed: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "delete", name], check=True)
    return "" if find_spec("ray") else "the extra `ray` is not installed"


class Machines:
    """The machines exist inside a `with` block; everything that runs on them ends with it."""

    def __init__(self, directory: Path, names: Sequence[str] = NAMES) -> None:
        """directory: not below /tmp, since every machine has its own /tmp.    names: of the machines, the head first"""
        self.names = names
        self._directory = directory
        self._prefix = f"thresher-{os.getpid()}"
        self._network = _network(os.getpid())
        self.disk = directory / "disk"
        self.disk.mkdir(parents=True)
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self.cores = dict.fromkeys(names, 1)  # cores that each gives at its next start

    def __enter__(self) -> Self:
        switch = self.namespace("switch")
        _ip("netns", "add", switch)
        _ip("-n", switch, "link", "add", "br0", "type", "bridge")
        _ip("-n", switch, "link", "set", "br0", "up")
        for name in self.names:
            space = self.namespace(name)
            _ip("netns", "add", space)
            _ip("-n", space, "link", "set", "lo", "up")
            _ip("-n", space, "link", "add", "eth0", "type", "veth", "peer", "name", f"to-{name}", "netns", switch)
            _ip("-n", switch, "link", "set", "dev", f"to-{name}", "master", "br0", "up")
            _ip("-n", space, "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
            _ip("-n", space, "link", "set", "eth0", "up")
            for folder in ("disk", "tmp"):
                self.folder(name, folder).mkdir(parents=True)
        return self

    def __exit__(self, _type: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None) -> None:
        for process in self._started.values():
            if process.poll() is None:
                process.terminate()
        until = time.monotonic() + _END_S
        while any(self.pids(name) for name in self.names) and time.monotonic() < until:
            time.sleep(0.1)
        for name in self.names:
            self.signal(name, signal.SIGKILL)
        for process in self._started.values():
            process.wait()
        for name in (*self.names, "switch"):
            _ip("netns", "delete", self.namespace(name))

    def namespace(self, name: str) -> str:
        return f"{self._prefix}-{name}"

    def folder(self, name: str, what: str) -> Path:
        """Return where a machine's disk or /tmp lies, as seen from outside."""
        return self._directory / name / what

    def address(self, name: str) -> str:
        return f"{self._network}.{NAMES.index(name) + 1}"

    def popen(self, name: str, command: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
        """Start a command on a machine."""
        inside = ["sh", "-c", _IN, "sh", str(self.folder(name, "disk")), str(self.disk), str(self.folder(name, "tmp")), *command]
        environ = {**python.environment(), **_PATIENT, "RAY_AUTH_TOKEN": _TOKEN, "RAY_ADDRESS": f"{self.address('a')}:6379"}
        return subprocess.Popen(["ip", "netns", "exec", self.namespace(name), *inside], env=environ, start_new_session=True, **how)

    def thresher(self, name: str, *words: str, **how: Any) -> subprocess.Popen[bytes]:
        """Start a command of ours on a machine."""
        return self.popen(name, [*python.command("thresher"), *words], **how)

    def wait_for_cluster(self) -> None:
        """Start the parts of the cluster that do not run, the head first, as a unit of systemd would; wait until every machine
        takes part.
        """
        until = time.monotonic() + _CLUSTER_S
        while missing := [name for name in self.names if not self._takes_part(name)]:
            name = missing[0]
            if name not in self._started or self._started[name].poll() is not None:
                self._start(name)
            assert time.monotonic() < until, f"no cluster: {self._said_of_start(name)}"
            time.sleep(0.5)

    def tend(self) -> None:
        """Start ended parts of the cluster again, as a unit of systemd would: Ray ends a machine's part that was away for long."""
        for name in [name for name, process in self._started.items() if process.poll() is not None]:
            self._start(name)

    def _said_of_start(self, name: str) -> str:
        """Return the error messages of a machine's part of the cluster: a raylet prints its reason, then a long trace."""
        said = [(self._directory / f"{name}.log").read_text(errors="replace")[-2000:]]
        for log in sorted(self.folder(name, "tmp").glob("ray/session_*/logs/raylet*.???")):
            lines = log.read_text(errors="replace").splitlines()
            said += [f"{log.name}: {line}" for line in lines if " C " in line[:60] or " E " in line[:60]][-20:]
        return "\n".join(said)

    def _takes_part(self, name: str) -> bool:
        """Return whether a machine's part of the cluster is up: then its command prints that it blocks."""
        started = self._started.get(name)
        return started is not None and started.poll() is None and b"--block" in (self._directory / f"{name}.log").read_bytes()

    def _start(self, name: str) -> None:
        """Let a machine take part in the cluster; the first is its head."""
        self.signal(name, signal.SIGKILL)
        where = ["--head"] if name == self.names[0] else ["--address", self.address(self.names[0])]
        words = ["cluster", "start", *where, "--name", name, "--ip", self.address(name), "--cores", str(self.cores[name])]
        with (self._directory / f"{name}.log").open("wb") as log:
            self._started[name] = self.thresher(name, *words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def end(self, name: str) -> None:
        """Kill everything that runs on a machine."""
        self.signal(name, signal.SIGKILL)
        self._started[name].wait()

    def pids(self, name: str, word: str = "") -> list[int]:
        """Return the processes of a machine whose command has this word."""
        found = subprocess.run(["ip", "netns", "pids", self.namespace(name)], capture_output=True, text=True, check=False)
        return [pid for pid in map(int, found.stdout.split()) if word in _command_of(pid)]

    def signal(self, name: str, number: int, word: str = "") -> int:
        """Send a signal to the processes of a machine whose command has this word; return to how many."""
        pids = self.pids(name, word)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        return len(pids)

    def cut_off(self, name: str, *, is_cut: bool) -> None:
        """Disconnect a machine from the network, or connect it again."""
        _ip("-n", self.namespace("switch"), "link", "set", "dev", f"to-{name}", "down" if is_cut else "up")


class Server:
    """A demo server that listens on the loopback of every machine, inside a `with` block."""

    def __init__(self, machines: Machines, profile: str, log: Path, *, port: int, changes: dict[str, object]) -> None:
        spaces = [machines.namespace(name) for name in machines.names]
        words = [profile, json.dumps(changes), str(port), str(log), *spaces]
        self._command = [sys.executable, str(Path(__file__).with_name("serving_machines.py")), *words]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=python.environment())
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n", "the server has not started; standard error says why"
        return self

    def __exit__(self, _type: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def _network(pid: int) -> str:
    """Return the first three bytes of the addresses of a process's machines.

    Not the same for all: Ray looks for a running head among all processes, also those of other network namespaces, by its address.
    """
    return f"10.{64 + pid // 256 % 64}.{pid % 256}"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
