"""Lengths of time and sizes on the command line: with a unit, with a space before it or without, or as a plain number."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pytest
from command import Command

from thresher.config.settings import LimitSettings
from thresher.crawler.cli.durations import Duration
from thresher.crawler.cli.recrawl import recrawl
from thresher.crawler.core.errors import UsageError


def rendered(thresher: Command, *words: object) -> Mapping[str, Any]:
    settings: Mapping[str, Any] = json.loads(thresher("check", *words, "--render", "--json").out)["settings"]
    return settings


@pytest.mark.parametrize(
    ("text", "seconds"), [("25s", 25.0), ("25 s", 25.0), ("10min", 600.0), ("1.5h", 5400.0), ("90", 90.0), ("7d", 604_800.0)]
)
def test_a_length_of_time_is_read_alike_by_every_flag(thresher: Command, text: str, seconds: float) -> None:
    assert rendered(thresher, "--max-time", text)["limits"]["max_time"] == seconds
    assert rendered(thresher, "--set", f"limits.max_wait={text}")["limits"]["max_wait"] == seconds
    with click.Context(recrawl) as context:
        assert recrawl.parse_args(context, ["DIR", "--older-than", text]) == []
    assert context.params["older_than_s"] == seconds


@pytest.mark.parametrize(("text", "n_bytes"), [("1GiB", 1 << 30), ("1 GiB", 1 << 30), ("64KB", 64_000), ("0", 0)])
def test_a_size_is_read_alike(thresher: Command, text: str, n_bytes: int) -> None:
    assert rendered(thresher, "--set", f"limits.min_free_disk={text}")["limits"]["min_free_disk"] == n_bytes


def test_a_least_gap_may_have_a_unit(thresher: Command) -> None:
    assert rendered(thresher, "--delay", "500ms")["politeness"]["min_delay"] == 0.5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("5 minutes", '--older-than 5 minutes: expected a number of seconds ≥ 0, got "5 minutes". Write 300.0'),
        ("10m", '--older-than 10m: expected a number of seconds ≥ 0, got "10m". Write 600.0'),
        ("soon", '--older-than soon: expected a number of seconds ≥ 0, got "soon". Write --older-than 7d'),
        ("10\ns", "expected a number of seconds ≥ 0"),
        ("1h30min", "expected a number of seconds ≥ 0"),
        ("-1s", "expected a number of seconds ≥ 0"),
        ("nan", "expected a number of seconds ≥ 0"),
        ("1GiB", "expected a number of seconds ≥ 0"),
        ("", '--older-than : expected a number of seconds ≥ 0, got ""'),
        ("9" * 30, "expected a number of seconds ≤ 1000000000"),
    ],
)
def test_what_is_none_is_refused_with_what_to_write(thresher: Command, tmp_path: Path, text: str, says: str) -> None:
    ran = thresher("recrawl", tmp_path, f"--older-than={text}")
    assert ran.code == 2
    assert says in ran.err


@pytest.mark.parametrize("text", ["0", "2h", "1d"])
def test_a_demo_has_bounds(thresher: Command, text: str) -> None:
    ran = thresher("demo", "--seconds", text)
    assert (ran.code, f'--seconds {text}: expected a number of seconds from 1 to 3600, got "{text}". Write --seconds 1min' in ran.err) == (
        2,
        True,
    )


def test_a_default_is_read_as_what_is_written() -> None:
    assert Duration("7d").convert(LimitSettings().max_wait, None, None) == LimitSettings().max_wait
    with pytest.raises(UsageError, match="TIME soon: expected"):
        Duration("7d").convert("soon", None, None)
