"""Kill crawls that write an archive, again and again: every visit of each store must have its records exactly once.

    python -m benchmarks.proofs.archive_kill [--seeds 5] [--first 1] [--kills 8] [--agents 1] [--changes '{"n_sites": 12}']

Kills come at random and at fail points, in the middle of a record too; after each life the store is verified, which unpacks every record
of its archive. At the end the reader of another program reads all files. Prints a line per seed; exit 1 if anything is wrong. About 30 s a
seed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

_TESTS = Path(__file__).parents[2] / "tests"
sys.path[:0] = [str(_TESTS), str(_TESTS / "crash")]

from archive_oracle import archive_faults
from killing import Bench, bench, torment  # found where the suite finds it

_WEB = {"n_sites": 12}


def main() -> None:
    """Run the proof; exit 0 only if it holds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proofs.archive_kill", description="Kill crawls in mid-archive.")
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--kills", type=int, default=8, help="of a seed, at most")
    parser.add_argument("--agents", type=int, default=1, help="that crawl together")
    parser.add_argument("--changes", default=json.dumps(_WEB), help="options of the web, as JSON")
    options = parser.parse_args()
    web = replace(bench(**json.loads(options.changes)), archives=True, agents=options.agents)
    with tempfile.TemporaryDirectory(prefix="archive-kill-") as name:
        n_bad = sum(
            _is_bad(web, Path(name) / str(seed), seed, options.kills) for seed in range(options.first, options.first + options.seeds)
        )
    sys.exit(1 if n_bad else 0)


def _is_bad(web: Bench, directory: Path, seed: int, kills: int) -> bool:
    tally = torment(web, directory, seed, kills, None)
    faults = [*tally.faults(), *archive_faults(directory / "store")]
    files = list((directory / "store").rglob("archive/*.warc.gz"))
    size = sum(file.stat().st_size for file in files)
    print(
        f"seed {seed}: {tally.n_urls:,} URLs, {tally.n_kills} kills, {len(files)} files, {size:,} bytes; faults: {len(faults)}", flush=True
    )
    for fault in faults:
        print(f"     {fault}", flush=True)
    return bool(faults)


if __name__ == "__main__":
    main()
