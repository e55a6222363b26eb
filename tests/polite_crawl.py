"""A crawl of a known link graph on a simulated clock: the crawler's own frontier, orders and politeness, answers of random duration.

It does with node numbers what `crawler/settlement/admission.py` does with a page's links: depths, cash, linking sites, and a place further
ahead for a URL that is found again nearer to a seed or is worth more. So an order is judged on 60,000 pages in two seconds of CPU.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from heapq import heappop, heappush, nsmallest
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace

sys.path.append(str(Path(__file__).parent / "core"))

from fake_queues import Addresses, Queues

from thresher.config.settings import Settings
from thresher.crawler.core.frontier import Frontier, Lease
from thresher.crawler.core.host_queue import HostQueue
from thresher.crawler.core.model import CrawlURL, Fetched, Head
from thresher.crawler.core.order.base import Order
from thresher.crawler.core.order.cash import Cash
from thresher.crawler.core.places import places
from thresher.crawler.core.ports import Entry, Lane
from thresher.crawler.core.url import URLRules, URLSpace, directory_depth, is_home
from thresher.crawler.demo.demo_settings import profile
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.graph.csr import F64, I32, I64, Bools, Graph

START = 1_700_000_000.0


@dataclass(frozen=True, slots=True, eq=False)
class KnownWeb:
    """A link graph with URLs and hosts, [n_nodes], and where a crawl starts."""

    graph: Graph
    urls: list[str]
    hosts: I32
    is_farm: Bools
    seeds: I64


def demo_web(n_sites: int = 300, n_pages: int = 25, seed: int = 0) -> KnownWeb:
    """Return the link graph of the demo web's part "rank": hubs, local-link farms, sites by Zipf's law."""
    web = LabelledWeb(profile("rank", part_sites=n_sites, part_pages=n_pages, seed=seed), port=80)
    links = dict(web.graph())
    number = {url: i for i, url in enumerate(links)}
    pairs = np.array([(number[url], number[to]) for url, targets in links.items() for to in targets if to in number and to != url])
    urls = list(number)
    is_farm = np.array([web.label(url).variant == "farm" for url in urls])
    graph = Graph.from_links(pairs[:, 0], pairs[:, 1], len(urls))
    return KnownWeb(graph, urls, places(urls, "host").of, is_farm, np.array([number[url] for url in web.seeds()]))


class PlainBreadthFirst:
    """The order with which the default is compared: within a host by depth, then by discovery; hosts by the discovery of their heads."""

    name = "plain"
    cash_steps = 0
    counts_sites = False

    def rank(self, site_depth: int, worth: int) -> int:
        return site_depth

    def precedence(self, host: HostQueue) -> int:
        assert host.head is not None
        return host.head.seq


class Oracle:
    """Takes the known URL with the highest rank, as an order would that knows the truth."""

    name = "oracle"
    cash_steps = 0
    counts_sites = False

    def __init__(self, ranks: F64) -> None:
        self.worths = (ranks * 1000).astype(int).tolist()
        self.most = max(self.worths)

    def rank(self, site_depth: int, worth: int) -> int:
        return int(self.most - worth)

    def precedence(self, host: HostQueue) -> int:
        assert host.head is not None
        return host.head.rank


class _Queues(Queues):
    def head(self, queue: bytes, lane: Lane, limit: int) -> list[Entry]:
        rows = self.rows.get((queue, lane), {})
        return [rows[key] for key in nsmallest(limit, rows)]


class PoliteCrawl:
    """One crawl. order: a name of the configuration, or an order of the test's own."""

    def __init__(self, web: KnownWeb, order: str | Order, *, concurrency: int, seed: int = 0) -> None:
        self._web = web
        self._targets = [web.graph.of(node).tolist() for node in range(web.graph.n_nodes)]
        self._hosts = web.hosts.tolist()
        self._concurrency = concurrency
        self._rng = random.Random(seed)
        self._store = _Queues()
        named = order if isinstance(order, str) else "fifo"
        tree = {"frontier": {"order": named}, "limits": {"max_pages_per_host": None}}
        self._space = URLSpace(b"a secret of bytes", URLRules())
        settings = msgspec.convert(tree, Settings)
        self._now = START
        self._frontier = Frontier(self._store, Addresses(), settings, urls=self._space, rng=self._rng, started_at=START)
        if not isinstance(order, str):
            self._frontier.order = self._frontier._bench._order = order
        self._worths = order.worths if isinstance(order, Oracle) else None
        self._order = self._frontier.order
        self._cash = Cash(self._order.cash_steps or 1)
        self._entries: dict[int, Entry] = {}  # node → entry, of queued nodes
        self._worth: dict[int, int] = {}
        self._found_at: dict[int, int] = {}  # node → host of the first page that links to it
        self._nodes: list[int] = [-1]  # by sequence number
        self._linking: set[tuple[bytes, bytes]] = set()

    def run(self, n_pages: int) -> I64:
        """Fetch up to `n_pages`; return the nodes in the order of their fetches."""
        for node in self._web.seeds.tolist():
            self._push(node, 0, 0.0)
        fetched: list[int] = []
        flying: list[tuple[float, int, Lease, float]] = []
        while len(fetched) < n_pages:
            popped = self._frontier.pop(self._now) if len(flying) < self._concurrency else None
            if isinstance(popped, Lease):
                fetched.append(self._nodes[popped.entry.seq])
                elapsed_s = self._rng.uniform(0.05, 0.5)
                heappush(flying, (self._now + elapsed_s, len(fetched), popped, elapsed_s))
            elif flying and (popped is None or popped.until is None or flying[0][0] <= popped.until):
                self._now, _, lease, elapsed_s = heappop(flying)
                self._settle(lease, elapsed_s)
            elif popped is None or popped.until is None:
                break
            else:
                self._now = max(self._now, popped.until)
        return np.array(fetched, dtype=np.int64)

    def _push(self, node: int, depth: int, cash: float) -> None:
        seq = len(self._nodes)
        self._nodes.append(node)
        worth = self._worths[node] if self._worths else self._cash.level_of(1.0 + cash)
        if cash:
            self._cash.begin(seq, 1.0 + cash)
        url = self._space.url(self._web.urls[node], site_depth=depth)
        self._entries[node] = Entry(Lane.FRESH, self._order.rank(depth, worth), seq, 0, url)
        self._worth[node] = worth
        self._frontier.push(self._entries[node], self._now)

    def _settle(self, lease: Lease, elapsed_s: float) -> None:
        url, node = lease.entry.url, self._nodes[lease.entry.seq]
        self._frontier.finish(lease, Fetched(url, Head(url, 200, (), "", elapsed_s), b"", 25_000, elapsed_s), self._now, is_page=True)
        self._entries[node] = self._entries[node]._replace(attempt=1)  # fetched
        targets = self._targets[node]
        each = self._cash.gift(lease.entry.seq, self._worth[node], len(targets)) if self._order.cash_steps else 0.0
        for target in targets:
            entry = self._entries.get(target)
            if entry is None:
                self._found_at[target] = self._hosts[node]
                self._push(target, self._depth(node, url, target), each)
            elif not entry.attempt:
                self._find_again(target, entry, self._depth(node, url, target), each)
            if self._order.counts_sites and self._hosts[target] != self._hosts[node]:
                self._count(url.key[:8], self._entries[target].url.key[:8])

    def _depth(self, node: int, url: CrawlURL, target: int) -> int:
        text, of = self._web.urls[target], self._hosts[target]
        if is_home(text):
            return 0
        if of == self._hosts[node]:
            return url.site_depth + 1
        return 0 if self._found_at.get(target, of) not in (of, self._hosts[node]) else directory_depth(text)

    def _find_again(self, node: int, entry: Entry, depth: int, each: float) -> None:
        worth = self._cash.gain(entry.seq, self._worth[node], each) if each else self._worth[node]
        if worth == self._worth[node] and depth >= entry.url.site_depth:
            return
        nearer = replace(entry.url, site_depth=min(depth, entry.url.site_depth))
        rank = self._order.rank(nearer.site_depth, worth)
        if self._frontier.raise_rank(entry._replace(url=nearer), rank):
            self._entries[node] = entry._replace(rank=rank, url=nearer)
            self._worth[node] = worth

    def _count(self, source: bytes, target: bytes) -> None:
        site = self._store.site(target)
        if site is not None and (source, target) not in self._linking:
            self._linking.add((source, target))
            site.n_linking += 1
            self._store.save_site(target, site)
            self._frontier.on_link(target)
