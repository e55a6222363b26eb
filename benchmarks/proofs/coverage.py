"""Which branches the tests take: `python -m benchmarks.proofs.coverage [--whole [--keep DIR]] [--lowest N] [-- PYTEST'S OPTIONS…]`.

Without `--whole`: the folders in `UNITS` and their own tests, without those that run the same code again and again: simulations of whole
crawls (tests/simulations), comparisons of native code with Python (tests/native). This is a short step of CI. With `--whole`: all tests,
and every process that they start and that ends by itself; a process that is killed leaves no record. Prints the share of lines and branches
taken, and the files with the lowest shares.

While branches are recorded tests take two to three times the CPU time: some 17 minutes of it for the whole suite. So the whole suite is run
folder by folder, and with `--keep DIR` the record of each folder stays in DIR: the next call with the same DIR runs only the folders that
are missing. (Python 3.14 records branches at less cost.)
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.support.checkout import ROOT
from benchmarks.support.ending import exit_with
from thresher.crawler.children import python

PRODUCT = ("config", "crawler", "filters", "storage")
UNITS = {  # folder of tests: folder of the code that they test
    "config": "config",
    "core": "crawler/core",
    "graph": "crawler/graph",
}
_CONFIG = """[run]
branch = true
parallel = true
sigterm = true
source_dirs = {rooms}
data_file = {record}
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
    """The share of a file, or of all files, that the tests run: lines and branches together."""

    name: str
    percent: float
    n_missing_lines: int
    n_missing_branches: int


def parts(*, is_whole: bool) -> dict[str, list[str]]:
    """Return the tests that run together: name of their record → paths."""
    if not is_whole:
        return {"units": [f"tests/{name}" for name in UNITS]}
    tests = ROOT / "tests"
    folders = {folder.name: [f"tests/{folder.name}"] for folder in sorted(tests.iterdir()) if any(folder.rglob("test_*.py"))}
    return folders | {"others": [f"tests/{file.name}" for file in sorted(tests.glob("test_*.py"))]}


def run(tests: Mapping[str, Sequence[str]], rooms: Sequence[str], options: Sequence[str], folder: Path) -> int:
    """Run each part whose record is not in the folder yet, and record branches; write the result to `coverage.json` there.

    Returns:
        The first exit code of pytest that is not 0, of this call's parts; else 0.
    """
    codes = [_record(name, paths, rooms, options, folder) for name, paths in tests.items() if not (folder / f"{name}.record").exists()]
    records = [str(folder / f"{name}.record") for name in tests]
    config = _configure(folder, "all", rooms)
    _coverage("combine", config, "-q", "--keep", *records)
    _coverage("json", config, "-q", "-o", str(folder / "coverage.json"))
    return next((code for code in codes if code), 0)


def _record(name: str, tests: Sequence[str], rooms: Sequence[str], options: Sequence[str], folder: Path) -> int:
    """Run one part; its record has its name only when it is complete. Returns pytest's exit code."""
    config = _configure(folder, f"{name}.partial", rooms)
    code = _coverage("run", config, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", *tests, *options)
    _coverage("combine", config, "-q")
    if (found := folder / f"{name}.partial").exists():
        found.rename(folder / f"{name}.record")
    return code


def _configure(folder: Path, record: str, rooms: Sequence[str]) -> Path:
    config = folder / f"settings-{record}.ini"  # no name that `combine` takes for a record
    config.write_text(_CONFIG.format(rooms=", ".join(rooms), record=folder / record))
    return config


def _coverage(step: str, config: Path, *words: str) -> int:
    """Run a step of coverage's; return its exit code."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE_"))}
    return subprocess.run(python.command("coverage", step, f"--rcfile={config}", *words), cwd=ROOT, env=environ, check=False).returncode


def read(report: bytes) -> tuple[Share, list[Share]]:
    """Return the share of all files, and of each file that is not run completely, lowest first, from the output of `coverage json`."""
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
    parser.add_argument("--whole", action="store_true", help="every test and all rooms, a folder of tests at a time")
    parser.add_argument("--keep", metavar="DIR", help="keep the records there, and run only the folders whose record is missing")
    parser.add_argument("--lowest", type=int, default=10, metavar="N", help="files of the lowest shares to print, 0 for all (default: 10)")
    parser.add_argument("options", nargs="*", metavar="OPTION", help="pytest's, after --")
    asked = parser.parse_args()
    rooms = PRODUCT if asked.whole else tuple(UNITS.values())
    with contextlib.ExitStack() as stack:
        folder = Path(asked.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="thresher-coverage-"))).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        code = run(parts(is_whole=asked.whole), rooms, asked.options, folder)
        total, files = read((folder / "coverage.json").read_bytes())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(table(total, files[: asked.lowest or None]))
    print(f"CPU: {used.ru_utime + used.ru_stime:.0f} s")
    return code


if __name__ == "__main__":
    exit_with(main)
