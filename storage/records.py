"""The records of the store: the values in the tables of storage/schema.py, and their bytes.

A record is one version byte, then msgpack of an array of its fields in their order. So a field may be appended with a default, and none may
be moved or removed: otherwise existing stores could not be read any more.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

import msgspec

from thresher.crawler.core.ports import HostRecord, SiteRecord


class UrlRecord(msgspec.Struct, array_like=True):
    """The text of a known URL. `via` is the key of the URL that named it first."""

    text: str
    key: bytes
    via: bytes
    found_at: float


class EdgeRecord(msgspec.Struct, array_like=True):
    """One redirect as answered: its target, whatever became of it."""

    to_text: str
    to_key: bytes
    status: int
    found_at: float


class PairRecord(msgspec.Struct, array_like=True):
    """A redirect followed to its end."""

    target: bytes
    target_text: str
    hops: int
    status: int  # HTTP status of the target's response; 0 if it has none


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
    counts: bool = False  # its filter enforces: if it drops the page or redirect, that is counted


class FailureRecord(msgspec.Struct, array_like=True):
    """Why the last request for a URL gave no page, and whether another will be made."""

    reason: str  # a Cause, or the Reason why a head gate refused the body
    detail: str
    at: float
    attempts: int
    final: bool
    status: int = 0  # 0: no response


class SuspectRecord(msgspec.Struct, array_like=True):
    """A URL that was being worked on when a process died."""

    crashes: int = 0


class TrialRecord(msgspec.Struct, array_like=True):
    """Work other than a page (a message, a finding, an answer) over which processes died."""

    deaths: int = 0
    raised: str = ""  # the exception of our own code over it; "": the process died without one


class QuarantineRecord(msgspec.Struct, array_like=True):
    """Work that was quarantined instead of being done. The fields after `offered` depend on the kind."""

    kind: str  # "message", "finding" or "answer"
    what: str  # what it is, for the operator and the counters: "links", "news of near_replica", "answer to soft_error"
    at: float
    why: str = ""
    offered: bool = False  # the operator wants it to be tried once more, at the next start
    payload: bytes = b""  # message: as sent; finding: the result of the study
    sender: int = 0  # message: the agent that sent it
    number: int = 0  # message: its number in the sender's channel
    who: str = ""  # finding, answer: the filter; answer: as in `requests`
    site: bytes = b""  # finding
    url: str = ""  # answer: what was requested
    purpose: int = 0  # answer


class SitemapRecord(msgspec.Struct, array_like=True):
    """A sitemap or feed: who named it, which URLs it may announce, and its result. It is a request in its host's queue while it waits."""

    text: str
    by: str  # the URL of the robots.txt, index or redirect that named it; "": guessed at a seed
    level: int  # 0; 1: an index named it
    state: str = "waiting"  # read; or failed: no answer, or none that is a sitemap
    hosts: list[str] = []  # names of host queues whose URLs it may announce, beside its own directory
    fetched_at: float = 0.0
    kind: str = ""
    n_urls: int = 0
    n_chunks: int = 0  # chunks that still wait to be admitted
    counts: dict[str, int] = {}  # number of URLs by what became of them: new, known, abroad (of another agent), or a Reason
    notes: list[str] = []  # messages about limits and faults
    label: str = ""  # label of the seed on the host that named it, or from which that host or page was found


class RequisiteRecord(msgspec.Struct, array_like=True):
    """A requisite of a page, and what became of it. It is a request in its host's queue while it waits."""

    text: str
    via: bytes  # key of the page, style sheet or redirect that named it first
    hop: int  # steps from the nearest page; 1: of a page; 2 and more: of a style sheet
    state: str = "waiting"  # fetched, redirected, failed, refused; page: it was fetched as one
    status: int = 0
    mime_type: str = ""
    why: str = ""  # the target of a redirect, or why it failed or was refused
    at: float = 0.0
    needs: list[str] = []  # canonical URLs that a style sheet names


class AnnouncerRecord(msgspec.Struct, array_like=True):
    """How a host's budget of sitemaps was used, and how often its lastmods were true."""

    name: str
    n_sitemaps: int = 0  # requested sitemaps
    n_refused: int = 0  # sitemaps beyond the budget
    n_urls: int = 0  # URLs that were announced for the first time
    n_held: int = 0  # lastmods that the pages' own dates confirmed
    n_false: int = 0


