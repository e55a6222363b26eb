"""Takedown: deletes everything that a crawl knows and has about a URL or a host, so that it never comes back.

    1  the row in `forgotten` is committed, with the places of the records in the archive: from now on a crawl refuses the URL
    2  page records, bodies, links, journal, verdicts, failures, redirects, holds, statements of sitemaps and queued rows are deleted
        in one commit; the URLs stay known as refused, with the reason `forgotten`
    3  their records in the archive become tombstones (storage/archive/blanking.py)
    4  both environments are written anew, row by row, since LMDB leaves deleted bytes in free pages and between rows
        (storage/compacting.py)
    5  the row is marked as done

Each step may be repeated. After a kill the row is not done: the next `forget` or the next crawl continues with it.

What stays: the text of the URLs, to know what is forgotten; links and redirects of other pages to them; the counters; filters' memories,
which have hashes (deleted if the host is its whole site). Exports and copies are out of reach, and so are the disk's blocks.

Memory: the keys of forgotten URLs. Time: a walk over all known URLs, pages and records of the archive, and a copy of the store.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import msgspec

from thresher.crawler.core.model import Reason, State
from thresher.crawler.core.robots import RobotsRecord
from thresher.crawler.core.siblings import place_of
from thresher.crawler.core.url import URLSpace, origin_of, queue_name
from thresher.crawler.core.url_rules import url_rules
from thresher.storage.archive.blanking import blank, places_of
from thresher.storage.changing import Change, agents, change
from thresher.storage.compacting import compact
from thresher.storage.lock import CrawlLock
from thresher.storage.overlay import Row
from thresher.storage.packing import is_elsewhere, pack_u64, unpack_u64
from thresher.storage.partitions import local_shard_paths
from thresher.storage.records import CAPTURE, PAGE, REQUISITE, SITEMAP, Codec, RequisiteRecord, SitemapRecord
from thresher.storage.schema import (
    ANNOUNCED,
    ANNOUNCING,
    BODIES,
    CAPTURED,
    CHECKS,
    FAILURES,
    JOURNAL,
    LINKS,
    MEMORY,
    MEMORY_BYTES,
    PAGES,
    REQUISITES,
    REVISITS,
    ROBOTS,
    ROBOTS_FILES,
    SITEMAPS,
    SUSPECTS,
)
from thresher.storage.store import Store
from thresher.storage.tables.forgotten import ForgottenRecord
from thresher.storage.tables.rounds import REQUESTER
from thresher.storage.tables.tail import PENDING
from thresher.storage.view import View

_AT_ONCE: Final = 1000
ROBOTS_RECORD: Final = Codec(RobotsRecord)


@dataclass(frozen=True, slots=True)
class ForgetTarget:
    """The URL or host to forget."""

    text: str  # a canonical URL, or the name of a host queue
    is_host: bool
    key: bytes

    def means(self, url: str) -> bool:
        """Return whether a URL belongs to the target."""
        if not self.is_host:
            return url == self.text
        return "://" in url and queue_name(origin_of(url)) == self.text


class Takedown(msgspec.Struct, frozen=True):
    """A takedown that begins in a shard: what, who asked for it, why, and when."""

    text: str
    is_host: bool
    key: bytes
    by: str
    why: str
    at: float


@dataclass(slots=True)
class _Found:
    """The data of one shard about a target."""

    keys: dict[int, bytes] = field(default_factory=dict)  # number → key, of known URLs
    origins: set[str] = field(default_factory=set)
    visits: set[int] = field(default_factory=set)  # visits that stored a page, or were the last of a URL
    again: set[int] = field(default_factory=set)  # numbers of requests for further visits
    requisites: dict[bytes, RequisiteRecord] = field(default_factory=dict)  # by their keys
    sitemaps: dict[bytes, SitemapRecord] = field(default_factory=dict)  # by their keys


def target_of(view: View, text: str) -> ForgetTarget:
    """Read what the operator names: a URL if it has a scheme, else a host.

    Raises:
        BadURL: If it is neither.
    """
    space = URLSpace(view.secret, replace(url_rules(view.settings), ports=None))  # at any port, since nothing is fetched
    if "://" in text:
        url = space.canonical(text)
        return ForgetTarget(url, is_host=False, key=space.key(url))
    origin = origin_of(space.canonical(f"http://{text}/"))
    return ForgetTarget(queue_name(origin), is_host=True, key=space.queue_key(origin))


def forget(path: Path, target: ForgetTarget, *, by: str, why: str, now: float) -> None:
    """Forget a URL or a host in all shards of a crawl.

    Args:
        path: The directory of the crawl.
        target: What to forget.
        by: Who asked for it.
        why: The reason.
        now: Seconds since the epoch.

    Raises:
        StoreLockedError: If the crawl runs.
        StoreError: If a store is damaged.
        DiskError: If the disk refuses.
    """
    change(path, BEGIN, dict.fromkeys(agents(path), Takedown(target.text, target.is_host, target.key, by, why, now)))
    finish(path)


def takedowns(view: View) -> list[Takedown]:
    """Return the takedowns that a shard knows."""
    return [Takedown(one.text, one.is_host, key, one.by, one.why, one.at) for key, one in view.tables.forgotten.all()]


def unfinished(path: Path) -> bool:
    """Return whether a takedown was begun and not ended."""
    found = False
    for shard in local_shard_paths(path):
        with View(shard) as view:
            found = found or any(not record.is_done for _, record in view.tables.forgotten.all())
    return found


def finish(path: Path) -> None:
    """Continue every takedown that is not done; raises as `forget` does. The first shard, at which `unfinished` looks, is last."""
    change(path, FINISH, dict.fromkeys(reversed(agents(path))))


def _finish(shard: Path, _nothing: None = None) -> None:
    """Continue the takedowns of a shard that are not done."""
    with Store.open(shard, None, time.time(), reserves=False) as store:
        begun = [(key, record) for key, record in store.tables.forgotten.all() if not record.is_done]
        for key, record in begun:
            _delete(store, key, record)
        secret = store.secret
    if begun:
        for _, record in begun:
            blank(shard, secret, record.blanks, record.at)
        compact(shard)
        _end(shard, [key for key, _ in begun])


def _begin(path: Path, order: Takedown) -> None:
    """Store what to forget, and the places of its archive records; if it was forgotten before, the first takedown's author and time
    stay.
    """
    target = ForgetTarget(order.text, order.is_host, order.key)
    CrawlLock(path / "crawl.lock").release()  # fails if a crawl runs
    with View(path) as view:
        blanks = list(places_of(view, target.means))
    with Store.open(path, None, order.at, reserves=False) as store:
        record = store.tables.forgotten.get(target.key) or ForgottenRecord(order.text, order.is_host, order.at, order.by, order.why)
        record.is_done, record.blanks = False, blanks
        record.n_captures += len(blanks)
        store.tables.forgotten.put(target.key, record)
        _commit(store)


def _take_over(shard: Path, takedowns: list[Takedown]) -> None:
    """Carry out the takedowns that a shard does not know, since it was restored from an older snapshot."""
    with View(shard) as view:
        known = {key for key, record in view.tables.forgotten.all() if record.is_done}
    for one in takedowns:
        if one.key not in known:
            _begin(shard, one)
    _finish(shard)


def _end(path: Path, keys: Iterable[bytes]) -> None:
    with Store.open(path, None, time.time(), reserves=False) as store:
        for key in keys:
            record = store.tables.forgotten.get(key)
            assert record is not None, f"the takedown {key.hex()} is gone"
            record.is_done, record.blanks = True, []
            store.tables.forgotten.put(key, record)
        _commit(store)


def _delete(store: Store, key: bytes, record: ForgottenRecord) -> None:
    """Delete what the store has of a target, in one commit."""
    target = ForgetTarget(record.text, record.is_host, key)
    space = URLSpace(store.secret, url_rules(store.settings))
    found = _find(store, target)
    for queue in {space.queue_key(origin) for origin in found.origins}:
        _take_from_queue(store, queue, found.keys.keys() | found.again)
    for number in found.again:
        store.tables.requests.pop(number)
    for url_key in found.keys.values():
        _forget_plan(store, space, url_key)
        _forget_url(store, url_key)
    for visit in found.visits:
        record.n_pages += _forget_visit(store, visit)
    _forget_beside(store, found)
    for row in [row for row, value in _all(store, CAPTURED) if target.means(CAPTURE.decode(value).url)]:
        store.delete(CAPTURED, row)
    if record.is_host:
        _forget_host(store, space, found.origins)
    record.n_urls = len(found.keys)
    store.tables.forgotten.put(key, record)
    _commit(store)


def _find(store: Store, target: ForgetTarget) -> _Found:
    found = _Found()
    for number, record in store.tables.urls.all():
        requester = store.tables.requests.requester(number)
        if requester == REQUESTER and target.means(record.text):
            found.again.add(number)
        if not requester and target.means(record.text):
            found.keys[number] = record.key
            found.origins.add(origin_of(record.text))
            row = store.tables.seen.row(record.key)
            if row is not None and row.visit and not is_elsewhere(row.visit):
                found.visits.add(row.visit)
    for visit, value in _all(store, PAGES):
        if target.means(PAGE.decode(value).url):
            found.visits.add(unpack_u64(visit))
    for key, value in _all(store, REQUISITES):
        if target.means((requisite := REQUISITE.decode(value)).text):
            found.requisites[key] = requisite
    for key, value in _all(store, SITEMAPS):
        if target.means((sitemap := SITEMAP.decode(value)).text):
            found.sitemaps[key] = sitemap
    of_them = [record.text for record in found.requisites.values()] + [record.text for record in found.sitemaps.values()]
    found.origins.update(map(origin_of, of_them))
    return found


def _forget_beside(store: Store, found: _Found) -> None:
    """Reduce the records of requisites and sitemaps to the fact that they were taken down; queued ones are refused when their turn
    comes.
    """
    for key, record in found.requisites.items():
        if record.state != "waiting":
            left = RequisiteRecord(record.text, record.via, record.hop, "refused", why=f"{Reason.FORGOTTEN} forget", at=record.at)
            store.tables.requisites.save(key, left)
    for key, sitemap in found.sitemaps.items():
        if sitemap.state != "waiting":
            for row, _ in store.scan(ANNOUNCING, key):
                store.delete(ANNOUNCING, row)
            notes = [f"not requested: {Reason.FORGOTTEN} (forget)"]
            store.tables.sitemaps.save_sitemap(key, SitemapRecord(sitemap.text, sitemap.by, sitemap.level, "failed", notes=notes))


def _forget_plan(store: Store, space: URLSpace, key: bytes) -> None:
    """Remove a URL from the planned visits of its host."""
    plan, row = store.tables.plans.page(key), store.tables.seen.row(key)
    if plan is not None and row is not None:
        text = store.tables.seen.record(row.seq).text
        queue = space.queue_key(origin_of(text))
        host = store.tables.plans.host(queue)
        host.drop(plan)
        store.tables.plans.save_host(queue, host)
        store.tables.plans.strike(queue, place_of(text, key))
        store.tables.plans.forget_page(key)


def _forget_url(store: Store, key: bytes) -> None:
    """Delete what is known about a URL, and mark it as refused."""
    store.tables.held.forget(key)
    if (place := store.tables.tail.place(key)) is not None:
        store.tables.tail.remove(key, place, store.tables.tail.holder_of(place))  # its class notices it at the next draw
    if store.tables.tail.draw(key) is not None:
        store.tables.tail.end_draw(key)
        store.counters.add(PENDING, -1)
    store.tables.aliases.forget(key)
    store.tables.redirects.forget(key)
    store.tables.verdicts.forget(key)
    for table in (ANNOUNCED, CHECKS, FAILURES, SUSPECTS, REVISITS):
        store.delete(table, key)
    row = store.tables.seen.row(key)
    if row is not None and row.state is not State.OUTBOX:
        store.tables.seen.update(key, row._replace(state=State.REFUSED, reason=Reason.FORGOTTEN, visit=0))


def _forget_visit(store: Store, visit: int) -> bool:
    """Delete the results of a visit; return whether it had a page."""
    number = pack_u64(visit)
    is_page = store.get(PAGES, number) is not None
    if is_page:
        store.counters.add("rows:pages", -1)
    for table in (PAGES, BODIES, LINKS, JOURNAL):
        store.delete(table, number)
    return is_page


def _take_from_queue(store: Store, queue: bytes, numbers: Collection[int]) -> None:
    """Delete the rows of these URLs from a host's queue."""
    queues = store.tables.queues
    waiting = [place for place, _ in queues.waiting(queue) if place.seq in numbers]
    host = queues.host(queue)
    if host is None or not waiting:
        return
    for place in waiting:
        queues.take(place)
    host.n_queued -= len(waiting)
    if not host.n_queued and host.due:
        store.tables.queues.file(queue, host.due, 0.0)
        host.due = 0.0
    store.tables.queues.save_host(queue, host)


