"""CPU and memory of `thresher depth fit` on a large access log: `python -m benchmarks.speed.depth_log [--lines 1000000]`.

The log is generated and packed: in combined format, with visitors who go deeper, back and home, and with robots, images and torn lines.
Exits with 1 if reading it takes more than 30 CPU seconds.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.support.checkout import environment
from thresher.crawler.children import python

MOST_S = 30.0
_SITE = "http://www.example.org"


def lines(n: int, rng: random.Random) -> Iterator[str]:
    """Yield lines of a log; one in a thousand is torn."""
    at: dict[int, list[int]] = {}
    for second in range(n):
        visitor = rng.randrange(n // 20 + 1)
        path = at.setdefault(visitor, [0])
        referer = f"{_SITE}{_page(path)}" if len(path) > 1 or rng.random() < 0.5 else "-"
        path[:] = [*path, rng.randrange(9)] if rng.random() < 0.6 else path[: max(1, len(path) - 1)]
        asked = "/logo.png" if rng.random() < 0.3 else _page(path)
        agent = "Googlebot/2.1" if visitor % 10 == 0 else f"Mozilla/5.0 ({visitor % 50})"
        clock = f"{10 + second // 86_400 % 20}/May/2015:{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02} +0000"
        line = f'10.{visitor >> 16}.{visitor >> 8 & 255}.{visitor & 255} - - [{clock}] "GET {asked} HTTP/1.1" 200 512 "{referer}" "{agent}"'
        yield line[:40] if rng.random() < 0.001 else line


def _page(path: list[int]) -> str:
    return "/" + "".join(f"{step}/" for step in path[1:])


def main() -> int:
    """Write the log, read it, and print CPU seconds and memory."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.depth_log", description="What it costs to fit models to a large log.")
    parser.add_argument("--lines", type=int, default=1_000_000)
    n = parser.parse_args().lines
    with tempfile.TemporaryDirectory(prefix="depth-log-") as name:
        log = Path(name) / "access.log.gz"
        with gzip.open(log, "wt", compresslevel=1) as file:
            file.writelines(f"{line}\n" for line in lines(n, random.Random(1)))
        command = python.command("thresher", "depth", "fit", str(log), "--json")
        found = json.loads(subprocess.run(command, env=environment(), check=True, capture_output=True, text=True).stdout)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = used.ru_utime + used.ru_stime
    print(", ".join(f"{found[what]:,} {what}" for what in ("lines", "torn", "sessions", "views")))
    print(f"{cpu_s:.1f} CPU s, {used.ru_maxrss / 1024:.0f} MiB")
    return int(cpu_s > MOST_S)


if __name__ == "__main__":
    sys.exit(main())
