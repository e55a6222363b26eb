"""Checks whether a store is sound: every invariant between its tables, row by row; it changes nothing.

Before that, every page is walked and every row's seal is checked (storage/rot.py), if no crawl runs (it would move pages). Remains of a
kill are no damage: results after the watermark, log lines after the committed end. Memory: about 100 bytes per waiting URL, per page and
per host. Time: about 10 µs per row, and 50 µs per body.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import msgspec
from backports import zstd

from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.model import Purpose, State
from thresher.crawler.core.ports import SeenRow
from thresher.crawler.core.robots import RobotsRecord
from thresher.storage.archive.checking import archive_problems
from thresher.storage.directory import require_store
from thresher.storage.far import FarView
from thresher.storage.lock import lock_holder
from thresher.storage.packing import (
    WAITING_BYTES,
    is_elsewhere,
    microseconds,
    pack_due,
    pack_queue_key,
    pack_u64,
    unpack_due,
    unpack_queue_key,
    unpack_seen,
    unpack_u64,
    unpack_waiting,
)
from thresher.storage.partitions import is_moving, local_shard_paths, require_crawl
from thresher.storage.records import ALIAS, EDGE, HOST, PAGE, PAIR, SITE, Codec, UrlRecord
from thresher.storage.rot import damaged_pages, damaged_rows
from thresher.storage.schema import (
    ALIAS_OF,
    ALIASES,
    BODIES,
    DUE,
    EDGES,
    EDGES_IN,
    HELD,
    HELD_BY,
    HOSTS,
    JOURNAL,
    MEMORY,
    MEMORY_BYTES,
    OUTDATED,
    PAGES,
    PAIRS,
    QUEUE,
    REQUESTS,
    ROBOTS,
    ROBOTS_FILES,
    SEEN,
    SITE_LINKS,
    SITES,
    Meta,
)
from thresher.storage.shards import ShardsView, open_view
from thresher.storage.tables.bodies import digest
from thresher.storage.tables.quarantine import COUNTED
from thresher.storage.verify_channels import verify_channels
from thresher.storage.verify_requisites import verify_requisites
from thresher.storage.verify_rounds import verify_rounds, verify_schedule
from thresher.storage.verify_sitemaps import verify_sitemaps
from thresher.storage.verify_tail import verify_tail
from thresher.storage.view import View

MOST_PROBLEMS = 100
_CHUNK = 1000
_ROBOTS = Codec(RobotsRecord)


def verify(path: Path, *, bodies: bool = True) -> list[str]:
    """Return messages about what is wrong with a store, at most `MOST_PROBLEMS`; [] if it is sound.

    Args:
        bodies: Whether every stored body, and every record of the archive, is unpacked and compared with its checksum. Of damaged pages
            nothing more is read.

    Raises:
        StoreError: If it cannot be opened.
    """
    require_crawl(path)
    require_store(path)
    is_free = not lock_holder(path)
    if is_free and (pages := [problem for shard in local_shard_paths(path) for problem in damaged_pages(shard)]):
        return pages[:MOST_PROBLEMS]
    with open_view(path, at_once=True) as whole:
        shards = whole.shards if isinstance(whole, ShardsView) else [whole]
        if is_free and (pages := [problem for view in shards if isinstance(view, FarView) for problem in view.damaged_pages()]):
            return pages[:MOST_PROBLEMS]
        moves = is_moving(path)
        wheres = [f"shard {k}: " if len(shards) > 1 else "" for k in range(len(shards))]
        found = (
            problem for view, where in zip(shards, wheres, strict=True) for problem in problems(view, where, bodies=bodies, is_moving=moves)
        )
        is_still = len(shards) > 1 and not lock_holder(path)  # while agents run, their shards are not read at the same moment
        across = verify_channels(path, shards) if is_still else iter(())
        return list(islice(_once(chain(found, _readable(across))), MOST_PROBLEMS))


def _once(problems: Iterator[str]) -> Iterator[str]:
    """Yield each problem once: several checks may find it in one row."""
    met: set[str] = set()
    for problem in problems:
        if problem not in met:
            met.add(problem)
            yield problem


def problems(view: View, where: str, *, bodies: bool, is_moving: bool = False) -> Iterator[str]:
    """Check one shard, or the only store; a shard on another machine is checked there.

    Args:
        where: Text before each message; "" for the only store.
        is_moving: Whether a move of partitions is unfinished: then moving rows are in some tables and not in others.
    """
    if isinstance(view, FarView):
        return iter(view.problems(where, bodies=bodies))
    whole = (iter(damaged_rows(view)), _pages(view, bodies), _results(view), archive_problems(view, unpacks=bodies))
    if is_moving:
        return (where + problem for check in whole for problem in _readable(check))
    checks = (
        *whole,
        *(
            _urls(view),
            _queues(view),
            _hosts(view),
            _counters(view),
            _edges(view, is_alone=not where),
            _held(view),
            verify_tail(view),
            _aliases(view),
        ),
        *(_robots(view), _memories(view)),
        *(verify_sitemaps(view), verify_rounds(view), verify_schedule(view), verify_requisites(view)),
    )
    return (where + problem for check in checks for problem in _readable(check))


def _readable(check: Iterator[str]) -> Iterator[str]:
    """Yield a check's problems; a row that cannot be decoded is one, and ends it."""
    try:
        yield from check
    except StoreError as error:
        yield str(error)
    except (msgspec.MsgspecError, struct.error, ValueError, AssertionError, IndexError) as error:
        yield f"a row cannot be read: {error}"


