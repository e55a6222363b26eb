"""The steps of a machine with its shards while a crawl gets other machines, or another number of agents (moving.py orders them)."""

from __future__ import annotations

import shutil
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from thresher.crawler.core.back_off import BackOff
from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.ports import HostRecord, SiteRecord
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.storage.carrying import FetchPiece, File, bring, bring_state, copy_path, drop, files_of
from thresher.storage.export.reading import reading_shard
from thresher.storage.moving import Arrival, Departure
from thresher.storage.partitions import shard_path
from thresher.storage.records import HOST, QUARANTINED
from thresher.storage.schema import HOSTS
from thresher.storage.snapshots.manifest import TakenSnapshot
from thresher.storage.snapshots.restoring import restore_shard
from thresher.storage.snapshots.taking import take_shards
from thresher.storage.snapshots.targets import target
from thresher.storage.store import Store
from thresher.storage.view import View

_HOSTS_AT_ONCE = 1000


class CopyShard(msgspec.Struct, frozen=True):
    """Copy a shard from another machine to this one."""

    agent: int
    files: list[File]


class Ranges(msgspec.Struct, frozen=True):
    """Partitions that move from one shard to another: first and last of each range.

    files: those of the source, if it is on another machine
    """

    source: int
    target: int
    ranges: list[tuple[int, int]]
    files: list[File] | None = None


class Quarantined(msgspec.Struct, frozen=True):
    """The quarantined rows of a shard, as they are on disk."""

    agent: int
    rows: list[tuple[bytes, bytes]] = []


class Restore(msgspec.Struct, frozen=True):
    """Restore a shard here. target: the snapshots of its machine; owners: the table of partitions that it must belong to"""

    agent: int
    target: str
    owners: str


class TakeSnapshot(msgspec.Struct, frozen=True):
    """Take a snapshot of all shards here, which counts for senders. target: the snapshots of this machine; keep: how many of them"""

    agents: list[int]
    target: str
    keep: int


class CountReceived(msgspec.Struct, frozen=True):
    """Ask a shard how many messages of a sender it has carried out."""

    agent: int
    sender: int


class Succeed(msgspec.Struct, frozen=True):
    """The start of a restored shard. received: how many of its messages the others have carried out; rest_s: least seconds until one of its
    hosts is requested again
    """

    agent: int
    received: dict[int, int]
    rest_s: float
    back_offs: list[BackOff] = []  # back-offs of its hosts that the head has recorded


def do(directory: Path, what: str, argument: bytes, fetch: FetchPiece | None) -> Any:
    """Do a step that the head asks for. Every step may be repeated.

    Args:
        fetch: Reads from the disk of the step's source machine.
    """
    match what:
        case "files":
            return files_of(shard_path(directory, msgspec.json.decode(argument, type=int)))
        case "drop":
            return drop(directory, msgspec.json.decode(argument, type=int))
        case "bring":
            copy = msgspec.json.decode(argument, type=CopyShard)
            assert fetch is not None, "a shard comes from somewhere"
            return bring(directory, copy.agent, copy.files, fetch)
        case "arrive":
            return _arrive(directory, msgspec.json.decode(argument, type=Ranges), fetch)
        case "depart":
            return _depart(directory, msgspec.json.decode(argument, type=Ranges))
        case "end":
            return _end(directory, msgspec.json.decode(argument, type=Ranges))
        case "restore":
            restore = msgspec.json.decode(argument, type=Restore)
            return restore_shard(target(restore.target), directory, restore.agent, restore.owners)
        case "snapshot":
            order = msgspec.json.decode(argument, type=TakeSnapshot)
            shards = [shard_path(directory, agent) for agent in order.agents]
            return msgspec.to_builtins(TakenSnapshot.of(take_shards(directory, shards, target(order.target), keep=order.keep, marks=True)))
        case "received":
            asked = msgspec.json.decode(argument, type=CountReceived)
            with reading_shard(shard_path(directory, asked.agent)) as view:
                return view.tables.channels.received(asked.sender)
        case "succeed":
            return _succeed(directory, msgspec.json.decode(argument, type=Succeed))
        case "quarantined" | "adopt" | "give up":
            return _quarantine(directory, what, msgspec.json.decode(argument, type=Quarantined))
    raise StoreError(f"{directory}: the head asks for {what!r}, which this Thresher does not know")


