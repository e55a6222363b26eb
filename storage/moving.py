"""Moves partitions from shard to shard, while no agent runs and no message is under way.

A range of partitions is a range of keys in nearly every table. What is known about its sites is first copied into the new shard
(`Arrival`), part by part, then deleted in the old one (`Departure`); there each URL stays known as another agent's, since the link graph
has its number. Results stay where they were written: a row of `seen` names the shard of its visit. Filters' records that belong to no site
are copied and also stay, since both shards may need them. Both journals tell of the move (tables/journal.py).

Every step may be repeated: data that are there already are not copied again, data that are gone are not deleted again. So a kill at any
moment only costs the steps since the last commit, and until the end `partitions.json` has the future table.

Memory: 2,000 rows. Time: about 30 µs a URL.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from thresher.crawler.core.model import Reason, State
from thresher.crawler.core.ownership import N_PARTITIONS, first_key
from thresher.storage.export.labels import LabelLookup
from thresher.storage.overlay import Row
from thresher.storage.packing import moved_visit, pack_u64, unpack_queue_key, unpack_seen, unpack_u64, unpack_waiting
from thresher.storage.partition_rows import BY_FILTER, BY_SITE, LAST, WHOLE, is_of_no_site, of_range, scanned
from thresher.storage.records import EDGE, HOST, REQUISITE, SITE
from thresher.storage.schema import (
    CHECKS,
    EDGES,
    EDGES_IN,
    FOREIGN_LABELS,
    HELD,
    HELD_BY,
    HOSTS,
    MEMORY,
    MEMORY_BYTES,
    QUEUE,
    REQUESTS,
    REQUISITES,
    SEEN,
    SITE_LINKS,
    SITES,
    TAIL_PLACES,
)
from thresher.storage.store import Store
from thresher.storage.tables.journal import Move, arrived, departed
from thresher.storage.tables.rounds import moved_check
from thresher.storage.view import View

_CHUNK = 1000
_AT_ONCE = 2000  # rows of one commit


def moves(before: bytes, after: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield (first and last partition, from, to) of each range that changes its agent."""
    number = 0
    while number < N_PARTITIONS:
        pair, first = (before[number], after[number]), number
        while number < N_PARTITIONS and (before[number], after[number]) == pair:
            number += 1
        if pair[0] != pair[1]:
            yield first, number - 1, *pair


