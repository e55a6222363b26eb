"""A QueueStore in memory, and an address book: the frontier's tests use them in place of LMDB and DNS.

It behaves as the store does: only rows survive. It returns copies of records, has the store's order of rows, keeps times to the
microsecond, and raises an error where the store could not do something. `Queues.reborn()` is the state after a crash: everything written is
there, nothing else.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from thresher.crawler.core.model import CrawlURL
from thresher.crawler.core.ports import Entry, HostRecord, Lane, SiteRecord


class Queues:
    """The host queues of one crawl."""

    def __init__(self) -> None:
        self.rows: dict[tuple[bytes, Lane], dict[tuple[int, int], Entry]] = {}
        self.records: dict[bytes, bytes] = {}
        self.sites: dict[bytes, bytes] = {}
        self.due_rows: list[tuple[float, bytes]] = []
        self.urls: dict[int, CrawlURL] = {}  # seq → URL, for `put_links`
        self.n_reads = 0

    def reborn(self) -> Queues:
        """Return a copy that shares nothing."""
        other = Queues()
        other.urls = dict(self.urls)
        other.rows = {key: dict(rows) for key, rows in self.rows.items()}
        other.records, other.sites, other.due_rows = dict(self.records), dict(self.sites), list(self.due_rows)
        return other

    def head(self, queue: bytes, lane: Lane, limit: int) -> list[Entry]:
        self.n_reads += 1
        rows = self.rows.get((queue, lane))
        return [rows[key] for key in sorted(rows)[:limit]] if rows else []

    def heads(self, queue: bytes, limit: int) -> list[Entry]:
        return [entry for lane in Lane for entry in self.head(queue, lane, limit)]

    def put(self, queue: bytes, entry: Entry) -> None:
        rows = self.rows.setdefault((queue, entry.lane), {})
        assert (entry.rank, entry.seq) not in rows, "a row is written twice"
        assert entry.seq > 0
        rows[entry.rank, entry.seq] = entry

    def put_links(self, queue: bytes, rows: Sequence[tuple[int, int, int]], *, seed_distance: int, hops: int) -> None:
        for rank, seq, depth in rows:
            url = replace(self.urls[seq], seed_distance=seed_distance, site_depth=depth, hops=hops)
            self.put(queue, Entry(Lane.FRESH, rank, seq, 0, url))

    def put_alike(self, queue: bytes, rank: int, site_depth: int, seqs: Sequence[int], *, seed_distance: int, hops: int) -> None:
        self.put_links(queue, [(rank, seq, site_depth) for seq in seqs], seed_distance=seed_distance, hops=hops)

    def delete(self, queue: bytes, entry: Entry) -> None:
        del self.rows[queue, entry.lane][entry.rank, entry.seq]

    def has(self, queue: bytes, entry: Entry) -> bool:
        return (entry.rank, entry.seq) in self.rows.get((queue, entry.lane), ())

    def host(self, queue: bytes) -> HostRecord | None:
        data = self.records.get(queue)
        return None if data is None else msgspec.msgpack.decode(data, type=HostRecord)

    def save_host(self, queue: bytes, record: HostRecord) -> None:
        self.records[queue] = msgspec.msgpack.encode(record)

    def n_hosts(self) -> int:
        return len(self.records)

    def n_due(self) -> int:
        return len(self.due_rows)

    def site(self, site: bytes) -> SiteRecord | None:
        data = self.sites.get(site)
        return None if data is None else msgspec.msgpack.decode(data, type=SiteRecord)

    def save_site(self, site: bytes, record: SiteRecord) -> None:
        self.sites[site] = msgspec.msgpack.encode(record)

    def file(self, queue: bytes, old_due: float, new_due: float) -> None:
        if old_due:
            self.due_rows.remove((_micro(old_due), queue))
        if new_due:
            insort(self.due_rows, (_micro(new_due), queue))

    def due(self, after: tuple[float, bytes], until: float, limit: int) -> list[tuple[float, bytes]]:
        self.n_reads += 1
        start = bisect_right(self.due_rows, after)
        return [row for row in self.due_rows[start : start + limit] if row[0] <= until]

    def next_due(self, after: tuple[float, bytes]) -> float | None:
        start = bisect_right(self.due_rows, after)
        return self.due_rows[start][0] if start < len(self.due_rows) else None

    def queued(self) -> list[Entry]:
        """Return every row."""
        return [entry for rows in self.rows.values() for entry in rows.values()]

    def check(self) -> None:
        """Compare counts with rows; every host with rows has one place in `due`."""
        n_rows: dict[bytes, int] = {}
        for (queue, _), rows in self.rows.items():
            n_rows[queue] = n_rows.get(queue, 0) + len(rows)
        due = {queue: at for at, queue in self.due_rows}
        assert len(due) == len(self.due_rows), "a host has two rows in due"
        for queue in self.records:
            record = self.host(queue)
            assert record is not None
            assert record.n_queued == n_rows.get(queue, 0), record.name
            assert (record.due > 0) == (queue in due), record.name
            assert not record.due or _micro(record.due) == due[queue], record.name
            assert not record.n_queued or record.due, record.name


def _micro(at: float) -> float:
    return round(at * 1e6) / 1e6


class Addresses:
    """An address book that knows every name but those in `unknown`; names without an entry have an address of their own."""

    def __init__(self, known: dict[str, str] | None = None, unknown: set[str] | None = None) -> None:
        self.known = known or {}
        self.unknown = unknown or set()

    def address(self, hostname: str, now: float) -> str | None:
        return None if hostname in self.unknown else self.known.get(hostname, f"address of {hostname}")
