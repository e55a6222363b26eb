"""Any message of one agent to another, in any order and twice: no exception ends the agent that reads it, and its store stays sound.

    python -m benchmarks.proofs.message_fuzz [--stories 5000] [--seed 1]

A story is a random sequence of messages (tests/filters/messages_fuzz.py). Prints each fault once with its traceback, and exits with 1 if
there was any. 50 ms of CPU for each story.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as examples
from hypothesis import strategies as st

sys.path[:0] = [str(Path(__file__).parents[2] / "tests" / "filters")]

from messages_fuzz import Step, stories, told  # found where the suite finds it


def main() -> None:
    """Run the stories; exit 0 only if no fault was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proofs.message_fuzz", description="Fuzz the messages between agents.")
    parser.add_argument("--stories", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found: Counter[str] = Counter()
    n_messages = 0

    @seed(options.seed)
    @examples(max_examples=options.stories, deadline=None, phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck))
    @given(stories, st.sampled_from(("enforce", "observe")))
    def tell(story: list[Step], mode: str) -> None:
        nonlocal n_messages
        try:
            left = told(story, mode)
        except Exception as error:  # noqa: BLE001 - it is what is looked for
            at = traceback.extract_tb(error.__traceback__)[-1]
            fault = f"{type(error).__name__} at {Path(at.filename).name}:{at.lineno}"
            if not found[fault]:
                traceback.print_exception(error)
            found[fault] += 1
            return
        n_messages += left.n_messages
        found.update(left.problems)
        found.update(f"quarantined: {record.what}: {record.why}" for record in left.quarantined)

    tell()
    print(f"{options.stories:,} stories, {n_messages:,} messages")
    for fault, n in found.most_common():
        print(f"{n:6,}  {fault}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
