"""The directory as a detached actor of the real engine: commands are killed, and what they leave ends, or makes room at once."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from thresher.crawler.children import python
from thresher.crawler.core.errors import StoreError
from thresher.crawler.machines import directory_file

pytest.importorskip("ray")
if not Path(sys.executable).with_name("ray").exists():
    pytest.skip("Ray's program is not beside Python", allow_module_level=True)

_START_S = 120.0
_COMMAND = """
import asyncio, sys
from pathlib import Path
from thresher.crawler.machines.reading import reach_machines
reach_machines()  # before Ray is imported
from ray._private.state import actors
from thresher.config.settings import SnapshotSettings
from thresher.crawler.core.ownership import divided
from thresher.crawler.machines.names import DIRECTORY
from thresher.crawler.machines.ray_engine import Run, connect
from thresher.storage.partitions import Partitions, ranges_of

def directories():
    return [f"{one['ActorID']} {one['IsDetached']}" for one in actors().values() if one["Name"] == DIRECTORY and one["State"] == "ALIVE"]

async def main():
    table = Partitions(1, ranges_of(divided(1)), machines=["a"])
    async with Run(Path(sys.argv[1]), table, b"t" * 32, SnapshotSettings(), settle=True).begun(table, print, lambda: None):
        print("begun", *directories(), flush=True)
        await asyncio.to_thread(sys.stdin.read)

connect()
asyncio.run(main())
"""


@pytest.fixture
def environ() -> Iterator[dict[str, str]]:
    """The environment of commands of a cluster of this machine alone, on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as free, tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        port = free.getsockname()[1]
        free.close()
        there = {**python.environment(), "RAY_TMPDIR": folder, "RAY_AUTH_TOKEN": "0123456789abcdef" * 3, "RAY_ADDRESS": f"127.0.0.1:{port}"}
        words = ["cluster", "start", "--head", "--name", "a", "--ip", "127.0.0.1", "--port", str(port), "--cores", "1"]
        log = Path(folder) / "said"
        with log.open("wb") as said:
            command = [*python.command("thresher"), *words]
            head = subprocess.Popen(command, env=there, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            until(lambda: b"--block" in log.read_bytes() or head.poll() is not None, _START_S)
            assert head.poll() is None, log.read_text()
            yield there
        finally:
            head.terminate()
            head.wait()


def test_what_a_killed_command_leaves_ends_by_itself_or_makes_room_at_once(tmp_path: Path, environ: dict[str, str]) -> None:
    """And nobody takes the place of a command that lives. Mutations: a command owns the directory; it never ends; it is
    left there; a command that was stopped begins none.
    """
    directory_file.create(tmp_path)
    with ExitStack() as ended:

        def command() -> subprocess.Popen[str]:
            words = python.code(_COMMAND, str(tmp_path))
            pipe = subprocess.PIPE
            process = subprocess.Popen(words, env=environ, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
            ended.enter_context(process)
            ended.callback(process.kill)
            return process

        first = command()
        begun, left, is_detached = said(first)
        assert (begun, is_detached) == ("begun", "True")
        refused = command()
        _, why = refused.communicate(timeout=_START_S)
        assert f"in use by process {first.pid}" in why
        kill(first)
        second = command()
        begun, made_anew, _ = said(second)
        assert begun == "begun"
        assert made_anew != left, "what was left has made room"
        kill(second)
        assert not is_free(tmp_path)
        until(lambda: is_free(tmp_path), _START_S)
        third = command()
        assert said(third)[0] == "begun"
        third.send_signal(signal.SIGSTOP)
        until(lambda: is_free(tmp_path), _START_S)
        third.send_signal(signal.SIGCONT)
        until(lambda: not is_free(tmp_path), _START_S)  # a command that was only stopped begins another one
        third.communicate("", timeout=_START_S)
        assert directory_file.read(tmp_path).phase == "STOP"
        until(lambda: is_free(tmp_path), _START_S)


def said(process: subprocess.Popen[str]) -> list[str]:
    """Return the words of its first line, or of its messages if there is none."""
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdout.readline().split() or process.stderr.read().split()


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def is_free(path: Path) -> bool:
    """Return whether no process has the lock of the directory's file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(directory_file, "_PATIENCE_S", 0.0)
        try:
            os.close(directory_file.hold(path))
        except StoreError:
            return False
        return True


def until(what: Callable[[], object], within_s: float) -> None:
    end = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < end
        time.sleep(0.1)
