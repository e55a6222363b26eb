"""Starts `thresher` commands and demo servers by a fork of a process that has imported them.

This saves the start of Python and the imports: a third of a second of CPU for each of hundreds of commands. A forked command has its own
process, streams, folder, environment, signals and exit code, as a started one; its agents are forked, too (forking_agents.py). Real starts
(`subprocess`) test the start itself, and everything whose variables change how Python starts or what is imported.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import injecting

SERVER = Path(__file__).with_name("forking_server.py")
AGENT_NAME = "agent_process"  # name of a forked agent in the list of processes
_READ_AT_START = ("PYTHON", "THRESHER_NATIVE", "OPENBLAS_NUM_THREADS", "LC_ALL")  # read when Python starts, or by what is imported


class Forked:
    """A command that runs or has ended; it has the parts of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int, ending: socket.socket) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin: BinaryIO | None = None  # a demo server's, with `stdout`
        self.stdout: BinaryIO | None = None
        self._ending = ending

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        return self._look(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; return the exit code."""
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("thresher", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Signal it, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout_s: float | None) -> int | None:
        if self.returncode is None and select.select([self._ending], [], [], timeout_s)[0]:
            self.returncode = _number(self._ending)
            self._ending.close()
        return self.returncode


class _Forker:
    """One forking server for all commands of this process."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, SERVER, str(theirs.fileno())],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def start(self, program: str, words: list[str], cwd: Path, env: Mapping[str, str], streams: list[int], site: str = "") -> Forked:
        ending, theirs = socket.socketpair()
        with theirs:
            request = json.dumps((program, words, str(cwd), dict(env), site)).encode()
            socket.send_fds(self._control, [request], [*streams, theirs.fileno()])
        return Forked(_number(ending), ending)

    def close(self) -> None:
        self._control.close()
        self._process.wait()


_running: list[_Forker] = []


def start(words: list[str], *, cwd: Path, env: Mapping[str, str], stdin: int, stdout: int, stderr: int) -> Forked | None:
    """Start `thresher` with these words.

    Args:
        words: The command and its arguments.
        cwd: The folder where it runs.
        env: Its whole environment.
        stdin: A descriptor, as the two others.
        stdout: As above.
        stderr: As above.

    Returns:
        The process; None where `env` changes how Python starts, so that a real start is due.
    """
    return _start("thresher", words, cwd, env, [stdin, stdout, stderr])


def start_demo(words: list[str], *, env: Mapping[str, str], stdin: int, stdout: int) -> Forked | None:
    """Start a demo server with these words, in a session of its own; otherwise like `start`."""
    return _start("demo", words, Path.cwd(), env, [stdin, stdout, 2])


def _start(program: str, words: list[str], cwd: Path, env: Mapping[str, str], streams: list[int]) -> Forked | None:
    own = clean_environment()
    if _at_start(injecting.without_faults(env)) != _at_start(own) or injecting.has_constant(env):
        return None
    return _forker().start(program, words, cwd, env, streams)


def _forker() -> _Forker:
    if not _running:
        _running.append(_Forker(clean_environment()))
    return _running[0]


def run(words: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `thresher` with these words to its end, with `clean_environment` or the given environment; return its output."""
    texts, given = [str(word) for word in words], clean_environment() if env is None else env
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, Path(os.devnull).open("rb") as nothing:
        process = start(texts, cwd=cwd, env=given, stdin=nothing.fileno(), stdout=out.fileno(), stderr=err.fileno())
        if process is None:
            command = [sys.executable, "-P", "-m", "thresher", *texts]
            code = subprocess.run(command, cwd=cwd, env=given, stdin=nothing, stdout=out, stderr=err, check=False).returncode
        else:
            code = process.wait()
        return _completed(texts, code, out, err)


def run_with(site: Path, words: Sequence[object]) -> subprocess.CompletedProcess[str]:
    """Run `thresher` as `run` does, where PYTHONPATH is a folder of distributions with plug-ins."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, Path(os.devnull).open("rb") as nothing:
        env = clean_environment() | {"PYTHONPATH": str(site)}
        texts, streams = [str(word) for word in words], [nothing.fileno(), out.fileno(), err.fileno()]
        code = _forker().start("thresher", texts, Path.cwd(), env, streams, str(site)).wait()
        return _completed(texts, code, out, err)


def _completed(words: list[str], code: int, out: BinaryIO, err: BinaryIO) -> subprocess.CompletedProcess[str]:
    for file in (out, err):
        file.seek(0)
    return subprocess.CompletedProcess(words, code, out.read().decode(), err.read().decode())


def clean_environment() -> dict[str, str]:
    """Return this process's environment without the variables that configure a crawl."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("THRESHER_", "CRAWL_"))}


def _at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(_READ_AT_START)}


def close() -> None:
    """End the server after all of its commands have ended."""
    while _running:
        _running.pop().close()


def _number(of: socket.socket) -> int:
    """Read a line with a number."""
    line = b""
    while not line.endswith(b"\n"):
        byte = of.recv(1)
        assert byte, "the process that forks commands is gone"
        line += byte
    return int(line)
