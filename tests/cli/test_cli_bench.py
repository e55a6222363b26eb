"""`thresher bench crawl`: a figure only of a crawl that was made."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def bench(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "crawler.cli", "bench", "crawl", "--profile", "small", "--hosts", "10", "--runs", "1", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_a_benchmark_counts_its_pages_and_splits_its_time() -> None:
    run = bench("--pages", "200", "--json")
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["pages"] == 200
    assert report["pages_per_cpu_s"]["median"] > 0
    assert report["peak_rss_bytes"] > 1 << 20
    assert {"parse", "store", "fetch", "writer thread"} <= report["stages"].keys()
    assert 0.95 < sum(report["stages"].values()) < 1.05


def test_a_crawl_that_ends_early_gives_no_figure() -> None:
    run = bench("--pages", "100", "--set", "limits.max_time=0", "--json")
    assert run.returncode == 2
    assert run.stdout == ""
    assert "limits.max_time reached" in run.stderr
