"""The command that compares two revisions: its interval, its verdict, and one pair of crawls."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
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


def bench(folder: Path, name: str, rates: Sequence[float], known: int = 100) -> Path:
    """Write a program in place of `thresher`, which notes its core and prints a report: a rate for each of the two cores."""
    program = folder / name
    program.write_text(
        f"""#!{sys.executable}
import json, os
(core,) = os.sched_getaffinity(0)
rate = {[*rates]!r}[{sorted(os.sched_getaffinity(0))[:2]!r}.index(core)]
print(json.dumps({{"pages_per_cpu_s": {{"median": rate}}, "known_urls": {known}}}))
open({str(folder / name)!r} + ".cores", "a").write(f"{{core}} ")
""",
        "utf-8",
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="each revision needs a core of its own")
def test_both_of_a_pair_crawl_on_each_core(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second core is half as fast. Mutation: cores are not exchanged: the ratio is .45. Seen to fail, too: the ratio of OLD by NEW."""
    commands = [bench(tmp_path, "old", [100.0, 50.0]), bench(tmp_path, "new", [90.0, 45.0], known=110)]
    ratios = revisions.compare(commands, pairs=3, pages=500, options=[])
    assert ratios == pytest.approx([0.9] * 3)
    first, second = sorted(os.sched_getaffinity(0))[:2]
    for command, order in zip(commands, ([first, second], [second, first]), strict=True):
        cores = (tmp_path / f"{command.name}.cores").read_text("utf-8").split()
        assert [*map(int, cores)] == [order[0], *order * 3]  # one before, which does not count
    assert capsys.readouterr().out.count("not the same work: 100 and 110 URLs") == 3


def test_a_crawl_without_a_report_has_no_ratio(tmp_path: Path) -> None:
    program = tmp_path / "thresher"
    program.write_text(f"#!{sys.executable}\nraise SystemExit('out of luck')\n", "utf-8")
    program.chmod(0o700)
    with pytest.raises(UsageError, match="exit 1: out of luck"):
        revisions.crawl([program], [min(os.sched_getaffinity(0))], 100, [])


@pytest.mark.long
def test_a_revision_beside_itself_is_crawled(capsys: pytest.CaptureFixture[str]) -> None:
    """One installation, which compiles, and six crawls of 100 pages: half a minute of CPU."""
    assert revisions.main(["HEAD", "--pairs", "2", "--pages", "100", "--allowed", "0.9", "--", "--hosts", "10"]) == 0
    assert "2 pairs of 100 pages; within" in capsys.readouterr().out
