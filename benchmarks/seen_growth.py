"""The seen set while it grows: `python -m benchmarks.seen_growth [MILLIONS]`, of URLs, 10 without.

Page after page has its links tested: a third are new and are written, half were found lately, the others at any time, the more often the
older they are. Nothing may be taken for new that is known, or the other way round; that is held against the numbers that the links were
drawn from, link by link. Printed at each tenth: tests a CPU second, the writer's time among it; memory of the process's own, which the
mapped file is no part of. At the end URLs that were never written are asked for: none may be known.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from config.settings import Settings
from crawler.core.model import CrawlURL, State
from crawler.core.url import URLSpace
from crawler.graph.csr import I64
from crawler.seeds import url_rules
from storage.env import Store

LINKS = 60  # of a page
NEW = 20
LATELY = 20_000  # URLs
PAGES_OF_A_GROUP = 256
MOST_PENDING = 4_096
_TENTHS = 10


class Growth:
    """A crawl's seen set, and what became of the tests."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.space = URLSpace(store.secret, url_rules(Settings()))
        self.n_known = self.n_tests = self.n_wrong = 0

    def page(self, known: I64) -> None:
        """Test a page's links, the known and then as many new ones, and write the new."""
        numbers = [*known.tolist(), *range(self.n_known, self.n_known + NEW)]
        texts = [text_of(n) for n in numbers]
        rows = self.store.seen.rows([self.space.key(text) for text in texts])
        self.n_tests += len(rows)
        for n, text, row in zip(numbers, texts, rows, strict=True):
            is_known = n < self.n_known
            self.n_wrong += (row is not None) != is_known or (row is not None and row.seq != n + 1)
            if not is_known:
                self.store.seen.add(self._url(text), State.QUEUED, None, 1.0)
        self.n_known += NEW
        self.store.end_visit()

    def strangers(self, n: int) -> int:
        """Return how many of n URLs that were never written are known."""
        texts = [f"http://h{i % 1000}.example/never/{i}" for i in range(n)]
        return sum(row is not None for row in self.store.seen.rows([self.space.key(text) for text in texts]))

    def _url(self, text: str) -> CrawlURL:
        return self.space.url(text, site_depth=1, seed_distance=1)


def text_of(n: int) -> str:
    return f"http://h{n // 500}.example/section/{n % 500}/page-{n}.html"


def pages(growth: Growth, n_urls: int) -> Iterator[I64]:
    """Draw the known links of page after page, until so many URLs are known."""
    rng = np.random.default_rng(1)
    while growth.n_known < n_urls:
        known = growth.n_known
        late = rng.integers(max(0, known - LATELY), known, LINKS // 2) if known else np.zeros(0, dtype=np.int64)
        old = (rng.random(LINKS - NEW - LINKS // 2) ** 3 * known).astype(np.int64) if known else np.zeros(0, dtype=np.int64)
        yield np.unique(np.concatenate((late, old)))


def grow(path: Path, n_urls: int) -> tuple[int, int]:
    """Fill a seen set and print what it costs; return how many answers were wrong and how many strangers were known."""
    with Store.create(path, Settings(), 1.0) as store:
        growth = Growth(store)
        began, tested, next_at = time.process_time(), 0, n_urls // _TENTHS
        committed = store.flush(1.0)
        for known in pages(growth, n_urls):
            growth.page(known)
            if store.pending_visits >= PAGES_OF_A_GROUP and not store.committing:
                committed = store.flush(1.0)
            elif store.pending_visits >= MOST_PENDING:
                committed.result()
            if growth.n_known >= next_at:
                used = time.process_time() - began
                print(f"{growth.n_known:12,} URLs {(growth.n_tests - tested) / used:12,.0f} tests/CPU s {own_mib():8,.0f} MiB", flush=True)
                began, tested, next_at = time.process_time(), growth.n_tests, next_at + n_urls // _TENTHS
        return growth.n_wrong, growth.strangers(100_000)


def own_mib() -> float:
    """Return the memory of this process without mapped files."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def main() -> int:
    n_urls = int(float(sys.argv[1] if len(sys.argv) > 1 else "10") * 1e6)
    with tempfile.TemporaryDirectory(prefix="thresher-seen-") as temporary:
        n_wrong, n_strangers = grow(Path(temporary) / "crawl", n_urls)
    print(f"{n_wrong} wrong answers, {n_strangers} of 100,000 strangers known")
    return int(n_wrong + n_strangers > 0)


if __name__ == "__main__":
    sys.exit(main())
