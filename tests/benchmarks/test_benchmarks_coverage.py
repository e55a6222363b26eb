"""The command that shows what the tests run: its reading of a record, and what it does when tests fail. CI runs it whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.proofs import coverage
from benchmarks.support.checkout import ROOT


def summary(percent: float, lines: int, branches: int) -> dict[str, float]:
    return {"percent_covered": percent, "missing_lines": lines, "missing_branches": branches}


FOUND = {
    "totals": summary(90.04, 5, 7),
    "files": {
        "a.py": {"summary": summary(99.0, 0, 2)},
        "b.py": {"summary": summary(40.0, 5, 5)},
        "c.py": {"summary": summary(100.0, 0, 0)},
    },
}


def test_files_of_the_lowest_shares_come_first_and_the_total_last() -> None:
    total, files = coverage.read(json.dumps(FOUND).encode())
    assert [of.name for of in files] == ["b.py", "a.py"]
    assert coverage.table(total, files[:1]).splitlines() == [
        "  40.0 %      5 lines     5 branches not run  b.py",
        "branch coverage: 90.0 % of lines and branches",
    ]


def test_tests_that_fail_fail_the_command_and_the_shares_are_printed_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Mutation: the exit code of the last step is returned."""

    def fake(step: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        if "json" in step:
            Path(step[step.index("-o") + 1]).write_text(json.dumps(FOUND))
        return subprocess.CompletedProcess(step, 1 if "pytest" in step else 0)

    monkeypatch.setattr(subprocess, "run", fake)
    monkeypatch.setattr(sys, "argv", ["coverage", "--lowest", "1", "--", "-x"])
    assert coverage.main() == 1
    assert "b.py\nbranch coverage: 90.0 %" in capsys.readouterr().out


def test_each_room_that_is_measured_has_tests_of_its_own() -> None:
    assert [tests for tests, room in coverage.UNITS.items() if not (ROOT / "tests" / tests).is_dir() or not (ROOT / room).is_dir()] == []


def test_what_an_earlier_call_has_recorded_is_not_run_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Mutation: a record that is there is made anew."""
    ran: list[str] = []

    def fake(step: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.extend(word for word in step if word.startswith("tests/"))
        if "combine" in step:
            config = Path(next(word for word in step if word.startswith("--rcfile=")).removeprefix("--rcfile="))
            (tmp_path / config.stem.removeprefix("settings-")).touch()
        return subprocess.CompletedProcess(step, 0)

    monkeypatch.setattr(subprocess, "run", fake)
    two = {"one": ["tests/one"], "other": ["tests/other"]}
    (tmp_path / "one.record").touch()
    assert coverage.run(two, ["crawler"], [], tmp_path) == 0
    assert ran == ["tests/other"]
    coverage.run(two, ["crawler"], [], tmp_path)
    assert ran == ["tests/other"]


def test_the_whole_suite_is_every_test() -> None:
    listed = {ROOT / path for paths in coverage.parts(is_whole=True).values() for path in paths}
    assert {file for file in (ROOT / "tests").rglob("test_*.py") if not listed & {file, *file.parents}} == set()