def _urls(view: View) -> Iterator[str]:
    """Check that every known URL has one state, one number and one text, and that every number belongs to a URL or a request."""
    next_seq, n_known = unpack_u64(view.meta(Meta.NEXT_SEQ)), 0
    known = view.rows(SEEN)
    while chunk := [(key, unpack_seen(value)) for key, value in islice(known, _CHUNK)]:
        n_known += len(chunk)
        for (key, row), url in zip(chunk, view.tables.urls.get_many([row.seq for _, row in chunk]), strict=True):
            if url is None or url.key != key:
                yield f"seen {key.hex()}: its number {row.seq} is of {'no URL' if url is None else 'another URL'}"
            yield from _seen_row(view, key, row, next_seq)
    n_requests = sum(1 for _ in view.rows(REQUESTS))
    n_texts = sum(1 for _ in view.numbered_urls())
    if n_texts != n_known + n_requests:
        yield f"urls: {n_texts} texts for {n_known} known URLs and {n_requests} requests"


def _seen_row(view: View, key: bytes, row: SeenRow, next_seq: int) -> Iterator[str]:
    if row.seq >= next_seq:
        yield f"seen {key.hex()}: number {row.seq} has not been given out yet ({next_seq} is next)"
    if not is_elsewhere(row.visit) and row.visit >= view.visit:
        yield f"seen {key.hex()}: visit {row.visit} is past the watermark {view.visit}"
    if row.state is State.ALIAS and view.get(ALIASES, key) is None:
        yield f"seen {key.hex()}: an alias that leads nowhere"


def _queues(view: View) -> Iterator[str]:
    """Check that each URL in state QUEUED, and each filter's request, has exactly one place in a queue, and that no other URL has one.

    Numbers must ascend within a row, and from row to row of a rank.
    """
    waiting: set[int] = set()
    before = b""
    for row, values in view.rows(QUEUE):
        place, urls = unpack_queue_key(row), unpack_waiting(values)
        numbers = [place.seq + url.past * view.stride for url in urls]
        if not urls or numbers != sorted(set(numbers)) or pack_queue_key(*place[:3], numbers[0]) <= before:
            yield f"queue {place.queue.hex()}: the row of number {place.seq} is empty, or out of order"
        before = pack_queue_key(*place[:3], numbers[-1]) if urls else row
        if view.get(HOSTS, place.queue) is None:
            yield f"queue {place.queue.hex()}: has rows and no host"
        for seq, url in zip(numbers, view.tables.urls.get_many(numbers), strict=True):
            if seq in waiting:
                yield f"queue {place.queue.hex()}: number {seq} waits twice"
            waiting.add(seq)
            yield from _waits(view, place.queue, seq, url)
    for key, value in view.rows(SEEN):
        known = unpack_seen(value)
        if known.state is State.QUEUED and known.seq not in waiting:
            yield f"seen {key.hex()}: queued, and in no queue"
    for number, _ in view.rows(REQUESTS):
        if unpack_u64(number) not in waiting:
            yield f"requests {unpack_u64(number)}: in no queue"


def _waits(view: View, queue: bytes, seq: int, url: UrlRecord | None) -> Iterator[str]:
    if url is None:
        yield f"queue {queue.hex()}: number {seq} waits and is of no URL"
        return
    if url.key[:8] != queue[:8]:
        yield f"queue {queue.hex()}: number {seq} is of a URL of another site"
    seen = view.get(SEEN, url.key)
    if view.get(REQUESTS, pack_u64(seq)) is None and (seen is None or unpack_seen(seen).state is not State.QUEUED):
        yield f"queue {queue.hex()}: number {seq} waits, its URL is {_state(seen)}"