def _arrive(directory: Path, order: Ranges, fetch: FetchPiece | None) -> None:
    """Copy the ranges into a shard here, from another shard here or from a copy of its state."""
    with ExitStack() as opened:
        if order.files is None:
            source = shard_path(directory, order.source)
        else:
            assert fetch is not None, "a copy comes from somewhere"
            source = bring_state(directory, order.source, order.files, fetch)
        view = opened.enter_context(View(source))
        target = opened.enter_context(Store.open(shard_path(directory, order.target), None, time.time()))
        arrivals = _arrivals(order, view, target)
        arrivals[0].copy_common()
        for arrival in arrivals:
            arrival.copy()


def _depart(directory: Path, order: Ranges) -> None:
    with Store.open(shard_path(directory, order.source), None, time.time()) as store:
        for first, last in order.ranges:
            Departure(store, first=first, last=last).run()


def _end(directory: Path, order: Ranges) -> None:
    with Store.open(shard_path(directory, order.target), None, time.time()) as target:
        for arrival in _arrivals(order, target, target):
            arrival.end()
    shutil.rmtree(copy_path(directory, order.source), ignore_errors=True)


def _arrivals(order: Ranges, source: View | Store, target: Store) -> list[Arrival]:
    return [Arrival(source, target, shard=order.source, first=first, last=last) for first, last in order.ranges]


def _succeed(directory: Path, order: Succeed) -> None:
    """Make a restored shard number its messages after those that the others have received, and its hosts rest."""
    now = time.time()
    with Store.open(shard_path(directory, order.agent), None, now) as store:
        for other, received in order.received.items():
            store.tables.channels.succeed(other, received)
        urls = URLSpace(store.secret, url_rules(store.settings))
        until = {urls.queue_key(f"http://{one.name}"): one for one in order.back_offs}
        for queue, one in until.items():
            if store.tables.queues.host(queue) is None:  # the host was found after the snapshot
                _add_host(store, queue, one)
        store.end_visit()
        start = b""
        while rows := store.scan(HOSTS, start=start, limit=_HOSTS_AT_ONCE):
            for queue, value in rows:
                host = HOST.decode(value)
                asked = until[queue].until if queue in until else 0.0
                _rest(store, queue, host, max(now + order.rest_s, now + host.crawl_delay, asked))
            start = rows[-1][0] + b"\0"
            store.end_visit()
            store.flush(now).result()


def _add_host(store: Store, queue: bytes, one: BackOff) -> None:
    """Make the record of a host, so that it rests when its first URL comes."""
    site = store.tables.queues.site(queue[:8]) or SiteRecord(name=one.site)
    site.n_hosts += 1
    store.tables.queues.save_site(queue[:8], site)
    store.tables.queues.save_host(queue, HostRecord(name=one.name, site=one.site, next_at=one.until))


def _rest(store: Store, queue: bytes, host: HostRecord, until: float) -> None:
    """Allow no request of a host before a time."""
    host.next_at = max(host.next_at, until)
    if host.due:
        before, host.due = host.due, max(host.due, until)
        store.tables.queues.file(queue, before, host.due)
    store.tables.queues.save_host(queue, host)


def _quarantine(directory: Path, what: str, order: Quarantined) -> list[tuple[bytes, bytes]]:
    """Return the quarantined rows of a shard, add those of another, or delete those that have arrived there."""
    with Store.open(shard_path(directory, order.agent), None, time.time()) as store:
        quarantine = store.tables.quarantine
        if what == "quarantined":
            return [(key, QUARANTINED.encode(record)) for key, record in quarantine.all()]
        for key, row in order.rows:
            record = QUARANTINED.decode(row)
            quarantine.adopt(key, record) if what == "adopt" else quarantine.take(key, record)
        if order.rows:
            store.end_visit()
        return []
