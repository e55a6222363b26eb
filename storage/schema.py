"""Every byte the store keeps on disk, drawn. Only this file and storage/packing.py (fixed layouts) know any.

Two LMDB environments, `state` and `results`, hold named tables; numbers in keys are big-endian, so that keys sort as numbers do.
`kh` is a 16-byte key of a URL (8 of its site's keyed hash ‖ 8 of the URL's), `q` the 16-byte key of a host queue (site ‖ queue name),
`µs` a time in whole microseconds since the epoch.

state
    meta          name                                → see `Meta`
    sites         site 8                              → SiteRecord (thresher.crawler.core.ports)
    hosts         q 16                                → HostRecord (thresher.crawler.core.ports)
    seen          kh 16                               → SeenRow, 24 bytes: see `pack_seen`
    urls          seq 8                               → UrlRecord, in the order of discovery
    queue         q 16 ‖ lane 1 ‖ rank 8 ‖ seq 8      → attempt 2 ‖ purpose 1 ‖ hops 1 ‖ site_depth 2 ‖ seed_distance 2
    due           µs 8 ‖ q 16                         → (empty)
    robots        origin key 16                       → RobotsRecord (thresher.crawler.core.robots)
    robots_files  hash of the body 16                 → zstd of the body
    policies      origin key 16                       → PolicyRecord, where `ai_preferences` asks for tdmrep.json
    site_links    site to 8 ‖ site from 8             → (empty), under an order that counts linking sites
    edges         kh from 16                          → EdgeRecord
    edges_in      kh to 16 ‖ kh from 16               → (empty)
    pairs         kh original 16                      → PairRecord
    held          holder hash 8 ‖ kh 16               → holder's name
    held_by       kh 16 ‖ holder hash 8               → holder's name
    releasing     holder hash 8                       → holder's name
    aliases       kh 16                               → AliasRecord
    alias_of      kh canonical 16 ‖ kh alias 16         → (empty)
    letting_go    kh canonical 16                       → (empty): its aliases go on as ordinary URLs, some a commit
    rules         rule's name                         → rows asked for 8
    failures      kh 16                               → FailureRecord
    requests      seq 8                               → name of the filter that asked
    memory        filter hash 2 ‖ key (site 8 first)  → weight f32 ‖ touched u32 ‖ value
    memory_bytes  filter hash 2 ‖ site 8              → bytes used 8
    verdicts      kh 16                               → list of RevisionRecord
    suspects      kh 16                               → SuspectRecord
    trials        work 17 (crawler/children/crash_suspects.py)       → TrialRecord
    quarantine    shard 2 ‖ number 8                  → QuarantineRecord: see storage/tables/quarantine.py
    sitemaps      kh 16                               → SitemapRecord
    announcers    q 16                                → AnnouncerRecord
    announced     kh 16                               → AnnouncedRecord
    requisites    kh 16                               → RequisiteRecord
    requisite_hosts  q 16                             → how many were asked for 8
    announcing    kh of the sitemap 16 ‖ number 4     → what of it is to be admitted: see thresher.crawler.core.sitemap
    forgotten     kh 16, or q 16                      → ForgottenRecord: see storage/tables/forgotten.py
    counters      name                                → signed 8
    captured      sha1 of a payload 20, or kh 16      → Capture
    rounds        number 8                            → these five: see storage/tables/rounds.py
    revisits      kh 16
    checks        kh 16
    watches       q 16
    outdated      visit 8
    outbox        agent 2 ‖ number 8                  → a message to another agent (crawler/core/messages.py): storage/tables/channels.py
results, keyed by the number of the visit, append-only
    pages         visit 8                             → PageRecord
    bodies        visit 8                             → zstd of the decoded body
    links         visit 8                             → the targets' seqs, ascending: see `pack_links`
    journal       visit 8                             → list of JournalEntry
    captures      visit 8                             → Place of its records in `archive/`: see storage/archive/files.py
    changes       visit 8                             → ChangeRecord: see storage/tables/rounds.py

Behind each value are four bytes that seal it (storage/seal.py). A record is one version byte, then msgpack of an array: a field may be
appended with a default, never moved or removed. `skipped/NNNNNN.jsonl.zst` holds one zstd frame per commit, one JSON line (`SkipLine`) per
skipped URL.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from thresher.crawler.core.ports import HostRecord, SiteRecord

# 2: links as differences of seven bits a byte, worth in `seen`; 3: a seal behind each value; 4: sitemaps, and a lane for what they
# announce; 5: what filters hold waits in classes, rounds, and what was taken down
VERSION: Final = 5

STATE: Final = "state"
RESULTS: Final = "results"

META: Final = "meta"
SITES: Final = "sites"
HOSTS: Final = "hosts"
SEEN: Final = "seen"
URLS: Final = "urls"
QUEUE: Final = "queue"
DUE: Final = "due"
ROBOTS: Final = "robots"
ROBOTS_FILES: Final = "robots_files"
POLICIES: Final = "policies"
SITE_LINKS: Final = "site_links"
EDGES: Final = "edges"
EDGES_IN: Final = "edges_in"
PAIRS: Final = "pairs"
HELD: Final = "held"
HELD_BY: Final = "held_by"
RELEASING: Final = "releasing"
TAIL_HOSTS: Final = "tail_hosts"
TAIL_CLASSES: Final = "tail_classes"
TAIL_MEMBERS: Final = "tail_members"
TAIL_PLACES: Final = "tail_places"
TAIL_DRAWS: Final = "tail_draws"
ALIASES: Final = "aliases"
ALIAS_OF: Final = "alias_of"
LETTING_GO: Final = "letting_go"
RULES: Final = "rules"
MEMORY: Final = "memory"
MEMORY_BYTES: Final = "memory_bytes"
FAILURES: Final = "failures"
REQUESTS: Final = "requests"
VERDICTS: Final = "verdicts"
SUSPECTS: Final = "suspects"
TRIALS: Final = "trials"
QUARANTINE: Final = "quarantine"
SITEMAPS: Final = "sitemaps"
ANNOUNCERS: Final = "announcers"
ANNOUNCED: Final = "announced"
ANNOUNCING: Final = "announcing"
REQUISITES: Final = "requisites"
REQUISITE_HOSTS: Final = "requisite_hosts"
COUNTERS: Final = "counters"
OUTBOX: Final = "outbox"
PAGES: Final = "pages"
BODIES: Final = "bodies"
LINKS: Final = "links"
JOURNAL: Final = "journal"
CAPTURES: Final = "captures"
CAPTURED: Final = "captured"
ROUNDS: Final = "rounds"
REVISITS: Final = "revisits"
CHECKS: Final = "checks"
WATCHES: Final = "watches"
OUTDATED: Final = "outdated"
CHANGES: Final = "changes"
FORGOTTEN: Final = "forgotten"


class Table(NamedTuple):
    """Where a table lives and how its unwritten rows are found."""

    env: str
    append: bool = False  # keys only grow
    prefix: int | None = None  # bytes of a key that scans during a crawl always name; None: it is not scanned then


TABLES: Final[dict[str, Table]] = {
    META: Table(STATE),
    SITES: Table(STATE),
    HOSTS: Table(STATE),
    SEEN: Table(STATE),
    URLS: Table(STATE, append=True),
    QUEUE: Table(STATE, prefix=17),
    DUE: Table(STATE, prefix=0),
    ROBOTS: Table(STATE),
    ROBOTS_FILES: Table(STATE),
    POLICIES: Table(STATE),
    SITE_LINKS: Table(STATE),
    EDGES: Table(STATE),
    EDGES_IN: Table(STATE, prefix=16),
    PAIRS: Table(STATE),
    HELD: Table(STATE, prefix=8),
    HELD_BY: Table(STATE, prefix=16),
    RELEASING: Table(STATE, prefix=0),
    TAIL_HOSTS: Table(STATE, prefix=0),
    TAIL_CLASSES: Table(STATE, prefix=16),
    TAIL_MEMBERS: Table(STATE, prefix=26),
    TAIL_PLACES: Table(STATE),
    TAIL_DRAWS: Table(STATE),
    ALIASES: Table(STATE),
    ALIAS_OF: Table(STATE, prefix=16),
    LETTING_GO: Table(STATE, prefix=0),
    RULES: Table(STATE),
    MEMORY: Table(STATE, prefix=10),
    MEMORY_BYTES: Table(STATE),
    FAILURES: Table(STATE),
    REQUESTS: Table(STATE),
    VERDICTS: Table(STATE),
    SUSPECTS: Table(STATE),
    TRIALS: Table(STATE),
    QUARANTINE: Table(STATE, prefix=0),
    SITEMAPS: Table(STATE),
    ANNOUNCERS: Table(STATE),
    ANNOUNCED: Table(STATE),
    ANNOUNCING: Table(STATE, prefix=0),
    REQUISITES: Table(STATE),
    REQUISITE_HOSTS: Table(STATE),
    COUNTERS: Table(STATE),
    OUTBOX: Table(STATE),
    PAGES: Table(RESULTS, append=True),
    BODIES: Table(RESULTS, append=True),
    LINKS: Table(RESULTS, append=True),
    JOURNAL: Table(RESULTS, append=True),
    CAPTURES: Table(RESULTS, append=True),
    CAPTURED: Table(STATE),
    ROUNDS: Table(STATE, prefix=0),
    REVISITS: Table(STATE),
    CHECKS: Table(STATE),
    WATCHES: Table(STATE),
    OUTDATED: Table(STATE, prefix=0),
    CHANGES: Table(RESULTS, append=True),
    FORGOTTEN: Table(STATE, prefix=0),
}


class Meta:
    """Rows of `meta`."""

    VERSION: Final = b"version"  # u64
    TAIL_YIELD: Final = b"tail_yield"  # f64, threshold by which classes were closed
    SECRET: Final = b"secret"  # 32 random bytes: the key of every hash of this crawl
    CONFIG: Final = b"config"  # effective configuration as JSON
    CLOCK: Final = b"clock"  # f64, `now` of the last commit
    NEXT_SEQ: Final = b"next_seq"  # u64, sequence number of the next new URL
    NEXT_VISIT: Final = b"next_visit"  # u64, the results' watermark: rows at or past it are of no commit
    READMIT: Final = b"readmit"  # there while a changed configuration waits to be carried out: its sections, by commas
    BARE: Final = b"bare"  # seeds given without a scheme, in their https form: a msgpack list; absent if there are none
    SKIPS: Final = b"skips"  # segment u64 ‖ bytes u64: what of `skipped/` is committed
    DEDUP: Final = b"dedup"  # paths of `archive.dedup` that were read to their end: a msgpack list
    ARCHIVE: Final = b"archive"  # ArchiveEnd: what of `archive/` is committed; absent if nothing ever was


# Records -----------------------------------------------------------------------------------------------------------------------------


class UrlRecord(msgspec.Struct, array_like=True):
    """The text of a known URL. `via` is the key of what named it first."""

    text: str
    key: bytes
    via: bytes
    found_at: float


class EdgeRecord(msgspec.Struct, array_like=True):
    """One redirect as answered: where it leads, whatever became of the target."""

    to_text: str
    to_key: bytes
    status: int
    found_at: float


class PairRecord(msgspec.Struct, array_like=True):
    """A redirect followed to its end."""

    target: bytes
    target_text: str
    hops: int
    status: int  # of the target's response; 0 if it has none


class AliasRecord(msgspec.Struct, array_like=True):
    """A URL that a rule rewrote to another."""

    to_text: str
    rule: str
    to_key: bytes = b""


class VerdictRecord(msgspec.Struct, array_like=True):
    """One filter's verdict as stored."""

    filter: str
    keep: bool = True
    follow: bool = True
    score: float = 0.0
    reason: str = ""
    evidence: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    new: bool = True