class Arrival:
    """The arrival of one range of partitions in its new shard."""

    def __init__(self, source: Store | View, target: Store, *, shard: int, first: int, last: int) -> None:
        """Create the arrival.

        Args:
            source: The shard that has the range, or a copy of it.
            shard: Number of the source.
            first, last: Partitions.
        """
        self._from = source
        self._to = target
        self._shard = shard
        self._range = first, last
        self._begin, self._end = first_key(first), first_key(last + 1)
        self._records: list[Row] = []  # filters' records that were copied since the last commit
        self._n = 0

    def copy(self) -> None:
        """Copy what is known about the range, and commit."""
        for table in BY_SITE:
            for key, value in self._rows(table):
                self._copy(table, key, moved_check(value) if table == CHECKS else value)
        for table in WHOLE:
            for key, value in scanned(self._from, table, b"", None):
                self._copy(table, key, value)
        self._copy_labels()
        self._copy_second_ends()
        self._copy_memories()
        self._copy_urls()
        self._copy_requests()
        self._copy_queues()
        self._commit()

    def end(self) -> None:
        """Mark URLs as refused, after the departure: those that the target had sent to the source, which refused and only counted them."""
        for key, value in scanned(self._to, SEEN, self._begin, self._end):
            row = unpack_seen(value)
            if row.state is State.OUTBOX:
                self._to.tables.seen.update(key, row._replace(state=State.REFUSED, reason=Reason.REFUSED_BY_FILTER))
                self._step()
        self._commit()

    def _rows(self, table: str) -> Iterator[Row]:
        return of_range(self._from, table, self._begin, self._end)

    def _copy(self, table: str, key: bytes, value: bytes) -> None:
        if self._to.get(table, key) is None:
            self._to.put(table, key, value)
            if table == TAIL_PLACES:
                self._to.tables.tail.count_moved(key, 1)
            self._step()

    def _copy_labels(self) -> None:
        """Copy the labels of pages that stay and have named URLs that move."""
        labels = LabelLookup(self._from, self._from.settings, self._from.secret)
        if not labels:
            return
        vias = chain(
            (self._from.tables.seen.record(unpack_seen(value).seq).via for _, value in self._rows(SEEN)),
            (REQUISITE.decode(value).via for _, value in self._rows(REQUISITES)),
        )
        while some := list(islice(vias, _CHUNK)):
            for key, label in labels.of(via for via in some if not self._begin <= via < self._end).items():
                self._copy(FOREIGN_LABELS, key, label.encode())

    def _copy_second_ends(self) -> None:
        """Copy rows under keys of other sites, and recount values of which the target knew a part."""
        for key, value in self._rows(HELD_BY):
            self._copy(HELD, key[16:] + key[:16], value)
        for key, value in self._rows(EDGES):
            if to_key := EDGE.decode(value).to_key:
                self._copy(EDGES_IN, to_key + key, b"")
        for site, value in self._rows(SITES):
            record = SITE.decode(value)
            record.n_linking = sum(1 for _ in scanned(self._to, SITE_LINKS, site, site + LAST))
            self._to.put(SITES, site, SITE.encode(record))
            self._step()

    def _copy_memories(self) -> None:
        """Copy filters' memories of the sites; they replace those of the target."""
        for key, value in self._rows(MEMORY):
            if not is_of_no_site(key):
                self._teach(key, value)
        for place, _ in self._rows(MEMORY_BYTES):
            if not is_of_no_site(place):
                self._book(place)

    def copy_common(self) -> None:
        """Copy filters' records that belong to no site; if both shards have a record, the longer one stays."""
        for place, _ in scanned(self._from, MEMORY_BYTES, b"", None):
            if is_of_no_site(place):
                for key, value in scanned(self._from, MEMORY, place, place + LAST):
                    if len(self._to.get(MEMORY, key) or b"") < len(value):
                        self._teach(key, value)
                self._book(place)
        self._commit()

    def _book(self, place: bytes) -> None:
        """Store how many bytes of memory a site uses."""
        used = sum(len(key) + len(value) for key, value in scanned(self._to, MEMORY, place, place + LAST))
        self._to.put(MEMORY_BYTES, place, pack_u64(used))
        self._step()

    def _teach(self, key: bytes, value: bytes) -> None:
        self._to.put(MEMORY, key, value)
        self._records.append((key, value))
        self._step()

    def _step(self) -> None:
        self._n += 1
        if self._n % _AT_ONCE == 0:
            self._commit()

    def _commit(self) -> None:
        """Commit; the journal gets filters' records in the commit that copies them, since what taught them is in the source's."""
        self._to.tables.journal.put([arrived(Move(*self._range, self._records))])
        self._records = []
        _commit(self._to)

    def _copy_urls(self) -> None:
        """Copy the known URLs."""
        for key, value in self._rows(SEEN):
            row = unpack_seen(value)
            if row.state is State.OUTBOX:
                continue
            known = self._to.tables.seen.row(key)
            row = row._replace(visit=moved_visit(row.visit, self._shard))
            if known is None:
                self._to.tables.seen.adopt(self._from.tables.seen.record(row.seq), row)
            elif known.state is State.OUTBOX:
                self._to.tables.seen.update(key, row._replace(seq=known.seq))
            self._step()

    def _copy_requests(self) -> None:
        """Copy filters' own requests and their rows in the queues; a request that the target has already is the same."""
        known = {(self._to.tables.seen.record(unpack_u64(number)).key, who) for number, who in scanned(self._to, REQUESTS, b"", None)}
        for number, who in scanned(self._from, REQUESTS, b"", None):
            record = self._from.tables.seen.record(unpack_u64(number))
            if self._begin <= record.key < self._end and (record.key, who) not in known:
                seq = self._to.take_seq()
                self._to.tables.urls.add(seq, [record.text], [record.key], record.via, record.found_at)
                self._to.put(REQUESTS, pack_u64(seq), who)
                for place, waiting in self._from.tables.queues.waiting(record.key[:8]):
                    if place.seq == unpack_u64(number):
                        self._to.tables.queues.put_waiting(place._replace(seq=seq), waiting)
                self._renumber(record.key, unpack_u64(number), seq)

    def _renumber(self, key: bytes, before: int, seq: int) -> None:
        """Write the new number of the request of a page's next visit into its plan."""
        plan = self._to.tables.plans.page(key)
        if plan is not None and plan.seq == before:
            plan.seq = seq
            self._to.tables.plans.save_page(key, plan)

    def _copy_queues(self) -> None:
        """Copy the rows of queued URLs, with their new numbers; the record of the host is copied last."""
        for key, values in self._rows(QUEUE):
            row, waiting = unpack_queue_key(key), unpack_waiting(values)
            for seq, url in zip([row.seq + each.past for each in waiting], waiting, strict=True):
                if self._from.tables.requests.requester(seq):
                    continue
                known = self._to.tables.seen.row(self._from.tables.seen.record(seq).key)
                assert known is not None, f"number {seq} waits and was not copied"
                self._to.tables.queues.put_waiting(row._replace(seq=known.seq), url)
                self._step()
        for queue, value in self._rows(HOSTS):
            if self._to.tables.queues.host(queue) is None:
                host = HOST.decode(value)
                self._to.tables.queues.save_host(queue, host)
                self._to.tables.queues.file(queue, 0.0, host.due)
                self._step()


