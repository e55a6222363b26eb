"""Seen set and frontier grow without a wrong answer: the short form of `python -m benchmarks.speed.growth`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.speed import growth
from thresher.storage.tables import seen_cache


@pytest.mark.parametrize("regime", ["few", "groups"])
def test_no_link_is_taken_for_new_that_is_known_nor_the_other_way_round(
    regime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most answers come from the store: few rows are hot. Mutation: a row that has fallen out is not looked for in the store."""
    monkeypatch.setattr(seen_cache, "_GENERATION", 500)
    monkeypatch.setattr(seen_cache, "_SET_BITS", 7)
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


# of the process that has but the one regime: it kills itself when it makes its store
KILLS_ITSELF = """
import os, signal, sys
if "groups" in sys.orig_argv and sys.orig_argv.count("--regime") == 1:
    sys.addaudithook(lambda event, of: event == "os.mkdir" and str(of[0]).endswith("/crawl") and os.kill(os.getpid(), signal.SIGKILL))
"""


def test_a_regime_that_is_killed_in_the_middle_has_no_row_and_the_others_keep_theirs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(KILLS_ITSELF)
    command = [sys.executable, "-m", "benchmarks.speed.growth", "--millions", "0.001", "--regime", "few", "--regime", "groups"]
    command += ["--directory", str(tmp_path), "--out", str(tmp_path / "out")]
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 1
    assert "groups: its process ended with exit -9: no result" in run.stderr
    assert list(json.loads((tmp_path / "out/growth.json").read_bytes())) == ["few"]
    assert run.stdout.splitlines()[1].startswith("few ")
    assert "groups" not in run.stdout


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