class RevisionRecord(msgspec.Struct, array_like=True):
    """A verdict that replaces an earlier one of the same filter on the same page."""

    at: float
    verdict: VerdictRecord


class FailureRecord(msgspec.Struct, array_like=True):
    """Why the last request for a URL gave no page, and whether another will be made."""

    reason: str  # a Cause, or the Reason for which a head gate refused the body
    detail: str
    at: float
    attempts: int
    final: bool
    status: int = 0  # 0: no response


class SuspectRecord(msgspec.Struct, array_like=True):
    """A URL that was being worked on when a process died."""

    crashes: int = 0


class TrialRecord(msgspec.Struct, array_like=True):
    """Work other than a page (a message, a finding, an answer) that processes died of."""

    deaths: int = 0
    raised: str = ""  # what our own code raised at it; "": the process was gone without a word


class QuarantineRecord(msgspec.Struct, array_like=True):
    """Work that was set aside instead of being done. Of the fields that follow `offered` each kind has its own."""

    kind: str  # "message", "finding" or "answer"
    what: str  # in words, as it is counted: "links", "news of near_replica", "answer to soft_error"
    at: float
    why: str = ""
    offered: bool = False  # the operator wants it to be tried once more, at the next start
    payload: bytes = b""  # message: as it was sent; finding: as the study came to it
    sender: int = 0  # message: the agent that sent it
    number: int = 0  # message: its number in the sender's channel
    who: str = ""  # finding, answer: the filter; answer: as in `requests`
    site: bytes = b""  # finding
    url: str = ""  # answer: what was requested
    purpose: int = 0  # answer


