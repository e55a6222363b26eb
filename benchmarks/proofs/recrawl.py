"""A site is crawled, changes, and is crawled again: are all changes found, and what do they cost?

    python -m benchmarks.proofs.recrawl [--pages 5000] [--hosts 50] [--kills 3] [--agents 1]

The hosts are on loopback; their pages have true ETags. After the first crawl one page in a hundred changes, and another one in a hundred
gets a new ETag although only the clock at its foot differs. Two further rounds follow: one undisturbed, and one in which agent and
supervisor are killed again and again. The server's log must show one request for each page (besides the audits of 304s), few bytes compared
with the first crawl, never two requests at once at a host, and the delay between them. `thresher changes` must list exactly the planted
changes. Exits with 1 otherwise. A minute for 5,000 pages, ten for 50,000.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

_TESTS = Path(__file__).parents[2] / "tests"
sys.path[:0] = [str(_TESTS)]

from harness import AGENT, CONTACT, Life, crawl, resume, wait_until, write_config  # found where the suite finds it

from benchmarks.support.loop_server import serving
from thresher.crawler.children import python
from thresher.storage.shards import ShardsView, open_view
from thresher.storage.verify import verify

MIN_DELAY_S = 0.05
LEAST_SPARED = 0.9
CHANGED_SHARE = 0.01
AUDITED_SHARE = 0.02
CANARY_SHARE = 0.01  # of a first crawl's requests (filters.canary.share)
LINKS = 8
WORDS = 500
_LOST_TO_A_KILL = 600  # requests in flight and two groups of commits: DESIGN 5


@dataclass(slots=True)
class Asked:
    """One request as the server saw it."""

    place: str  # host and path
    start: float
    end: float
    status: int
    n_bytes: int


@dataclass
class Site:
    """Serves `n_pages` pages of `n_hosts` hosts; a page is a pure function of its number and its version."""

    n_pages: int
    n_hosts: int
    versions: Counter[int] = field(default_factory=Counter)
    clocks: Counter[int] = field(default_factory=Counter)
    log: list[Asked] = field(default_factory=list)
    port: int = 0

    def host(self, page: int) -> str:
        return f"h{page % self.n_hosts}.test"

    def url(self, page: int) -> str:
        return f"http://{self.host(page)}:{self.port}/{page if page >= self.n_hosts else ''}"

    def body(self, page: int) -> bytes:
        """Return a page: its own words, links to the pages below it in a tree, and a clock at its end."""
        rng = random.Random(page * 1_000_003 + self.versions[page])
        words = " ".join(f"w{rng.randrange(20_000)}" for _ in range(WORDS))
        below = range(page * LINKS + 1, min(self.n_pages, page * LINKS + LINKS + 1))
        links = "".join(f'<a href="{self.url(target)}">{target}</a>' for target in below)
        clock = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
        return f"<!doctype html><title>{page}</title><p>{words}</p>{links}<p>{clock}</p>".encode()

    def answer(self, host: str, path: str, tag: str) -> tuple[int, bytes]:
        if path == "/robots.txt":
            return 404, b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"
        page = int(path[1:] or host[1:].partition(".")[0])
        own = blake2b(f"{page} {self.versions[page]} {self.clocks[page]}".encode(), digest_size=8).hexdigest()
        if tag == f'"{own}"':
            return 304, f'HTTP/1.1 304 X\r\nETag: "{own}"\r\n\r\n'.encode()
        body = self.body(page)
        head = f'HTTP/1.1 200 X\r\nContent-Type: text/html\r\nETag: "{own}"\r\nContent-Length: {len(body)}\r\n\r\n'
        return 200, head.encode() + body

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        try:
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                start = time.monotonic()
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
                host, path = headers["host"].partition(":")[0], lines[0].split(" ")[1]
                status, answer = self.answer(host, path, headers.get("if-none-match", ""))
                self.log.append(Asked(host + path, start, time.monotonic(), status, len(answer)))
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve in a thread of this process."""
        with serving(self.talk) as self.port:
            yield

    def change(self, rng: random.Random) -> set[str]:
        """Change one page in a hundred, and let as many others get a new ETag; return the URLs of the changed pages."""
        n = max(1, round(self.n_pages * CHANGED_SHARE))
        chosen = rng.sample(range(self.n_pages), 2 * n)
        for page in chosen[:n]:
            self.versions[page] += 1
        for page in chosen[n:]:
            self.clocks[page] += 1
        return {self.url(page) for page in chosen[:n]}


