"""The cost of an iteration of the hyperlink map: `python -m benchmarks.speed.hm_speed [MILLIONS OF LINKS]`.

Uses a random graph in which a few pages get most of the links, K = 5, and four iterations. Prints CPU seconds per iteration.
"""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np

from thresher.filters.near_replica.hyperlink_map import Children, hyperlink_map


def main() -> None:
    n_links = int(float(sys.argv[1]) * 1e6) if len(sys.argv) > 1 else 10_000_000
    n_pages, iterations = max(n_links // 10, 2), 4
    rng = np.random.default_rng(1)
    sources = rng.integers(0, n_pages, n_links)
    targets = (rng.random(n_links) ** 2 * n_pages).astype(np.int64)
    before = time.process_time()
    children = Children.of(sources, targets, n_pages)
    built = time.process_time()
    hyperlink_map(children, rng.random((n_pages, 5)), gamma=0.5, iterations=iterations, mean=True)
    done = time.process_time()
    print(
        json.dumps(
            {
                "links": int(children.targets.size),
                "pages": n_pages,
                "build_cpu_s": round(built - before, 2),
                "iteration_cpu_s": round((done - built) / iterations, 3),
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            }
        )
    )


if __name__ == "__main__":
    main()
