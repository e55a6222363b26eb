"""The benchmark of several agents: what gives a figure, and what does not. The short form of `python -m benchmarks.speed.agents`."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.speed import agents

needs_nginx = pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
COMMAND = [sys.executable, "-m", "benchmarks.speed.agents", "--sites", "1", "--runs", "1", "--profile", "small"]


def test_too_few_cores_and_a_missing_nginx_are_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    cores = os.sched_getaffinity(0)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", ["agents", "--sites", "1", "--profile", "small"])
    os.sched_setaffinity(0, {min(cores)})
    try:
        with pytest.raises(SystemExit, match="nginx: no such program"):
            agents.main()
    finally:
        os.sched_setaffinity(0, cores)
    assert "2 agents have 1 core(s) to share: no multiple is given of them" in capsys.readouterr().err


@pytest.mark.parametrize(("n_cores", "times"), [(1, None), (2, 1.5)])
def test_of_more_agents_than_cores_no_multiple_is_given(n_cores: int, times: float | None) -> None:
    one, two = ([agents.Run(300, wall_s, 1.0, 0.1, 5.0)] for wall_s in (3.0, 2.0))
    assert agents._row(2, two, one, n_cores)["of the first"] == times


@needs_nginx
@pytest.mark.parametrize(("victim", "says"), [("agent_process", "agent died (SIGKILL, "), ("worker process", "the server ended")])
def test_an_agent_or_a_server_that_is_killed_in_the_middle_leaves_no_table(victim: str, says: str, tmp_path: Path) -> None:
    run = subprocess.Popen([*COMMAND, "--out", str(tmp_path / "out")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 600
        # a list of children that is read while one of them ends may miss others: what was found once is killed
        begun: list[int] = []
        victims: list[int] = []
        while not (begun and victims) and time.monotonic() < deadline:
            time.sleep(0.02)
            begun, victims = _children(run.pid, "agent_process"), victims or _children(run.pid, victim)
        os.kill(victims[0], signal.SIGKILL)
        out, err = run.communicate(timeout=600)
    finally:
        run.kill()
        run.communicate()
    assert (run.returncode, out) == (1, ""), err
    assert says in err
    assert not any((tmp_path / "out").iterdir())


def _children(pid: int, named: str) -> list[int]:
    """Return the processes below one whose command line has a word in it."""
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split():
        command = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        found += [int(child)] if named in command else _children(int(child), named)
    return found
