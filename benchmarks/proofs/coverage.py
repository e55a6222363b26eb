"""Which branches the tests take: `python -m benchmarks.proofs.coverage [--whole] [--lowest N] [-- PYTEST'S OPTIONS…]`.

Without `--whole` the rooms of `UNITS` and the tests that call what is in them: a short step of CI. With it all, and every process that
tests start and that ends by itself; one that is killed leaves no record. Tests take twice the CPU time while branches are recorded, which
is why CI does not do so for the whole suite. Prints the share of lines and branches taken, and the files of the lowest shares.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.support.checkout import ROOT
from benchmarks.support.ending import exit_with
from thresher.crawler.children import python

PRODUCT = ("config", "crawler", "filters", "storage")
UNITS = {  # the folder of tests, and the room that they are about
    "config": "config",
    "core": "crawler/core",
    "graph": "crawler/graph",
}
_CONFIG = """[run]
branch = true
parallel = true
sigterm = true
source_dirs = {rooms}
data_file = {folder}/record
patch = subprocess, _exit
disable_warnings = no-data-collected, module-not-measured
[report]
exclude_also =
    if TYPE_CHECKING:
    raise NotImplementedError
    @overload
    \\.\\.\\.$
"""


class Share(NamedTuple):
    """What of a file, or of all, is run: of lines and branches together."""

    name: str
    percent: float
    n_missing_lines: int
    n_missing_branches: int


def run(tests: Sequence[str], rooms: Sequence[str], options: Sequence[str], folder: Path) -> int:
    """Run tests with the branches of rooms recorded in a folder; return pytest's exit code."""
    config = folder / "coverage.ini"
    config.write_text(_CONFIG.format(rooms=", ".join(rooms), folder=folder))
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE_"))}
    pytest = ("-m", "pytest", "-n", "2", "-p", "no:cacheprovider", *tests, *options)
    steps = (("run", *pytest), ("combine", "-q"), ("json", "-q", "-o", str(folder / "coverage.json")))
    commands = [python.command("coverage", step[0], f"--rcfile={config}", *step[1:]) for step in steps]
    code, *_ = (subprocess.run(words, cwd=ROOT, env=environ, check=False).returncode for words in commands)
    return code


def read(report: bytes) -> tuple[Share, list[Share]]:
    """Return the share of all, and of each file that is not run whole, lowest first, from `coverage json`."""
    found = json.loads(report)
    files = [_share(name, of["summary"]) for name, of in found["files"].items()]
    return _share("all", found["totals"]), sorted((of for of in files if of.percent < 100), key=lambda of: (of.percent, of.name))


def _share(name: str, summary: dict[str, float]) -> Share:
    return Share(name, summary["percent_covered"], int(summary["missing_lines"]), int(summary.get("missing_branches", 0)))


def table(total: Share, files: Sequence[Share]) -> str:
    """Return the lines to print."""
    rows = [f"{of.percent:6.1f} %  {of.n_missing_lines:5d} lines  {of.n_missing_branches:4d} branches not run  {of.name}" for of in files]
    return "\n".join([*rows, f"branch coverage: {total.percent:.1f} % of lines and branches"])


def main() -> int:
    """Return pytest's exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proofs.coverage", description="Branch coverage of the test suite.")
    parser.add_argument("--whole", action="store_true", help="every test and all rooms")
    parser.add_argument("--lowest", type=int, default=10, metavar="N", help="files of the lowest shares to print, 0 for all (default: 10)")
    parser.add_argument("options", nargs="*", metavar="OPTION", help="pytest's, after --")
    asked = parser.parse_args()
    tests, rooms = (["tests"], PRODUCT) if asked.whole else ([f"tests/{name}" for name in UNITS], tuple(UNITS.values()))
    with tempfile.TemporaryDirectory(prefix="thresher-coverage-") as name:
        folder = Path(name)
        code = run(tests, rooms, asked.options, folder)
        total, files = read((folder / "coverage.json").read_bytes())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(table(total, files[: asked.lowest or None]))
    print(f"CPU: {used.ru_utime + used.ru_stime:.0f} s")
    return code


if __name__ == "__main__":
    exit_with(main)