class SitemapRecord(msgspec.Struct, array_like=True):
    """A sitemap or feed: who named it, for whom it may speak, and what it came to. It is a request in its host's queue while it waits."""

    text: str
    by: str  # the URL of the robots.txt, index or redirect that named it; "": guessed at a seed
    level: int  # 0; 1: an index named it
    state: str = "waiting"  # read; or failed: no answer, or none that is a sitemap
    hosts: list[str] = []  # names of host queues for which it may speak beside its own directory
    fetched_at: float = 0.0
    kind: str = ""
    n_urls: int = 0
    n_chunks: int = 0  # that still are to be admitted
    counts: dict[str, int] = {}  # of URLs by what became of them: new, known, abroad, or a Reason
    notes: list[str] = []  # limits and faults, in words


class RequisiteRecord(msgspec.Struct, array_like=True):
    """What a page needs to be shown, and what became of it. It is a request in its host's queue while it waits."""

    text: str
    via: bytes  # key of the page, style sheet or redirect that named it first
    hop: int  # 1: of a page; 2, 3: of a style sheet
    state: str = "waiting"  # fetched, redirected, failed, refused; page: it was fetched as one
    status: int = 0
    mime_type: str = ""
    why: str = ""  # it redirected (the target), failed or was refused
    at: float = 0.0


