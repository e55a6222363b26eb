"""Do the tables of rounds agree with what waits, and with the versions that are there?"""

from __future__ import annotations

from collections.abc import Iterator

from thresher.crawler.core.model import State
from thresher.storage.packing import pack_u64, unpack_seen, unpack_u64
from thresher.storage.schema import CHECKS, OUTDATED, PAGES, REQUESTS, REVISITS, SEEN, URL, URLS
from thresher.storage.tables.rounds import ASKER
from thresher.storage.view import View


def verify_rounds(view: View) -> Iterator[str]:
    """Yield what is wrong, in words. Time: 3 µs a URL that was visited again."""
    waiting: set[bytes] = set()
    for number, prober in view.rows(REQUESTS):
        text = view.get(URLS, pack_u64(unpack_u64(number)))
        if prober == ASKER.stored.encode() and text is not None:
            key = URL.decode(text).key
            if key in waiting:
                yield f"revisits {key.hex()}: two requests for it wait"
            waiting.add(key)
    for key, _ in view.rows(REVISITS):
        seen = view.get(SEEN, key)
        if key not in waiting:
            yield f"revisits {key.hex()}: no request for it waits"
        if seen is None or unpack_seen(seen).state is not State.DONE:
            yield f"revisits {key.hex()}: a URL that was never visited"
        waiting.discard(key)
    for key in sorted(waiting):
        yield f"revisits {key.hex()}: a request waits that no round has asked for"
    outdated = {unpack_u64(visit) for visit, _ in view.rows(OUTDATED)}
    for key in view.keys(CHECKS):
        check = view.tables.rounds.check(key)
        for visit in check.versions if check is not None else ():
            if visit in outdated or view.get(PAGES, pack_u64(visit)) is None:
                yield f"checks {key.hex()}: version {visit} is not there"
    rounds = view.tables.rounds.all()
    if [record.number for record in rounds] != list(range(2, len(rounds) + 2)):
        yield f"rounds: {[record.number for record in rounds]} are not one after the other"
    for visit, _ in view.tables.rounds.changes_since(0, 1 << 62):
        if visit >= view.visit:
            break
        if not any(record.first_visit <= visit for record in rounds):
            yield f"changes {visit}: of no round"
