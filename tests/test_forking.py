"""Forked commands are like started ones: words, folder, environment, streams, exit code, signals."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import forking
import pytest
from forking_agents import planted
from harness import crawl, demo, options, write_config
from injecting import crash_at
from stopping_demo import stopping_demo

READS = ("check", "-f", "-")  # waits for its standard input


def test_a_command_has_its_own_words_folder_and_environment(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("limits: {max_pages: many}\n")
    ran = forking.run(["check", "-c", "c.yaml"], cwd=tmp_path, env={**forking.clean_environment(), "THRESHER_LIMITS__MAX_DEPTH": "deep"})
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "c.yaml:1:" in ran.stderr
    assert "THRESHER_LIMITS__MAX_DEPTH" in ran.stderr
    assert forking.run(["--version"], cwd=tmp_path).stdout.startswith("thresher, version ")


def test_a_signal_ends_a_command_and_its_number_is_its_exit_code(tmp_path: Path) -> None:
    """It can be signalled like a child until its exit code is read; after that, no process is signalled."""
    reads, writes = os.pipe()
    with Path(os.devnull).open("r+b", buffering=0) as nowhere:
        streams = {"stdin": reads, "stdout": nowhere.fileno(), "stderr": nowhere.fileno()}
        process = forking.start([*READS], cwd=tmp_path, env=forking.clean_environment(), **streams)
        assert process is not None
        assert process.poll() is None
        process.kill()
        assert process.wait() == process.poll() == -signal.SIGKILL
        process.send_signal(signal.SIGTERM)
    os.close(reads)
    os.close(writes)


@pytest.mark.parametrize("name", ["PYTHONPATH", "PYTHONUTF8", "THRESHER_NATIVE"])
def test_what_python_reads_when_it_starts_asks_for_a_real_start(tmp_path: Path, name: str) -> None:
    environment = {**forking.clean_environment(), name: "0"}
    with Path(os.devnull).open("r+b", buffering=0) as nowhere:
        n = nowhere.fileno()
        assert forking.start(["--version"], cwd=tmp_path, env=environment, stdin=n, stdout=n, stderr=n) is None


def test_a_demo_server_has_a_session_of_its_own_and_ends_with_its_input(tmp_path: Path) -> None:
    with demo("story", tmp_path) as server:
        assert server.pid not in (0, os.getpid())
        assert os.getsid(server.pid) == server.pid
        assert b"forking_server" in Path(f"/proc/{server.pid}/cmdline").read_bytes(), "it was forked"
    assert not server.is_running
    assert server.read_log().requests == []


def test_an_agent_is_a_process_of_its_own_with_a_session_and_a_name_and_has_the_faults_of_its_environment(tmp_path: Path) -> None:
    """It counts the calls since its own start, and dies at the right one."""
    dead = tmp_path / "dead"
    with stopping_demo("kill", tmp_path, 20, 60) as server:
        config = write_config(tmp_path, options(server), server.web.seeds())
        with crawl(tmp_path / "crawl", config, **crash_at("settled:25", once=dead)) as life:
            assert life.wait_for_requests(server, 20), life.said
            agent = life.agent()
            assert b"forking_server" in Path(f"/proc/{agent}/cmdline").read_bytes(), "it was forked"
            assert os.getsid(agent) == agent != os.getsid(life.process.pid)
            assert not dead.exists()
            server.goes_on()
            assert life.wait_for_agent(other_than=agent)
            assert dead.exists()
            assert life.stop(server, 60, signal.SIGINT) == 3, life.said


_STARTS = """
import asyncio, uvloop
async def start():
    process = await asyncio.create_subprocess_exec("true")
    await process.wait()
uvloop.run(start())
"""


async def test_what_is_planted_has_a_loop_that_starts_processes_although_this_one_has_done_so() -> None:
    """Seen to fail, by SIGABRT: the pipe that libuv makes in a forked process was closed with the other files."""
    await (await asyncio.create_subprocess_exec("true")).wait()
    assert (await asyncio.to_thread(subprocess.run, planted(_STARTS), check=False)).returncode == 0
