"""The cost of the filter near_replica for a page, with few and with many known pages: `python -m benchmarks.speed.replicas_inline [PAGES]`.

First the cost of `measure` is taken over pages of 1,300 words and 60 links, 200 on each host. Then two stores are filled with random
signatures in place of texts: one with 10,000 pages, one with PAGES (default 1,000,000). This is the worst case: no page is a replica, and
all are kept. Then both judge and learn in turn, 500 pages at a time, so that other work on the machine slows both alike. Prints
microseconds of CPU for each page in this thread, the ratio of the two (median and quartiles of the turns), and the bytes on disk for each
page. At the end both stores are closed and opened again, and the turns are repeated, since after a stop the filter reads its records from
the disk.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

import numpy as np

from benchmarks.speed.replicas_speed import pages
from thresher.config.settings import NearReplicaSettings, Settings
from thresher.crawler.core.model import Directives, Judgement, Page
from thresher.crawler.core.sketch import fingerprint
from thresher.crawler.core.url import URLRules, URLSpace
from thresher.filters.near_replica.compare import TAG_STEP
from thresher.filters.near_replica.filter import ReplicaGate
from thresher.filters.near_replica.records import MOST_CHILDREN, SLOTS, KnownPage, ReplicaMeasure
from thresher.storage.store import Store

_FEW = 10_000
_MANY = 1_000_000
_TURN = 500  # pages
_TURNS = 20
_GROUP = 256  # visits a commit


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
    """Return the seconds of `measure` for each page."""
    subjects = _real_pages(500)
    gate.measure(subjects[0])
    before = time.process_time()
    for page in subjects:
        gate.measure(page)
    return (time.process_time() - before) / len(subjects)


def _random(rng: np.random.Generator, number: int) -> ReplicaMeasure:
    """Return a page unlike any other; its components lie as those of real pages do, half a width apart."""
    signature = np.clip(rng.normal(0.5, 0.13, 5), 0, 1).astype("<f4").tobytes()
    minima = rng.integers(0, 1 << 63, SLOTS, dtype=np.uint64)
    children = np.sort(rng.integers(0, 1 << 63, MOST_CHILDREN, dtype=np.uint64)).astype("<u8").tobytes()
    site, host = (number // 200).to_bytes(8, "big"), f"http://h{number // 200}.test"
    name = (number // 200).to_bytes(4, "big") + rng.bytes(4)
    slots = minima.astype(np.uint8).tobytes()
    known = KnownPage(site + rng.bytes(8), name, rng.bytes(8), host, signature, slots, 1300, children, b"")
    return ReplicaMeasure(known, False, minima[::TAG_STEP].astype("<u8").tobytes(), rng.bytes(4), site + rng.bytes(8))


class Filled:
    """A store in which pages are judged and kept, one after the other."""

    def __init__(self, store: Store, path: Path, gate: ReplicaGate) -> None:
        self._store, self._path, self._gate = store, path, gate
        self._memory = store.tables.memory("near_replica")
        self._rng = np.random.default_rng(1)
        self.n = 0

    def take(self, n: int) -> float:
        """Judge and keep `n` more pages; return seconds of CPU for each."""
        spent = 0.0
        for number in range(self.n, self.n + n):
            measure = _random(self._rng, number)
            before = time.thread_time()
            verdict, _ = self._gate.decide(measure, self._memory)
            self._gate.observe(measure, Judgement(verdict.keep, verdict.follow, (verdict,)), self._memory)
            spent += time.thread_time() - before
            self._store.end_visit()
            if number % _GROUP == 0:
                self._store.flush().result()
        self._store.flush().result()
        self.n += n
        return spent / n

    def reopened(self) -> Self:
        """Close the store and open it again."""
        self._store.close(1.7e9)
        self._store = Store.open(self._path, None, 1.7e9)
        self._memory = self._store.tables.memory("near_replica")
        return self

    def bytes_a_page(self) -> int:
        """Return the bytes on disk for each page."""
        return sum(file.stat().st_blocks * 512 for file in self._path.rglob("*.mdb")) // self.n

    def close(self) -> None:
        self._store.close(1.7e9)


def _compare(few: Filled, many: Filled, **of: object) -> None:
    """Print the cost of a page in each store, measured in turn."""
    turns = [(few.take(_TURN), many.take(_TURN)) for _ in range(_TURNS)]
    low, middle, high = statistics.quantiles([much / little for little, much in turns], n=4)
    costs = {
        f"us_at_{store.n}": round(statistics.median(column) * 1e6, 1)
        for store, column in zip((few, many), zip(*turns, strict=True), strict=True)
    }
    line = {**of, **costs, "ratio": round(middle, 3), "quartiles": [round(low, 3), round(high, 3)]}
    print(json.dumps(line), flush=True)


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else _MANY
    gate = ReplicaGate(NearReplicaSettings(), tells_copies=False)
    print(json.dumps({"measure_us": round(_measuring(gate) * 1e6, 1)}), flush=True)
    with tempfile.TemporaryDirectory(prefix="thresher-inline-") as directory:
        paths = [Path(directory) / name for name in ("few", "many")]
        few, many = (Filled(Store.create(path, Settings(seeds=["http://a.test/"]), 1.7e9), path, gate) for path in paths)
        few.take(_FEW)
        many.take(n)
        print(json.dumps({"bytes_a_page": many.bytes_a_page()}), flush=True)
        _compare(few, many, memory="began empty")
        _compare(few.reopened(), many.reopened(), memory="goes on after a stop")
        few.close()
        many.close()


if __name__ == "__main__":
    main()
