"""The cost of finding near-replicas: `python -m benchmarks.speed.replicas_speed [PAGES]` (default: 100,000).

The web is generated: hosts of 200 pages with a template each; a page has 20 links and 300 words, drawn from 200,000 by Zipf's law. A fifth
of the pages replicate an earlier one with up to 3 % of the words changed; one page in a hundred shows the same text ("no results"). Prints
the CPU seconds of sketching and of each later step, and the peak memory.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator

import numpy as np

from thresher.crawler.core.model import U64
from thresher.filters.near_replica.batch import Candidates, Space, Tolerance
from thresher.filters.near_replica.mirrors import mirrors
from thresher.filters.near_replica.sketching import Recipe, Sketcher, Sketches

_WORDS = 300
_LINKS = 20
_D = 0.03  # with the default, the grid compares all pairs
_OF_HOST = 200


def pages(n: int) -> Iterator[tuple[str, str, U64, list[str]]]:
    """Yield (URL, host, words, links) of each page."""
    rng = np.random.default_rng(5)
    vocabulary = rng.integers(0, 1 << 64, 200_000, dtype=np.uint64)
    kept: list[U64] = []
    nothing_found = vocabulary[_ranks(rng, 40)]
    template = nothing_found
    for number in range(n):
        host = f"h{number // _OF_HOST}.test"
        if number % _OF_HOST == 0:
            template = vocabulary[_ranks(rng, 120)]
        own = vocabulary[_ranks(rng, _WORDS)]
        if number % 100 == 99:
            own = nothing_found
        elif kept and number % 5 == 4:
            own = kept[int(rng.integers(len(kept)))].copy()
            own[: int(rng.integers(10))] = vocabulary[_ranks(rng, 1)]
        elif len(kept) < 20_000:
            kept.append(own)
        targets = rng.integers(max(0, number - _OF_HOST), min(n, number + _OF_HOST), _LINKS).tolist()
        links = [f"http://h{target // _OF_HOST}.test/{target}" for target in set(targets)]
        yield f"http://{host}/{number}", host, np.concatenate((template[:60], own, template[60:])), links


def _ranks(rng: np.random.Generator, n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.asarray(np.minimum(rng.zipf(1.2, n), 200_000) - 1, dtype=np.int64)


def _sketched(n: int) -> tuple[Sketches, float]:
    sketcher, spent = Sketcher(Recipe()), 0.0
    for page in pages(n):
        before = time.process_time()
        sketcher.add(*page)
        spent += time.process_time() - before
    before = time.process_time()
    sketches = sketcher.close()
    return sketches, spent + time.process_time() - before


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    sketches, sketching = _sketched(n)
    before_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    for candidates in Candidates:
        times = [time.process_time()]
        space = Space(sketches, Tolerance(d=_D, c=1.0, candidates=candidates))  # links here are at random
        times.append(time.process_time())
        found = space.text_pairs()
        times.append(time.process_time())
        clusters = space.clusters(found)
        times.append(time.process_time())
        groups = [cluster.copies() for cluster in clusters]
        n_mirrors = len(mirrors(sketches.urls, sketches.hosts, sketches.texts, groups))
        times.append(time.process_time())
        steps = dict(zip(("maps", "candidates", "clusters", "mirrors"), np.diff(times).round(2).tolist(), strict=True))
        line = {
            "pages": n,
            "links": int(sketches.links.size),
            "by": candidates.value,
            "sketching_cpu_s": round(sketching, 1),
            "after_cpu_s": round(times[-1] - times[0], 2),
            "steps": steps,
            "pairs": len(found.random_projection),
            "clusters": len(clusters),
            "replicas": sum(len(cluster.members) for cluster in clusters),
            "mirrors": n_mirrors,
            "sketches_mb": before_mb,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
