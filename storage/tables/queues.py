"""The host queues on disk: implements `thresher.crawler.core.ports.QueueStore`.

A queue's rows lie together in the order in which they are served: lane, rank, discovery. Hosts with waiting rows stand in `due`, by the
time of their turn. The text of a waiting URL stands once, in `urls`.

Records of hosts and sites are changed many times in a group, by each new URL and each request: they are encoded once, when it is flushed.
Recent ones stay decoded: each caller gets the same object and saves it after every change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from thresher.crawler.core.model import CrawlURL, Purpose
from thresher.crawler.core.ports import Entry, HostRecord, Lane, SiteRecord
from thresher.crawler.core.url import origin_of
from thresher.storage.packing import (
    microseconds,
    pack_due,
    pack_queue_key,
    pack_queue_value,
    pack_u64,
    unpack_due,
    unpack_queue_key,
    unpack_queue_value,
)
from thresher.storage.records import HOST, SITE, URL
from thresher.storage.rows import Rows
from thresher.storage.schema import DUE, HOSTS, QUEUE, SITES, URLS

_N_HOSTS = "hosts"
_N_DUE = "rows:due"
_MET = 10_000  # records of hosts, and of sites, that stay decoded; 5 MB

R = TypeVar("R", HostRecord, SiteRecord)


class Queues:
    """Rows of waiting URLs, records of hosts and sites, and the order of hosts in time."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._hosts: dict[bytes, HostRecord] = {}  # saved since the last flush
        self._sites: dict[bytes, SiteRecord] = {}
        self._met_hosts: dict[bytes, HostRecord] = {}  # as they are in the store
        self._met_sites: dict[bytes, SiteRecord] = {}

    def head(self, queue: bytes, lane: Lane, limit: int) -> list[Entry]:
        """Return the first `limit` rows of a lane in order."""
        rows = self._rows.scan(QUEUE, queue + bytes((lane,)), limit=limit)
        if not rows:
            return []
        host = self.host(queue)
        assert host is not None, f"queue {queue.hex()} has rows and no host"
        keys = [unpack_queue_key(key) for key, _ in rows]
        texts = self._rows.get_many(URLS, [pack_u64(key.seq) for key in keys])
        entries = []
        for key, (_, packed), text in zip(keys, rows, texts, strict=True):
            assert text is not None, f"number {key.seq} waits at {host.name} and has no URL"
            value, url = unpack_queue_value(packed), URL.decode(text)
            found = CrawlURL(
                url.text, host.site, origin_of(url.text), url.key, value.seed_distance, value.site_depth, value.hops, value.purpose, url.via
            )
            entries.append(Entry(lane, key.rank, key.seq, value.attempt, found))
        return entries

    def put(self, queue: bytes, entry: Entry) -> None:
        """Write a row; the URL's text is known by its number."""
        lane, rank, seq, attempt, url = entry
        value = pack_queue_value(attempt, url.purpose, url.hops, url.site_depth, url.seed_distance)
        self._rows.put(QUEUE, pack_queue_key(queue, lane, rank, seq), value)

    def put_links(self, queue: bytes, rows: Iterable[tuple[int, int, int]], *, seed_distance: int, hops: int) -> None:
        """Write rows of new links of a page: rank, seq and site_depth of each."""
        value_of = _Values(seed_distance, hops)
        self._rows.put_many(QUEUE, {pack_queue_key(queue, Lane.FRESH, rank, seq): value_of[depth] for rank, seq, depth in rows})

    def delete(self, queue: bytes, entry: Entry) -> None:
        self._rows.delete(QUEUE, pack_queue_key(queue, entry.lane, entry.rank, entry.seq))

    def has(self, queue: bytes, entry: Entry) -> bool:
        """Return whether the row that `entry` names by lane, rank and seq is there."""
        return self._rows.get(QUEUE, pack_queue_key(queue, entry.lane, entry.rank, entry.seq)) is not None

    def host(self, queue: bytes) -> HostRecord | None:
        record = self._hosts.get(queue) or self._met_hosts.get(queue)
        if record is not None:
            return record
        value = self._rows.get(HOSTS, queue)
        return None if value is None else _remember(self._met_hosts, queue, HOST.decode(value))

    def save_host(self, queue: bytes, record: HostRecord) -> None:
        if queue not in self._hosts and queue not in self._met_hosts and self._rows.get(HOSTS, queue) is None:
            self._rows.counters.add(_N_HOSTS)
        self._hosts[queue] = record

    def forget_host(self, queue: bytes, record: HostRecord) -> None:
        """Delete a host that another shard has now."""
        self.file(queue, record.due, 0.0)
        self._hosts.pop(queue, None)
        self._met_hosts.pop(queue, None)
        self._rows.delete(HOSTS, queue)
        self._rows.counters.add(_N_HOSTS, -1)

    def n_hosts(self) -> int:
        return self._rows.counters.get(_N_HOSTS)

    def n_due(self) -> int:
        """Return the number of rows in `due`."""
        return self._rows.counters.get(_N_DUE)

    def site(self, site: bytes) -> SiteRecord | None:
        record = self._sites.get(site) or self._met_sites.get(site)
        if record is not None:
            return record
        value = self._rows.get(SITES, site)
        return None if value is None else _remember(self._met_sites, site, SITE.decode(value))

    def save_site(self, site: bytes, record: SiteRecord) -> None:
        self._sites[site] = record

    def save(self) -> None:
        """Write the records that were saved since the last flush to the open group."""
        for queue, host in self._hosts.items():
            self._rows.put(HOSTS, queue, HOST.encode(host))
            _remember(self._met_hosts, queue, host)
        for key, site in self._sites.items():
            self._rows.put(SITES, key, SITE.encode(site))
            _remember(self._met_sites, key, site)
        self._hosts.clear()
        self._sites.clear()

    def file(self, queue: bytes, old_due: float, new_due: float) -> None:
        """Move the host's row in `due` from `old_due` (0: none) to `new_due` (0: remove)."""
        self._rows.counters.add(_N_DUE, bool(new_due) - bool(old_due))
        if old_due:
            self._rows.delete(DUE, pack_due(old_due, queue))
        if new_due:
            self._rows.put(DUE, pack_due(new_due, queue), b"")

    def due(self, after: tuple[float, bytes], until: float, limit: int) -> list[tuple[float, bytes]]:
        """Return up to `limit` rows (due, queue) with `after` < row and due ≤ `until`, in order."""
        end = pack_u64(microseconds(until)) + b"\xff" * 16
        rows = self._rows.scan(DUE, start=pack_due(*after) + b"\x00", limit=limit)
        return [unpack_due(key) for key, _ in rows if key <= end]

    def next_due(self, after: tuple[float, bytes]) -> float | None:
        """Return the time of the first row past `after`, or None."""
        rows = self._rows.scan(DUE, start=pack_due(*after) + b"\x00", limit=1)
        return unpack_due(rows[0][0])[0] if rows else None


class _Values(dict[int, bytes]):
    """Values of the rows of links that wait for the first time, by site_depth."""

    def __init__(self, seed_distance: int, hops: int) -> None:
        super().__init__()
        self._seed_distance, self._hops = seed_distance, hops

    def __missing__(self, site_depth: int) -> bytes:
        value = self[site_depth] = pack_queue_value(0, Purpose.PAGE, self._hops, site_depth, self._seed_distance)
        return value


def _remember(met: dict[bytes, R], key: bytes, record: R) -> R:
    if len(met) >= _MET:
        met.clear()
    met[key] = record
    return record
