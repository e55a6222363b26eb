"""The cost of reading a page, in native code and in Python: `python -m benchmarks.speed.native_pass [DIR…]`.

Prints µs of CPU for each page from its bytes to links, title and text; to hashes of words; and to a sketch of 128 shingles: medians of
rounds. First for a page of 25 KB with 60 links, then for the HTML files below each DIR (the first 128 KiB of each).
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from thresher.crawler.core import html, minhash, sketch
from thresher.crawler.native import NATIVE

_ROUNDS = 9
_FILES = 300


def bench_page() -> bytes:
    """Return a page of 25 KB with 60 links."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randrange(2, 10))) for _ in range(800)]
    parts = ["<!DOCTYPE html><html><head><title>A page</title><link rel=stylesheet href=/s.css></head><body><nav><ul>"]
    parts += [f'<li><a href="/part/{rng.choice(words)}-{n}.html" class="item">{rng.choice(words)}</a></li>' for n in range(60)]
    parts.append("</ul></nav><main>")
    while sum(map(len, parts)) < 25_000:
        parts.append(f"<p>{' '.join(rng.choices(words, k=60))} <em>{rng.choice(words)}</em> {' '.join(rng.choices(words, k=20))}.</p>\n")
    return "".join([*parts, "</main></body></html>"]).encode()


def cost(step: Callable[[Any], object], inputs: Sequence[Any]) -> float:
    """Return µs of CPU for each input."""
    rounds = []
    for _ in range(_ROUNDS):
        began = time.process_time()
        repeats = max(1, 200 // len(inputs))
        for _ in range(repeats):
            for given in inputs:
                step(given)
        rounds.append((time.process_time() - began) / (repeats * len(inputs)) * 1e6)
    return median(rounds)


def parsed(page: bytes) -> Any:
    return html.read(page, "text/html; charset=utf-8", "text/html", agent="thresher", max_links=2_000)


def measure(name: str, pages: list[bytes]) -> None:
    """Print a row for each implementation."""
    for is_native in (True, False):
        for module in (html, sketch, minhash):
            module.NATIVE = is_native  # type: ignore[attr-defined]  # each of the three has it
        pages = [page for page in pages if parsed(page) is not None]
        texts = [parsed(page).raw_text for page in pages]
        tokens = [sketch.token_hashes(text) for text in texts]
        costs = (cost(parsed, pages), cost(sketch.token_hashes, texts), cost(lambda words: minhash.minhash(words, 128, 4), tokens))
        kib = sum(map(len, pages)) / len(pages) / 1024
        row = "".join(f"{each:>10.0f}" for each in (*costs, sum(costs)))
        print(f"{name:<28}{len(pages):>6}{kib:>8.1f}  {'native' if is_native else 'Python':<8}{row}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    if not NATIVE:
        print("native_pass: the extension was not built, or THRESHER_NATIVE=0: nothing to compare", file=sys.stderr)
        return 2
    print(f"{'pages':<28}{'n':>6}{'KiB':>8}  {'':<8}{'page':>10}{'words':>10}{'sketch':>10}{'all, µs':>10}")
    measure("25 KB, 60 links", [bench_page()])
    for folder in parser.parse_args().folders:
        files = sorted(folder.rglob("*.html"))
        bodies = [html.decode(file.read_bytes()[: 128 << 10], "text/html")[0] for file in files[:: max(1, len(files) // _FILES)]]
        if bodies:
            measure(folder.name, bodies)
    return 0


if __name__ == "__main__":
    sys.exit(main())
