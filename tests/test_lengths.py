"""A file has 400 lines at most, and a function 45: what is longer is cut by idea."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_OF_A_FILE = 400
MOST_OF_A_FUNCTION = 45


def too_long(name: str, text: str) -> Iterator[str]:
    """Give the file, if it has too many lines, and each of its functions that has."""
    if (n := len(text.splitlines())) > MOST_OF_A_FILE:
        yield f"{name}: {n} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            n = (node.end_lineno or 0) - node.lineno + 1
            if n > MOST_OF_A_FUNCTION:
                yield f"{name}: {node.name}: {n} lines"


@pytest.mark.parametrize("folder", ["benchmarks", "config", "crawler", "filters", "storage", "tests"])
def test_no_file_and_no_function_is_too_long(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert [found for file in files for found in too_long(str(file.relative_to(ROOT)), file.read_text())] == []


def test_what_is_one_line_too_long_is_seen() -> None:
    function = "def f():\n" + "    pass\n" * (MOST_OF_A_FUNCTION - 1)
    assert list(too_long("a.py", function + "x = 1\n" * (MOST_OF_A_FILE - MOST_OF_A_FUNCTION))) == []
    assert list(too_long("a.py", function + "    pass\n")) == ["a.py: f: 46 lines"]
    assert list(too_long("a.py", "x = 1\n" * (MOST_OF_A_FILE + 1))) == ["a.py: 401 lines"]
