"""The suite's command for other Pythons: here with this one, and one test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.proofs import pythons


def test_what_is_no_python_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["pythons", "no-such-python", "--", "-x"])
    assert pythons.main() == 2
    assert "found none called no-such-python" in capsys.readouterr().err


def test_each_step_has_the_environment_of_its_own_and_the_first_failure_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps as they are started; installing would need an index. Mutation: a step's exit code is dropped."""
    started: list[list[str]] = []

    def fake(step: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        started.append(step)
        return subprocess.CompletedProcess(step, 5 if "pytest" in step else 0)

    monkeypatch.setattr(subprocess, "run", fake)
    assert pythons.run(sys.executable, ["-k", "x"]) == 5
    own = started[1][0]
    assert started[0] == [sys.executable, "-m", "venv", str(Path(own).parents[1])]
    assert started[2][-2:] == ["-k", "x"]
    assert not Path(own).parents[1].exists()
