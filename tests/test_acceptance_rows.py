"""The acceptance table: which rows of FAULTS.md 5 a test stands for, and which are still open.

A test covers a row by naming it in its docstring ("F31: …"). Rows that are open are listed here with what is missing; the list is kept
true from both sides: a row that nobody names and nobody lists fails, and so does a listed row that a test has come to name.
`print(table())` shows it all.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
ROWS = ["T-0", *(f"{kind}{i}" for kind, last in (("F", 97), ("S", 51), ("P", 61)) for i in range(1, last + 1))]
_ROW = re.compile(r"(?<![\w-])(?:T-0|[FSP]\d{1,2})(?!\w)")

# What the first crawler must stand; everything else may stay open.
DEMANDED = [
    "T-0",
    *(
        f"F{i}"
        for first, last in (
            (1, 9), (11, 13), (15, 15), (17, 17), (19, 39), (43, 48), (50, 59), (61, 66), (68, 76), (78, 78), (81, 82), (85, 85), (90, 91),
        )
        for i in range(first, last + 1)
    ),
]  # fmt: skip

OPEN = {
    "F92": "no soft limit of memory, and no soak under one",
    "F95": "no dashboard yet",
    "F96": "no log line per fault that could flood anything",
    "F97": "no soak of a million pages",
    "S8": "no dashboard or metrics port yet",
    "S20": "the parser's child has limits, but seccomp is not tried and no test opens a file in it",
    "S22": "no filters written by users",
    "S25": "no dashboard yet",
    "S26": "no dashboard yet",
    "S27": "no reports yet",
    "S28": "no dashboard yet",
    "S29": "no dashboard yet",
    "S30": "no dashboard yet",
    "S39": "query values are not masked",
    "S42": "keys are 64 keyed bits within a site; no test of ten million",
    "S43": "versions are bounded by pyproject.toml, not pinned by hash, not checked at start",
    "P37": "there is no proxy feature, and nothing to test",
    "P38": "no `whoami`",
    "P50": "no off-peak window, no global rate",
    "P52": "no opt-out list",
    "P53": "no report for a site's owner",
}


@cache
def covered() -> dict[str, list[str]]:
    """Return by row the tests whose docstrings name it, as "file::test"."""
    found: dict[str, list[str]] = {row: [] for row in ROWS}
    for path in sorted(TESTS.rglob("test_*.py")):
        for name, docstring in _docstrings(ast.parse(path.read_text())):
            for row in dict.fromkeys(_ROW.findall(docstring)):
                if row in found:  # "P99" may mean something else
                    found[row].append(f"{path.relative_to(TESTS)}::{name}")
    return {row: tests for row, tests in found.items() if tests}


def _docstrings(module: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name, ast.get_docstring(node) or ""


def table() -> str:
    """Return every row with the tests that stand for it, or what is missing."""
    tests = covered()
    return "\n".join(f"{row:4} {', '.join(tests[row]) if row in tests else 'open: ' + OPEN.get(row, '?')}" for row in ROWS)


def test_every_row_that_is_demanded_has_a_test() -> None:
    print(table())
    tests = covered()
    assert [row for row in DEMANDED if row not in tests] == []
    assert [row for row in DEMANDED if row in OPEN] == []


def test_the_list_of_open_rows_is_true() -> None:
    tests = covered()
    assert [row for row in ROWS if row not in tests] == [row for row in ROWS if row in OPEN]
    assert OPEN.keys() <= set(ROWS)


def test_a_suite_without_a_row_would_be_noticed() -> None:
    module = ast.parse('def test_a() -> None:\n    """F1, S11 (see P9): UTF8, F100, xF2, T-0."""\ndef helper() -> None:\n    """F3"""')
    assert [(name, _ROW.findall(text)) for name, text in _docstrings(module)] == [("test_a", ["F1", "S11", "P9", "T-0"])]
