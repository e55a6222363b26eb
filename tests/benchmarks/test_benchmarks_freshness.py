"""The short form of `python -m benchmarks.quality.freshness`."""

from __future__ import annotations

import math
import os
import random
import subprocess
from pathlib import Path

import pytest

from benchmarks.quality import freshness
from benchmarks.quality.histories import DAY_S, History, Web, of_git
from thresher.crawler.core.revisit_policy import Intervals


def test_a_schedule_misses_nothing_and_is_fresher_than_visiting_all_alike_at_equal_requests() -> None:
    """Thirty pages that never change, ten that do about every day. Mutation: one rate for all."""
    rng = random.Random(5)
    news = [[at for day in range(60) if (at := (day + rng.random()) * DAY_S)] for _ in range(10)]
    pages = [History(f"http://a.test/news/{i}", 0.0, changes, math.inf) for i, changes in enumerate(news)]
    pages += [History(f"http://a.test/old/{i}", 0.0, [], math.inf) for i in range(30)]
    found = freshness.compare(Web("by hand", 60 * DAY_S, pages), Intervals(3_600.0, 15 * DAY_S), 4 * DAY_S, "harmonic")
    assert found["ours"].n_missed == 0
    assert abs(found["ours"].n_requests - found["uniform"].n_requests) <= 1
    assert found["ours"].fresh > 1.05 * found["uniform"].fresh
    assert found["oracle"].fresh >= found["ours"].fresh - 0.01


def test_a_copy_is_fresh_until_the_page_changes_and_a_change_nobody_came_for_is_missed() -> None:
    """By hand, counted from 100 on: a is visited at 0, 50, 150, 250, 350, b, when it is found, at 100, 200, and 300: gone."""
    web = Web("by hand", 400.0, [History("http://a.test/a", 0.0, [125.0, 325.0], float("inf")), History("http://a.test/b", 0.5, [], 250.0)])
    found = freshness._Run(web, freshness.Uniform(), range(0, 400, 50), Intervals(1.0, 1_000.0)).run()
    assert found.fresh == pytest.approx(400 / 450)
    assert (found.n_missed, found.longest_s) == (0, 100.0)
    hurried = freshness._Run(web, freshness.Uniform(), range(0, 400, 50), Intervals(1.0, 20.0)).run()
    assert hurried.n_missed == 3  # both changes of a are seen after 25 s, that b is gone after 50


def test_a_git_history_is_read_with_what_was_deleted(tmp_path: Path) -> None:
    def git(*arguments: str, at: int) -> None:
        who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.test", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.test"}
        dates = {"GIT_AUTHOR_DATE": f"{at} +0000", "GIT_COMMITTER_DATE": f"{at} +0000", "GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True, capture_output=True, env={**os.environ, **who, **dates})

    start = 1_700_000_000
    git("init", "-q", at=start)
    for at, name, text in ((0, "a", "1"), (10, "b", "1"), (20, "a", "2")):
        (tmp_path / name).write_text(text)
        git("add", "-A", at=start)
        git("commit", "-q", "-m", "x", at=start + at)
    (tmp_path / "b").unlink()
    git("commit", "-q", "-a", "-m", "x", at=start + 40)
    web = of_git(tmp_path)
    assert web is not None
    assert web.span_s == 40
    assert sorted(web.pages) == [History("http://a.test/a", 0, [20], float("inf")), History("http://a.test/b", 10, [], 40)]
    assert of_git(tmp_path / "nowhere") is None
