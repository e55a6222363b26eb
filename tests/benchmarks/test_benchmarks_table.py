"""`python -m benchmarks`: all parts in one table, a part that fails without a figure."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as every

AGENTS = {"agents": 2, "pages": 464, "pages/s": 129, "of the first": 1.8, "CPU ms a page": 2.0, "server's": 0.1, "lag ms p99": 14}
SCRIPT = "printf '%s' '{rows}' > $0/agents.json; echo {says} >&2; {ends}"


def part(says: str, ends: str) -> every.Part:
    """A benchmark that is a shell script."""
    script = SCRIPT.format(rows=json.dumps({"rows": [AGENTS]}), says=says, ends=ends).replace("server's", "server'\\''s")
    return every.Part(("sh", "-c", script), (), every._agents)


def test_a_part_that_dies_after_it_wrote_is_a_line_without_a_figure_and_leaves_no_file(tmp_path: Path) -> None:
    lines = every.run({"dies": part("out of luck", "kill -9 $$")}, tmp_path / "out", short=True)
    assert lines == [every.Line("dies", "no result", note="exit -9: out of luck")]
    assert not (tmp_path / "out").exists()


def test_what_went_well_stands_in_one_table_and_one_file_beside_what_did_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(every, "_parts", lambda *_: {"agents": part("well", "true"), "growth": part("no room", "exit 1")})
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--short", "--out", str(tmp_path)])
    assert every.main() == 1
    captured = capsys.readouterr()
    table = captured.out.splitlines()
    assert table[1].split()[:6] == ["agents", "2", "agents", "464", "pages", "129"]
    assert "1.80 times the first" in table[1]
    assert "exit 1: no room" in table[2]
    assert "figures mean nothing" in table[3]
    assert {file.name for file in tmp_path.iterdir()} == {"agents.json", "speed.json"}
    rows = json.loads((tmp_path / "speed.json").read_bytes())["rows"]
    assert [(row["part"], row["figure"]) for row in rows] == [("agents", 129), ("growth", None)]


def test_a_part_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "grwth"])
    with pytest.raises(SystemExit):
        every.main()
    assert "no part 'grwth'; there are webs, peers, growth, agents" in capsys.readouterr().err
