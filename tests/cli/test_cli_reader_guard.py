"""Commands read a store in a child process, so that damage or a kill ends that process alone."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from thresher.crawler.cli.reader_guard import apart
from thresher.crawler.core.errors import ThresherError


def _die() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


def test_a_child_that_is_killed_is_told_by_its_signal(tmp_path: Path) -> None:
    """By the shell's exit code for a kill, and in words. Mutation: the command ended with 137 and said nothing."""
    with pytest.raises(ThresherError, match=r"ended by SIGKILL; the state is safe: try again") as told:
        apart(tmp_path, _die)
    assert told.value.exit_code == 128 + signal.SIGKILL


def test_what_the_child_returns_comes_back(tmp_path: Path) -> None:
    assert apart(tmp_path, lambda: "done") == "done"
