"""The faults that tests put into processes are in functions that exist, and kill when they should."""

from __future__ import annotations

import importlib
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import pytest
from injecting import FOLDER, crash_at

sys.path.append(str(FOLDER))
faults = importlib.import_module("faults")
sys.path.remove(str(FOLDER))


@pytest.mark.parametrize("name", faults.POINTS)
def test_every_point_names_a_function(name: str) -> None:
    """If a function was renamed, no process would ever reach its point."""
    point = faults.POINTS[name]
    assert callable(attrgetter(point.function)(importlib.import_module(point.module)))


@pytest.mark.parametrize("design", faults.DESIGNS)
def test_every_broken_design_replaces_a_function(design: str) -> None:
    module, function, _ = faults.DESIGNS[design]
    assert callable(attrgetter(function)(importlib.import_module(module)))


def test_a_process_dies_once_over_all_and_at_its_count(tmp_path: Path) -> None:
    code = (
        "import os, sys, thresher.storage.archive.files as files\n"
        "descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)\n"
        "for at in range(3): files.write_at(descriptor, b'x', at)"
    )
    written, once = tmp_path / "written", tmp_path / "once"
    command = [sys.executable, "-c", code, str(written)]
    for expected in (-9, 0):
        assert subprocess.run(command, env=crash_at("in_archive:2", once=once), check=False).returncode == expected
        assert written.stat().st_size == (2 if expected else 3)
