"""The command that says what `import thresher` costs: its limit decides, and what is no Python with Thresher is told."""

from __future__ import annotations

import sys

import pytest

from benchmarks.speed import import_time
from thresher.crawler.core.errors import UsageError


@pytest.mark.parametrize(("limit_ms", "code"), [("0", 1), ("1e9", 0)])
def test_the_least_of_the_runs_is_held_against_the_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], limit_ms: str, code: int
) -> None:
    monkeypatch.setattr(sys, "argv", ["import_time", "--runs", "1", "--limit-ms", limit_ms])
    assert import_time.main() == code
    assert capsys.readouterr().out.count("ms of CPU, 1 runs") == 2


def test_a_python_without_thresher_has_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_time, "_PROGRAMS", {"import thresher": "import no_such_module_at_all"})
    monkeypatch.setattr(sys, "argv", ["import_time", "--runs", "1"])
    with pytest.raises(UsageError, match="expected a Python that has Thresher"):
        import_time.main()
