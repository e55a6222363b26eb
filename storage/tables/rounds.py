"""Rounds of revisits: which round it is, which URLs wait for a revisit, what each URL's visits have shown, and what has changed.

state
    rounds      number 8          → RoundRecord; the first crawl is round 1 and has none
    revisits    kh 16             → RevisitRecord, while a revisit of the URL waits; its request is in `requests`
    checks      kh 16             → CheckRecord, once the URL was visited again
    watches     q 16              → WatchRecord, of each host that was visited again
    outdated    visit 8           → the visit that replaced it 8: versions beyond the limit, to be deleted
results
    changes     visit 8           → ChangeRecord: the result of a revisit; a new page has none

A version is a page's record, with body and links, by its visit; the newest visit is in the URL's row of `seen`. Old versions
are deleted only once the commit that replaced them is on disk (`prune`), so a kill between the two environments' commits loses none.
"""

from __future__ import annotations

from typing import Final

import msgspec

from thresher.crawler.core.revisit import Validators, validators
from thresher.storage.packing import pack_u64, unpack_u64
from thresher.storage.records import Codec, PageRecord
from thresher.storage.rows import Rows
from thresher.storage.schema import BODIES, CHANGES, CHECKS, LINKS, OUTDATED, PAGES, REVISITS, ROUNDS, WATCHES
from thresher.storage.tables.requests import Requester

REQUESTER: Final = Requester("recrawl")  # name in `requests`; no filter has it
_N_ROWS = "rows:pages"
_PRUNED_AT_ONCE = 20


class RoundRecord(msgspec.Struct, array_like=True):
    """One round of revisits: which URLs it visits, its progress, and its results."""

    number: int  # from 2
    began_at: float
    cutoff: float  # URLs that were visited before this time are visited
    where: list[str]
    first_visit: int  # number of its first visit
    stage: str = "hosts"  # "hosts"; "urls" while revisits are queued; "asking"; "done"; "closing" while they are removed
    cursor: bytes = b""  # key up to which the table of its stage is done
    ended_at: float = 0.0
    pages_before: int = 0  # pages and bytes of earlier rounds, which do not count for the limits of this one
    bytes_before: int = 0
    n_queued: int = 0  # number of revisits
    n_settled: int = 0
    counts: dict[str, int] = {}  # answers by their result
    bytes_received: int = 0  # bytes received by revisits
    bytes_spared: int = 0  # bytes of unchanged pages that were not sent again
    is_continuous: bool = False  # the round of `schedule: continuous`: it has no end, and visits each page when it is due


class RevisitRecord(msgspec.Struct, array_like=True):
    """A revisit that waits."""

    round: int
    is_audit: bool = False  # a second request, without conditions
    said_at: float = 0.0  # time of the 304 that it checks
    first_look: bytes = b""  # fingerprint of what the first request showed, if it differed by little


class CheckRecord(msgspec.Struct, array_like=True):
    """The results of a URL's visits so far. Validators, digest and sketch are of its newest version."""

    at: float  # of its last visit
    round: int
    status: int = 0  # HTTP status of the last answer; 0: none
    standing: str = "page"  # what the URL is: page, redirect, alias, gone; none: it never had a valid answer
    n_visits: int = 0  # number of revisits
    n_changes: int = 0
    changed_at: float = 0.0
    etag: str = ""
    last_modified: str = ""
    sha256: bytes = b""
    fingerprint: bytes = b""
    sketch: bytes = b""  # if bodies are not stored
    wire_bytes: int = 0
    missing_since: float = 0.0  # first of its 404s in a row
    gone_at: float = 0.0
    is_restless: bool = False  # it differs a little at every request
    failed: str = ""  # why the last revisit gave no valid answer
    versions: list[int] = []  # visits whose records are kept, oldest first; the last is the newest
    copy_of: bytes = b""  # key of the page whose text it now shows


class WatchRecord(msgspec.Struct, array_like=True):
    """A host's answers to revisits."""

    name: str
    round: int = 0
    n_answers: int = 0  # in that round
    history: int = 0  # a bit for each of its last answers in that round, 1: a lost page
    last_target: str = ""  # where the last moved page has moved to, in this round
    last_text: bytes = b""  # fingerprint of the last changed page, in this round
    n_not_modified: int = 0  # number of 304s
    n_audited: int = 0
    lied_at: float = 0.0  # time when a 304 of it was false: requested without conditions since
    is_doubted: bool = False  # it was parked for sudden losses: its 404s do not count yet
    parked: str = ""  # why it is parked; "": it is not
    trusted: int = 0  # the round in which the operator trusts it


class ChangeRecord(msgspec.Struct, array_like=True):
    """A change that one revisit has found."""

    url: str
    key: bytes
    kind: str  # new, changed, moved, gone
    at: float
    round: int
    status: int
    amount: float | None = None  # changed: share of the text, 0 to 1
    to: str = ""  # moved: target
    before: int = 0  # visit of the version that it replaces; 0: there was none
    by: str = ""  # moved: "alias": by a rule; "copy": it shows the text of the other page; "": by a redirect


_ROUND = Codec(RoundRecord)
_REVISIT = Codec(RevisitRecord)
_CHECK = Codec(CheckRecord)
_WATCH = Codec(WatchRecord)
_CHANGE = Codec(ChangeRecord)


