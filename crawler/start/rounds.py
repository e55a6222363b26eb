"""Begins a round of revisits: writes its record into every shard; the agents do the rest (crawler/settlement/collecting.py)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from thresher.config.settings import Settings
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import Reason
from thresher.crawler.core.selection import Selection
from thresher.storage.changing import Change, agents, change
from thresher.storage.partitions import n_agents_of
from thresher.storage.records import HOST
from thresher.storage.schema import HOSTS
from thresher.storage.shards import ShardsView, open_view
from thresher.storage.store import Store
from thresher.storage.tables.rounds import RoundRecord

FIRST = 1  # the crawl before the first round of revisits
_OPEN = ("hosts", "urls", "asking")


class NewRound(msgspec.Struct, frozen=True):
    """A round that begins in a shard. whole: (pages, bytes) of the crawl that limits count on from, None: those of the shard"""

    number: int
    older_than_s: float
    where: list[str]
    whole: tuple[int, int] | None


class _Parked(msgspec.Struct, frozen=True):
    """The hosts of a shard that were parked, and those of them that go on."""

    parked: list[str]
    trusted: list[str]


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
    numbers = change(path, NUMBER, dict.fromkeys(agents(path)))
    number = max(numbers.values()) + (len({*numbers.values()}) == 1)
    begin = NewRound(number, older_than_s, list(where), whole)
    notes = [*change(path, BEGIN, {agent: begin for agent, before in numbers.items() if before < number}).values()]
    return next((note for note in reversed(notes) if note), f"round {number} begins")


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


def _last_number(shard: Path, _nothing: None = None) -> int:
    with Store.open(shard, None, time.time(), reserves=False) as store:
        last = store.tables.rounds.last()
    return FIRST if last is None else last.number


def _begin(shard: Path, new: NewRound) -> str:
    """Write the record of a round; return a message about the previous round if it had not ended."""
    notes, number = "", new.number
    with Store.open(shard, None, time.time(), reserves=False) as store:
        now, last = store.clock, store.tables.rounds.last()
        if last is not None and last.stage in _OPEN:
            left = max(0, last.n_queued - last.n_settled)
            notes = f"round {number} begins; {left:,} pages that round {last.number} still waits for are asked in this one"
            last.stage, last.ended_at = "broken off", now
            store.tables.rounds.save(last)
        pages, wire_bytes = new.whole or (store.counters.get("pages"), store.counters.get("wire_bytes"))
        record = RoundRecord(number, now, now - new.older_than_s, new.where, store.visit)
        record.pages_before, record.bytes_before = pages, wire_bytes
        store.tables.rounds.save(record)
        store.end_visit()
    return notes


def _take_over(shard: Path, last: RoundRecord) -> None:
    """Begin the crawl's last round in a shard that does not know it, since it was restored from an older snapshot."""
    if _last_number(shard) < last.number:
        _begin(shard, NewRound(last.number, last.began_at - last.cutoff, last.where, None))


def trust(path: Path, names: Sequence[str]) -> str:
    """Unpark hosts in this round: their lost pages count as lost. Return the messages for the operator.

    Raises:
        UsageError: If a host is not parked.
    """
    found = change(path, TRUST, {agent: [*names] for agent in agents(path)}).values()
    trusted = sorted({name for one in found for name in one.trusted})
    if not trusted:
        parked = sorted({name for one in found for name in one.parked})
        raise UsageError(f"--trust {' '.join(names)}: no such host is parked. Parked: {', '.join(parked) or 'none'}")
    return f"goes on with {', '.join(trusted)}"


def _trust(shard: Path, names: list[str]) -> _Parked:
    """Unpark hosts of a shard."""
    found = _Parked([], [])
    with Store.open(shard, None, time.time(), reserves=False) as store:
        for queue, watch in store.tables.rounds.watches():
            if not watch.parked:
                continue
            found.parked.append(watch.name)
            if watch.name in names or watch.name.rpartition(":")[0] in names:
                found.trusted.append(watch.name)
                watch.parked, watch.trusted, watch.is_doubted = "", watch.round, False
                store.tables.rounds.save_watch(queue, watch)
                _unpark(store, queue)
        store.end_visit()
    return found


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
    limits = settings.limits
    if limits.max_pages is None and limits.max_bytes is None:
        return settings
    with open_view(path) as view:
        shards = getattr(view, "shards", [view])
        lasts = [last for shard in shards if (last := shard.tables.rounds.last()) is not None]
    pages, wire_bytes = sum(last.pages_before for last in lasts), sum(last.bytes_before for last in lasts)
    max_pages = None if limits.max_pages is None else limits.max_pages + pages
    max_bytes = None if limits.max_bytes is None else limits.max_bytes + wire_bytes
    return replace(settings, limits=replace(limits, max_pages=max_pages, max_bytes=max_bytes))


NUMBER: Final[Change[None, int]] = Change("number of the last round", _last_number, type(None), int)
BEGIN: Final[Change[NewRound, str]] = Change("begin a round", _begin, NewRound, str)
TRUST: Final[Change[list[str], _Parked]] = Change("trust hosts", _trust, list[str], _Parked)
TAKE_OVER: Final[Change[RoundRecord, None]] = Change("take a round over", _take_over, RoundRecord, type(None))
CHANGES: Final = (NUMBER, BEGIN, TRUST, TAKE_OVER)
