"""Killed at any moment, a store holds what it acknowledged, and nothing half done."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from forking_agents import forked_script
from harness import running
from injecting import crash_at
from store_child import Crawl

from thresher.crawler.core.model import State
from thresher.storage.store import Store
from thresher.storage.verify import verify

ROOT = Path(__file__).parents[2]
CHILD = Path(__file__).with_name("store_child.py")
POINTS = [
    *("before_results_commit", "after_results_commit", "before_state_commit", "after_state_commit"),
    *("before_map_resize", "after_map_resize"),
]
FIRST_GROWTH = 1  # a store grows twofold: its second growth takes twice the visits of the first


def start(path: Path, seed: int, visits: int, **environ: str) -> AbstractContextManager[subprocess.Popen[Any]]:
    return running(
        [*forked_script(CHILD), str(path), str(seed), str(visits)],
        cwd=ROOT,
        env={**os.environ, **environ},
        stdout=subprocess.PIPE,
        text=True,
    )


def acknowledged(output: str) -> tuple[int, int]:
    """Return (done, known) of the last whole line."""
    lines = [line.split() for line in output.splitlines() if len(line.split()) == 2]
    return (int(lines[-1][0]), int(lines[-1][1])) if lines else (0, 0)


def examine(path: Path, output: str) -> int:
    """Hold a killed store to its promises; return how many URLs are done."""
    assert verify(path) == []
    with Store.open(path, None, 0.0) as store:
        done, known = store.tables.seen.count(State.DONE), len(store.tables.seen)
        assert (done, known) >= acknowledged(output)
        assert [visit for visit, _ in store.tables.pages.since(store.visit)] == []
        assert len(store.tables.pages.since(0, 10**6)) == done
    assert verify(path) == []
    return done


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_point_the_store_is_whole_and_goes_on(tmp_path: Path, point: str) -> None:
    """F81, F85: SIGKILL at each step of a commit and of growing the map; then the crawl goes on to the same end."""
    for life, count in enumerate((FIRST_GROWTH if "resize" in point else 2, 1)):
        with start(tmp_path, life, 3000, **crash_at(f"{point}:{count}")) as child:
            output, _ = child.communicate(timeout=600)
        assert child.returncode == -signal.SIGKILL, f"{point} was never reached"
        if (tmp_path / "state" / "data.mdb").exists():
            examine(tmp_path, output)
    Crawl(tmp_path, 9).run(100)
    assert verify(tmp_path) == []


def test_killed_at_random_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    """F81: three lives, killed after a random time, on one directory."""
    rng, done = random.Random(81), 0
    for life in range(3):
        with start(tmp_path, life, 10**6) as child:
            assert child.stdout is not None
            first = child.stdout.readline()
            time.sleep(rng.uniform(0.0, 0.3))
            child.kill()
            output = first + child.stdout.read()
        assert examine(tmp_path, output) >= done
        done = acknowledged(output)[0]


def test_a_design_that_commits_new_urls_apart_is_caught(tmp_path: Path) -> None:
    """F81: does this test find a broken design at all? With new URLs in a second transaction, a kill between the two transactions loses
    them, and `verify` says so.
    """
    with start(tmp_path, 1, 3000, **crash_at("after_state_commit:3", design="split_txn")) as child:
        child.communicate(timeout=600)
    assert child.returncode == -signal.SIGKILL
    assert verify(tmp_path) != []
