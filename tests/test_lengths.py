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
    for node in statements(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            n = (node.end_lineno or 0) - node.lineno + 1
            if n > MOST_OF_A_FUNCTION:
                yield f"{name}: {node.name}: {n} lines"


def statements(block: ast.AST) -> Iterator[ast.AST]:
    """Give the statements in a block, and in the blocks in it. Most nodes of a tree are expressions, which hold no function with a name."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        inside = getattr(block, field, ())
        for node in inside if isinstance(inside, list) else ():
            yield node
            yield from statements(node)


@pytest.mark.parametrize("folder", ["benchmarks", "config", "crawler", "filters", "storage", "tests"])
def test_no_file_and_no_function_is_too_long(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert [found for file in files for found in too_long(str(file.relative_to(ROOT)), file.read_text())] == []


def test_what_is_one_line_too_long_is_seen() -> None:
    function = "def f():\n" + "    pass\n" * (MOST_OF_A_FUNCTION - 1)
    assert list(too_long("a.py", function + "x = 1\n" * (MOST_OF_A_FILE - MOST_OF_A_FUNCTION))) == []
    longer = function + "    pass\n"
    assert list(too_long("a.py", longer)) == ["a.py: f: 46 lines"]
    inside = "".join(f"    {line}\n" for line in longer.splitlines())
    for block in ("class C:\n", "if x:\n    pass\nelse:\n", "try:\n    pass\nfinally:\n", "for x in y:\n", "match x:\n  case 1:\n"):
        assert list(too_long("a.py", block + inside)) == ["a.py: f: 46 lines"], block
    assert list(too_long("a.py", "x = 1\n" * (MOST_OF_A_FILE + 1))) == ["a.py: 401 lines"]
