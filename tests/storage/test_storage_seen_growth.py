"""The seen set grows without a wrong answer: the short form of `python -m benchmarks.seen_growth`."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import seen_growth
from storage import seen


def test_no_link_is_taken_for_new_that_is_known_nor_the_other_way_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most answers come from the store: few rows are hot. Mutation: a generation forgets without a look at the store."""
    monkeypatch.setattr(seen, "_GENERATION", 500)
    assert seen_growth.grow(tmp_path / "crawl", 8_000) == (0, 0)
