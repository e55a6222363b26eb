"""Texts of the web cannot control a terminal, add a line of output, run in a spreadsheet, or break a parser."""

from __future__ import annotations

import csv
import io
import json
import math
import unicodedata
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from command import Command
from hypothesis import given, settings
from hypothesis import strategies as st
from small_store import HOSTILE

from thresher.crawler.cli.common import print_json, print_table
from thresher.crawler.terminal.printable import printable
from thresher.storage.export.lines import CsvLines, JsonLines, cell, json_line, neutral

ANY_TEXT = st.text(st.characters(codec=None), max_size=40) | st.text("\x1b\x9b\u202e\u2066\r\n\t\x00\x07\ud800=+-@\u00a0' a", max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)
HOSTILE_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def is_harmless(text: str) -> bool:
    return not any(unicodedata.category(char) in HOSTILE_CATEGORIES for char in text)


def strict(line: str) -> Any:
    """Parse as a strict parser does: no NaN, no lone surrogate."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    value = json.loads(line, parse_constant=refuse)
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


@settings(max_examples=100, deadline=None)
@given(ANY_TEXT)
def test_shown_text_has_no_character_that_is_not_seen(text: str) -> None:
    """S37, S50: no ESC, no C0 or C1, no bidirectional control, no line end. Fails if `printable` lets one category through."""
    shown = printable(text)
    assert is_harmless(shown)
    assert printable(shown) == shown


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), min_size=1, max_size=5))
def test_a_table_has_one_line_a_row(rows: list[tuple[str, str]]) -> None:
    """S38: no text adds a line."""
    out = io.StringIO()
    with redirect_stdout(out):
        print_table(("one", "two"), rows)
    assert out.getvalue().count("\n") == len(rows) + 1
    assert all(is_harmless(line) for line in out.getvalue().split("\n"))


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_every_value_is_one_line_of_strict_json(value: Any) -> None:
    """S35: line ends, lone surrogates, NaN. Fails without `ensure_ascii`, or without the repair of surrogates."""
    line = json_line(value)
    assert line.isascii()
    assert "\n" not in line
    assert "\r" not in line
    strict(line)


def test_what_json_can_say_comes_back_as_it_was() -> None:
    value = {"a": [1, 2.5, None, True, "ü\n\U0001f600"], "b": {}}
    assert strict(json_line(value)) == value
    assert strict(json_line({"a": math.nan, "b": "\ud83d\ude00 \ud800"})) == {"a": None, "b": "\U0001f600 \ufffd"}
    out = io.StringIO()
    with redirect_stdout(out):
        print_json({"bytes": b"\x00", "text": "\udcff"})
    assert strict(out.getvalue()) == {"bytes": "AA==", "text": "\ufffd"}


PAYLOADS = [
    "=cmd|'/C calc'!A0",
    "+1+cmd()",
    "-2+3+cmd()",
    "@SUM(1+1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "  =1",
    "\u00a0=1",
    "harmless\n=1",
    "harmless\r\n \u00a0@SUM(1)",
    "\uff1d1",
]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_line_of_a_cell_begins_a_formula(payload: str) -> None:
    """S34: 12 of 12 payloads have no effect, and each of their characters is kept."""
    shown = cell(payload, raw=False)
    for line in shown.replace("\r", "\n").split("\n"):
        assert line.strip(" \u00a0")[:1] not in tuple("=+-@\t\uff1d") or not line.strip(" \u00a0")
    assert shown[0] not in "\t\r\n"
    assert shown.replace("'", "") == payload.replace("'", "")
    assert cell(payload, raw=True) == payload


@settings(max_examples=100, deadline=None)
@given(ANY_TEXT)
def test_a_neutral_cell_is_neutral_to_the_end(text: str) -> None:
    """S34: whatever the text, only apostrophes are added, and none where there is no danger."""
    shown = neutral(text)
    assert neutral(shown) == shown
    assert shown.replace("'", "") == text.replace("'", "")
    for line in shown.replace("\r", "\n").split("\n"):
        assert line.lstrip(" \u00a0")[:1] not in tuple("=+-@")


def test_numbers_are_numbers_and_nothing_is_nothing() -> None:
    assert [cell(value, raw=False) for value in (-1, -0.5, True, None, [-1], {"a": "=1"})] == [
        "-1",
        "-0.5",
        "true",
        "",
        "[-1]",
        '{"a":"=1"}',
    ]


@settings(max_examples=50, deadline=None)
@given(st.lists(ANY_TEXT.map(lambda text: text.replace("\0", "").encode("utf-8", "replace").decode()), min_size=1, max_size=4))
def test_raw_csv_gives_back_what_was_written(texts: list[str]) -> None:
    """RFC 4180: quotes, commas and line ends of any kind come back as they were."""
    out = io.StringIO(newline="")
    CsvLines(out, [str(n) for n in range(len(texts))], raw=True).write(texts)
    assert list(csv.reader(io.StringIO(out.getvalue(), newline="")))[1] == texts


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1))
def test_json_lines_are_one_object_each(record: dict[str, Any]) -> None:
    out = io.StringIO()
    JsonLines(out, list(record)).write(list(record.values()))
    assert list(strict(out.getvalue())) == list(record)


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "https://a.example/"),
        ("explain", "https://a.example/dead"),
        ("explain", f"https://a.example/{HOSTILE}"),
        ("explain", "mailto:x@a.example\n=1"),
        ("hosts",),
        ("status",),
        ("stats", "--by", "type"),
    ],
)
def test_no_command_lets_crawled_text_through(words: tuple[str, ...], thresher: Command, crawl: Path) -> None:
    """S37, S38: titles, details and URLs with control characters, in every command whose output is for people."""
    ran = thresher(words[0], crawl, *words[1:])
    assert ran.code == 0
    assert all(is_harmless(line) for line in (ran.out + ran.err).split("\n"))
    assert "owned" not in ran.out or "\\x1b]0;owned\\x07" in ran.out or "%1B" in ran.out
    json_ran = thresher(words[0], crawl, *words[1:], "--json")
    assert [strict(line) for line in json_ran.out.splitlines()]
    assert json_ran.out.isascii()