class AnnouncerRecord(msgspec.Struct, array_like=True):
    """What a host's budget of sitemaps was spent on, and how far its lastmods have held."""

    name: str
    n_sitemaps: int = 0  # requested
    n_refused: int = 0  # sitemaps beyond the budget
    n_urls: int = 0  # announced for the first time
    n_held: int = 0  # lastmods that the pages' own dates bore out
    n_false: int = 0


class AnnouncedRecord(msgspec.Struct, array_like=True):
    """What a sitemap says of a URL: the one that announced it first, and the newest that it said."""

    sitemap: bytes  # key
    kind: str
    at: float
    lastmod: float = 0.0
    changefreq: str = ""
    priority: float = -1.0


class JournalEntry(msgspec.Struct, array_like=True):
    """What the filters of one gate measured and how the panel judged: enough to teach empty memories the same again."""

    gate: int
    judgement: bytes
    measures: list[tuple[str, bytes]]  # filter, measure


class Place(msgspec.Struct, array_like=True, frozen=True):
    """Where the records of one visit lie in the archive, one after the other."""

    serial: int  # of the file
    offset: int  # bytes
    n_bytes: int  # as packed


class ArchiveEnd(msgspec.Struct, array_like=True, frozen=True):
    """Up to where the archive is committed."""

    serial: int = 0  # of the file
    n_bytes: int = 0
    config: bytes = b""  # hash of the block of its first record


class Capture(msgspec.Struct, array_like=True, frozen=True):
    """A record of an answer in the archive, as a later one refers to it."""

    url: str
    date: str  # WARC-Date
    id: str  # of its record; "" if its index did not say
    digest: bytes  # SHA-1 of its payload