class AnnouncedRecord(msgspec.Struct, array_like=True):
    """What a sitemap says about a URL: the sitemap that announced it first, and its newest statement."""

    sitemap: bytes  # key of the sitemap
    kind: str
    at: float
    lastmod: float = 0.0
    changefreq: str = ""
    priority: float = -1.0


class JournalEntry(msgspec.Struct, array_like=True):
    """What the filters of one gate measured and how the panel judged: enough to teach empty memories the same again. Or the events of held
    URLs in one visit (filters/tail/history.py): enough to bring empty tails to the same state again.
    """

    gate: int
    judgement: bytes
    measures: list[tuple[str, bytes]]  # (filter, measure)


class ArchivePlace(msgspec.Struct, array_like=True, frozen=True):
    """The place of one visit's records in the archive, one after the other."""

    serial: int  # of the file
    offset: int  # bytes
    n_bytes: int  # as packed


class ArchiveEnd(msgspec.Struct, array_like=True, frozen=True):
    """The committed end of the archive."""

    serial: int = 0  # of the file
    n_bytes: int = 0
    config: bytes = b""  # hash of the block of its first record


class Capture(msgspec.Struct, array_like=True, frozen=True):
    """A record of an answer in the archive, to which later records refer."""

    url: str
    date: str  # WARC-Date
    id: str  # id of its record; "" if the index does not have it
    digest: bytes  # SHA-1 of its payload


class SkipLine(msgspec.Struct, omit_defaults=True):
    """One line of `skipped/`: a URL that was skipped, and why."""

    url: str
    reason: str
    via: str = ""  # key of the page that named it, in hexadecimal
    by: str = ""  # filter or rule that refused it
    detail: str = ""
    n: int = 0  # number of skipped URLs with this host and reason in this process so far, this one included


class PolicyRecord(msgspec.Struct, array_like=True):
    """An origin's answer for /.well-known/tdmrep.json. Times are seconds since the epoch."""

    origin: str
    fetched_at: float
    expires_at: float
    status: int = 0  # 0: no answer, or not requested since robots.txt forbids it
    body: bytes = b""


class PageRecord(msgspec.Struct, array_like=True, kw_only=True):
    """One visit that ended in a response, or that failed for good with something worth keeping."""

    url: str
    key: bytes
    status: int  # 0: no response
    mime_type: str = ""
    charset: str = ""
    title: str = ""
    n_bytes: int = 0  # bytes of the decoded body
    wire_bytes: int = 0  # bytes received, headers included
    sha256: bytes = b""  # digest of the stored body
    has_body: bool = False  # whether `bodies` has it
    fingerprint: bytes = b""  # fingerprint of the visible text's words
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
    ai: list[tuple[str, str, float]] = []  # statements about its use by AI: see thresher.crawler.core.ai_preferences


T = TypeVar("T")


class Codec(Generic[T]):
    """One version byte, then msgpack. 0.2 µs to encode and 0.3 µs to decode a record of eight fields."""

    def __init__(self, kind: type[T]) -> None:
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(kind)

    def encode(self, record: T) -> bytes:
        return b"\x01" + self._encoder.encode(record)

    def decode(self, value: bytes) -> T:
        """Return the record.

        Raises:
            ValueError: If this code does not know its version.
        """
        if value[0] != 1:
            raise ValueError(f"record of version {value[0]}, known is 1")
        return self._decoder.decode(value[1:])


SITE: Final = Codec(SiteRecord)
HOST: Final = Codec(HostRecord)
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
PLACE: Final = Codec(ArchivePlace)
ARCHIVE_END: Final = Codec(ArchiveEnd)
CAPTURE: Final = Codec(Capture)
SITEMAP: Final = Codec(SitemapRecord)
REQUISITE: Final = Codec(RequisiteRecord)
ANNOUNCER: Final = Codec(AnnouncerRecord)
ANNOUNCED_URL: Final = Codec(AnnouncedRecord)
JOURNAL_ENTRIES: Final = Codec(list[JournalEntry])
SKIP_LINE: Final = msgspec.json.Decoder(SkipLine)
