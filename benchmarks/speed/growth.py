"""Seen set and frontier while they grow: `python -m benchmarks.speed.growth [--millions 1,10,50] [--regime NAME…] [--out DIR]`.

As in a crawl, each page is popped from the frontier, its 60 links are tested, and it is settled, on the real store. The network, the parser
and the filters are left out, and the clock is an argument. Half of a page's links are new; a tenth of these lead to another site. Of the
30 known links ten are the site's navigation, twelve lead to any pages of the site, eight to other sites, mostly to home pages. Regimes:

    few       20 large sites
    many      100,000 hosts, a site each, as the frontier orders them
    groups    a million hosts, a site each, all of them waiting from the start, 256 in memory at a time: breadth-first in groups

No known link may be taken for new, and no new link for known: each answer of the store is compared with the numbers from which the links
were drawn, and at the end the store is asked for URLs that were never written. The table has the CPU time of the thread, without the
drawing of links, for a known link (its key and its row), a new link (row, record, place in its host's queue) and a page (pop, settle,
finish), and the CPU time of the writer's thread for a new link. Each is measured over the last twentieth before a size is reached; `groups`
starts with a million URLs, and is measured over the twentieth after that. Memory is that of the process without mapped files, so that each
regime runs in a process of its own. The rows of a size are written to DIR/growth.json at once; the rows of other regimes stay there.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.peers.versions import machine
from benchmarks.support.checkout import environment
from benchmarks.support.ending import exit_with, started
from thresher.config.settings import LimitSettings, Settings
from thresher.crawler.children import python
from thresher.crawler.cli.common import folder, print_table
from thresher.crawler.core.frontier import Frontier, Lease
from thresher.crawler.core.model import CrawlURL, Fetched, Head, State
from thresher.crawler.core.ports import Entry, Lane
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.version import VERSION
from thresher.storage.store import Store

HOSTS = {"few": 20, "many": 100_000, "groups": 1_000_000}
GROUP = 256
NEW, NEW_ELSEWHERE = 30, 3
NAVIGATION, OWN, ELSEWHERE = 10, 12, 8
PAGES_OF_A_COMMIT = 256
MOST_PENDING = 4 * PAGES_OF_A_COMMIT  # most pages that wait for the writer, as in a crawl
BYTES_A_URL = 700  # on disk, about: a run begins only if there is room
MOST_GROWTH = 2.0  # of a known link's µs, from the first size to any other
BAR_SIZES = (1_000_000, 50_000_000)  # sizes that the bar compares
MOST_MIB = {"few": 2_000, "many": 2_000, "groups": 1_000}
_STEP_S = 0.002  # seconds on the crawl's clock for each page
_BODY = 25_000
_STRANGERS = 20_000


@dataclass(frozen=True, slots=True)
class Row:
    """The costs at one size."""

    regime: str
    known: int
    hosts: int
    known_us: float
    new_us: float
    page_us: float
    writer_us: float  # CPU time of the writer's thread for each new link
    anon_mib: float
    store_gib: float
    wrong_answers: int  # so far


class Addresses:
    """Gives every name an address of its own."""

    def address(self, hostname: str, now: float) -> str | None:
        n = int(hostname[1:].partition(".")[0])
        return f"127.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}"


class Growth:
    """A crawl without a network."""

    def __init__(self, store: Store, settings: Settings, n_hosts: int) -> None:
        self.store = store
        self.space = URLSpace(store.secret, url_rules(settings))
        self.frontier = Frontier(store.tables.queues, Addresses(), settings, urls=self.space, rng=random.Random(1), started_at=1.0)
        self.counts = np.zeros(n_hosts, dtype=np.int32)  # known URLs of each host
        self.n_hosts = n_hosts
        self.n_known = self.n_wrong = 0
        self.now = 1.0
        self.ns = {"known": 0, "new": 0, "page": 0}
        self.n = dict.fromkeys(self.ns, 0)
        self._rng = random.Random(2)
        self._committed = store.flush(self.now)

    def seed(self) -> None:
        """Queue the home page of every host."""
        for host in range(self.n_hosts):
            self._admit(self.space.url(text_of(host, 0)))
            self.counts[host] = 1
            if host % NEW == NEW - 1:
                self._settled()

    def page(self) -> None:
        """Crawl one page."""
        began = time.thread_time_ns()
        lease = self.frontier.pop(self.now)
        while not isinstance(lease, Lease):
            for name in self.frontier.lookups():
                self.frontier.on_resolved(name, self.now)
            assert lease.until is not None, lease.why
            self.now = max(self.now, lease.until)
            lease = self.frontier.pop(self.now)
        url = lease.entry.url
        self._spend("page", began, 1)
        host = int(url.text[8 : url.text.index(".")])
        self._test(url, self._draw_known(host))
        self._add(url, self._draw_new(host))
        began = time.thread_time_ns()
        self.store.tables.seen.settle(url.key, State.DONE)
        self.frontier.finish(lease, Fetched(url, Head(url, 200, (), "", 0.05), b"", _BODY, 0.05), self.now, is_page=True)
        self.now += _STEP_S
        self._settled()
        self._spend("page", began, 0)

    def _draw_known(self, host: int) -> list[str]:
        draw, counts = self._rng.random, self.counts
        own = int(counts[host])
        pages = {(host, n) for n in range(min(own, NAVIGATION))} | {(host, int(draw() * own)) for _ in range(OWN)}
        for _ in range(ELSEWHERE):
            other = int(draw() * self.n_hosts)
            pages.add((other, int(draw() ** 4 * counts[other])))
        return [text_of(*page) for page in pages if counts[page[0]]]

    def _draw_new(self, host: int) -> list[str]:
        texts = []
        for i in range(NEW):
            of = int(self._rng.random() * self.n_hosts) if i < NEW_ELSEWHERE else host
            texts.append(text_of(of, int(self.counts[of])))
            self.counts[of] += 1
        return texts

    def _test(self, source: CrawlURL, texts: list[str]) -> None:
        began = time.thread_time_ns()
        key = self.space.key
        rows = self.store.tables.seen.rows([key(text) for text in texts])
        self._spend("known", began, len(texts))
        self.n_wrong += rows.count(None)

    def _add(self, source: CrawlURL, texts: list[str]) -> None:
        began = time.thread_time_ns()
        key = self.space.key
        rows = self.store.tables.seen.rows([key(text) for text in texts])
        depth, distance = source.site_depth + 1, source.seed_distance + 1
        for text in texts:
            self._admit(self.space.url(text, site_depth=depth, seed_distance=distance, via=source.key))
        self._spend("new", began, len(texts))
        self.n_wrong += len(rows) - rows.count(None)

    def _admit(self, url: CrawlURL) -> None:
        """Make a URL known and queue it, as `Admission.enqueue` does."""
        if self.frontier.refuses(url) is None:
            seq = self.store.tables.seen.add(url, State.QUEUED, None, self.now)
            self.frontier.push(Entry(Lane.FRESH, self.frontier.order.rank(url.site_depth, 0), seq, 0, url), self.now)
            self.n_known += 1

    def _settled(self) -> None:
        self.store.end_visit()
        if self.store.pending_visits >= PAGES_OF_A_COMMIT and not self.store.committing:
            self._committed = self.store.flush(self.now)
        elif self.store.pending_visits >= MOST_PENDING:
            self._committed.result()

    def _spend(self, what: str, began: int, n: int) -> None:
        self.ns[what] += time.thread_time_ns() - began
        self.n[what] += n

    def strangers(self, n: int) -> int:
        """Ask for n URLs that were never written; return how many the store takes for known."""
        texts = [f"http://h{i % self.n_hosts}.example/never/{i}" for i in range(n)]
        return sum(row is not None for row in self.store.tables.seen.rows([self.space.key(text) for text in texts]))


def text_of(host: int, n: int) -> str:
    return f"http://h{host}.example/section/{n % 100}/page-{n}.html" if n else f"http://h{host}.example/"


def grow(path: Path, regime: str, sizes: Sequence[int], *, n_hosts: int | None = None) -> Iterator[Row]:
    """Grow one store to each size in turn; yield the costs at each."""
    base = Settings(limits=LimitSettings(max_pages_per_host=None))
    settings = msgspec.structs.replace(base, frontier=msgspec.structs.replace(base.frontier, workbench=GROUP if regime == "groups" else 0))
    with Store.create(path, settings, 1.0) as store:
        growth = Growth(store, settings, n_hosts or HOSTS[regime])
        growth.seed()
        for size in sorted(sizes):
            while growth.n_known < size - size // 20:
                growth.page()
            growth.ns, growth.n = dict.fromkeys(growth.ns, 0), dict.fromkeys(growth.n, 0)
            written, before = store.writer_cpu_s, growth.n_known
            while growth.n_known < max(size, before + size // 20):
                growth.page()
            yield _row(growth, regime, path, (store.writer_cpu_s - written) / max(1, growth.n_known - before) * 1e6)


def _row(growth: Growth, regime: str, path: Path, writer_us: float) -> Row:
    us = {what: growth.ns[what] / growth.n[what] / 1e3 for what in growth.ns}
    used = sum(file.stat().st_blocks * 512 for file in path.rglob("*") if file.is_file())
    n_wrong = growth.n_wrong + growth.strangers(_STRANGERS)
    hosts = int(np.count_nonzero(growth.counts))
    return Row(regime, growth.n_known, hosts, us["known"], us["new"], us["page"], writer_us, own_mib(), used / 2**30, n_wrong)


def own_mib() -> float:
    """Return the memory of this process without mapped files."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def show(rows: Sequence[Row]) -> None:
    """Print the table, each cost also as a multiple of that at the first size of its regime."""
    first: dict[str, Row] = {}
    table = []
    for row in rows:
        to = first.setdefault(row.regime, row)
        per_link = [of.known_us + of.new_us + of.writer_us for of in (row, to)]
        costs = [f"{us:.1f}" for us in (row.known_us, row.new_us, row.writer_us, row.page_us)]
        ratios = [f"{row.known_us / to.known_us:.2f}", f"{per_link[0] / per_link[1]:.2f}"]
        table.append((row.regime, f"{row.known:,}", f"{row.hosts:,}", *costs, *ratios, f"{row.anon_mib:.0f}", f"{row.store_gib:.2f}"))
    head = ("regime", "known URLs", "hosts", "µs known", "µs new", "µs writer", "µs page", "known ×", "all ×", "anon MiB", "store GiB")
    print_table(head, table)


