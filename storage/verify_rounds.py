"""Checks whether the tables of rounds and of the schedule agree with the queues, and with the stored versions."""

from __future__ import annotations

from collections.abc import Iterator

from thresher.crawler.core.model import State
from thresher.storage.packing import pack_u64, unpack_seen, unpack_u64
from thresher.storage.schema import CHECKS, HOSTS, OUTDATED, PAGES, REQUESTS, REVISITS, SEEN
from thresher.storage.tables.rounds import REQUESTER
from thresher.storage.view import View


def verify_rounds(view: View) -> Iterator[str]:
    """Yield messages about what is wrong. Time: 3 µs a URL that was visited again."""
    waiting: set[bytes] = set()
    for number, prober in view.rows(REQUESTS):
        url = view.tables.urls.get(unpack_u64(number))
        if prober == REQUESTER.stored.encode() and url is not None:
            key = url.key
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


def verify_schedule(view: View) -> Iterator[str]:
    """Yield messages about what is wrong with the times of next visits."""
    record = view.tables.rounds.last()
    is_closing = record is None or record.stage == "closing"
    n_counted = n_timed = 0
    for key, plan in view.tables.plans.pages(b"", 1 << 62):
        n_counted += plan.bin is not None
        n_timed += 1
        waiting = view.tables.rounds.revisit(key)
        if waiting is None and not is_closing:
            yield f"plans {key.hex()}: a page with a time, and no visit of it waits"
        elif waiting is not None and not waiting.is_audit and not view.tables.requests.requester(plan.seq):
            yield f"plans {key.hex()}: number {plan.seq} is of no request"
    n_shared = n_due = 0
    for queue, host in view.tables.plans.hosts():
        n_shared += host.n_pages
        n_due += sum(host.load.due.values())
        if view.get(HOSTS, queue) is None:
            yield f"host_plans {queue.hex()}: of no host"
    if n_shared != n_counted:
        yield f"host_plans: hosts count {n_shared} pages, {n_counted} are counted"
    if n_due != n_timed:
        yield f"host_plans: hosts count {n_due} visits to come, {n_timed} pages have a time"
