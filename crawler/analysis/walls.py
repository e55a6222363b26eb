"""How the hosts of a crawl stand, by their canaries: which are walled, since when and by what, and what was fetched again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from thresher.filters.canary.records import NAME, HostState, find_watch, watches
from thresher.storage.export.fields import iso
from thresher.storage.view import View


class HostStanding(NamedTuple):
    """One host that had a canary, or was walled."""

    host: str
    state: str  # well; walled; another: it stayed so for long, and is taken as it is
    since: str | None  # walled since
    walls: int  # that stood before it so far
    fetched_again: int  # URLs that they had answered for
    rests: int  # of the present wall
    told: str | None  # what the last wall answered


def standings(view: View) -> Iterator[HostStanding]:
    """Yield the hosts of which a canary was ever asked for."""
    for queue, watch in watches(view.tables.memory(NAME)):
        if watch.asked_at:
            record = view.tables.queues.host(queue)
            yield _standing(record.name if record is not None else queue.hex(), watch)


class Walls(NamedTuple):
    """What canaries came to in a crawl, over all its hosts."""

    hosts: int  # that had a canary
    walls: int  # that were found before them
    fetched_again: int  # URLs for which a wall had answered
    walled: int  # hosts that still are
    another: int  # hosts that are taken as they are, since the wall stayed


def walls(view: View) -> Walls:
    """Count over the hosts what the crawl's canaries found."""
    hosts = list(standings(view))
    states = [host.state for host in hosts]
    n_walls, n_again = sum(host.walls for host in hosts), sum(host.fetched_again for host in hosts)
    return Walls(len(hosts), n_walls, n_again, states.count("walled"), states.count("another"))


def standing_of(view: View, queue: bytes) -> HostState | None:
    """Return how a host stands, None if nothing is known of it."""
    return find_watch(view.tables.memory(NAME), queue)


def _standing(host: str, watch: HostState) -> HostStanding:
    state = "walled" if watch.is_walled else "another" if watch.given_up else "well"
    since = iso(watch.since) if watch.is_walled else None
    return HostStanding(host, state, since, watch.n_walls, watch.n_again, watch.rests, watch.told or None)
