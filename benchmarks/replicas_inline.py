"""What the inline filter of near-replicas costs a page as more pages are known: `python -m benchmarks.replicas_inline [PAGES]`.

Pages of 1,300 words and 60 links, 200 a host, are measured for their own cost; deciding and learning is then timed over a store's memory
while it grows to PAGES (1,000,000 unless told), with random signatures in place of texts: the worst case, since no page is a replica and
all are kept. Prints microseconds of CPU a page in this thread, and the store's size.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.replicas_speed import pages
from config.settings import NearReplica, Settings
from crawler.core.model import Directives, Judgement, Page
from crawler.core.sketch import fingerprint
from crawler.core.url import URLRules, URLSpace
from filters.near_replica.compare import TAG_STEP
from filters.near_replica.filter import Measure, ReplicaGate
from filters.near_replica.records import MOST_CHILDREN, SLOTS, Known
from storage.env import Store

_MARKS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
_WINDOW = 5_000  # pages timed before each mark


def _real_pages(n: int) -> list[Page]:
    space = URLSpace(bytes(16), URLRules())
    made = []
    for url, _, tokens, links in pages(n):
        words = np.concatenate([tokens, tokens * np.uint64(3), tokens * np.uint64(5)])[:1300]
        more = tuple(f"{link}/{i}" for link in links for i in range(3))
        empty = Page(space.url(url, seed_distance=2), 200, "text/html", "", "", words, fingerprint(words), more, "", Directives(), 25_000)
        made.append(empty)
    return made


def _measuring(gate: ReplicaGate) -> float:
    """Return seconds of `measure` a page."""
    subjects = _real_pages(500)
    gate.measure(subjects[0])
    before = time.process_time()
    for page in subjects:
        gate.measure(page)
    return (time.process_time() - before) / len(subjects)


def _random(rng: np.random.Generator, number: int) -> Measure:
    """Return a page unlike any other: components as those of real pages lie, half a width apart."""
    signature = np.clip(rng.normal(0.5, 0.13, 5), 0, 1).astype("<f4").tobytes()
    minima = rng.integers(0, 1 << 63, SLOTS, dtype=np.uint64)
    children = np.sort(rng.integers(0, 1 << 63, MOST_CHILDREN, dtype=np.uint64)).astype("<u8").tobytes()
    site, host = (number // 200).to_bytes(8, "big"), f"http://h{number // 200}.test"
    name = (number // 200).to_bytes(4, "big") + rng.bytes(4)
    slots = minima.astype(np.uint8).tobytes()
    known = Known(site + rng.bytes(8), name, rng.bytes(8), host, signature, slots, 1300, children, b"")
    return Measure(known, False, minima[::TAG_STEP].astype("<u8").tobytes(), rng.bytes(4), site + rng.bytes(8))


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else _MARKS[-1]
    gate, rng = ReplicaGate(NearReplica(), tells_copies=False), np.random.default_rng(1)
    print(json.dumps({"measure_us": round(_measuring(gate) * 1e6, 1)}), flush=True)
    with tempfile.TemporaryDirectory(prefix="thresher-inline-") as directory:
        store = Store.create(Path(directory) / "store", Settings(seeds=["http://a.test/"]), 1.7e9)
        memory, spent = store.memory("near_replica"), 0.0
        for number in range(1, n + 1):
            measure = _random(rng, number)
            before = time.thread_time()
            verdict, _ = gate.decide(measure, memory)
            gate.observe(measure, Judgement(verdict.keep, verdict.follow, (verdict,)), memory)
            spent += time.thread_time() - before
            store.end_visit()
            if number % 256 == 0:
                store.flush().result()
            if number in _MARKS or number == n:
                used = sum(file.stat().st_blocks * 512 for file in Path(directory).rglob("*.mdb"))
                line = {"known": number, "decide_observe_us": round(spent / min(number, _WINDOW) * 1e6, 1), "bytes_a_page": used // number}
                print(json.dumps(line), flush=True)
            if any(mark - _WINDOW == number for mark in (*_MARKS, n)):
                spent = 0.0
        store.close(1.7e9)


if __name__ == "__main__":
    main()
