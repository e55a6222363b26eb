"""The benchmark of several agents: what gives a figure, and what does not. The short form of `python -m benchmarks.speed.agents`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from injecting import FOLDER
from long import shortened

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


# of an agent: at its 20th page it kills a process below the benchmark, and goes on when that one is gone
STRIKES = """
import os, signal, sys, time
from pathlib import Path
if any(word.endswith("agent_process") for word in sys.orig_argv):
    sys.path.append({folder!r})
    import faults

    def below(pid):
        for child in Path(f"/proc/{{pid}}/task/{{pid}}/children").read_text("ascii").split():
            yield int(child), Path(f"/proc/{{child}}/cmdline").read_bytes()
            yield from below(int(child))

    def strike():
        pid = next(pid for pid, command in below(os.getppid()) if {victim!r} in command)
        os.kill(pid, signal.SIGKILL)
        while Path(f"/proc/{{pid}}").exists():
            time.sleep(0.01)

    left = [20]
    def struck(settle):
        def settled(*of, **options):
            settle(*of, **options)
            left[0] -= 1
            if left[0] == 0:
                strike()
        return settled
    sys.meta_path.insert(0, faults._Injector([("thresher.crawler.agent.agent", "Agent._settle", struck)]))
"""


@needs_nginx
@pytest.mark.parametrize(
    ("victim", "says"), shortened([(b"agent_process", "agent died (SIGKILL, "), (b"worker process", "the server ended")], 1)
)
def test_an_agent_or_a_server_that_is_killed_in_the_middle_leaves_no_table(victim: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(STRIKES.format(folder=str(FOLDER), victim=victim))
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run([*COMMAND, "--out", str(tmp_path / "out")], env=environ, capture_output=True, text=True, timeout=600, check=False)
    assert (run.returncode, run.stdout) == (1, ""), run.stderr
    assert says in run.stderr
    assert not any((tmp_path / "out").iterdir())