def bars(rows: Sequence[Row]) -> list[str]:
    """Print for each regime whether a known link costs the same at all sizes, and whether memory is bounded."""
    said = []
    for regime in dict.fromkeys(row.regime for row in rows):
        of = [row for row in rows if row.regime == regime]
        most, mib = max(row.known_us for row in of) / of[0].known_us, max(row.anon_mib for row in of)
        verdict = "met" if most <= MOST_GROWTH and mib <= MOST_MIB[regime] else "not met"
        if of[0].known < BAR_SIZES[0] or of[-1].known < BAR_SIZES[1]:
            verdict = "too small to say more"
        costs = f"a known link costs at most {most:.2f} times what it did at {of[0].known:,} (bar {MOST_GROWTH:g})"
        said.append(f"{regime}, up to {of[-1].known:,} URLs: {costs}, memory {mib:.0f} MiB (bar {MOST_MIB[regime]:,}): {verdict}")
    return said


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.growth", description="Seen set and frontier while they grow.")
    parser.add_argument("--millions", default="1,10,50", help="sizes, in millions of URLs")
    parser.add_argument("--regime", choices=HOSTS, action="append", help="all without")
    parser.add_argument("--directory", type=Path, help="where the stores are made, and removed")
    parser.add_argument("--out", type=Path, help="folder for the result as JSON")
    of = parser.parse_args()
    try:
        of.sizes = sorted(int(float(size) * 1e6) for size in of.millions.split(","))
    except ValueError:
        parser.error(f"--millions: expected numbers with commas between, got {of.millions!r}")
    if of.directory is not None and not of.directory.is_dir():
        parser.error(f"--directory: expected a folder, found none at {of.directory}")
    if of.sizes[0] < 1_000:
        parser.error("--millions: expected at least 0.001")
    return of


