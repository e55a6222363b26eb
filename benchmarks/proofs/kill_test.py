"""The kill test's long form: all 3,000 pages of the `kill` web, 20 seeds, and the two broken designs, which must fail it.

    python -m benchmarks.proofs.kill_test [--seeds 20] [--first 1] [--kills 5 40] [--changes '{"n_sites": 6}'] [--agents 3]

Prints a line per seed. Exits with 1 if a crawl lost or invented anything, if its store was not sound after a life, if it asked a host too
soon or more often than its kills explain, or if the test did not notice a broken design. The reference is always a crawl by one agent
without kills. tests/crash/killing.py says what is done and how it is judged. About 40 s a seed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

_TESTS = Path(__file__).parents[2] / "tests"
sys.path[:0] = [str(_TESTS), str(_TESTS / "crash")]

from harness import Findings
from killing import CONCURRENCY, GROUP, Bench, Tally, bench, torment  # found where the suite finds it

_COLUMNS = "seed   URLs lives kills  missing extra  other twice  refetches  per kill  robots  shortest gap   wall"
_DESIGNS = {"dispatch_delete": 1, "split_txn": 20}  # design → number of seeds within which the test must notice it


def main() -> None:
    """Run the proof; exit 0 only if it holds."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="kill-test-") as name:
        directory = Path(name)
        web = bench(**json.loads(options.changes))
        reference, _ = web.reference(directory / "reference")
        web = replace(web, agents=options.agents)
        print(
            f"reference: {len(reference.urls):,} URLs; bound per kill: {CONCURRENCY} in flight + {GROUP} of a group\n{_COLUMNS}", flush=True
        )
        seeds = range(options.first, options.first + options.seeds)
        tallies = [_one(web, directory, seed, options.kills, reference) for seed in seeds]
        n_bad = sum(bool(tally.faults()) for tally in tallies)
        n_kills = sum(tally.n_kills for tally in tallies)
        print(
            f"{n_kills} kills; refetches per kill {sum(tally.n_refetched for tally in tallies) / max(1, n_kills):.1f}; bad seeds: {n_bad}"
        )
        n_undetected = 0 if options.without_designs else sum(not _is_found_out(web, directory, reference, name) for name in _DESIGNS)
    sys.exit(1 if n_bad or n_undetected else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proofs.kill_test", description="Kill a crawl again and again and compare.")
    parser.add_argument("--seeds", type=int, default=20, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--kills", type=int, nargs=2, default=(5, 40), metavar=("LEAST", "MOST"), help="kills of a seed")
    parser.add_argument("--changes", default="{}", help="options of the web, as JSON")
    parser.add_argument("--agents", type=int, default=1, help="that crawl together")
    parser.add_argument("--without-designs", action="store_true", help="leave out the broken designs")
    return parser.parse_args()


def _one(web: Bench, directory: Path, seed: int, kills: tuple[int, int], reference: Findings) -> Tally:
    n_kills = random.Random(seed).randint(*kills)
    tally = torment(web, directory / str(seed), seed, n_kills, reference)
    _print(tally)
    return tally


def _print(tally: Tally) -> None:
    per_kill = tally.n_refetched / max(1, tally.n_kills)
    lost = f"{len(tally.missing):7} {len(tally.extra):5} {len(tally.other):6} {len(tally.twice):5}"
    asked = f"{tally.n_refetched:9}  {per_kill:8.1f}  {tally.n_robots_refetched:6}  {tally.shortest_gap_s * 1000:9.2f} ms"
    print(f"{tally.seed:4} {tally.n_urls:6} {tally.n_lives:5} {tally.n_kills:5}  {lost}  {asked}  {tally.wall_s:4.0f} s", flush=True)
    for fault in tally.faults():
        print(f"     {fault}", flush=True)


def _is_found_out(web: Bench, directory: Path, reference: Findings, design: str) -> bool:
    """Return whether the test fails with this broken design, as it must."""
    for seed in range(1, _DESIGNS[design] + 1):
        tally = torment(web, directory / f"{design}-{seed}", seed, 10, reference, design=design)
        if tally.missing or tally.other:
            print(f"{design}: found out by seed {seed}: {len(tally.missing)} missing, {len(tally.other)} told otherwise")
            return True
    print(f"{design}: NOT found out in {_DESIGNS[design]} seeds")
    return False


if __name__ == "__main__":
    main()