def _forget_host(store: Store, space: URLSpace, origins: Iterable[str]) -> None:
    """Delete the robots.txt of a host's origins; if the host is the whole site, what filters know of it, in the journal of moves, too."""
    for origin in origins:
        store.delete(ROBOTS, space.origin_key(origin))
        site = space.queue_key(origin)[:8]
        record = store.tables.queues.site(site)
        if record is not None and record.n_hosts == 1:
            for table in (MEMORY, MEMORY_BYTES):
                for row in [row for row, _ in _all(store, table) if row[2:10] == site]:
                    store.delete(table, row)
        if record is None or record.n_hosts == 1:  # a site that this agent had for a while is in its journal still
            store.tables.journal.forget(site)
    used = {ROBOTS_RECORD.decode(value).file for _, value in _all(store, ROBOTS)}
    for name in [name for name, _ in _all(store, ROBOTS_FILES) if name not in used]:
        store.delete(ROBOTS_FILES, name)


def _all(store: Store, table: str) -> Iterator[Row]:
    """Yield the rows of a table, a chunk at a time; they may be deleted meanwhile."""
    first = b""
    while rows := store.scan(table, start=first, limit=_AT_ONCE):
        yield from rows
        first = rows[-1][0] + b"\0"


def _commit(store: Store) -> None:
    store.end_visit()
    store.flush(store.clock).result()


BEGIN: Final[Change[Takedown, None]] = Change("begin a takedown", _begin, Takedown, type(None))
FINISH: Final[Change[None, None]] = Change("finish takedowns", _finish, type(None), type(None))
TAKE_OVER: Final[Change[list[Takedown], None]] = Change("take takedowns over", _take_over, list[Takedown], type(None))
CHANGES: Final = (BEGIN, FINISH, TAKE_OVER)
