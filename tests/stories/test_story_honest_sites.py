"""The short form of benchmarks/honest_sites.py: small honest sites of many kinds lose no page as an error in the default configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.honest_sites import FAULTY, HONEST, MIN_RECALL, Outcome, judge, run


async def test_no_page_of_an_honest_site_is_dropped_as_an_error_and_missing_pages_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it was, three of four pages of sites that track were lost. Mutation: the control of a parameter, of a path, or the home page."""
    found = await run(tmp_path / "c", 8)
    assert len(HONEST) >= 12
    assert {row.name: row.lost for row in found if row.lost} == {}
    assert sum(row.n_found for row in found) >= MIN_RECALL * sum(row.n_missing for row in found)
    assert len(found) == 2 * (len(HONEST) + len(FAULTY))
    assert judge(found) == 0
    assert "0 lost as errors" in capsys.readouterr().out


def test_the_bench_fails_if_a_page_is_lost_or_too_many_missing_ones_are_not_found() -> None:
    good = Outcome("good", 10, [], 0, 100, 100, 1)
    assert judge([good]) == 0
    assert judge([good, Outcome("lost", 10, ["http://a.test/1"], 0, 0, 0, 1)]) == 1
    assert judge([good, Outcome("missed", 10, [], 0, 100, 80, 1)]) == 1
