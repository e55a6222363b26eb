"""Seen set and frontier grow without a wrong answer: the short form of `python -m benchmarks.speed.growth`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.speed import growth
from thresher.storage.tables import seen


@pytest.mark.parametrize("regime", ["few", "groups"])
def test_no_link_is_taken_for_new_that_is_known_nor_the_other_way_round(
    regime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most answers come from the store: few rows are hot. Mutation: a generation forgets without a look at the store."""
    monkeypatch.setattr(seen, "_GENERATION", 500)
    rows = list(growth.grow(tmp_path / "crawl", regime, [3_000, 6_000], n_hosts=20 if regime == "few" else 300))
    assert [row.wrong_answers for row in rows] == [0, 0]
    assert [(row.known // 1_000, row.hosts) for row in rows] == [(3, 20 if regime == "few" else 300), (6, 20 if regime == "few" else 300)]
    assert min(row.known_us for row in rows) > 0


def test_too_little_room_is_said_before_a_run_begins(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10**9))
    monkeypatch.setattr(sys, "argv", ["growth", "--millions", "10", "--regime", "few"])
    assert growth.main() == 1
    captured = capsys.readouterr()
    assert "few: 7 GB are needed and 1 GB are free: no result" in captured.err
    assert not captured.out


def test_a_regime_that_is_killed_in_the_middle_has_no_row_and_the_others_keep_theirs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.speed.growth", "--millions", "0.001", "--regime", "few", "--regime", "groups"]
    run = subprocess.Popen(
        [*command, "--directory", str(tmp_path), "--out", str(tmp_path / "out")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 600
    while not (killed := _kill_child(run.pid, b"--regime\0groups")) and time.monotonic() < deadline:
        time.sleep(0.05)
    out, err = run.communicate(timeout=600)
    assert killed
    assert run.returncode == 1
    assert "groups: its process ended with exit -9: no result" in err
    assert list(json.loads((tmp_path / "out/growth.json").read_bytes())) == ["few"]
    assert out.splitlines()[1].startswith("few ")
    assert "groups" not in out


def _kill_child(pid: int, argument: bytes) -> bool:
    """Kill the child that has this argument; one that is not yet executed still has its parent's, with both regimes."""
    own = Path(f"/proc/{pid}/cmdline").read_bytes()
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split():
        if argument in (arguments := Path(f"/proc/{child}/cmdline").read_bytes()) and arguments != own:
            os.kill(int(child), signal.SIGKILL)
            return True
    return False


def test_a_wrong_answer_ends_a_regime_without_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(growth.Growth, "strangers", lambda _, n: 1)
    monkeypatch.setattr(sys, "argv", ["growth", "--millions", "0.001", "--regime", "few", "--out", str(tmp_path / "out")])
    assert growth.main() == 1
    captured = capsys.readouterr()
    assert "few: 1 wrong answers" in captured.err
    assert not captured.out
    assert not any((tmp_path / "out").iterdir())
