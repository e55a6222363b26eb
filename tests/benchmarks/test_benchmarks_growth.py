"""Seen set and frontier grow without a wrong answer: the short form of `python -m benchmarks.growth`."""

from __future__ import annotations

import shutil
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from benchmarks import growth
from storage import seen


@pytest.mark.parametrize("regime", ["few", "groups"])
def test_no_link_is_taken_for_new_that_is_known_nor_the_other_way_round(
    regime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most answers come from the store: few rows are hot. Mutation: a generation forgets without a look at the store."""
    monkeypatch.setattr(seen, "_GENERATION", 500)
    rows, n_wrong = growth.grow(tmp_path / "crawl", regime, [3_000, 6_000], n_hosts=20 if regime == "few" else 300)
    assert n_wrong == 0
    assert [(row.known // 1_000, row.hosts) for row in rows] == [(3, 20 if regime == "few" else 300), (6, 20 if regime == "few" else 300)]
    assert min(row.known_us for row in rows) > 0


def test_too_little_room_is_said_before_a_run_begins(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: namedtuple("Usage", "free")(10**9))
    monkeypatch.setattr(sys, "argv", ["growth", "--millions", "10", "--regime", "few"])
    assert growth.main() == 1
    captured = capsys.readouterr()
    assert "few: 7 GB are needed and 1 GB are free: no result" in captured.err
    assert not captured.out