def measured(regime: str, sizes: Sequence[int], directory: Path | None, out: Path) -> str:
    """Grow one store and write each row to `out` at once; return why it stopped early, "" if it did not."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="thresher-growth-", dir=directory) as temporary:
        free, needed = shutil.disk_usage(temporary).free, sizes[-1] * BYTES_A_URL
        if free < needed:
            return f"{needed / 1e9:.0f} GB are needed and {free / 1e9:.0f} GB are free: no result"
        for row in grow(Path(temporary) / "crawl", regime, sizes):
            if row.wrong_answers:
                return f"{row.wrong_answers} wrong answers at {row.known:,} URLs: no result of this size"
            print(json.dumps(asdict(row)), file=sys.stderr, flush=True)
            rows.append(row)
            write(out, regime, rows)
    return ""


def write(out: Path, regime: str, rows: Sequence[Row]) -> None:
    """Replace the regime's rows in `out`/growth.json."""
    out.mkdir(parents=True, exist_ok=True)
    file = out / "growth.json"
    of = json.loads(file.read_bytes()) if file.exists() else {}
    of[regime] = {"machine": machine(), "thresher": VERSION, "rows": [asdict(row) for row in rows]}
    file.write_text(json.dumps({name: of[name] for name in HOSTS if name in of}, indent=1) + "\n", "utf-8")


def read(out: Path, regime: str) -> list[Row]:
    return [Row(**row) for row in json.loads((out / "growth.json").read_bytes())[regime]["rows"]]


def _apart(regime: str, of: argparse.Namespace, out: Path) -> str:
    """Measure a regime in a process of its own; return why there is no result, "" if there is one."""
    place = [] if of.directory is None else ["--directory", str(of.directory)]
    command = python.command("benchmarks.speed.growth", "--millions", of.millions, "--regime", regime, "--out", str(out), *place)
    with started(command, stdout=subprocess.DEVNULL, env=environment()) as process:
        code = process.wait()
    return f"its process ended with exit {code}: no result" if code else ""


def main() -> int:
    of = _arguments()
    folder(of.out)
    rows: list[Row] = []
    failed = False
    with tempfile.TemporaryDirectory(prefix="thresher-growth-") as temporary:
        out = of.out or Path(temporary)
        for regime in of.regime or HOSTS:
            is_only = of.regime is not None and len(of.regime) == 1
            why = measured(regime, of.sizes, of.directory, out) if is_only else _apart(regime, of, out)
            if why:
                print(f"{regime}: {why}", file=sys.stderr)
                failed = True
            else:
                rows += read(out, regime)
    if rows:
        show(rows)
        print("no wrong answers", *bars(rows), sep="\n")
    return int(failed)


if __name__ == "__main__":
    exit_with(main)
