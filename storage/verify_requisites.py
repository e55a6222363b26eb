"""Checks whether the tables of requisites agree with each other, and with the queues."""

from __future__ import annotations

from collections.abc import Iterator

from thresher.storage.packing import unpack_u64
from thresher.storage.records import REQUISITE
from thresher.storage.schema import REQUESTS, REQUISITE_HOSTS, REQUISITES
from thresher.storage.tables.requisites import REQUESTER
from thresher.storage.view import View

_STATES = frozenset(("waiting", "fetched", "redirected", "failed", "refused", "page"))


def verify_requisites(view: View) -> Iterator[str]:
    """Yield messages about what is wrong. Time: 2 µs a requisite."""
    waiting: set[bytes] = set()
    for number, prober in view.rows(REQUESTS):
        url = view.tables.urls.get(unpack_u64(number))
        if prober == REQUESTER.stored.encode() and url is not None:
            waiting.add(url.key)
    for key, value in view.rows(REQUISITES):
        record = REQUISITE.decode(value)
        if record.state not in _STATES:
            yield f"requisite {record.text}: in a state of its own, {record.state!r}"
        if (record.state == "waiting") != (key in waiting):
            yield f"requisite {record.text}: {record.state}, and {'a' if key in waiting else 'no'} request for it waits"
        waiting.discard(key)
    for key in sorted(waiting):
        yield f"requisite {key.hex()}: waits to be fetched, and is unknown"
    for _, value in view.rows(REQUISITE_HOSTS):
        unpack_u64(value)
