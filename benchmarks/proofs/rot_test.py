"""Damaged stores: no command prints anything false about one, crashes on it, or shows a traceback.

    python -m benchmarks.proofs.rot_test [--cases 200] [--first 1] [--no-resume]

Each case overwrites one to three pages of one of the two files of a small store with zeros, noise, text, other pages or flipped bytes, and
runs `verify`, `status`, `stats`, `hosts`, three exports and `resume` in processes of their own. Prints each broken promise and the exit
codes of the commands; exits with 1 if a promise was broken. tests/crash/rotting.py makes the damage and judges. About 2 CPU seconds for
each case.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / "tests" / "crash")]

from rotting import Rot  # found where the suite finds it


def main() -> None:
    """Run the cases; exit 0 only if every promise held."""
    parser = argparse.ArgumentParser(description="Overwritten pages, and what every command makes of them.")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--first", type=int, default=1, help="seed of the first case")
    parser.add_argument("--resume", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()
    ended: Counter[str] = Counter()
    n_broken = 0
    with tempfile.TemporaryDirectory(prefix="rot-test-") as name, Rot(Path(name)) as rot:
        for seed in range(options.first, options.first + options.cases):
            problems = rot.case(seed, resumes=options.resume)
            n_broken += len(problems)
            ended.update(f"{command}: exit {code}" for command, code in rot.codes.items())
            print("\n".join(problems), end="\n" if problems else "", flush=True)
    print("\n".join(f"{name:<20} {n:>5}" for name, n in sorted(ended.items())))
    print(f"{options.cases} cases, {n_broken} broken promises")
    sys.exit(bool(n_broken))


if __name__ == "__main__":
    main()
