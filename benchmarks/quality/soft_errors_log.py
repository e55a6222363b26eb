"""Soft errors from logs: the score on a simulated log whose truth is known, and on real redirects; and the cost of a million pairs.

    python -m benchmarks.quality.soft_errors_log                        the simulated log (demo/redirect_truth.py): ablations, thresholds
    python -m benchmarks.quality.soft_errors_log --real FILE.tsv[.gz]   the 30 targets of a real log with the highest scores, and its moves
    python -m benchmarks.quality.soft_errors_log --million              `thresher soft-errors` on 1,000,000 pairs: CPU seconds, peak memory

A move is a target to which only one URL redirects. Samples of the simulated log are printed, too.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import numpy as np

from thresher.crawler.analysis.redirect_log import read_file
from thresher.crawler.children import python
from thresher.crawler.demo.redirect_truth import Simulated, simulated
from thresher.filters.soft_error import calibrate
from thresher.filters.soft_error.log import RedirectLog
from thresher.filters.soft_error.score import ONE_EACH, THRESHOLD, PairCounts, Weights, count
from thresher.filters.soft_error.url_kind import ERRORS, url_kinds

_ABLATIONS = (ONE_EACH, Weights(1, 0, 0), Weights(0, 1, 0), Weights(1, 1, 0))
_MILLION = 1_000_000


class Judged(NamedTuple):
    """A log with its counts, the truth and the proxy label of each distinct pair."""

    counts: PairCounts
    truth: calibrate.Labels
    proxy: calibrate.Labels


def judge(log: Sequence[Simulated]) -> Judged:
    """Count a simulated log."""
    redirects = RedirectLog()
    for pair in log:
        redirects.add(pair.original, pair.target)
    named = redirects.finish()
    counts = count(named.columns)
    is_soft = {(pair.original, pair.target): pair.is_soft for pair in log}
    numbers = zip(counts.originals.tolist(), counts.targets.tolist(), strict=True)
    truth = np.array([is_soft[named.originals[i], named.targets[j]] for i, j in numbers])
    kinds = url_kinds(named.originals, named.targets, counts.originals, counts.targets)
    return Judged(counts, truth, np.array([kind in ERRORS for kind in kinds]))


def _print_simulated() -> None:
    log = simulated()
    for share in (1.0, 0.1, 0.03, 0.01):
        rng = random.Random(3)
        _print_log(f"{share:.0%} of the pairs", [pair for pair in log if rng.random() < share])
    for scale in (0.1, 0.02):
        _print_log(f"hosts with {scale:.0%} of their pages", simulated(scale=scale))


def _print_log(name: str, log: Sequence[Simulated]) -> None:
    judged = judge(log)
    counts = judged.counts
    areas = [
        f"{w.target:g},{w.ratio:g},{w.spread:g} {calibrate.area(calibrate.roc(counts.score(w), judged.truth)):.4f}" for w in _ABLATIONS
    ]
    print(f"{name}: {len(judged.truth):,} pairs, {judged.truth.sum():,} soft, {judged.proxy.sum():,} with a proxy label")
    print(f"  AUC by weights: {'  '.join(areas)}")
    for weights in dict.fromkeys((ONE_EACH, calibrate.best_weights(counts, judged.proxy))):
        scores = counts.score(weights)
        chosen = calibrate.best_threshold(calibrate.roc(scores, judged.proxy))
        for threshold in (THRESHOLD, chosen):
            found = calibrate.quality(scores, judged.truth, threshold)
            origin = " from proxies" if threshold == chosen else ""
            shares = f"precision {found.precision:.3f} recall {found.recall:.3f} FPR {found.false_positive_rate:.3f}"
            print(f"  k1 {weights.target:g}  threshold {threshold:.3f}{origin}: {shares}")


def _print_real(path: str) -> None:
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        reading = read_file(cast("BinaryIO", file))
    columns, originals, targets, *_ = reading.log.finish()
    counts = count(columns)
    scores = counts.score()
    moves = (counts.n_to_target == 1) & (np.bincount(counts.originals)[counts.originals] == 1)
    print(f"{reading.n_lines:,} lines, {len(scores):,} distinct pairs, {len(originals):,} originals")
    print(f"left out: {reading.log.spellings.total()} other spellings")
    print(f"one-to-one moves: {moves.sum():,}, of which {(scores[moves] < 1).mean():.4%} score below 1; highest {scores[moves].max():.4f}")
    best: dict[int, int] = {}
    for i in np.argsort(-scores, kind="stable").tolist():
        best.setdefault(int(counts.targets[i]), i)
    print("score  I  N  M  H  target  (one of its originals)")
    for target, i in list(best.items())[:30]:
        counted = "  ".join(f"{int(column[i]):,}" for column in counts[2:])
        print(f"{scores[i]:.3f}  {counted}  {targets[target]}  ({originals[int(counts.originals[i])]})")


def _print_million() -> None:
    with tempfile.TemporaryDirectory() as directory:
        for name, pairs in (("simulated", simulated(scale=9.0)), ("all distinct", None)):
            path = Path(directory) / f"{name}.tsv"
            with path.open("w") as file:
                for i in range(_MILLION):
                    pair = pairs[i % len(pairs)][:2] if pairs else (_long(i), _long(i + _MILLION))
                    file.write("\t".join(pair) + "\n")
            _print_run(name, path, [])
            _print_run(f"{name}, --threshold auto --weights auto", path, ["--threshold", "auto", "--weights", "auto"])


def _long(i: int) -> str:
    """Return a URL of about 80 characters."""
    return f"http://www.host{i % 50_000}.example/section-{i % 97}/a-page-with-a-name-that-says-what-it-is-{i}.html"


def _print_run(name: str, path: Path, options: Sequence[str]) -> None:
    """Run the command as a child process; print the CPU seconds and memory that it used."""
    with open(os.devnull, "wb") as null:
        child = subprocess.Popen(
            python.command("thresher", "soft-errors", str(path), *options), env=python.environment(), stdout=null, stderr=null
        )
        _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    size = path.stat().st_size / 1e6
    print(
        f"{name}: {used.ru_utime + used.ru_stime:.2f} CPU s, {used.ru_maxrss / 1024:.0f} MiB, {size:.0f} MB of log, exit {child.returncode}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", metavar="FILE")
    parser.add_argument("--million", action="store_true")
    asked = parser.parse_args()
    if asked.real:
        _print_real(asked.real)
    if asked.million:
        _print_million()
    if not asked.real and not asked.million:
        _print_simulated()


if __name__ == "__main__":
    main()
