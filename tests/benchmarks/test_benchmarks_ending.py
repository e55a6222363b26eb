"""Benchmarks that are told to end in the middle: they end what they started, remove what they made, and say that there is no result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from harness import ROOT, children, hear_signals, running, wait_until
from long import shortened

from benchmarks.peers import __main__ as peers
from benchmarks.speed import growth
from benchmarks.support.ending import exit_with


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_growth_leaves_neither_processes_nor_stores(tmp_path: Path, number: signal.Signals) -> None:
    """Mutation: at SIGTERM the child went on, up to 50 million URLs, and its store stayed."""
    command = [sys.executable, "-m", "benchmarks.speed.growth", "--millions", "5", "--directory", str(tmp_path)]
    with running(
        command, cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE, text=True, preexec_fn=hear_signals
    ) as run:
        wait_until(lambda: run.poll() is not None or any(tmp_path.glob("*/crawl")))
        assert run.poll() is None, run.communicate()
        (child,) = children(run.pid)
        run.send_signal(number)
        _, said = run.communicate(timeout=600)
    assert (run.returncode, said.splitlines()[-1]) == (128 + number, "interrupted: there is no result")
    assert "Traceback" not in said
    assert not Path(f"/proc/{child}").exists()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(("number", "n_agents"), shortened([(signal.SIGINT, 2), (signal.SIGTERM, 1)], 1))
def test_bench_crawl_leaves_nothing_and_its_exit_code_says_why(tmp_path: Path, number: signal.Signals, n_agents: int) -> None:
    """Mutation: with several agents it was exit 2, as if the command line were wrong."""
    command = [
        sys.executable,
        "-m",
        "thresher",
        "bench",
        "crawl",
        "--hosts",
        "10",
        "--pages",
        "5000000",
        "--agents",
        str(n_agents),
    ]
    with running(
        command, cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE, text=True, preexec_fn=hear_signals
    ) as run:
        wait_until(lambda: run.poll() is not None or (any(tmp_path.glob("*/crawl/results/data.mdb")) and len(children(run.pid)) > n_agents))
        assert run.poll() is None, run.communicate()
        run.send_signal(number)
        _, said = run.communicate(timeout=600)
    assert run.returncode in (130, 128 + number)
    assert "Traceback" not in said
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("of", [growth, peers])
def test_a_folder_that_cannot_be_made_is_said_before_anything_is_measured(
    of: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmark", "--out", "/etc/passwd/results"])
    with pytest.raises(SystemExit) as ended:
        exit_with(of.main)
    assert ended.value.code == 2
    assert capsys.readouterr().err == "--out /etc/passwd/results: cannot be made: Not a directory. Name another folder\n"
