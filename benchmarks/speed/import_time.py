"""The cost of `import thresher`: `python -m benchmarks.speed.import_time [--runs N] [--limit-ms MS]`.

A bare interpreter and one that imports thresher run in turns, outside of the checkout; the figure is the CPU time (user and system) of the
whole process. The facade is lazy: what a script does not use is not imported. Exits with 1 if the shortest run is over the limit.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path

from benchmarks.support.ending import exit_with
from thresher.crawler.children import python
from thresher.crawler.core.errors import UsageError

_PROGRAMS = {"python": "pass", "import thresher": "import thresher"}
_BAR_MS = 60.0


def cpu_ms(program: str, folder: Path) -> float:
    """Run a program in a process of its own; return its CPU time in ms."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    words = python.code(f"import os; os.chdir({str(folder)!r})\n{program}")
    child = os.posix_spawn(words[0], words, environ)
    _, status, used = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status):
        raise UsageError(f"python -c '{program}': expected a Python that has Thresher. Install it with pip install -e .")
    return 1000 * (used.ru_utime + used.ru_stime)


def main() -> int:
    """Return 0 if the shortest CPU time is within the limit, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.import_time", description="CPU time of `import thresher`.")
    parser.add_argument("--runs", type=int, default=20, help="processes of each kind (default: 20)")
    parser.add_argument("--limit-ms", type=float, default=_BAR_MS, help="most that the least of them may cost (default: 60)")
    asked = parser.parse_args()
    found: dict[str, list[float]] = {name: [] for name in _PROGRAMS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(max(asked.runs, 1)):
            for name, program in _PROGRAMS.items():
                found[name].append(cpu_ms(program, Path(folder)))
    for name, times in found.items():
        print(f"{name:16} least {min(times):6.1f} ms, median {statistics.median(times):6.1f} ms of CPU, {len(times)} runs")
    return int(min(found["import thresher"]) > asked.limit_ms)


if __name__ == "__main__":
    exit_with(main)
