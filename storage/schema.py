"""Every table of the store, with its keys and values. Only this file, storage/records.py (the values), storage/packing.py (fixed
layouts), storage/url_rows.py, and storage/migrating.py and migrating_memory.py (earlier schemas) know what a byte on disk means.

Two LMDB environments, `state` and `results`, hold named tables; numbers in keys are big-endian, so that keys sort as numbers do.
`kh` is a 16-byte key of a URL (8 of its site's keyed hash ‖ 8 of the URL's), `q` the 16-byte key of a host queue (site ‖ queue name),
`µs` a time in whole microseconds since the epoch.

state
    meta          name                                → see `Meta`
    sites         site 8                              → SiteRecord (thresher.crawler.core.ports)
    hosts         q 16                                → HostRecord (thresher.crawler.core.ports)
    seen          kh 16                               → SeenRow, 24 bytes: see `pack_seen`
    urls          seq 8, of the first                 → URLs that one page made known, in the order of discovery: see storage/url_rows.py
    queue         q 16 ‖ lane 1 ‖ rank 8 ‖ seq 8      → of each URL: its seq past the key's 4 ‖ attempt 2 ‖ purpose 1 ‖ hops 1 ‖
                                                        site_depth 2 ‖ seed_distance 2
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
    tail_hosts    q 16                                → these five: see storage/tables/tail.py
    tail_classes  q 16 ‖ class 8
    tail_members  q 16 ‖ class 8 ‖ cohort 2 ‖ order 8
    tail_places   kh 16
    tail_draws    kh 16
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
    announcing    kh of the sitemap 16 ‖ number 4     → entries that wait to be admitted: see thresher.crawler.core.sitemap
    forgotten     kh 16, or q 16                      → ForgottenRecord: see storage/tables/forgotten.py
    foreign_labels  kh 16 of a page of another agent  → the label of the seed from which it was found
    counters      name                                → signed 8
    captured      sha1 of a payload 20, or kh 16      → Capture
    rounds        number 8                            → these five: see storage/tables/rounds.py
    revisits      kh 16
    checks        kh 16
    watches       q 16
    outdated      visit 8
    plans         kh 16                               → these three: see storage/tables/schedule.py
    host_plans    q 16
    families      q 16 ‖ pattern 8 (‖ …)
    outbox        agent 2 ‖ number 8                  → a message to another agent (crawler/core/messages.py): storage/tables/channels.py
results, keyed by the number of the visit, append-only
    pages         visit 8                             → PageRecord
    bodies        visit 8                             → zstd of the decoded body
    links         visit 8                             → the targets' seqs, ascending: see `pack_links`
    journal       visit 8                             → list of JournalEntry
    captures      visit 8                             → ArchivePlace of its records in `archive/`: see storage/archive/files.py
    changes       visit 8                             → ChangeRecord: see storage/tables/rounds.py

After each value are four bytes that seal it (storage/seal.py). A record (storage/records.py) is one version byte, then msgpack of an
array. `skipped/NNNNNN.jsonl.zst` holds one zstd frame per commit, one JSON line (`SkipLine`) per skipped URL.
"""

from __future__ import annotations

from typing import Final, NamedTuple

# 2: links as differences of seven bits a byte, worth in `seen`; 3: a seal behind each value; 4: sitemaps, and a lane for what they
# announce; 5: what filters hold waits in classes, rounds, and what was taken down; 6: rows of `urls` and `queue` have many URLs;
# 7: filters list a host's first answers and pages in packed rows. When to raise it: tests/storage/test_storage_forms.py
VERSION: Final = 7
CARRIED_OVER: Final = (5, 6)  # the earlier ones that `thresher migrate` converts

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
PLANS: Final = "plans"
HOST_PLANS: Final = "host_plans"
FAMILIES: Final = "families"
CHANGES: Final = "changes"
FORGOTTEN: Final = "forgotten"
FOREIGN_LABELS: Final = "foreign_labels"


class Table(NamedTuple):
    """The environment of a table, and how its unwritten rows are found."""

    env: str
    append: bool = False  # keys only grow
    prefix: int | None = None  # bytes of a key that every scan during a crawl gives; None: it is not scanned during a crawl


TABLES: Final[dict[str, Table]] = {
    META: Table(STATE),
    SITES: Table(STATE),
    HOSTS: Table(STATE),
    SEEN: Table(STATE),
    URLS: Table(STATE, append=True, prefix=0),
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
    PLANS: Table(STATE),
    HOST_PLANS: Table(STATE),
    FAMILIES: Table(STATE, prefix=24),
    CHANGES: Table(RESULTS, append=True),
    FORGOTTEN: Table(STATE, prefix=0),
    FOREIGN_LABELS: Table(STATE),
}


class Meta:
    """Rows of `meta`."""

    VERSION: Final = b"version"  # u64
    TAIL_YIELD: Final = b"tail_yield"  # JSON: thresholds by which classes were closed
    SECRET: Final = b"secret"  # 32 random bytes: the key of every hash of this crawl
    CONFIG: Final = b"config"  # effective configuration as JSON
    CLOCK: Final = b"clock"  # f64, `now` of the last commit
    NEXT_SEQ: Final = b"next_seq"  # u64, sequence number of the next new URL
    NEXT_VISIT: Final = b"next_visit"  # u64, the results' watermark: rows at or after it are not committed
    READMIT: Final = b"readmit"  # present while a changed configuration must still be applied: its sections, separated by commas
    BARE: Final = b"bare"  # seeds given without a scheme, in their https form: a msgpack list; absent if there are none
    SKIPS: Final = b"skips"  # segment u64 ‖ bytes u64: the committed end of `skipped/`
    DEDUP: Final = b"dedup"  # paths of `archive.dedup` that were read to their end: a msgpack list
    ARCHIVE: Final = b"archive"  # ArchiveEnd: the committed end of `archive/`; absent if nothing was committed


class Raw(bytes):
    """A value that the writer compresses before it is written; until then reads see it uncompressed."""


class Archived(Raw):
    """A value that the archive has: the writer does not write it; until the archive is on disk, reads see it here."""