@dataclass
class Round:
    """What the server saw of one round."""

    asked: list[Asked]
    cpu_s: float = 0.0

    @property
    def pages(self) -> list[Asked]:
        return [asked for asked in self.asked if not asked.place.endswith("/robots.txt")]

    @property
    def n_bytes(self) -> int:
        return sum(asked.n_bytes for asked in self.asked)

    def shortest_gap_s(self) -> float:
        """Return the shortest time between an answer and the next request at a host; below 0 if there were two at once."""
        by_host: dict[str, list[Asked]] = defaultdict(list)
        for asked in self.asked:
            by_host[asked.place.partition("/")[0]].append(asked)
        return min(after.start - before.end for made in by_host.values() for before, after in pairwise(made))


def changed_by(store: Path, number: int) -> dict[str, str]:
    """Return what `thresher changes` says of a round: URL → kind."""
    command = [*python.command("thresher"), "changes", str(store), "--since", str(number)]
    rows = subprocess.run(command, check=True, capture_output=True, cwd=_TESTS.parent).stdout.splitlines()
    return {row["url"]: row["kind"] for row in map(msgspec.json.decode, rows)}


def n_audited(store: Path) -> int:
    """Return how many answers 304 the crawl has checked, by its own count."""
    with open_view(store) as view:
        shards = view.shards if isinstance(view, ShardsView) else [view]
        return sum(watch.n_audited for shard in shards for _, watch in shard.tables.rounds.watches())


def prove(directory: Path, *, n_pages: int, n_hosts: int, n_kills: int, n_agents: int = 1, seed: int = 1) -> list[str]:
    """Crawl three rounds, print the figures of each, and return what is wrong."""
    site, rng, store = Site(n_pages, n_hosts), random.Random(seed), directory / "store"
    faults: list[str] = []
    with site.serving():
        config = write_config(directory, _options(site, n_agents), [site.url(page) for page in range(n_hosts)])
        with crawl(store, config) as life:
            assert life.end(3600) == 0, life.said
        first = _taken(site, 1)
        is_all = len({asked.place for asked in first.pages}) == n_pages <= len(first.pages) <= (1 + CANARY_SHARE) * n_pages
        faults += [] if is_all else [f"round 1: {len(first.pages)} requests for {n_pages} pages and a canary in {1 / CANARY_SHARE:.0f}"]
        planted = site.change(rng)
        with recrawl(store) as life:
            assert life.end(3600) == 0, life.said
        peaceful = _taken(site, 2)
        faults += judge(store, 2, peaceful, first, planted, n_pages, n_audits=n_audited(store))
        audits_before = n_audited(store)
        planted = site.change(rng)
        _round_with_kills(site, store, n_kills, rng)
        killed = _taken(site, 3)
        lost = n_kills * _LOST_TO_A_KILL * n_agents
        faults += judge(store, 3, killed, first, planted, n_pages, n_audits=n_audited(store) - audits_before, n_lost=lost)
    return faults + verify(store)


def _taken(site: Site, number: int) -> Round:
    """Return the requests since the last call, and print their figures."""
    found = Round(list(site.log))
    site.log.clear()
    statuses = Counter(asked.status for asked in found.pages)
    print(
        f"round {number}: {len(found.pages):,} requests for {len({asked.place for asked in found.pages}):,} pages, "
        f"{dict(sorted(statuses.items()))}, {found.n_bytes:,} bytes, shortest gap {found.shortest_gap_s() * 1e3:.1f} ms",
        flush=True,
    )
    return found


