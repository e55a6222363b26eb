"""The host queues on disk: implements `thresher.crawler.core.ports.QueueStore`.

A queue's rows are adjacent, in the order in which they are served: lane, rank, discovery. Hosts with waiting rows are in `due`, sorted by
the time of their turn. The text of a waiting URL is stored once, in `urls`.

New links of a page that wait in one queue at one rank are one row of the lane FRESH; its key has a number that is not above that of its
first. Rows of a rank do not overlap: a URL that is moved there goes into the row around its number, if there is one. One that is fetched,
moved or withdrawn leaves its row.

Records of hosts and sites are changed many times in a group, by each new URL and each request: they are encoded once, when it is flushed.
Recently used records stay decoded: each caller gets the same object, and saves it after every change. Tables that were empty when they were
opened know which hosts and sites are certainly new (bloom.py), and read nothing for them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from thresher.crawler.core.model import CrawlURL, Purpose
from thresher.crawler.core.ports import Entry, HostRecord, Lane, SiteRecord
from thresher.crawler.core.url import origin_of
from thresher.storage.packing import (
    PURPOSES,
    WAITING_BYTES,
    PackedUrl,
    QueueKey,
    microseconds,
    pack_due,
    pack_queue_key,
    pack_u64,
    pack_waiting,
    unpack_due,
    unpack_queue_key,
    unpack_waiting,
)
from thresher.storage.records import HOST, SITE
from thresher.storage.rows import Rows
from thresher.storage.schema import DUE, HOSTS, QUEUE, SITES
from thresher.storage.tables.bloom import BloomFilter
from thresher.storage.tables.urls import Urls

_N_HOSTS = "hosts"
_N_DUE = "rows:due"
_RANK_ENDS = 25  # bytes of a key that all rows of one queue, lane and rank share
_PAST = 4  # bytes of a number relative to the key's
_RUN = 1_024  # links with consecutive numbers that are packed at once
_PASTS = tuple(past.to_bytes(_PAST, "big") for past in range(_RUN))
_FIRST_ROWS = 4  # rows that are read at first: most have many URLs
_MORE_ROWS = 64
_MET = 10_000  # records of hosts, and of sites, that stay decoded; 5 MB
_LATELY = 4_096  # queues whose row is remembered; 3 MB
_SHORT = 1 << 10  # most bytes of such a row: some 85 URLs

_LANES = tuple(Lane)

R = TypeVar("R", HostRecord, SiteRecord)


class Queues:
    """Rows of waiting URLs, records of hosts and sites, and the order of hosts in time."""

    def __init__(self, rows: Rows, urls: Urls, *, writes: bool = False) -> None:
        """Create the tables.

        Args:
            writes: Whether all records of hosts, and those of sites that are read here, are written by this object.
        """
        self._rows = rows
        self._urls = urls
        is_empty = writes and not (rows.scan(HOSTS, limit=1) or rows.scan(SITES, limit=1))
        self._known = BloomFilter() if is_empty else None  # keys of records
        self._hosts: dict[bytes, HostRecord] = {}  # records saved since the last flush
        self._sites: dict[bytes, SiteRecord] = {}
        self._met_hosts: dict[bytes, HostRecord] = {}  # decoded records as they are in the store
        self._met_sites: dict[bytes, SiteRecord] = {}
        self._lately: dict[bytes, tuple[bytes, bytes]] = {}  # queue → the row from which a URL was taken last, as it is now

    def head(self, queue: bytes, lane: Lane, limit: int) -> list[Entry]:
        """Return the first `limit` URLs of a lane in order."""
        return self._entries(queue, [*islice(self.waiting(queue + bytes((lane,))), limit)])

    def heads(self, queue: bytes, limit: int) -> list[Entry]:
        """Return the first `limit` URLs of each lane in order, lane by lane. Most queues have few rows and are read at once."""
        waiting: list[tuple[QueueKey, PackedUrl]] = []
        first = 0
        while first < len(_LANES):
            rows = self._rows.scan(QUEUE, queue, queue + bytes((first,)), _FIRST_ROWS)
            by_lane: dict[int, list[tuple[QueueKey, PackedUrl]]] = {}
            for one in self._unpacked(rows):
                by_lane.setdefault(one[0].lane, []).append(one)
            if len(rows) == _FIRST_ROWS and len(by_lane[last := max(by_lane)]) < limit:  # there may be more of the last lane
                by_lane[last] = [*islice(self.waiting(queue + bytes((last,))), limit)]
            for of_lane in by_lane.values():
                waiting += of_lane[:limit]
            if len(rows) < _FIRST_ROWS:
                break
            first = max(by_lane) + 1
        return self._entries(queue, waiting)

    def _entries(self, queue: bytes, waiting: list[tuple[QueueKey, PackedUrl]]) -> list[Entry]:
        """Return waiting URLs of a queue with their texts."""
        if not waiting:
            return []
        host = self.host(queue)
        assert host is not None, f"queue {queue.hex()} has rows and no host"
        entries = []
        for (at, value), url in zip(waiting, self._urls.get_many([at.seq for at, _ in waiting]), strict=True):
            assert url is not None, f"number {at.seq} waits at {host.name} and has no URL"
            place = value.seed_distance, value.site_depth, value.hops
            found = CrawlURL(url.text, host.site, origin_of(url.text), url.key, *place, PURPOSES[value.purpose], url.via)
            entries.append(Entry(_LANES[at.lane], at.rank, at.seq, value.attempt, found))
        return entries

    def waiting(self, prefix: bytes, start: bytes = b"") -> Iterator[tuple[QueueKey, PackedUrl]]:
        """Yield the place and the value of each URL that waits, in order, of keys that begin with `prefix` and are not below `start`."""
        n = _FIRST_ROWS
        while rows := self._rows.scan(QUEUE, prefix, start, n):
            yield from self._unpacked(rows)
            if len(rows) < n:
                return
            start, n = rows[-1][0] + b"\0", _MORE_ROWS

    def _unpacked(self, rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[QueueKey, PackedUrl]]:
        """Yield the place and the value of each URL of some rows, in order."""
        for key, values in rows:
            row = unpack_queue_key(key)
            for waiting in unpack_waiting(values):
                yield row._replace(seq=row.seq + waiting.past * self._rows.stride), waiting

    def put(self, queue: bytes, entry: Entry) -> None:
        """Queue a URL; its text is stored under its number."""
        lane, rank, seq, attempt, url = entry
        place = QueueKey(queue, lane, rank, seq)
        self.put_waiting(place, PackedUrl(0, attempt, url.purpose, url.hops, url.site_depth, url.seed_distance))

    def put_waiting(self, place: QueueKey, waiting: PackedUrl) -> None:
        """Queue a URL by its number: in the row with numbers on both sides of it, else in a new row. The newest number is in none."""
        key, value = pack_queue_key(*place), pack_waiting(0, *waiting[1:])
        is_newest = place.seq + 1 == self._rows.take_seq(0)
        row = self._row(key) if place.lane == Lane.FRESH and not is_newest else None
        if row is not None:
            first, values = row
            past = place.seq - unpack_queue_key(first).seq
            at = _place(values, past)
            if at < len(values):
                behind = at + WAITING_BYTES if _past(values, at) == past else at
                key, value = first, values[:at] + pack_waiting(past, *waiting[1:]) + values[behind:]
                self._lately.pop(place.queue, None)
        self._rows.put(QUEUE, key, value)

    def put_links(self, queue: bytes, rows: Sequence[tuple[int, int, int]], *, seed_distance: int, hops: int) -> None:
        """Queue new links of a page: rank, number and site_depth of each, by ascending numbers. Links of one rank are one row."""
        values: dict[int, tuple[int, list[bytes]]] = {}
        at_depth: dict[int, bytes] = {}
        for rank, seq, depth in rows:
            first, row = values.setdefault(rank, (seq, []))
            if depth not in at_depth:
                at_depth[depth] = pack_waiting(0, 0, Purpose.PAGE, hops, depth, seed_distance)[_PAST:]
            row += ((seq - first).to_bytes(_PAST, "big"), at_depth[depth])
        for rank, (first, row) in values.items():
            self._rows.put(QUEUE, pack_queue_key(queue, Lane.FRESH, rank, first), b"".join(row))

    def put_alike(self, queue: bytes, rank: int, site_depth: int, seqs: Sequence[int], *, seed_distance: int, hops: int) -> None:
        """Queue new links of a page of one rank and one depth, by their ascending numbers: as `put_links`, in a fifth of its time."""
        first, n = seqs[0], len(seqs)
        value = pack_waiting(0, 0, Purpose.PAGE, hops, site_depth, seed_distance)
        if n > 1:
            is_run = seqs[-1] - first == n - 1 and n <= _RUN
            pasts = _PASTS[:n] if is_run else [(seq - first).to_bytes(_PAST, "big") for seq in seqs]
            value = (rest := value[_PAST:]).join(pasts) + rest
        self._rows.put(QUEUE, pack_queue_key(queue, Lane.FRESH, rank, first), value)

    def delete(self, queue: bytes, entry: Entry) -> None:
        """Remove a URL from its queue."""
        self.take(QueueKey(queue, entry.lane, entry.rank, entry.seq))

    def take(self, place: QueueKey) -> None:
        """Delete a URL from its row, and the row with its last."""
        if place.lane != Lane.FRESH:
            self._rows.delete(QUEUE, pack_queue_key(*place))
        elif (found := self._find(place)) is not None:
            first, values, at = found
            if rest := values[:at] + values[at + WAITING_BYTES :]:
                self._rows.put(QUEUE, first, rest)
                self._remember_row(place.queue, first, rest)
            else:
                self._rows.delete(QUEUE, first)
                self._lately.pop(place.queue, None)

    def has(self, queue: bytes, entry: Entry) -> bool:
        """Return whether the URL that `entry` names by lane, rank and seq waits there."""
        place = QueueKey(queue, entry.lane, entry.rank, entry.seq)
        if entry.lane is not Lane.FRESH:
            return self._rows.get(QUEUE, pack_queue_key(*place)) is not None
        return self._find(place) is not None

    def _find(self, place: QueueKey) -> tuple[bytes, bytes, int] | None:
        """Return the row of the lane FRESH in which a URL waits, its key and value, and where in it; None if it is in none.

        A host's URLs are mostly taken from one row after the other, and from its first on. So the last row is looked at first (a URL is in
        one row only), then the row whose first URL was this one: to read it takes a third of the time of a search.
        """
        key = pack_queue_key(*place)
        row = self._lately.get(place.queue)
        if row is not None and row[0][:_RANK_ENDS] == key[:_RANK_ENDS] and (at := _at(row, place.seq)) is not None:
            return (*row, at)
        values = self._rows.get(QUEUE, key)
        row = self._row(key) if values is None else (key, values)
        at = _at(row, place.seq) if row is not None else None
        return None if row is None or at is None else (*row, at)

    def _remember_row(self, queue: bytes, first: bytes, values: bytes) -> None:
        if len(values) > _SHORT:
            self._lately.pop(queue, None)
            return
        if len(self._lately) >= _LATELY:
            self._lately.clear()
        self._lately[queue] = first, values

    def _row(self, key: bytes) -> tuple[bytes, bytes] | None:
        """Return the row of the lane FRESH in which a URL waits if it is in any, the last of its rank that does not begin after it; None
        if there is none.
        """
        return self._rows.floor(QUEUE, key, _RANK_ENDS)

    def host(self, queue: bytes) -> HostRecord | None:
        record = self._hosts.get(queue) or self._met_hosts.get(queue)
        if record is not None:
            return record
        value = self._rows.get(HOSTS, queue) if self._may_have(queue) else None
        return None if value is None else _remember(self._met_hosts, queue, HOST.decode(value))

    def save_host(self, queue: bytes, record: HostRecord) -> None:
        if queue not in self._hosts and queue not in self._met_hosts:
            if not self._may_have(queue) or self._rows.get(HOSTS, queue) is None:
                self._rows.counters.add(_N_HOSTS)
            self._will_have(queue)
        self._hosts[queue] = record

    def _may_have(self, key: bytes) -> bool:
        """Return False if a host or site certainly has no record."""
        return self._known is None or key in self._known

    def _will_have(self, key: bytes) -> None:
        if self._known is not None and key not in self._known:
            self._known.add(key)

    def forget_host(self, queue: bytes, record: HostRecord) -> None:
        """Delete a host that now belongs to another shard."""
        self.file(queue, record.due, 0.0)
        self._hosts.pop(queue, None)
        self._met_hosts.pop(queue, None)
        self._lately.pop(queue, None)
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
        value = self._rows.get(SITES, site) if self._may_have(site) else None
        return None if value is None else _remember(self._met_sites, site, SITE.decode(value))

    def save_site(self, site: bytes, record: SiteRecord) -> None:
        if site not in self._sites and site not in self._met_sites:
            self._will_have(site)
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


def _past(values: bytes, at: int) -> int:
    """Return the number, relative to the key's, of the URL whose value begins at `at`."""
    return int.from_bytes(values[at : at + _PAST], "big")


def _at(row: tuple[bytes, bytes], seq: int) -> int | None:
    """Return where the value of a URL begins in a row, by its number; None if it is not in this row."""
    first, values = row
    past = seq - unpack_queue_key(first).seq
    at = 0 if past <= _past(values, 0) else _place(values, past)
    return at if at < len(values) and _past(values, at) == past else None


def _place(values: bytes, past: int) -> int:
    """Return where the value of the first URL begins whose relative number is not below `past`."""
    return WAITING_BYTES * bisect_left(range(len(values) // WAITING_BYTES), past, key=lambda at: _past(values, at * WAITING_BYTES))


def _remember(met: dict[bytes, R], key: bytes, record: R) -> R:
    if len(met) >= _MET:
        met.clear()
    met[key] = record
    return record
