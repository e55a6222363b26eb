"""The CPU time of the bomb scan, and the number of honest pages that it sends to the parser process: `python -m benchmarks.speed.bomb_scan
DIR… [--most 4000]`.

Reads the HTML files of at most 512 KiB below the directories, for instance Debian's manuals (python3-doc, postgresql-doc-15,
libboost1.74-doc in /usr/share/doc), at most --most of them, chosen at random. Each is decoded, scanned three times and parsed once. Prints
for each size the processor time of the scan (the shortest of three) and of the parse, per 25 KB, and how many pages were sent to the parser
process, by reason.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter, defaultdict
from pathlib import Path

from benchmarks.support.ending import exit_with
from thresher.crawler.core import html
from thresher.crawler.core.bomb import bomb

_LARGEST = 512 << 10
_BIN_KB = (12, 25, 50, 100, 200, 512)


def pages(directories: list[Path], most: int) -> list[Path]:
    """Return the HTML files to read."""
    every = sorted(path for directory in directories for path in directory.rglob("*.htm*") if path.is_file())
    small = [path for path in every if path.stat().st_size <= _LARGEST]
    return small if len(small) <= most else random.Random(1).sample(small, most)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=4000)
    options = parser.parse_args()
    found = pages(options.directories, options.most)
    apart: Counter[str] = Counter()
    bins: defaultdict[int, list[tuple[int, float, float]]] = defaultdict(list)
    for path in found:
        body = html.decode(path.read_bytes(), "text/html")[0]
        scans = []
        for _ in range(3):
            began = time.thread_time()
            why = bomb(body)
            scans.append(time.thread_time() - began)
        began = time.thread_time()
        if why:
            apart[why] += 1
        else:
            html.parse(body, "utf-8", agent="", max_links=10_000)
        parsed_s = time.thread_time() - began
        bins[next(kb for kb in _BIN_KB if len(body) <= kb << 10 or kb == _BIN_KB[-1])].append((len(body), min(scans), parsed_s))
    for kb, read in sorted(bins.items()):
        per = 25_000 / max(1, sum(size for size, _, _ in read)) * 1e6
        scan, parse = (sum(each[i] for each in read) * per for i in (1, 2))
        print(f"up to {kb:3} KiB: {len(read):5} pages, scan {scan:4.0f} µs per 25 KB, parse {parse:4.0f}")
    print(f"{len(found):,} pages, {apart.total()} sent apart ({apart.total() / max(1, len(found)):.2%}): {dict(apart)}")
    return 0


if __name__ == "__main__":
    exit_with(main)
