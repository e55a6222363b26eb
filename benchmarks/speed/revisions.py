"""Two revisions of this repository side by side: `python -m benchmarks.speed.revisions OLD [NEW] [--pairs 10] [--pages N] [-- OPTIONS…]`.

Each revision's files are taken from git into a temporary folder and installed into an environment of its own, which has the packages of
the running one (nothing is downloaded; the running one needs the extra `dev`). Then both crawl at once by `thresher bench crawl`, each on
a core of its own with its server, and once more with the cores exchanged: that is a pair. So what else the machine does, and how fast it
is at that moment, meets both alike. OPTIONS go to `thresher bench crawl`, as `-- --profile small` does.

A pair's ratio is pages per CPU second of NEW by those of OLD, the geometric mean of its two crawls. It prints the mean of the ratios
(geometric) and its 95 % interval, by Student's t over their logarithms. It exits with 1 if the whole interval lies below 1 - `--allowed`,
that is if NEW is surely slower than allowed; "undecided" means that the interval reaches over that bound, and more pairs or pages would
narrow it.

Each revision crawls the web that its own demo server makes. If one knows more URLs at the end than the other, they did not do the same
work: then that is printed, and the ratio says little.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.support.checkout import ROOT
from benchmarks.support.ending import exit_with, started
from thresher.crawler.core.errors import UsageError

_LIKE = 0.05  # share by which the known URLs of two crawls of one web may differ
_WARM_PAGES = 200
_SETUPTOOLS = 77  # as in pyproject.toml


class Interval(NamedTuple):
    """The ratio of two rates: its geometric mean, and the bounds of the 95 % interval."""

    mean: float
    low: float
    high: float

    def verdict(self, allowed: float) -> str:
        """Return what it says of a loss of at most `allowed`, a share: "within", "undecided" or "slower"."""
        return "within" if self.low >= 1 - allowed else "slower" if self.high < 1 - allowed else "undecided"


def interval(ratios: Sequence[float]) -> Interval:
    """Return the mean of at least two ratios above 0, with its interval by Student's t over their logarithms."""
    from scipy.special import stdtrit

    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    half = float(stdtrit(len(logs) - 1, 0.975)) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Interval(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def commit_of(revision: str) -> str:
    """Return the full name of a revision's commit; raises UsageError if git knows none."""
    command = ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if said.returncode:
        raise UsageError(f"expected a revision of this repository, found {revision!r}. `git log` shows them")
    return said.stdout.strip()


def install(commit: str, folder: Path) -> Path:
    """Install a commit's files into an environment below `folder`, beside the running one's packages; return its command `thresher`."""
    if int(version("setuptools").partition(".")[0]) < _SETUPTOOLS:
        raise UsageError(f"expected setuptools {_SETUPTOOLS} or newer, found {version('setuptools')}. Install it: pip install -e '.[dev]'")
    source, own = folder / "source", folder / "env"
    source.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "--format=tar", commit], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x"], cwd=source, input=archive, check=True)
    venv.create(own, symlinks=True)
    scheme = {"base": str(own), "platbase": str(own)}
    packages = dict.fromkeys(path for path in map(os.path.realpath, sys.path) if "site-packages" in path)
    Path(sysconfig.get_path("purelib", vars=scheme), "packages_of_the_running_one.pth").write_text("\n".join(packages) + "\n", "utf-8")
    pip = [str(own / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-warn-script-location"]
    how = ["--no-index", "--no-deps", "--no-build-isolation", "--ignore-installed", str(source)]
    said = subprocess.run([*pip, *how], env=_environment(), capture_output=True, text=True, check=False)
    if said.returncode:
        raise UsageError(f"{commit[:12]} cannot be installed: {said.stderr.strip()[-500:]}")
    return own / "bin/thresher"


def _environment() -> dict[str, str]:
    """Return the environment without what leads Python to other packages."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "THRESHER"))}


def crawl(commands: Sequence[Path], cores: Sequence[int], pages: int, options: Sequence[str]) -> list[dict[str, Any]]:
    """Run `thresher bench crawl` of each command at once, each on its core; return the reports. Raises UsageError if one ends without."""
    words = ["bench", "crawl", "--runs", "1", "--json", "--pages", str(pages), *options]
    reports = []
    with ExitStack() as stack:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": _environment()}
        processes = [
            stack.enter_context(started(["taskset", "-c", str(core), str(command), *words], cwd=command.parent, **pipes))
            for command, core in zip(commands, cores, strict=True)
        ]
        for command, process in zip(commands, processes, strict=True):
            out, err = process.communicate()
            if process.returncode:
                raise UsageError(f"{command} {' '.join(words)}: exit {process.returncode}: {err.strip()[-500:]}")
            reports.append(json.loads(out))
    return reports


def compare(commands: Sequence[Path], *, pairs: int, pages: int, options: Sequence[str]) -> list[float]:
    """Crawl in pairs and print a line for each; return NEW's rate by OLD's of every pair. Raises UsageError on a machine with one core."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < len(commands):
        raise UsageError("expected two cores, one for each revision, found one")
    crawl(commands, cores, min(_WARM_PAGES, pages), options)  # later ones find all files in the page cache
    ratios = []
    for pair in range(pairs):
        found = [crawl(commands, those, pages, options) for those in (cores, cores[::-1])]
        rates = [[report["pages_per_cpu_s"]["median"] for report in both] for both in found]
        old, new = (statistics.geometric_mean(of_one) for of_one in zip(*rates, strict=True))
        ratios.append(new / old)
        print(f"pair {pair + 1:2}: {old:7.1f} and {new:7.1f} pages per CPU second, ratio {ratios[-1]:.4f}", flush=True)
        known = [report["known_urls"] for report in found[0]]
        if max(known) > (1 + _LIKE) * min(known):
            print(f"         not the same work: {known[0]:,} and {known[1]:,} URLs were known at the end")
    return ratios


def main(given: Sequence[str] | None = None) -> int:
    """Return 1 if NEW is slower than allowed with 95 % confidence, else 0; `given` are the words of the command line, None for its own."""
    words = [*(sys.argv[1:] if given is None else given)]
    end = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.revisions", description="Compare two revisions' cost of a page.")
    parser.add_argument("old", help="revision to compare with")
    parser.add_argument("new", nargs="?", default="HEAD", help="revision to judge (default: HEAD)")
    parser.add_argument("--pairs", type=int, default=10, help="pairs of crawls, 2 at least (default: 10)")
    parser.add_argument("--pages", type=int, default=5_000, help="pages of each crawl (default: 5000)")
    parser.add_argument("--allowed", type=float, default=0.02, help="share by which NEW may be slower (default: 0.02)")
    of = parser.parse_args(words[:end])
    if of.pairs < 2:
        parser.error("--pairs: an interval needs two at least")
    commits = [commit_of(of.old), commit_of(of.new)]
    with tempfile.TemporaryDirectory(prefix="thresher-revisions-") as folder:
        installed = {commit: install(commit, Path(folder) / commit) for commit in dict.fromkeys(commits)}
        ratios = compare([installed[commit] for commit in commits], pairs=of.pairs, pages=of.pages, options=words[end + 1 :])
    found = interval(ratios)
    verdict = found.verdict(of.allowed)
    print(
        f"{commits[1][:12]} by {commits[0][:12]}: {found.mean:.4f} times the pages per CPU second, 95 % interval {found.low:.4f} to "
        f"{found.high:.4f}, {of.pairs} pairs of {of.pages:,} pages; {verdict} (allowed: {of.allowed:.1%} less)"
    )
    return int(verdict == "slower")


if __name__ == "__main__":
    exit_with(main)
