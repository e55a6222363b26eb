"""The state of a crawl's hosts by their canaries: which are behind a wall, since when and by which answer, and what was fetched again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from thresher.filters.canary.first_answers import find_state, states
from thresher.filters.canary.records import NAME, HostState
from thresher.storage.export.fields import iso
from thresher.storage.view import View


class HostStanding(NamedTuple):
    """One host that had a canary, or was walled."""

    host: str
    state: str  # well; walled; another: the wall stayed so long that its answers are taken as the host's own
    since: str | None  # walled since
    walls: int  # number of walls so far
    fetched_again: int  # URLs that were fetched again since a wall had answered for them
    parked: int  # how often the host was parked because of the present wall
    told: str | None  # what the last wall answered


def standings(view: View) -> Iterator[HostStanding]:
    """Yield the hosts that ever had a canary request."""
    for queue, state in states(view.tables.memory(NAME)):
        if state.asked_at:
            record = view.tables.queues.host(queue)
            yield _standing(record.name if record is not None else queue.hex(), state)


class Walls(NamedTuple):
    """What canaries found in a crawl, over all its hosts."""

    hosts: int  # that had a canary
    walls: int  # walls that were found
    fetched_again: int  # URLs for which a wall had answered
    walled: int  # hosts that are walled now
    another: int  # hosts whose wall stayed so long that its answers are taken as their own


def walls(view: View) -> Walls:
    """Count over the hosts what the crawl's canaries found."""
    hosts = list(standings(view))
    words = [host.state for host in hosts]
    n_walls, n_again = sum(host.walls for host in hosts), sum(host.fetched_again for host in hosts)
    return Walls(len(hosts), n_walls, n_again, words.count("walled"), words.count("another"))


def standing_of(view: View, queue: bytes) -> HostState | None:
    """Return the state of a host; None if nothing is known about it."""
    return find_state(view.tables.memory(NAME), queue)


def _standing(host: str, state: HostState) -> HostStanding:
    word = "walled" if state.is_walled else "another" if state.given_up else "well"
    since = iso(state.since) if state.is_walled else None
    return HostStanding(host, word, since, state.n_walls, state.n_again, state.n_parked, state.told or None)
