"""A summary of the crawl's hosts, for the progress display and `thresher hosts`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from thresher.crawler.core.host_queue import HostQueue
from thresher.crawler.core.outage import Outage
from thresher.crawler.core.ports import HostRecord
from thresher.crawler.core.workbench import Workbench


@dataclass(frozen=True, slots=True)
class FrontierSnapshot:
    """Numbers of hosts by state, for people."""

    active: int  # on the workbench, not backing off
    waiting: int  # in the store, waiting for a place or for their time
    backing_off: int  # on the workbench, slowed after failures
    in_flight: int
    looking_up: int
    n_known_hosts: int
    next_ready_at: float | None
    network_down_since: float | None
    parked: dict[str, int] = field(default_factory=dict)  # by reason, as far as seen by this process


@dataclass(frozen=True, slots=True)
class HostView:
    """One host of the workbench, for people."""

    name: str
    state: str
    ready_at: float
    record: HostRecord


def snapshot(bench: Workbench, n_in_flight: int, n_known_hosts: int, network_down_since: float | None, now: float) -> FrontierSnapshot:
    """Count the hosts by state. Time: O(bench)."""
    backing_off = sum(host.record.failures > 0 or host.record.backoff_until > now for host in bench.hosts.values())
    on_bench = sum(host.record.due > 0 for host in bench.hosts.values())
    return FrontierSnapshot(
        active=len(bench.hosts) - backing_off,
        waiting=max(0, bench.waiting.n_due - on_bench - bench.parked.total()),
        backing_off=backing_off,
        in_flight=n_in_flight,
        looking_up=bench.n_looking_up,
        n_known_hosts=n_known_hosts,
        next_ready_at=bench.next_at(now),
        network_down_since=network_down_since,
        parked={why: n for why, n in bench.parked.items() if n},
    )


def why(bench: Workbench, outage: Outage, n_in_flight: int, now: float) -> str:
    """Return a text about what hosts wait for, and by which rules. Time: O(bench)."""
    if outage.is_down and now < outage.next_trial:
        return f"{outage.what} down; next trial in {outage.next_trial - now:.0f} s"
    words = bench.why(now, n_in_flight)
    return f"{outage.what} down; {words}" if outage.is_down else words


def views(bench: Workbench, now: float) -> Iterator[HostView]:
    """Yield the hosts of the bench."""
    for host in bench.hosts.values():
        yield HostView(host.record.name, _state(host, now), host.ready_at, host.record)


def _state(host: HostQueue, now: float) -> str:
    if host.leased is not None:
        return "in flight"
    if host.looks_up:
        return "looking up its address"
    if host.line is not None:
        return "waiting for its address or site"
    if host.blocked_until > now:
        return host.why
    return "backing off" if host.record.backoff_until > now else "in delay"
