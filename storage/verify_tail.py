"""Checks the tails of hosts: every held URL is in one class, every drawn URL is queued, and the counters agree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from thresher.crawler.core.model import State
from thresher.storage.packing import unpack_seen
from thresher.storage.schema import SEEN, TAIL_CLASSES, TAIL_DRAWS, TAIL_HOSTS, TAIL_MEMBERS, TAIL_PLACES
from thresher.storage.tables.held import filter_of
from thresher.storage.tables.tail import HELD_NOW, PENDING, member_key
from thresher.storage.view import View


def verify_tail(view: View) -> Iterator[str]:
    """Yield a message for each fault."""
    for row, key in view.rows(TAIL_MEMBERS):
        place = view.tables.tail.place(key)
        if place is None or member_key(place) != row:
            yield f"tail_members {row.hex()}: {key.hex()} does not wait there"
        if view.get(TAIL_CLASSES, row[:24]) is None or view.get(TAIL_HOSTS, row[:16]) is None:
            yield f"tail_members {row.hex()}: there is no such class"
    for key, _ in view.rows(TAIL_PLACES):
        place = view.tables.tail.place(key)
        assert place is not None, "a row that was read just now"
        if view.get(TAIL_MEMBERS, member_key(place)) != key:
            yield f"tail_places {key.hex()}: its class does not have it"
        if _state(view, key) is not State.HELD:
            yield f"tail_places {key.hex()}: it waits in a class, and is not held"
    yield from _counters(view)
    for key, value in view.rows(SEEN):
        if unpack_seen(value).state is State.HELD and view.get(TAIL_PLACES, key) is None:
            yield f"seen {key.hex()}: held, and waits in no class"
    n_drawn = 0
    for key, _ in view.rows(TAIL_DRAWS):
        n_drawn += 1
        if _state(view, key) is not State.QUEUED:
            yield f"tail_draws {key.hex()}: drawn, and does not wait for its fetch"
    if view.counters.get(PENDING) != n_drawn:
        yield f"counters: {view.counters.get(PENDING):.0f} drawn URLs, tail_draws has {n_drawn}"


def _counters(view: View) -> Iterator[str]:
    """Count the held URLs of each filter again, if the store is of a version that counts them."""
    told = view.counters.all(HELD_NOW)
    if not told:
        return
    found = dict.fromkeys(told, 0)
    for place in view.tables.tail.places():
        with suppress(ValueError, AssertionError):  # its class is missing or damaged: reported above
            name = HELD_NOW + filter_of(view.tables.tail.holder_of(place))
            found[name] = found.get(name, 0) + 1
    for name, n in found.items():
        if told.get(name, 0) != n:
            yield f"counter {name}: says {told.get(name, 0)}, there are {n}"


def _state(view: View, key: bytes) -> State | None:
    value = view.get(SEEN, key)
    return unpack_seen(value).state if value is not None else None
