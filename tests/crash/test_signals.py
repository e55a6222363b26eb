"""Signals to a supervisor of several agents: while an agent hangs, after the terminal is closed, and while partitions are moved."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import forking
import msgspec
import pytest
from forking_agents import forked_code, forked_script
from forking_stopping import forking_stopping_demos
from harness import ROOT, crawl, demo, hear_signals, options, resume, running, state_of, wait_until, write_config
from harness import status as status_of
from long import shortened
from stopping_demo import stopping_demo

from thresher.crawler.process import supervisor as supervising
from thresher.crawler.process.supervisor import Supervisor
from thresher.storage.verify import verify

DEAF = "import signal, time\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\nprint('{}', flush=True)\nwhile True: time.sleep(9)"
NOHUP = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\nfrom thresher.crawler.cli import guarded; guarded()"


@pytest.fixture(autouse=True)
def forked() -> Iterator[None]:
    """Start no interpreter for servers that stop, nor for what a test forks."""
    with forking_stopping_demos():
        yield


class Display:
    """Sends a signal at each report."""

    def __init__(self, numbers: list[int]) -> None:
        self._numbers = numbers

    def update(self, _status: object) -> None:
        for number in self._numbers:
            os.kill(os.getpid(), number)

    def note(self, message: str) -> None:
        raise AssertionError(message)


@pytest.mark.parametrize("numbers", [[signal.SIGINT] * 2, [signal.SIGTERM, signal.SIGINT, signal.SIGINT]])
async def test_an_agent_that_hears_nothing_is_killed_after_the_second_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, numbers: list[int]
) -> None:
    """The agent is killed some time after the second signal, and at once at the third; the status says so. Mutation: only its silence ended
    it.
    """
    monkeypatch.setattr(supervising, "_FORCED_S", 0.2 if len(numbers) == 2 else 60.0)
    supervisor = Supervisor(tmp_path, Display(numbers), agent=(sys.executable, "-S", "-c", DEAF))
    assert await supervisor.run() == 130
    status = msgspec.json.decode((tmp_path / "status.json").read_bytes())
    assert (status["state"], status["why"]) == ("stopped", "forced by SIGINT")


def test_nohup_is_respected(tmp_path: Path) -> None:
    """A SIGHUP that is ignored when the crawl starts stays ignored."""
    with stopping_demo("kill", tmp_path, 20) as server:
        config = write_config(tmp_path, options(server), server.web.seeds())
        words = ["crawl", "-c", config, "-o", tmp_path / "nohup", "--set", "limits.max_pages=30", "--progress", "none"]
        with running([*forked_code(NOHUP), *map(str, words)], cwd=ROOT, env=forking.clean_environment()) as process:
            wait_until(lambda: process.poll() is not None or state_of(server.pid) == "T")
            process.send_signal(signal.SIGHUP)
            server.goes_on()
            assert process.wait(600) == 0


@pytest.mark.parametrize("environ", shortened([{}, {"PYTHONUNBUFFERED": "1"}], 1))
def test_a_closed_terminal_stops_gracefully_by_its_own_name(tmp_path: Path, environ: dict[str, str]) -> None:
    """The exit code is that of a stop, although nothing can be written to the terminal any more, with and without text in a buffer.

    Mutation: without `leave` the interpreter's last flush made the exit code 120.
    """
    with stopping_demo("kill", tmp_path, 20) as server:
        config = write_config(tmp_path, options(server), server.web.seeds())
        terminal, end = os.openpty()
        command = [
            sys.executable,
            "-m",
            "thresher",
            "crawl",
            "-c",
            str(config),
            "-o",
            str(tmp_path / "closed"),
            "--progress",
            "live",
        ]
        surroundings = {**os.environ, **environ}
        with running(command, cwd=ROOT, env=surroundings, stdin=subprocess.DEVNULL, stderr=end, preexec_fn=hear_signals) as process:
            os.close(end)
            wait_until(lambda: process.poll() is not None or state_of(server.pid) == "T")  # else the crawl may stop before the server does
            os.close(terminal)
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: process.poll() is not None or status_of(tmp_path / "closed")["state"] == "stopping")
            server.goes_on()
            assert process.wait(600) == 3
    status = msgspec.json.decode((tmp_path / "closed/status.json").read_bytes())
    assert (status["state"], status["why"]) == ("stopped", "stopped by SIGHUP")


def test_a_signal_while_partitions_move_says_so_and_the_move_is_ended_later(tmp_path: Path) -> None:
    """Mutation: SIGTERM ended it without a message, and the status was that of the agents' last reports, as if the crawl were done."""
    store = tmp_path / "store"
    with demo("kill", tmp_path) as server:
        config = write_config(tmp_path, options(server), server.web.seeds())
        with crawl(store, config, "--set", "agents=2", "--set", "limits.max_pages=20") as life:
            assert life.end() == 0, life.said
        script = tmp_path / "resume.py"
        script.write_text(
            "import os, signal, sys; from thresher.crawler.cli import main; from thresher.crawler.cluster import resharding\n"
            "resharding.reshard = lambda *_: os.kill(os.getpid(), signal.SIGTERM)\n"
            f"sys.argv = ['thresher', 'resume', {str(store)!r}, '--set', 'agents=3', '--set', 'limits.max_pages=40']; main()"
        )
        stopped = subprocess.run(forked_script(script), cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
        assert stopped.returncode == 143
        assert f"stopped while its 2 agents were becoming 3; `thresher resume {store}` goes on" in stopped.stderr
        status = msgspec.json.decode((store / "status.json").read_bytes())
        assert (status["state"], status["why"]) == ("stopped", "its 2 agents are becoming 3")
        with resume(store) as life:
            assert life.end() == 0, life.said
    assert verify(store) == []
    assert (store / "agent-2").is_dir()
