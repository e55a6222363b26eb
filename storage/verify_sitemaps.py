"""Checks whether the tables of sitemaps agree with each other, and with the queues."""

from __future__ import annotations

from collections.abc import Iterator

from thresher.storage.packing import unpack_seen, unpack_u64
from thresher.storage.records import ANNOUNCED_URL, ANNOUNCER, SITEMAP
from thresher.storage.schema import ANNOUNCED, ANNOUNCERS, ANNOUNCING, REQUESTS, SEEN, SITEMAPS
from thresher.storage.tables.sitemaps import REQUESTER
from thresher.storage.view import View

_STATES = frozenset(("waiting", "admitting", "read", "redirected", "failed"))


def verify_sitemaps(view: View) -> Iterator[str]:
    """Yield messages about what is wrong. Time: 2 µs an announced URL."""
    waiting: set[bytes] = set()
    for number, prober in view.rows(REQUESTS):
        url = view.tables.urls.get(unpack_u64(number))
        if prober == REQUESTER.stored.encode() and url is not None:
            waiting.add(url.key)
    admitting = {row[:16] for row in view.keys(ANNOUNCING)}
    for key, value in view.rows(SITEMAPS):
        record = SITEMAP.decode(value)
        if record.state not in _STATES:
            yield f"sitemap {record.text}: in a state of its own, {record.state!r}"
        if (record.state == "waiting") != (key in waiting):
            yield f"sitemap {record.text}: {record.state}, and {'a' if key in waiting else 'no'} request for it waits"
        if record.state == "admitting" and key not in admitting:
            yield f"sitemap {record.text}: nothing of it is left to be admitted, and it is not done"
        waiting.discard(key)
        admitting.discard(key)
    for key in sorted(waiting | admitting):
        yield f"sitemap {key.hex()}: waits to be read or admitted, and is unknown"
    for key, value in view.rows(ANNOUNCED):
        ANNOUNCED_URL.decode(value)
        seen = view.get(SEEN, key)
        if seen is None:
            yield f"announced {key.hex()}: a URL that is not known"
        else:
            unpack_seen(seen)
    for _, value in view.rows(ANNOUNCERS):
        ANNOUNCER.decode(value)