def _state(seen: bytes | None) -> str:
    return "unknown" if seen is None else unpack_seen(seen).state.name.lower()


def _hosts(view: View) -> Iterator[str]:
    """Check the records of hosts (waiting URLs, and one row in `due` if there are any) and of sites (hosts, and linking sites)."""
    n_rows: Counter[bytes] = Counter()
    for row, values in view.rows(QUEUE):
        n_rows[row[:16]] += len(values) // WAITING_BYTES
    n_hosts: Counter[bytes] = Counter()
    for queue, value in view.rows(HOSTS):
        host = HOST.decode(value)
        n_hosts[queue[:8]] += 1
        if host.n_queued != n_rows[queue]:
            yield f"host {host.name}: says that {host.n_queued} URLs wait, there are {n_rows[queue]}"
        if host.n_queued and not host.due:
            yield f"host {host.name}: {host.n_queued} URLs wait, and it is never due"
        if host.due and view.get(DUE, pack_due(host.due, queue)) is None:
            yield f"host {host.name}: has no row in `due` at {host.due}"
    for row, _ in view.rows(DUE):
        due, queue = unpack_due(row)
        owner = view.get(HOSTS, queue)
        if owner is None or microseconds(HOST.decode(owner).due) != microseconds(due):
            yield f"due {due}: a row of host {queue.hex()} which is not due then"
    n_linking = Counter(pair[:8] for pair in view.keys(SITE_LINKS))
    for site, value in view.rows(SITES):
        record = SITE.decode(value)
        if record.n_linking != n_linking[site]:
            yield f"site {record.name}: says that {record.n_linking} sites link to it, there are {n_linking[site]}"
        if record.n_hosts != n_hosts[site]:
            yield f"site {record.name}: says that it has {record.n_hosts} hosts, there are {n_hosts[site]}"


def _counters(view: View) -> Iterator[str]:
    """Count again what can be counted, and compare it with the counters."""
    found = Counter(f"state:{unpack_seen(value).state.name.lower()}" for _, value in view.rows(SEEN))
    found["hosts"] = sum(1 for _ in view.rows(HOSTS))
    found["rows:due"] = sum(1 for _ in view.rows(DUE))
    found.update(COUNTED + record.what for _, record in view.tables.quarantine.all())
    found["rows:pages"] = sum(1 for key, _ in view.rows(PAGES) if unpack_u64(key) < view.visit)
    counters = view.counters
    known = (*(f"state:{state.name.lower()}" for state in State), *counters.all(COUNTED))
    for name in sorted({*found, *known}):
        if counters.get(name) != found[name]:
            yield f"counter {name}: says {counters.get(name)}, there are {found[name]}"


def _edges(view: View, *, is_alone: bool) -> Iterator[str]:
    """Check that both directions of the redirect log have the same redirects, and that the original of each pair redirects."""
    n_forward = 0
    for key, value in view.rows(EDGES):
        edge = EDGE.decode(value)
        n_forward += bool(edge.to_key)
        if edge.to_key and view.get(EDGES_IN, edge.to_key + key) is None:
            yield f"edge {key.hex()}: its target does not know it"
    n_backward = sum(1 for row in view.keys(EDGES_IN) if is_alone or not _is_foreign(view, row[16:]))
    if n_forward != n_backward:
        yield f"edges: {n_forward} lead somewhere, {n_backward} are known at their targets"
    for key, value in view.rows(PAIRS):
        PAIR.decode(value)
        if view.get(EDGES, key) is None:
            yield f"pair {key.hex()}: its original redirects nowhere"


def _is_foreign(view: View, key: bytes) -> bool:
    """Return whether an original is unknown in this shard, or belongs to another agent."""
    seen = view.get(SEEN, key)
    return seen is None or unpack_seen(seen).state is State.OUTBOX


