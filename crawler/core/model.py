"""The nouns of a crawl: frozen values that every other module uses.

A URL's journey makes them in this order: `CrawlURL` → `Head` → `Fetched | Redirect | Failed` → `Page` → `Verdict`s and
`Effect`s (effects.py) → `Visit`, the unit of commit (crawler/visit.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, IntEnum, StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

if TYPE_CHECKING:  # every command imports this module; numpy would take a tenth of a second of each one's start
    import numpy as np
    import numpy.typing as npt

U64: TypeAlias = "npt.NDArray[np.uint64]"
NO_KEY = b""


class Purpose(IntEnum):
    """Why a request is made. Only `PAGE`, `AUDIT`, `ANNOUNCED` and `REVISIT` count as pages of the crawl."""

    PAGE = 0
    ROBOTS = 1
    PROBE = 2
    AUDIT = 3
    VALIDATION = 4
    SITEMAP = 5
    ANNOUNCED = 6  # a page that only a sitemap named; if a link names it while it waits, it becomes a PAGE
    REVISIT = 7  # a page that was visited before
    REQUISITE = 8  # a requisite of a page: an image, a style sheet, a font
    CANARY = 9  # a kept page, once more, to see whether its host is still itself (not behind a wall): before all others


FILTERS_OWN = (Purpose.PROBE, Purpose.VALIDATION, Purpose.CANARY)  # filters' own requests: no pages of the crawl, no filter judges them


class State(IntEnum):
    """Every known URL is in exactly one of these."""

    QUEUED = 1
    DONE = 2
    HELD = 3
    ALIAS = 4
    REFUSED = 5
    OUTBOX = 6


class Reason(StrEnum):
    """Why a URL was skipped, refused or held. The value is what users see, filter and script on."""

    BAD_URL = "bad_url"
    BAD_SCHEME = "bad_scheme"
    BAD_PORT = "bad_port"
    TOO_LONG = "too_long"
    TOO_MANY_SEGMENTS = "too_many_segments"
    OUT_OF_SCOPE = "out_of_scope"
    EXCLUDED = "excluded"
    DEPTH_LIMIT = "depth_limit"
    NOFOLLOW = "nofollow"
    LINK_LIMIT = "link_limit"
    PATH_TRAP = "path_trap"
    PREFIX_BUDGET = "prefix_budget"
    BAD_TYPE = "bad_type"
    TOO_LARGE = "too_large"
    ROBOTS_DENIED = "robots_denied"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    CRAWL_DELAY_TOO_LONG = "crawl_delay_too_long"
    DUPLICATE_CONTENT = "duplicate_content"
    REWRITTEN = "rewritten"
    HELD_BY_FILTER = "held_by_filter"
    REFUSED_BY_FILTER = "refused_by_filter"
    HOST_BUDGET = "host_budget"
    SITE_BUDGET = "site_budget"
    SITE_HOST_LIMIT = "site_host_limit"
    HOST_DEAD = "host_dead"
    REDIRECT_LIMIT = "redirect_limit"
    REDIRECT_INVALID = "redirect_invalid"
    QUARANTINED = "quarantined"
    UNSAFE = "unsafe"
    SOFT_ERROR = "soft_error"
    WALLED = "walled"  # every page of the host is a challenge, a consent page or an empty shell
    NEAR_REPLICA = "near_replica"
    MIRROR = "mirror"  # most pages of the host replicate another host's
    ANNOUNCED_TYPE = "announced_type"  # the link announces a type that is not read
    NOT_ITS_HOST = "not_its_host"  # announced by a sitemap that may not speak for its host
    SITEMAP_LIMIT = "sitemap_limit"  # limit of a host's sitemaps, or of their URLs
    SUDDEN_LOSS = "sudden_loss"  # most revisits of a host find pages missing, failing or moved to one place
    REQUISITE = "requisite"  # it was fetched as a requisite (an image, a style sheet): not once more as a page
    REQUISITE_LIMIT = "requisite_limit"  # limit of requisites on one host, of one page, or of imports in a row
    NO_HTTPS = "no_https"  # a seed without a scheme could not be reached by https: its http form is requested
    FORGOTTEN = "forgotten"  # the operator had the URL or its host taken down: `thresher forget`


class Cause(StrEnum):
    """Why a request failed. `crawler/core/politeness.py` maps each to (wait, tries, counts against the host?)."""

    DNS_NXDOMAIN = "dns_nxdomain"
    DNS_NODATA = "dns_nodata"
    DNS_FAIL = "dns_fail"
    DNS_TIMEOUT = "dns_timeout"
    BLOCKED_ADDRESS = "blocked_address"
    CONN_REFUSED = "conn_refused"
    CONN_TIMEOUT = "conn_timeout"
    CONN_RESET = "conn_reset"
    UNREACHABLE = "unreachable"
    TLS_CERT = "tls_cert"
    TLS_PROTO = "tls_proto"
    TIMEOUT_FIRST_BYTE = "timeout_first_byte"
    TIMEOUT_HEADERS = "timeout_headers"
    TIMEOUT_TOTAL = "timeout_total"
    TOO_SLOW = "too_slow"
    DISCONNECTED = "disconnected"
    INCOMPLETE = "incomplete"
    PROTOCOL = "protocol"
    PROTOCOL_STATUS = "protocol_status"
    PROTOCOL_HEADERS = "protocol_headers"
    PROTOCOL_WIRE_BUDGET = "protocol_wire_budget"
    BOMB = "bomb"
    BAD_ENCODING = "bad_encoding"
    UNSUPPORTED_ENCODING = "unsupported_encoding"
    TRUNCATED_ENCODING = "truncated_encoding"
    HTTP_5XX = "http_5xx"
    HTTP_429 = "http_429"
    HTTP_RETRY = "http_retry"
    NO_DESCRIPTORS = "no_descriptors"
    NO_LEASE = "no_lease"  # this agent lost its lease, when several machines crawl
    SLEPT = "slept"  # this process or its machine was suspended while the request was in flight
    INTERNAL_ERROR = "internal_error"
    PROXY = "proxy"  # fetch.proxy cannot be reached, or answers nonsense: not a host's fault
    PROXY_REFUSED = "proxy_refused"  # fetch.proxy makes no connection to the host


class Flag(StrEnum):
    """What was odd about a body that was kept nevertheless."""

    TRUNCATED_SIZE = "truncated_size"
    TRUNCATED_ENCODING = "truncated_encoding"
    TRAILING_GARBAGE = "trailing_garbage"
    BAD_CHECKSUM = "bad_checksum"  # the compressed stream has a wrong checksum: its content is kept, and may be partly wrong
    INCOMPLETE = "incomplete"
    NOT_ENCODED = "not_encoded"
    UNSUPPORTED_ENCODING = "unsupported_encoding"
    BAD_TRANSFER_ENCODING = "bad_transfer_encoding"
    NOT_HTML = "not_html"
    PARSE_TIMEOUT = "parse_timeout"
    PARSE_CRASH = "parse_crash"
    PARSE_SKIPPED = "parse_skipped"
    LINKS_TRUNCATED = "links_truncated"
    CHALLENGE = "challenge"  # a firewall's challenge, which a browser must solve: see crawler/page/browser_need.py
    EMPTY_SHELL = "empty_shell"  # a page that a script would fill
    INTERNAL_ERROR = "internal_error"
    DOCUMENT_CUT = "document_cut"  # a long document was read only in part, as far as time and bounds allow


NEEDS_BROWSER = frozenset((Flag.CHALLENGE, Flag.EMPTY_SHELL))  # flags of pages that only a browser can read


class CrawlURL(msgspec.Struct, frozen=True, gc=False):
    """A URL in canonical form with its place in the crawl. Built only by `thresher.crawler.core.url.URLSpace`."""

    text: str
    site: str  # registrable domain; a bare address is its own site
    host: str  # scheme and authority, "https://a.example:8443"
    key: bytes  # 16 bytes: 8 of the site's keyed hash, 8 of the URL's
    seed_distance: int = 0  # clicks from a seed
    site_depth: int = 0  # clicks from the site's entry
    hops: int = 0  # redirects since the last link
    purpose: Purpose = Purpose.PAGE
    via: bytes = NO_KEY  # key of the page or redirect that named it


class Head(msgspec.Struct, frozen=True, dict=True):
    """Status line and headers of a response, before its body is read."""

    url: CrawlURL
    status: int
    headers: tuple[tuple[bytes, bytes], ...]  # as received: order, case, bytes
    address: str  # peer's address, "" if unknown
    elapsed_s: float  # seconds from sending the request to the end of the headers

    def get(self, name: bytes) -> str:
        """Return the first value of header `name` (lower case) as Latin-1 text, or ""."""
        values = self._by_name.get(name)
        return values[0].decode("latin-1").strip() if values else ""

    def all(self, name: bytes) -> list[str]:
        """Return every value of header `name` (lower case) as Latin-1 text."""
        return [value.decode("latin-1").strip() for value in self._by_name.get(name, ())]

    @cached_property
    def mime_type(self) -> str:
        """The declared media type in lower case without parameters, or ""."""
        return self.get(b"content-type").partition(";")[0].strip().lower()

    @cached_property
    def _by_name(self) -> dict[bytes, list[bytes]]:
        values: dict[bytes, list[bytes]] = {}
        for name, value in self.headers:
            values.setdefault(name.lower(), []).append(value)
        return values


class Wire(msgspec.Struct, frozen=True):
    """One request on the wire: bytes as sent and as received. Kept only if the crawl writes an archive."""

    request: bytes  # b"" if none was sent
    received: tuple[bytes, ...]  # in pieces as received: interim answers, head, body
    sent_at: float  # seconds since the Unix epoch; when it was begun if it was never sent
    address: str  # peer's address, "" if there was none
    n_interim: int  # answers before the final one
    is_whole: bool  # whether the answer is complete
    broken: Cause | None  # what ended it early: the connection, or one of our rules
    tls: str  # version as TLS libraries spell it, "TLSv1.3"; "" without TLS
    cipher: str  # the suite's name as OpenSSL spells it


class Fetched(msgspec.Struct, frozen=True):
    """A response that is not a redirect, with its decoded body."""

    url: CrawlURL
    head: Head
    body: bytes  # decoded content, at most fetch.max_body
    wire_bytes: int  # bytes received for it, headers included
    elapsed_s: float  # seconds from sending the request to the end of the body
    flags: frozenset[Flag] = frozenset()
    refused: Reason | None = None  # a head gate refused the body: `body` is empty
    refused_by: str = ""  # the filter whose head gate refused it
    wire: Wire | None = None


class Redirect(msgspec.Struct, frozen=True):
    """A 3xx with a Location. `target` is the raw value as text; it is judged like a link."""

    url: CrawlURL
    head: Head
    target: str
    wire_bytes: int
    elapsed_s: float
    wire: Wire | None = None


class Failed(msgspec.Struct, frozen=True):
    """No usable response. A remote fault is a value, never an exception."""

    url: CrawlURL
    cause: Cause
    detail: str
    elapsed_s: float = 0.0
    wire_bytes: int = 0
    retry_after_s: float | None = None
    head: Head | None = None
    body: bytes = b""  # a partial or error body worth keeping when tries run out
    wire: Wire | None = None


Outcome = Fetched | Redirect | Failed


class Directives(msgspec.Struct, frozen=True, gc=False):
    """What the page or its headers ask of robots."""

    noindex: bool = False
    nofollow: bool = False
    signals: tuple[str, ...] = ()  # AI preference signals, recorded as found


class Page(msgspec.Struct, frozen=True, dict=True):
    """A response as the page gate sees it, parsed once.

    Values that several filters compute from it are cached beside its fields (`vars(page)`).
    """

    url: CrawlURL
    status: int
    mime_type: str
    title: str
    text: str  # visible text, with the page's white space
    tokens: U64  # hashes of the visible text's words, in order
    fingerprint: bytes  # 16 bytes: hash of the token sequence, b"" if there is no text
    links: tuple[str, ...]  # canonical, distinct, in page order: links that passed the static gate
    canonical: str  # canonical form of rel=canonical, "" if none
    directives: Directives
    n_bytes: int
    flags: frozenset[Flag] = frozenset()
    at: float = 0.0  # when it was fetched
    form: str = ""  # what its forms ask for: "password", "text" of several lines, "" neither
    feed: str = ""  # canonical URL of the first feed on its own host that it names, if feeds are read
    digest: bytes = b""  # 16 bytes: hash of the body of a page without words, b"" for others


class RedirectPair(msgspec.Struct, frozen=True):
    """A redirect followed to its end: original URL, final target, how the target settled."""

    original: CrawlURL
    target: CrawlURL
    hops: int
    status: int  # HTTP status of the target's response; 0 if it has none
    fingerprint: bytes = b""
    at: float = 0.0  # when the pair was complete


LOOKS_LIKE: Final = "looks_like"  # key in a verdict's evidence: the kept page that this one resembles
OF_SERIES: Final = "of_series"  # key beside it: the two URLs differ in numbers only
TOLD_APART: Final = "told_apart"  # key beside it: it would be a replica, but the two pages' host names different pages as canonical


class Verdict(msgspec.Struct, frozen=True):
    """One filter's judgement. Whether a page is new, is stored and is followed are separate decisions."""

    filter: str
    keep: bool = True  # store the content
    follow: bool = True  # its links are fetched in their turn; False: they are held as a class, and fetched last
    score: float = 0.0
    reason: Reason | None = None
    evidence: Mapping[str, str | int | float] = msgspec.field(default_factory=dict)
    new: bool = True  # it shows a text that no page has shown before; independent of whether it is stored

    @property
    def is_against(self) -> bool:
        """Whether it speaks against the page in any way."""
        return not (self.new and self.keep and self.follow)

    @property
    def tells_likeness(self) -> bool:
        """Whether it says that the page resembles a kept one, without being its copy."""
        return LOOKS_LIKE in self.evidence


class Judgement(msgspec.Struct, frozen=True):
    """What the whole panel decides on a subject: `keep`, `follow` and `new` by the enforcing filters; the verdicts of all."""

    keep: bool
    follow: bool
    verdicts: tuple[Verdict, ...]
    new: bool = True
    observers: tuple[str, ...] = ()  # filters that enforce in general, and by an override only observe here

    @property
    def standing(self) -> Sequence[Verdict]:
        """The verdicts from which others may learn: without those of filters that, by an override, only observe here."""
        return [verdict for verdict in self.verdicts if verdict.filter not in self.observers] if self.observers else self.verdicts

    @property
    def is_new(self) -> bool:
        """Whether it may teach what new pages are like: no filter knows what it shows, and none drops it."""
        return self.new and self.keep


class Mode(Enum):
    """How far a filter may go."""

    OFF = "off"
    OBSERVE = "observe"
    ENFORCE = "enforce"
