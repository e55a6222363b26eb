"""Every exception from a rule of ruff or mypy says why it stands there: in the code, and in pyproject.toml."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BARE = re.compile(r"#\s*type:\s*ignore(?!\[[a-z-]+(, ?[a-z-]+)*\]  # \w)|#\s*noqa(?!: [A-Z]+\d+(, [A-Z]+\d+)* - \w)")


def without_reason(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if BARE.search(line)]


@pytest.mark.parametrize("folder", ["benchmarks", "config", "crawler", "filters", "storage", "tests"])
def test_an_exception_in_the_code_has_its_reason_beside_it(folder: str) -> None:
    files = [file for file in sorted((ROOT / folder).rglob("*.py")) if file != Path(__file__)]
    assert [found for file in files for found in without_reason(file.read_text())] == []


def test_a_bare_exception_would_be_seen() -> None:
    bare = ["x = 1  # type: ignore", "x = 1  # type: ignore[arg-type]", "import x  # noqa", "import x  # noqa: E402"]
    said = ["x = 1  # type: ignore[arg-type]  # any will do", "import x  # noqa: E402, F401 - the path first"]
    assert without_reason("\n".join(bare + said)) == bare


def test_every_rule_that_is_left_out_has_its_reason() -> None:
    section = (ROOT / "pyproject.toml").read_text().partition("[tool.ruff.lint]")[2].partition("[tool.mypy]")[0]
    codes = [line.strip() for line in section.splitlines() if re.match(r' +"[A-Z]+\d*"|"\S+" = \["[A-Z]+\d*"', line)]
    assert len(codes) > 25
    assert [line for line in codes if not re.search(r"# \w|# `\w", line)] == []
