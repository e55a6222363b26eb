"""Begins a round of revisits: writes its record into every shard; the agents do the rest (crawler/settlement/collecting.py)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from thresher.config.settings import Settings
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import Reason
from thresher.crawler.core.selection import Selection
from thresher.storage.partitions import n_agents_of, shard_paths
from thresher.storage.records import HOST
from thresher.storage.schema import HOSTS
from thresher.storage.shards import ShardsView, open_view
from thresher.storage.store import Store
from thresher.storage.tables.rounds import RoundRecord

FIRST = 1  # the crawl before the first round of revisits
_OPEN = ("hosts", "urls", "asking")


def keep_schedule(store: Store, now: float) -> None:
    """Begin the endless round that `schedule: continuous` asks for, or end it if the configuration no longer asks for it.

    Limits count on as before: they do not treat the schedule as a new round.
    """
    last, is_on = store.tables.rounds.last(), store.settings.schedule == "continuous"
    is_open = last is not None and last.is_continuous and last.stage in _OPEN
    if is_on == is_open:
        return
    if is_open:
        assert last is not None
        last.stage, last.cursor = "closing", b""
        store.tables.rounds.save(last)
    else:
        if last is not None and last.stage in (*_OPEN, "closing"):
            last.stage, last.ended_at = "broken off", now
            store.tables.rounds.save(last)
        number = FIRST + 1 if last is None else last.number + 1
        record = RoundRecord(number, now, now, [], store.visit, stage="urls", is_continuous=True)
        if last is not None:
            record.pages_before, record.bytes_before = last.pages_before, last.bytes_before
        store.tables.rounds.save(record)
    store.end_visit()


def begin_round(path: Path, *, older_than_s: float, where: Sequence[str]) -> str:
    """Begin a further round; return what to tell the operator.

    A kill between two shards leaves the rest to the next call, which goes on with the same round.

    Args:
        path: The directory of the crawl.
        older_than_s: Seconds: the round visits what was visited longer ago.
        where: Conditions on the URLs, as of `--where`.

    Raises:
        UsageError: If the crawl has a schedule, or a condition cannot be read.
    """
    Selection(where)
    _require_rounds(path)
    whole = _used(path)
    notes = ""
    stores = shard_paths(path)
    numbers = [_last_number(shard) for shard in stores]
    number = max(numbers) + (len(set(numbers)) == 1)
    for shard, before in zip(stores, numbers, strict=True):
        if before < number:
            notes = _begin(shard, number, older_than_s, list(where), whole) or notes
    return notes or f"round {number} begins"


def _require_rounds(path: Path) -> None:
    """Raise UsageError if the crawl visits its pages again by a schedule."""
    with open_view(path) as view:
        shards = view.shards if isinstance(view, ShardsView) else [view]
        lasts = [last for shard in shards if (last := shard.tables.rounds.last()) is not None]
        is_on = any(last.is_continuous and last.stage in (*_OPEN, "closing") for last in lasts)
        if is_on or view.settings.schedule == "continuous":
            raise UsageError(
                f"{path}: expected a crawl with schedule: once, found continuous: each of its pages has a time already. Go on with "
                f"`thresher resume {path}`, or end the schedule with `thresher resume {path} --set schedule=once`"
            )


def _used(path: Path) -> tuple[int, int] | None:
    """Return (pages, bytes) of all shards, which a single agent's limits count; None if there are several agents."""
    if n_agents_of(path) > 1:
        return None
    with open_view(path) as view:
        return view.counters.get("pages"), view.counters.get("wire_bytes")


def _last_number(shard: Path) -> int:
    with Store.open(shard, None, time.time(), reserves=False) as store:
        last = store.tables.rounds.last()
    return FIRST if last is None else last.number


def _begin(shard: Path, number: int, older_than_s: float, where: list[str], whole: tuple[int, int] | None) -> str:
    """Write the record of a round; return a message about the previous round if it had not ended."""
    notes = ""
    with Store.open(shard, None, time.time(), reserves=False) as store:
        now, last = store.clock, store.tables.rounds.last()
        if last is not None and last.stage in _OPEN:
            left = max(0, last.n_queued - last.n_settled)
            notes = f"round {number} begins; {left:,} pages that round {last.number} still waits for are asked in this one"
            last.stage, last.ended_at = "broken off", now
            store.tables.rounds.save(last)
        pages, wire_bytes = whole or (store.counters.get("pages"), store.counters.get("wire_bytes"))
        record = RoundRecord(number, now, now - older_than_s, where, store.visit)
        record.pages_before, record.bytes_before = pages, wire_bytes
        store.tables.rounds.save(record)
        store.end_visit()
    return notes


def trust(path: Path, names: Sequence[str]) -> str:
    """Unpark hosts in this round: their lost pages count as lost. Return the messages for the operator.

    Raises:
        UsageError: If a host is not parked.
    """
    trusted: set[str] = set()
    parked: set[str] = set()
    for shard in shard_paths(path):
        with Store.open(shard, None, time.time(), reserves=False) as store:
            for queue, watch in store.tables.rounds.watches():
                if not watch.parked:
                    continue
                parked.add(watch.name)
                if watch.name in names or watch.name.rpartition(":")[0] in names:
                    trusted.add(watch.name)
                    watch.parked, watch.trusted, watch.is_doubted = "", watch.round, False
                    store.tables.rounds.save_watch(queue, watch)
                    _unpark(store, queue)
            store.end_visit()
    if not trusted:
        raise UsageError(f"--trust {' '.join(names)}: no such host is parked. Parked: {', '.join(sorted(parked)) or 'none'}")
    return f"goes on with {', '.join(sorted(trusted))}"


def _unpark(store: Store, queue: bytes) -> None:
    """Unpark a host; its rows have stayed in their queue."""
    value = store.get(HOSTS, queue)
    host = None if value is None else HOST.decode(value)
    if host is not None and host.parked == Reason.SUDDEN_LOSS:
        host.parked, host.parked_until = "", 0.0
        old, host.due = host.due, max(store.clock, host.next_at)
        store.tables.queues.file(queue, old, host.due)
        store.tables.queues.save_host(queue, host)


def for_this_round(settings: Settings, path: Path) -> Settings:
    """Return settings with limits of pages and bytes for the whole crawl, as the supervisor of several agents counts."""
    with open_view(path) as view:
        shards = getattr(view, "shards", [view])
        lasts = [last for shard in shards if (last := shard.tables.rounds.last()) is not None]
    pages, wire_bytes = sum(last.pages_before for last in lasts), sum(last.bytes_before for last in lasts)
    limits = settings.limits
    max_pages = None if limits.max_pages is None else limits.max_pages + pages
    max_bytes = None if limits.max_bytes is None else limits.max_bytes + wire_bytes
    return replace(settings, limits=replace(limits, max_pages=max_pages, max_bytes=max_bytes))