def judge(
    store: Path, number: int, found: Round, first: Round, planted: set[str], n_pages: int, *, n_audits: int, n_lost: int = 0
) -> list[str]:
    """Return what is wrong with a round.    n_lost: requests that kills may have repeated"""
    faults: list[str] = []
    told = changed_by(store, number)
    counts = Counter(asked.place for asked in found.pages)
    over = len(found.pages) - n_pages - n_audits
    if len(counts) != n_pages:
        faults.append(f"{len(counts)} of {n_pages} pages were asked")
    if not 0 <= over <= n_lost:
        faults.append(f"{len(found.pages)} requests for {n_pages} pages and {n_audits} audits, and kills may have cost {n_lost}")
    if abs(n_audits - AUDITED_SHARE * n_pages) > 7 * math.sqrt(AUDITED_SHARE * n_pages):  # 7 sigma: by chance once in ten million
        faults.append(f"{n_audits} audits of {n_pages} pages, expected about {AUDITED_SHARE * n_pages:g}")
    if told != dict.fromkeys(planted, "changed"):
        missed, wrong = planted - told.keys(), told.keys() - planted
        faults.append(f"changes: {len(missed)} missed, {len(wrong)} invented of {len(planted)}: {sorted(missed)[:3]} {sorted(wrong)[:3]}")
    spared = 1 - found.n_bytes / first.n_bytes
    for_audits = n_audits / len(first.pages)  # an audit fetches a page whole; how many are drawn is judged above
    if not n_lost and spared + for_audits < LEAST_SPARED:
        faults.append(f"{spared:.1%} of the bytes spared, {for_audits:.1%} spent on audits, expected {LEAST_SPARED:.0%} in all")
    if found.shortest_gap_s() < MIN_DELAY_S:
        faults.append(f"a gap of {found.shortest_gap_s() * 1e3:.1f} ms, expected {MIN_DELAY_S * 1e3:.0f}")
    print(
        f"  {len(planted)} changes planted, {len(told)} told; {over} requests too many; {spared:.1%} of the bytes spared; {n_audits} audits"
    )
    return [f"round {number}: {fault}" for fault in faults]


def recrawl(store: Path) -> Life:
    """Begin a further round."""
    return Life(store, "recrawl", store, "--progress", "none")


def _wait_for(site: Site, n_requests: int, life: Life) -> None:
    """Wait until the site has had this number of requests, or the life is over."""
    wait_until(lambda: len(site.log) >= n_requests or not life.running, 3600)


def _round_with_kills(site: Site, store: Path, n_kills: int, rng: random.Random) -> None:
    """Run a round under kills: of its agent, and every second time of its supervisor too."""
    make = recrawl
    marks = sorted(rng.randint(site.n_pages // 20, site.n_pages * 9 // 10) for _ in range(n_kills))
    for n, mark in enumerate(marks):
        with make(store) as life:
            _wait_for(site, mark, life)
            if n % 2:
                life.signal(signal.SIGKILL)
            else:
                life.signal_agent(signal.SIGKILL)
                _wait_for(site, mark + site.n_pages // 50, life)
                life.signal(signal.SIGKILL)
        make = resume
    with make(store) as life:
        assert life.end(3600) == 0, life.said


def _options(site: Site, n_agents: int) -> dict[str, Any]:
    return {
        "agents": n_agents,
        "identity": {"agent": AGENT, "contact": CONTACT},
        "scope": {"type": "any"},
        "limits": {"min_free_disk": 0, "max_wait": 5, "max_pages_per_host": None},
        "politeness": {"min_delay": MIN_DELAY_S, "delay_factor": 0, "jitter": 0, "address_delay": 0, "address_connections": 100},
        "filters": {"soft_error": {"mode": "off"}, "pattern_yield": {"mode": "observe"}, "path_trap": {"mode": "off"}},
        "fetch": {"allow_addresses": ["127.0.0.0/8"], "allow_ports": [site.port], "concurrency": 64},
        "dns": {"static": {".test": "127.0.0.1"}},
        "sitemaps": "off",
    }


def main() -> None:
    """Run the proof; exit 0 only if nothing is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proofs.recrawl", description="Crawl a site, change it, and crawl it again.")
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--kills", type=int, default=3, help="of the last round")
    parser.add_argument("--agents", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="recrawl-") as name:
        faults = prove(Path(name), n_pages=chosen.pages, n_hosts=chosen.hosts, n_kills=chosen.kills, n_agents=chosen.agents)
    print("\n".join(faults) or "all as it should be")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
