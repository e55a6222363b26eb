"""The acceptance rows: ACCEPTANCE.md says what must hold, which tests prove it, and what is open. It is kept true from both sides.

A test covers a row by naming it in its docstring ("F31: …"). A row that is open says what is missing; one that no test names and that is
not open fails, and so does an open one that a test has come to name. `python tests/test_acceptance_rows.py` writes the tests' names anew.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parent
TABLE = TESTS / "ACCEPTANCE.md"
_ID = re.compile(r"(?<![\w-])(?:T-0|[FSP]\d{1,2})(?!\w)")
_ROW = re.compile(r"^\| (T-0|[FSP]\d+)(\*?) \| ([^|]+) \| ([^|]*) \|$", re.MULTILINE)


class Row(NamedTuple):
    is_demanded: bool  # may not be open
    text: str
    proofs: list[str]  # "file::test"; empty where it is open
    missing: str  # of an open row


@cache
def rows() -> dict[str, Row]:
    """Return what ACCEPTANCE.md says, by row."""
    found: dict[str, Row] = {}
    for name, star, text, last in _ROW.findall(TABLE.read_text("utf-8")):
        assert name not in found, name
        is_open = last.startswith("open: ")
        found[name] = Row(bool(star), text, [] if is_open else re.findall(r"`([^`]+)`", last), last if is_open else "")
    return found


@cache
def covered() -> dict[str, list[str]]:
    """Return by row the tests whose docstrings name it, as "file::test"."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        source = path.read_text("utf-8")
        if path == Path(__file__) or not _ID.search(source):
            continue
        for name, docstring in _docstrings(ast.parse(source)):
            for row in dict.fromkeys(_ID.findall(docstring)):
                found.setdefault(row, []).append(f"{path.relative_to(TESTS)}::{name}")
    return found


def _docstrings(module: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name, ast.get_docstring(node) or ""


def test_every_row_that_a_test_names_stands_in_the_table() -> None:
    """Mutation: a row taken out of the table."""
    assert {row: tests for row, tests in covered().items() if row not in rows()} == {}


def test_every_test_that_the_table_names_is_there_and_names_the_row() -> None:
    """Mutation: a test renamed. The table may name fewer tests than there are; the command above adds them."""
    stale = {(row, proof) for row, said in rows().items() for proof in said.proofs if proof not in covered().get(row, ())}
    assert stale == set()


def test_every_row_has_a_test_or_says_what_is_missing() -> None:
    for name, row in rows().items():
        assert bool(row.proofs) != bool(row.missing), name
        assert bool(row.missing) != (name in covered()), f"{name}: {row.missing or 'no test'}"


def test_what_is_demanded_is_not_open() -> None:
    assert len([row for row in rows().values() if row.is_demanded]) > 60
    assert [name for name, row in rows().items() if row.is_demanded and row.missing] == []


def test_the_open_rows_are_listed() -> None:
    (listed,) = re.findall(r"^## Open\n(.*)", TABLE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert _ID.findall(listed) == [name for name, row in rows().items() if row.missing]


def test_a_suite_without_a_row_would_be_noticed() -> None:
    module = ast.parse('def test_a() -> None:\n    """F1, S11 (see P9): UTF8, F100, xF2, T-0."""\ndef helper() -> None:\n    """F3"""')
    assert [(name, _ID.findall(text)) for name, text in _docstrings(module)] == [("test_a", ["F1", "S11", "P9", "T-0"])]


def write() -> None:
    """Write into the table every test that names a row."""

    def line(found: re.Match[str]) -> str:
        name, star, text, last = found.groups()
        proofs = ", ".join(f"`{proof}`" for proof in covered().get(name, ()))
        return f"| {name}{star} | {text} | {proofs or last} |"

    TABLE.write_text(_ROW.sub(line, TABLE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    write()