class SkipLine(msgspec.Struct, omit_defaults=True):
    """One line of `skipped/`: a URL that was not taken up, and why."""

    url: str
    reason: str
    via: str = ""  # key of the page that named it, in hexadecimal
    by: str = ""  # filter or rule that refused it
    detail: str = ""
    n: int = 0  # how many of this host and reason in this life so far, this one included


class PolicyRecord(msgspec.Struct, array_like=True):
    """What an origin answered for /.well-known/tdmrep.json. Times as `now`."""

    origin: str
    fetched_at: float
    expires_at: float
    status: int = 0  # 0: no answer, or not asked since robots.txt forbids it
    body: bytes = b""


class PageRecord(msgspec.Struct, array_like=True, kw_only=True):
    """One visit that ended in a response, or that failed for good with something worth keeping."""

    url: str
    key: bytes
    status: int  # 0: no response
    mime_type: str = ""
    charset: str = ""
    title: str = ""
    n_bytes: int = 0  # decoded
    wire_bytes: int = 0  # received, headers included
    sha256: bytes = b""  # of the stored body
    has_body: bool = False  # `bodies` holds it
    fingerprint: bytes = b""  # of the visible text's words
    seed_distance: int = 0
    site_depth: int = 0
    hops: int = 0
    via: bytes = b""  # key of the page or redirect that named it
    purpose: int = 0
    fetched_at: float = 0.0
    elapsed_s: float = 0.0
    address: str = ""
    headers: list[tuple[bytes, bytes]] = []  # as received
    canonical: str = ""
    noindex: bool = False
    nofollow: bool = False
    signals: list[str] = []
    flags: list[str] = []
    keep: bool = True
    follow: bool = True
    verdicts: list[VerdictRecord] = []
    n_links: int = 0
    failed_cause: str = ""
    failed_detail: str = ""
    ai: list[tuple[str, str, float]] = []  # what is said of its use by AI: see thresher.crawler.core.ai_preferences


T = TypeVar("T")


class Codec(Generic[T]):
    """One version byte, then msgpack. 0.2 µs to encode and 0.3 µs to decode a record of eight fields."""

    def __init__(self, kind: type[T]) -> None:
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(kind)

    def encode(self, record: T) -> bytes:
        return b"\x01" + self._encoder.encode(record)

    def encode_rows(self, rows: Iterable[tuple[Any, ...]]) -> list[bytes]:
        """Return what `encode` gives of records whose fields are these, in their order; half its time."""
        encode = self._encoder.encode
        return [b"\x01" + encode(row) for row in rows]

    def decode(self, value: bytes) -> T:
        """Return the record; raises `ValueError` on a version this code does not know."""
        if value[0] != 1:
            raise ValueError(f"record of version {value[0]}, known is 1")
        return self._decoder.decode(value[1:])


SITE: Final = Codec(SiteRecord)
HOST: Final = Codec(HostRecord)
URL: Final = Codec(UrlRecord)
EDGE: Final = Codec(EdgeRecord)
PAIR: Final = Codec(PairRecord)
ALIAS: Final = Codec(AliasRecord)
REVISIONS: Final = Codec(list[RevisionRecord])
FAILURE: Final = Codec(FailureRecord)
SUSPECT: Final = Codec(SuspectRecord)
TRIAL: Final = Codec(TrialRecord)
QUARANTINED: Final = Codec(QuarantineRecord)
PAGE: Final = Codec(PageRecord)
POLICY: Final = Codec(PolicyRecord)
PLACE: Final = Codec(Place)
ARCHIVE_END: Final = Codec(ArchiveEnd)
CAPTURE: Final = Codec(Capture)
SITEMAP: Final = Codec(SitemapRecord)
REQUISITE: Final = Codec(RequisiteRecord)
ANNOUNCER: Final = Codec(AnnouncerRecord)
ANNOUNCED_URL: Final = Codec(AnnouncedRecord)
JOURNAL_ENTRIES: Final = Codec(list[JournalEntry])
SKIP_LINE: Final = msgspec.json.Decoder(SkipLine)


class Raw(bytes):
    """A value the writer compresses before it is written; until then reads see it as it is."""
