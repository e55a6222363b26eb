"""The command line as a user meets it: given words, return the exit code and both output streams."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from small_store import build

from thresher.crawler.cli import main


class Ran(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


Command = Callable[..., Ran]


@pytest.fixture
def thresher(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run `thresher` with these words in this process."""

    def run(*words: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["thresher", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Ran(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture(scope="session")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a small finished crawl; tests only read it."""
    path = tmp_path_factory.mktemp("read") / "example"
    build(path)
    return path
