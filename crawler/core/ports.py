"""What the pure core needs of the store and the resolver, as Protocols; implemented in storage/ and crawler/.

All times are on one scale: `now` is seconds since the Unix epoch. The agent reads the wall clock once, when it starts, and then adds what
the monotonic clock has advanced. So time never runs backwards within a process, nor from one process of a crawl to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Final, NamedTuple, Protocol, runtime_checkable

import msgspec

from thresher.crawler.core.model import CrawlURL, Purpose, Reason, State


class Lane(IntEnum):
    """The part of a host's queue in which a row is; lanes are served in this order."""

    AHEAD = 0  # probes, validations and audits: rank 0; requisites of pages: rank 1; filters' requests that can wait: rank 2
    RETRY = 1  # rank = `not_before` in microseconds; a row is skipped until then
    FRESH = 2  # rank by the crawl's order (crawler/core/order)
    ANNOUNCED = 3  # sitemaps beyond a host's first: rank 0; URLs that only sitemaps named: rank by directory depth; a small share is served
    # before FRESH is empty
    TAIL = 4  # held URLs that were drawn when the host had nothing else: rank 0
    DUE = 5  # next visits of pages: rank = their time in microseconds; from then on they share the host with FRESH and ANNOUNCED


CAN_WAIT: Final = 2  # rank in the lane AHEAD: after new pages, unless filters' requests are a small share of the host's


class SeenRow(NamedTuple):
    """What is known about a URL."""

    state: State
    reason: Reason | None
    site_depth: int
    seed_distance: int
    hops: int
    purpose: Purpose
    seq: int  # its number in `urls`, in the order of discovery, from 1
    visit: int  # number of the visit that settled it last; 0: none yet
    worth: int = 0  # level of its cash while it waits, 0 to 31 (crawler/core/order/cash.py)


class Entry(NamedTuple):
    """One waiting URL. (queue, lane, rank, seq) names its row."""

    lane: Lane
    rank: int
    seq: int  # order of discovery over the whole crawl
    attempt: int  # number of requests made for it so far
    url: CrawlURL

    @property
    def can_wait(self) -> bool:
        """Whether it goes after new pages, unless filters' requests are a small share of its host's."""
        return self.lane is Lane.AHEAD and self.rank == CAN_WAIT


class HostRecord(msgspec.Struct, array_like=True, kw_only=True):
    """All that a crawl stores about one host queue (http, https, www and bare of a name share it). Times are seconds since the epoch."""

    name: str  # "a.example", "a.example:8080"
    site: str
    due: float = 0.0  # place of the host's row in `due`; 0: it has none, since nothing is queued
    next_at: float = 0.0  # no request before this time
    n_queued: int = 0
    n_requests: int = 0
    n_pages: int = 0
    n_bytes: int = 0
    n_failed: int = 0
    failures: int = 0  # in a row
    backoff_s: float = 0.0  # current step of the back-off
    backoff_until: float = 0.0
    incident_at: float = 0.0  # last 429, 503 or counted failure
    crawl_delay: float = -1.0  # seconds in robots.txt; -1: none
    parked: str = ""  # why it is parked: a Reason, "" if it is served
    parked_until: float = 0.0  # if `parked`: until then; 0: until the configuration changes
    rule: str = ""  # rule of politeness that set `next_at`
    n_pages_before: int = 0  # of earlier rounds: its budget is that of one
    n_bytes_before: int = 0
    n_refreshed: int = 0  # number of its requests from the lane DUE
    refresh_credit: float = 0.0  # requests by which revisits are ahead (below 0) or behind of their share, while both wait
    n_of_filters: int = 0  # requests that filters have asked for, by which their share is counted (HostQueue)

    @property
    def has_answered(self) -> bool:
        """Whether a request to it has ever succeeded."""
        return self.n_requests > self.n_failed


class SiteRecord(msgspec.Struct, array_like=True, kw_only=True):
    """What the hosts of one site share: how many there are and what they have used of the site's budget."""

    name: str
    n_hosts: int = 0
    n_pages: int = 0
    n_linking: int = 0  # number of other sites that link to it; counted if the order needs it
    n_pages_before: int = 0  # of earlier rounds: its budget is that of one


