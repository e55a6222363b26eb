"""The short form of benchmarks/proofs/recrawl.py: a site that changes, crawled in three rounds, the last one killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.proofs.recrawl import prove


def test_a_round_finds_every_change_at_little_cost_and_stands_a_kill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mutation: conditions never sent: no byte is spared, and nothing is audited."""
    faults = prove(tmp_path, n_pages=90, n_hosts=4, n_kills=1)
    assert faults == [], capsys.readouterr().out