def _held(view: View) -> Iterator[str]:
    """Check that both tables of holds have the same holds, and that a URL has a holder if and only if its state is HELD."""
    for row, holder in view.rows(HELD):
        if view.get(HELD_BY, row[8:] + row[:8]) != holder:
            yield f"held {row[8:].hex()}: by {holder.decode()}, which held_by does not say"
    for row, holder in view.rows(HELD_BY):
        key = row[:16]
        seen = view.get(SEEN, key)
        if view.get(HELD, row[16:] + key) != holder:
            yield f"held_by {key.hex()}: {holder.decode()}, which held does not say"
        if seen is None or unpack_seen(seen).state is not State.HELD:
            yield f"held_by {key.hex()}: held by {holder.decode()}, and its URL is {_state(seen)}"
    for key, value in view.rows(SEEN):
        if unpack_seen(value).state is State.HELD and not view.scan(HELD_BY, key, limit=1):
            yield f"seen {key.hex()}: held by nobody"


def _aliases(view: View) -> Iterator[str]:
    """Check that both tables of aliases have the same aliases."""
    for row, _ in view.rows(ALIAS_OF):
        alias = view.tables.aliases.get(row[16:])
        if alias is None or alias.to_key != row[:16]:
            yield f"alias_of {row.hex()}: no alias leads there"
    for key, value in view.rows(ALIASES):
        to_key = ALIAS.decode(value).to_key
        if to_key and view.get(ALIAS_OF, to_key + key) is None:
            yield f"aliases {key.hex()}: alias_of does not say where it leads"


def _robots(view: View) -> Iterator[str]:
    """Check that every robots.txt that a record names is stored."""
    for _, value in view.rows(ROBOTS):
        record = _ROBOTS.decode(value)
        if record.file and view.get(ROBOTS_FILES, record.file) is None:
            yield f"robots {record.origin}: its file {record.file.hex()} is not stored"


def _memories(view: View) -> Iterator[str]:
    """Add up the bytes of each filter's records of a site, and compare them with the stored sums."""
    found: Counter[bytes] = Counter()
    for key, value in view.rows(MEMORY):
        found[key[:10]] += len(key) + len(value)
    booked = Counter({key: unpack_u64(value) for key, value in view.rows(MEMORY_BYTES)})
    for place in sorted({*found, *booked}):
        if found[place] != booked[place]:
            yield f"memory {place.hex()}: {booked[place]} bytes booked, {found[place]} used"


def _pages(view: View, bodies: bool) -> Iterator[str]:
    """Check that a page's URL was last visited by the page's visit or a later one, has no second page, and that its body is unchanged."""
    once: set[bytes] = set()
    outdated = {unpack_u64(visit) for visit, _ in view.rows(OUTDATED)}
    for visit, page in view.all_pages():
        if visit in outdated:  # to be deleted: the URL was visited again
            continue
        seen = view.get(SEEN, page.key)
        if seen is None or unpack_seen(seen).visit < visit:
            yield f"page {visit}: {page.url} does not know of this visit"
        if page.purpose in (Purpose.PAGE, Purpose.ANNOUNCED) and page.key in once:
            yield f"page {visit}: {page.url} has a page already"
        once.add(page.key)
        has_row, is_archived = view.get(BODIES, pack_u64(visit)) is not None, view.tables.captures.place(visit) is not None
        if has_row and not page.has_body:
            yield f"page {visit}: {page.url} has a body it does not know of"
        elif page.has_body and not (has_row or is_archived):
            yield f"page {visit}: {page.url} lacks its body"
        elif page.has_body and bodies and (problem := _body_problem(view, visit, page.sha256)):
            yield f"page {visit}: {page.url}: its body {problem}"


def _body_problem(view: View, visit: int, sha256: bytes) -> str:
    try:
        body = view.tables.bodies.get(visit)
    except (zstd.ZstdError, StoreError) as error:
        return f"cannot be unpacked: {error}"
    if body is None:
        return "is not in its record of the archive, nor anywhere else"
    return "" if digest(body) == sha256 else "is not what was fetched: its sha256 differs"


def _results(view: View) -> Iterator[str]:
    """Check that bodies and links belong to stored pages, that links lead to numbers in use, and that journal and pages can be read."""
    next_seq = unpack_u64(view.meta(Meta.NEXT_SEQ))
    for key, _ in view.rows(BODIES):
        if unpack_u64(key) < view.visit and view.get(PAGES, key) is None:
            yield f"body {unpack_u64(key)}: of no page"
    for visit, targets in view.all_links():
        if view.get(PAGES, pack_u64(visit)) is None:
            yield f"links {visit}: of no page"
        if not all(0 < seq < next_seq for seq in targets):
            yield f"links {visit}: lead to a number that was never given out"
    for key, _ in view.rows(JOURNAL):
        if unpack_u64(key) < view.visit:
            view.tables.journal.read(unpack_u64(key))
    for _, value in view.rows(PAGES):
        PAGE.decode(value)
