"""The command that compares two revisions: its interval, its verdict, and one pair of crawls."""

from __future__ import annotations

import json
import random
import stat
import sys
from pathlib import Path

import pytest

from benchmarks.speed import revisions
from thresher.crawler.core.errors import UsageError


def test_the_interval_is_students_over_logarithms() -> None:
    """By hand: logarithms 0, .02, .04 have mean .02 and deviation .02; t of .975 with two degrees of freedom is 4.3027."""
    found = revisions.interval([1.0, 1.0202013400, 1.0408107742])
    assert found == pytest.approx((1.0202013400, 0.9707535, 1.0721680), rel=1e-6)


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(0.98, 1.01, "within"), (0.97, 1.0, "undecided"), (0.95, 0.98, "undecided"), (0.95, 0.979, "slower")]
)
def test_only_an_interval_that_lies_wholly_beyond_the_bound_is_slower(low: float, high: float, verdict: str) -> None:
    assert revisions.Interval(1.0, low, high).verdict(0.02) == verdict


def test_what_is_no_revision_is_told() -> None:
    with pytest.raises(UsageError, match="expected a revision of this repository, found 'no-such-one'"):
        revisions.commit_of("no-such-one")


def bench(folder: Path, name: str, rate: float, known: int = 100) -> Path:
    """Write a program in place of `thresher`, which notes that it was called and prints a report."""
    program = folder / name
    report = json.dumps({"pages_per_cpu_s": {"median": rate}, "known_urls": known})
    program.write_text(f"#!{sys.executable}\nprint('{report}')\nopen({str(folder / 'calls')!r}, 'a').write('{name}')\n", "utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def test_each_pair_has_both_in_an_order_that_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mutation: `for which in (0, 1)`: OLD was always crawled first. Seen to fail, too: the ratio of OLD by NEW."""
    commands = [bench(tmp_path, "o", 100.0), bench(tmp_path, "n", 90.0, known=110)]
    ratios = revisions.compare(commands, pairs=8, pages=500, options=[], rng=random.Random(1))
    assert ratios == pytest.approx([0.9] * 8)
    calls = (tmp_path / "calls").read_text("utf-8")
    pairs = {calls[at : at + 2] for at in range(0, len(calls), 2)}
    assert len(calls) == 18  # one of each before, which does not count
    assert pairs == {"on", "no"}
    assert capsys.readouterr().out.count("not the same work: 100 and 110 URLs") == 8


def test_a_crawl_without_a_report_has_no_ratio(tmp_path: Path) -> None:
    program = tmp_path / "thresher"
    program.write_text(f"#!{sys.executable}\nraise SystemExit('out of luck')\n", "utf-8")
    program.chmod(0o700)
    with pytest.raises(UsageError, match="exit 1: out of luck"):
        revisions.crawl(program, 100, [])


@pytest.mark.long
def test_a_revision_beside_itself_is_crawled(capsys: pytest.CaptureFixture[str]) -> None:
    """One installation, which compiles, and six crawls of 100 pages: half a minute of CPU."""
    assert revisions.main(["HEAD", "--pairs", "2", "--pages", "100", "--allowed", "0.9", "--", "--hosts", "10"]) == 0
    assert "2 pairs of 100 pages; within" in capsys.readouterr().out