class Departure:
    """The departure of the same range from its old shard, once all of it has arrived."""

    def __init__(self, store: Store, *, first: int, last: int) -> None:
        """first, last: Partitions."""
        self._store = store
        self._range = first, last
        self._begin, self._end = first_key(first), first_key(last + 1)
        self._n = 0

    def run(self) -> None:
        """Delete what now belongs to another agent, and commit."""
        self._delete_queues()
        self._delete_rest()
        self._store.tables.journal.put([departed(*self._range)])
        _commit(self._store)

    def _rows(self, table: str) -> Iterator[Row]:
        return of_range(self._store, table, self._begin, self._end)

    def _delete_queues(self) -> None:
        for number, _ in scanned(self._store, REQUESTS, b"", None):
            if self._begin <= self._store.tables.seen.record(unpack_u64(number)).key < self._end:
                self._store.tables.requests.pop(unpack_u64(number))
        for queue, value in self._rows(HOSTS):
            for key, _ in scanned(self._store, QUEUE, queue, queue + LAST):
                self._store.delete(QUEUE, key)
            self._store.tables.queues.forget_host(queue, HOST.decode(value))
            self._step()
        for key, value in self._rows(SEEN):
            row = unpack_seen(value)
            if row.state is not State.OUTBOX:
                self._store.tables.seen.update(key, row._replace(state=State.OUTBOX, reason=None))
                self._step()

    def _delete_rest(self) -> None:
        """Delete the rest; redirects of this shard to the moved sites stay known on both sides."""
        for key, _ in self._rows(HELD_BY):
            self._store.delete(HELD, key[16:] + key[:16])
        for table in reversed((*BY_SITE, *BY_FILTER)):  # a held URL is deleted before its class, which names its holder
            for key, _ in self._rows(table):
                stays = is_of_no_site(key) if table in BY_FILTER else table == EDGES_IN and self._is_own(key[16:])
                if not stays:
                    if table == TAIL_PLACES:
                        self._store.tables.tail.count_moved(key, -1)
                    self._store.delete(table, key)
                    self._step()

    def _is_own(self, key: bytes) -> bool:
        row = self._store.tables.seen.row(key)
        return row is not None and row.state is not State.OUTBOX

    def _step(self) -> None:
        self._n += 1
        if self._n % _AT_ONCE == 0:
            _commit(self._store)


def move(source: Store, target: Store, *, shard: int, first: int, last: int) -> None:
    """Move partitions between two shards of one machine.

    Args:
        shard: Number of the source.
        first, last: Partitions.
    """
    arrival = Arrival(source, target, shard=shard, first=first, last=last)
    arrival.copy()
    Departure(source, first=first, last=last).run()
    arrival.end()


def move_quarantined(source: Store, target: Store) -> None:
    """Move the quarantined rows of a shard that will have no agent, so that they can be offered again."""
    rows = source.tables.quarantine.all()
    for key, record in rows:
        target.tables.quarantine.adopt(key, record)
    if rows:
        _commit(target)
    for key, record in rows:
        source.tables.quarantine.take(key, record)
    if rows:
        _commit(source)


def _commit(store: Store) -> None:
    """Commit; this uses a number of a visit."""
    store.end_visit()
    store.flush(store.clock).result()
