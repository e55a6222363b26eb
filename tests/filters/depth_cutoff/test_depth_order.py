"""Effects come in an order that does not depend on Python's hash seed: two replays of one journal do the same."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from depth_told import HOST, Crawled, day_text, prose
from long import shortened

from thresher.crawler.core.effects import Release

REPLAY = "import test_depth_order; print(test_depth_order.released())"


def released() -> list[str]:
    """Return what is released, in order, of lists with five parameters, once their path has become a name of its own."""
    crawled = Crawled()
    crawled.fetch(HOST + "/", prose(), 0)
    for i in range(20):
        crawled.fetch(f"{HOST}/docs/{i}/", prose(), 1 + i // 10)
    names = ("brand", "colour", "price", "size", "sort")
    found: list[str] = []
    for i in range(60):
        word = "".join(chr(97 + i * step % 26) for step in (1, 3, 5, 7)) if i < 40 else "latecomer"
        query = "&".join(f"{name}={i}" for name in names)
        effects = crawled.fetch(f"{HOST}/{word}?{query}", day_text(i), 2 + i % 3)
        found += [effect.holder for effect in effects if isinstance(effect, Release)]
    return found


@pytest.mark.parametrize("seed", shortened(["1", "2"], 1))
def test_what_is_released_comes_in_one_order_under_any_hash_seed(seed: str) -> None:
    """Mutation: the forms that a place had before are kept in a set, whose order differs from process to process."""
    variables = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run([sys.executable, "-c", REPLAY], env=variables, capture_output=True, text=True, check=True)
    ours = released()
    assert len(ours) > 4
    assert said.stdout.strip() == str(ours)