class Rounds:
    """The rows of rounds."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._may_prune = True  # False once nothing is outdated

    # -- rounds

    def all(self) -> list[RoundRecord]:
        """Return every round but the first, oldest first."""
        return [_ROUND.decode(value) for _, value in self._rows.scan(ROUNDS)]

    def last(self) -> RoundRecord | None:
        """Return the newest round, None while there is only the first crawl."""
        found = self.all()
        return found[-1] if found else None

    def save(self, record: RoundRecord) -> None:
        self._rows.put(ROUNDS, pack_u64(record.number), _ROUND.encode(record))

    # -- waiting revisits

    def revisit(self, key: bytes) -> RevisitRecord | None:
        value = self._rows.get(REVISITS, key)
        return None if value is None else _REVISIT.decode(value)

    def save_revisit(self, key: bytes, record: RevisitRecord) -> None:
        self._rows.put(REVISITS, key, _REVISIT.encode(record))

    def forget_revisit(self, key: bytes) -> None:
        self._rows.delete(REVISITS, key)

    # -- results of visits

    def check(self, key: bytes) -> CheckRecord | None:
        value = self._rows.get(CHECKS, key)
        return None if value is None else _CHECK.decode(value)

    def save_check(self, key: bytes, record: CheckRecord) -> None:
        self._rows.put(CHECKS, key, _CHECK.encode(record))

    def forget_check(self, key: bytes, *, keeps_versions: bool) -> None:
        """Delete the results of a URL's visits: it is fetched as for the first time."""
        check = self.check(key)
        if check is not None:
            self._rows.delete(CHECKS, key)
            for visit in () if keeps_versions else check.versions:
                self.outdate(visit)

    def watch(self, queue: bytes, name: str = "") -> WatchRecord:
        """Return the record of a host queue, an empty one if there is none."""
        value = self._rows.get(WATCHES, queue)
        return WatchRecord(name) if value is None else _WATCH.decode(value)

    def save_watch(self, queue: bytes, record: WatchRecord) -> None:
        self._rows.put(WATCHES, queue, _WATCH.encode(record))

    def watches(self) -> list[tuple[bytes, WatchRecord]]:
        """Return every host that was visited again. Memory: 300 bytes each."""
        return [(key, _WATCH.decode(value)) for key, value in self._rows.scan(WATCHES)]

    # -- changes

    def put_change(self, record: ChangeRecord) -> None:
        """Write the change that the current visit has found."""
        self._rows.put(CHANGES, pack_u64(self._rows.visit), _CHANGE.encode(record))

    def change(self, visit: int) -> ChangeRecord | None:
        value = self._rows.get(CHANGES, pack_u64(visit))
        return None if value is None else _CHANGE.decode(value)

    def changes_since(self, visit: int, limit: int) -> list[tuple[int, ChangeRecord]]:
        """Return up to `limit` (visit, change) from `visit` on, in order."""
        return [(unpack_u64(key), _CHANGE.decode(value)) for key, value in self._rows.scan(CHANGES, start=pack_u64(visit), limit=limit)]

    # -- versions

    def outdate(self, visit: int) -> None:
        """Mark a version to be deleted once the current visit is on disk."""
        self._rows.put(OUTDATED, pack_u64(visit), pack_u64(self._rows.visit))
        self._may_prune = True

    def prune(self, first_uncommitted: int) -> int:
        """Delete some outdated versions whose successors are on disk; return how many.

        Args:
            first_uncommitted: Number of the first visit that is not on disk.
        """
        if not self._may_prune:
            return 0
        rows = self._rows.scan(OUTDATED, limit=_PRUNED_AT_ONCE)
        self._may_prune = bool(rows)
        ready = [key for key, by in rows if unpack_u64(by) < first_uncommitted]
        for key in ready:
            self._rows.counters.add(_N_ROWS, -1)  # also if the record is gone: a kill came between two commits
            for table in (PAGES, BODIES, LINKS):
                self._rows.delete(table, key)
            self._rows.delete(OUTDATED, key)
        return len(ready)

    # -- for requests

    def conditions(self, key: bytes, queue: bytes) -> tuple[tuple[bytes, bytes], ...]:
        """Return the headers that make a revisit conditional; none for an audit, or for a host that sent a false 304."""
        waiting, check = self.revisit(key), self.check(key)
        if waiting is None or waiting.is_audit or check is None or check.standing != "page" or check.missing_since:
            return ()
        if self.watch(queue).lied_at:
            return ()
        return Validators(check.etag, check.last_modified).conditions()


def validators_of(headers: list[tuple[bytes, bytes]], at: float) -> Validators:
    """Return the validators in the headers of an answer."""
    found: dict[bytes, str] = {}
    for name, value in headers:
        found.setdefault(name.lower(), value.decode("latin-1").strip())
    return validators(found.get(b"etag", ""), found.get(b"last-modified", ""), found.get(b"date", ""), at)


def moved_check(value: bytes) -> bytes:
    """Return a row of `checks` for another shard, without the numbers of visits: results stay in this shard."""
    check = _CHECK.decode(value)
    check.versions = []
    return _CHECK.encode(check)


def first_check(page: PageRecord, visit: int) -> CheckRecord:
    """Return the result of a page's first visit, from its record."""
    if not 200 <= page.status < 300 or page.failed_cause:
        return CheckRecord(page.fetched_at, 1, page.status, "none", versions=[visit])
    known = validators_of(page.headers, page.fetched_at)
    return CheckRecord(
        page.fetched_at,
        1,
        page.status,
        "page",
        etag=known.etag,
        last_modified=known.last_modified,
        sha256=page.sha256,
        fingerprint=page.fingerprint,
        wire_bytes=page.wire_bytes,
        versions=[visit],
    )
