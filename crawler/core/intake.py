"""Puts new URLs into their host queues: one at a time, or a page's links as columns.

`push_links` has the same effect as `push` of each link in turn; tests/simulations/test_core_frontier_links.py compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter

from thresher.crawler.core.host_queue import HostQueue
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import CrawlURL, Reason
from thresher.crawler.core.order.base import Order
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.core.ports import Entry, HostRecord, Lane, QueueStore, SiteRecord
from thresher.crawler.core.url import URLSpace, queue_name
from thresher.crawler.core.workbench import FAR_S, Workbench


class Intake:
    """Writes new rows into the store, and keeps those in memory that belong to the first rows of their hosts."""

    def __init__(self, store: QueueStore, bench: Workbench, order: Order, overriding: Overriding, urls: URLSpace) -> None:
        self._store = store
        self._bench = bench
        self._order = order
        self._urls = urls
        self._overriding = overriding
        self.n_known_hosts = store.n_hosts()

    def push(self, entry: Entry, now: float) -> Reason | None:
        """Queue a URL whose row in `seen` is written. Return a reason if it is refused, since its site has too many hosts."""
        queue = self._urls.queue_key(entry.url.host)
        host = self._bench.hosts.get(queue)
        if host is None:
            return self._push_waiting(queue, entry, now)
        self._add_row(queue, host.record, entry, now)
        self.insert(host, entry, now)
        return None

    def open_budget(self, queue: bytes, now: float, *, are_pages_closed: bool = False) -> None:
        """Unpark a host whose budget of pages is used up, since an entry was queued that does not count as a page.

        Args:
            queue: The host's queue, into which a row was just pushed.
            now: The time, in seconds.
            are_pages_closed: Whether only such entries are fetched now; then a host that is not parked also gets its turn.
        """
        record = self._store.host(queue) if queue not in self._bench.hosts else None
        if record is None:
            return
        if record.parked == Reason.HOST_BUDGET:
            self._bench.unpark(queue, record, now)
        elif are_pages_closed and not record.parked:
            self._bench.waiting.push_due(queue, record, now)

    def meet(self, site_of: Mapping[str, str]) -> set[str]:
        """Make queues of the hosts that have none, for links that are pushed next; return those that get none, since their site has too
        many hosts.

        Args:
            site_of: Host → its site, in the order of discovery.
        """
        refused: set[str] = set()
        for host, site in site_of.items():
            queue = self._urls.queue_key(host)
            if queue in self._bench.hosts or self._store.host(queue) is not None:
                continue
            record = self._new_host(queue, host, site)
            if record is None:
                refused.add(host)
            else:
                self._store.save_host(queue, record)
        return refused

    def push_links(self, links: LinkBatch, at: range, first: int, worth: int, now: float) -> None:
        """Queue the new links `at` of a batch; their rows in `seen` are written, and their hosts were met (`meet`).

        The result is the same as if each were pushed in its order; but rows are written queue by queue, and no object is made for a URL
        that stays in the store.

        Args:
            links: The links of the page.
            at: Positions in `links` to queue.
            first: Sequence number of the first of them; the others follow in order.
            worth: What the page is worth to the crawl's order.
            now: The time, in seconds.
        """
        rank_of = {depth: self._order.rank(depth, worth) for depth in set(links.site_depths[at.start : at.stop])}
        to_seq = first - at.start
        moved: list[tuple[int, int, HostQueue]] = []
        by_queue = self._by_queue(links, at)
        for queue, places in by_queue.items():
            first_row = self._put_links(queue, links, places, to_seq, rank_of)
            host = self._bench.hosts.get(queue)
            record = host.record if host is not None else self._store.host(queue)
            assert record is not None, f"links of a host without a record: {links.texts[at.start]}"
            self._count_rows(queue, record, len(places), now)
            if host is not None and not host.is_unmoved_by((Lane.FRESH, *first_row), now):
                moved += [(i, rank_of[links.site_depths[i]], host) for i in places]
        if len(by_queue) > 1:
            moved.sort(key=itemgetter(0))  # back to the order of the page
        is_in_order = len(by_queue) == len(rank_of) == 1
        for i, rank, host in moved:
            if not host.is_unmoved_by((Lane.FRESH, rank, i + to_seq), now):
                self.insert(host, Entry(Lane.FRESH, rank, i + to_seq, 0, links.url(i)), now)
            elif is_in_order:
                break  # those behind it move the host as little

    def _by_queue(self, links: LinkBatch, at: range) -> dict[bytes, Sequence[int]]:
        """Return {queue: the positions of its links, ascending} for the links `at` of a batch."""
        hosts = links.hosts[at.start : at.stop]
        queue_of = {host: self._urls.queue_key(host) for host in set(hosts)}
        if len(queue_of) == 1:
            return {queue_of[hosts[0]]: at}
        found: dict[bytes, list[int]] = {}
        for i, host in zip(at, hosts, strict=True):
            found.setdefault(queue_of[host], []).append(i)
        return {**found}

    def _put_links(self, queue: bytes, links: LinkBatch, places: Sequence[int], to_seq: int, rank_of: Mapping[int, int]) -> tuple[int, int]:
        """Write the rows of the links of one queue; return (rank, seq) of the first.

        Args:
            queue: The queue.
            links: The links of the page.
            places: Positions in `links`, ascending.
            to_seq: Difference between a link's number and its position.
            rank_of: Depth → rank.
        """
        distance, hops, depths = links.seed_distance, links.hops, links.site_depths
        if len(rank_of) == 1 or len({depths[i] for i in places}) == 1:
            depth, seq = depths[places[0]], places[0] + to_seq
            seqs = range(seq, seq + len(places)) if isinstance(places, range) else [i + to_seq for i in places]
            self._store.put_alike(queue, rank_of[depth], depth, seqs, seed_distance=distance, hops=hops)
            return rank_of[depth], seq
        rows = [(rank_of[depths[i]], i + to_seq, depths[i]) for i in places]
        self._store.put_links(queue, rows, seed_distance=distance, hops=hops)
        return min(rows)[:2]

    def refuses(self, url: CrawlURL) -> Reason | None:
        """Return why `push` would refuse a URL, or None."""
        queue = self._urls.queue_key(url.host)
        if queue in self._bench.hosts or self._store.host(queue) is not None:
            return None
        site = self._store.site(queue[:8])
        return Reason.SITE_HOST_LIMIT if site is not None and self._is_full(site) else None

    def _is_full(self, site: SiteRecord) -> bool:
        return site.n_hosts >= self._overriding.of_host(site.name).limits.max_hosts_per_site

    def _push_waiting(self, queue: bytes, entry: Entry, now: float) -> Reason | None:
        record = self._store.host(queue) or self.new_host(queue, entry.url)
        if record is None:
            return Reason.SITE_HOST_LIMIT
        self._add_row(queue, record, entry, now)
        return None

    def _add_row(self, queue: bytes, record: HostRecord, entry: Entry, now: float) -> None:
        self._store.put(queue, entry)
        self._count_rows(queue, record, 1, now, entry.rank / 1e6 if entry.lane is Lane.DUE else 0.0)

    def _count_rows(self, queue: bytes, record: HostRecord, n: int, now: float, at: float = 0.0) -> None:
        """Count rows that are new in the store.

        A host that waits in the store for a much later time (all its pages are visited) gets its turn earlier.

        Args:
            queue: The host's queue.
            record: The host's record.
            n: The number of rows.
            now: The time, in seconds.
            at: When the first row may be requested; 0: now.
        """
        record.n_queued += n
        ready = max(now, at, record.next_at)
        if not record.due:
            self._file(queue, record, at, now)
        elif record.due > ready + FAR_S and not record.parked and queue not in self._bench.hosts:
            self._file(queue, record, ready, now)
        else:
            self._store.save_host(queue, record)

    def _file(self, queue: bytes, record: HostRecord, at: float, now: float) -> None:
        if at > now:
            self._bench.waiting.push(queue, record, at)
        else:
            self._bench.waiting.push_due(queue, record, now)

    def count_page(self, queue: bytes, record: HostRecord) -> None:
        """Count a page of a host, and of its site; the caller saves the host's record."""
        record.n_pages += 1
        site = self._store.site(queue[:8]) or SiteRecord(name=record.site, n_hosts=1)
        site.n_pages += 1
        self._store.save_site(queue[:8], site)

    def new_host(self, queue: bytes, url: CrawlURL) -> HostRecord | None:
        """Make the record of a new host; None if its site has too many hosts."""
        return self._new_host(queue, url.host, url.site)

    def _new_host(self, queue: bytes, host: str, site_name: str) -> HostRecord | None:
        site = self._store.site(queue[:8]) or SiteRecord(name=site_name)
        if self._is_full(site):
            return None
        site.n_hosts += 1
        self._store.save_site(queue[:8], site)
        self.n_known_hosts += 1
        return HostRecord(name=queue_name(host), site=site_name)

    def insert(self, host: HostQueue, entry: Entry, now: float) -> None:
        """Put a new row in its place among those in memory; if it is first, move its host on the workbench."""
        host.insert(entry, self._bench.heads)
        if host.leased is not None:
            return
        head = host.head
        if head is None or entry[:3] <= head[:3] or head.can_wait or (head.lane is Lane.RETRY and head.rank > now * 1e6):
            self._bench.place(host, now)
