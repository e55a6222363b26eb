"""A small crawl without a network, run as a child that may be killed: python store_child.py DIR SEED VISITS [PACE].

It visits a web that is a pure function of its URLs: page n links to pages 2n+1, 2n+2 and n // 3. Every acknowledged commit is
printed as the number of URLs that are done and known, after the store says that it is on disk. With PACE it does so
after so many visits, and then waits for a line on standard input.
"""

from __future__ import annotations

import random
import sys
from hashlib import blake2b, shake_128
from pathlib import Path

from thresher.config.settings import Settings, StoreSettings
from thresher.crawler.core.model import CrawlURL, Reason, State
from thresher.crawler.core.ports import Entry, HostRecord, Lane, SiteRecord
from thresher.storage.records import PageRecord
from thresher.storage.store import Store

N_HOSTS = 7
_MOST_AHEAD = 100  # visits while a commit is on its way: a slow disk makes no more of them
SETTINGS = Settings(store=StoreSettings(map_size=1 << 20))


def url_of(n: int) -> CrawlURL:
    site = blake2b(b"%d" % (n % N_HOSTS), digest_size=8).digest()
    text = f"https://host{n % N_HOSTS}.example/{n}"
    return CrawlURL(
        text, f"host{n % N_HOSTS}.example", f"https://host{n % N_HOSTS}.example", site + blake2b(text.encode(), digest_size=8).digest()
    )


def body_of(n: int) -> bytes:
    return shake_128(b"%d" % n).digest(1000 + n % 2000)


class Crawl:
    def __init__(self, path: Path, seed: int) -> None:
        self.store = Store.open(path, SETTINGS, 0.0) if (path / "state" / "data.mdb").exists() else Store.create(path, SETTINGS, 0.0)
        self.rng = random.Random(seed)
        self.now = self.store.clock

    def admit(self, n: int) -> int:
        url = url_of(n)
        row = self.store.tables.seen.row(url.key)
        if row is not None:
            return row.seq
        seq = self.store.tables.seen.add(url, State.QUEUED, None, self.now)
        queue = url.key[:8] * 2
        host = self.store.tables.queues.host(queue)
        if host is None:
            host = HostRecord(name=url.site, site=url.site)
            self.store.tables.queues.save_site(url.key[:8], SiteRecord(name=url.site, n_hosts=1))
        host.n_queued += 1
        self.store.tables.queues.put(queue, Entry(Lane.FRESH, 0, seq, 0, url))
        self.place(queue, host, host.due or self.now + 1.0)
        return seq

    def place(self, queue: bytes, host: HostRecord, due: float) -> None:
        if host.due != due:
            self.store.tables.queues.file(queue, host.due, due)
        host.due = due
        self.store.tables.queues.save_host(queue, host)

    def visit(self) -> bool:
        due = self.store.tables.queues.due((0.0, b""), 1e12, 1)
        if not due:
            return False
        queue = due[0][1]
        entry = self.store.tables.queues.head(queue, Lane.FRESH, 1)[0]
        self.now += 0.01
        n = int(entry.url.text.rpartition("/")[2])
        store = self.store
        store.tables.pages.put(PageRecord(url=entry.url.text, key=entry.url.key, status=200), body_of(n))
        store.tables.queues.delete(queue, entry)
        store.tables.seen.settle(entry.url.key, State.DONE)
        host = store.tables.queues.host(queue)
        assert host is not None
        host.n_queued -= 1
        self.place(queue, host, self.now + 1.0 if host.n_queued else 0.0)
        store.tables.links.put([self.admit(m) for m in (2 * n + 1, 2 * n + 2, n // 3)])
        if n % 5 == 0:
            store.tables.redirects.put(entry.url.key, url_of(n // 3).key, url_of(n // 3).text, 301, self.now)
        store.tables.memory("child").put(entry.url.key[:9], body_of(n)[:100], weight=float(n % 3))
        store.tables.skips.add(f"https://elsewhere.example/{n}", Reason.OUT_OF_SCOPE)
        store.end_visit()
        return True

    def run(self, n_visits: int, pace: int = 0) -> None:
        if not len(self.store.tables.seen):
            self.admit(0)
            self.store.end_visit()
        acknowledged: list[tuple[int, int]] = []
        future, n_ahead = None, 0
        for n in range(1, n_visits + 1):
            if not self.visit():
                break
            n_ahead += 1
            if future is not None and n_ahead > _MOST_AHEAD:
                future.result()
            if self.rng.random() < 0.15 and not self.store.committing:
                if future is not None:
                    future.result()
                    print(*acknowledged.pop(), flush=True)
                acknowledged.append((self.store.tables.seen.count(State.DONE), len(self.store.tables.seen)))
                future, n_ahead = self.store.flush(self.now), 0
            if pace and n % pace == 0:
                if future is not None:
                    future.result()
                self.store.flush(self.now).result()
                print(self.store.tables.seen.count(State.DONE), len(self.store.tables.seen), flush=True)
                sys.stdin.readline()
        self.store.close(self.now)
        print(self.store.tables.seen.count(State.DONE), len(self.store.tables.seen), flush=True)


if __name__ == "__main__":
    Crawl(Path(sys.argv[1]), int(sys.argv[2])).run(*map(int, sys.argv[3:]))