class QueueStore(Protocol):
    """The host queues on disk. Reads see every earlier write, committed or not; writes belong to the open group.

    Times in rows and in `due` have a resolution of a microsecond.
    """

    def head(self, queue: bytes, lane: Lane, limit: int) -> list[Entry]:
        """Return the first `limit` rows of a lane in order."""
        ...

    def heads(self, queue: bytes, limit: int) -> list[Entry]:
        """Return the first `limit` rows of each lane in order, lane by lane."""
        ...

    def put(self, queue: bytes, entry: Entry) -> None: ...

    def put_links(self, queue: bytes, rows: Sequence[tuple[int, int, int]], *, seed_distance: int, hops: int) -> None:
        """Write rows of new links of a page: rank, seq and site_depth of each."""
        ...

    def put_alike(self, queue: bytes, rank: int, site_depth: int, seqs: Sequence[int], *, seed_distance: int, hops: int) -> None:
        """Write rows of new links of a page that differ only in their numbers, which ascend."""
        ...

    def delete(self, queue: bytes, entry: Entry) -> None: ...

    def has(self, queue: bytes, entry: Entry) -> bool:
        """Return whether the row that `entry` names by lane, rank and seq is there."""
        ...

    def host(self, queue: bytes) -> HostRecord | None: ...

    def save_host(self, queue: bytes, record: HostRecord) -> None:
        """Write the record as it is when its group closes; until then the store holds this very object."""
        ...

    def n_hosts(self) -> int:
        """Return the number of host records."""
        ...

    def n_due(self) -> int:
        """Return the number of rows in `due`: hosts with something queued."""
        ...

    def site(self, site: bytes) -> SiteRecord | None:
        """Return the record of a site by the first 8 bytes of its queues' keys."""
        ...

    def save_site(self, site: bytes, record: SiteRecord) -> None:
        """Write the record as it is when its group closes; until then the store holds this very object."""
        ...

    def file(self, queue: bytes, old_due: float, new_due: float) -> None:
        """Move the host's row in `due` from `old_due` (0: none) to `new_due` (0: remove)."""
        ...

    def due(self, after: tuple[float, bytes], until: float, limit: int) -> list[tuple[float, bytes]]:
        """Return up to `limit` rows (due, queue) with `after` < row and due ≤ `until`, in order. Times in seconds since the epoch."""
        ...

    def next_due(self, after: tuple[float, bytes]) -> float | None:
        """Return the time of the first row past `after`, or None."""
        ...


class AddressBook(Protocol):
    """Addresses known right now."""

    def address(self, hostname: str, now: float) -> str | None:
        """Return the address to connect to first, or None when the name must be looked up (again)."""
        ...


class AddressUse(Protocol):
    """Counts what all agents of a machine do at one address: their requests in flight, and when the next may start."""

    def start(self, address: str, *, is_own: bool = False) -> float:
        """Reserve a request at the address. Return 0.0 if it was reserved, else the seconds until the next try.

        Args:
            is_own: Whether the site is the operator's own: then the time between two starts does not apply.
        """
        ...

    def end(self, address: str, *, was_used: bool) -> None:
        """End a reservation; if no request was made, undo its effects."""
        ...


class Memory(Protocol):
    """A filter's memory: small records by key.

    The first 8 bytes of a key are the site's, so that a site's records are adjacent and can be limited. Reads see every write made
    before; writes are committed with the visit that made them. When a site's records outgrow `filters.site_bytes`, those of least weight
    are deleted first; of equal weight, those that were not written for the longest time.

    The key of a record that belongs to no site begins with any 5 bytes and three zero bytes. When sites move to another agent, their
    records move with them; records that belong to no site are copied, so that both agents have them.
    """

    def get(self, key: bytes, /) -> bytes | None: ...

    def put(self, key: bytes, value: bytes, /, weight: float = 0.0) -> None: ...

    def delete(self, key: bytes, /) -> None: ...

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]: ...

    def get_many(self, keys: Iterable[bytes], /) -> list[bytes | None]: ...


Change = tuple[str, bytes, bytes | None, float]  # (filter, key, value before or None, weight)


class Put(Protocol):
    """`Memory.put`."""

    def __call__(self, key: bytes, value: bytes, /, weight: float = 0.0) -> None: ...


@runtime_checkable
class NotingMemory(Protocol):
    """A memory that can record earlier values of its records."""

    def noting(self, name: str, noted: dict[bytes, set[bytes]], changes: dict[bytes, list[Change]], /) -> Put | None:
        """Return a `put` that records the value of a site's record before its first change; None if this memory has none.

        Args:
            name: The name of the filter.
            noted: Gets, by site, the keys of recorded values.
            changes: Gets, by site, the earlier values.
        """
        ...
