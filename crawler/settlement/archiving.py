"""Makes the archive's records of a visit [WARC 1.1]: every request and answer as it was on the wire, and why it was made.

    response | revisit   head and body as received: chunked stays chunked, gzip stays gzip. A revisit has only the head: its payload equals
                         that of an earlier record, or the server says that the document has not changed (304)
    request              as sent
    metadata             answers of status 1xx as received, if there were any
    metadata             where the URL came from (its seed's label, too), what became of it, each filter's verdict, which of its links
                         are not followed, and why

The four are written together, in the commit of the visit, whatever filters decide about the answer; also for redirects, errors and
robots.txt. A request without any answer, or a URL that is refused when its turn comes, is recorded in the last one.

The payload digest is of the body without its chunks, as the standard has it; programs that compute it from the body as transferred, for
example `warcio check`, report it as wrong for chunked answers. An incomplete answer has `WARC-Truncated` and no payload digest.

If the record of the answer has the same bytes as the page's body, the store does not store the body again, but where the record is. The
body of a revisit is always in the store, so that a takedown of the URL to which it refers does not delete it.

Time: 6 % of the CPU of an ordinary page, compression in the writer's thread takes another 8 (`python -m benchmarks.speed.archiving`).
Memory: the received bytes, until they are committed.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from functools import partial
from typing import Final

import msgspec

from thresher.config.settings import Settings
from thresher.crawler.core.http_message import HttpMessage, split
from thresher.crawler.core.model import NO_KEY, Cause, CrawlURL, Failed, Fetched, Flag, Outcome, Purpose, Reason, Wire
from thresher.crawler.settlement.page_record import verdict_records
from thresher.crawler.settlement.seed_labels import SeedLabels
from thresher.crawler.visit import Visit
from thresher.storage.archive.bodies import may_hold
from thresher.storage.archive.peers import PeerCaptures
from thresher.storage.archive.record import (
    FIELDS,
    HTTP_REQUEST,
    HTTP_RESPONSE,
    ArchiveRecord,
    RecordKind,
    fields,
    labelled,
    sha1,
    stamp,
    urn,
)
from thresher.storage.records import Capture
from thresher.storage.store import Store

_PROFILE: Final = "http://netpreserve.org/warc/1.1/revisit/"
_CONFORMS_TO: Final = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_REMEMBERED: Final = 1000  # URLs whose texts are cached
_IDS_AT_ONCE: Final = 64
_MOST_LINKS: Final = 1000  # links of one page that are listed as not followed; further ones are counted
_LONGEST: Final = 2048  # most characters of one of them
_MOST_CONFIG: Final = 1 << 20  # most bytes of a configuration with its seeds
_TRUNCATED: Final = {
    **dict.fromkeys((Cause.CONN_RESET, Cause.DISCONNECTED, Cause.INCOMPLETE), "disconnect"),
    **dict.fromkeys((Cause.TIMEOUT_FIRST_BYTE, Cause.TIMEOUT_HEADERS, Cause.TIMEOUT_TOTAL, Cause.TOO_SLOW), "time"),
    **dict.fromkeys((Cause.PROTOCOL_WIRE_BUDGET, Cause.PROTOCOL_HEADERS, Cause.BOMB), "length"),
}
_TLS: Final = {"TLSv1": "tls/1.0", "TLSv1.1": "tls/1.1", "TLSv1.2": "tls/1.2", "TLSv1.3": "tls/1.3"}
_VALIDATORS: Final = (b"etag", b"last-modified")

Fields = list[tuple[str, str]]


class Archiver:
    """Writes the records of each visit to the archive of a store."""

    def __init__(self, store: Store, settings: Settings, version: str, labels: SeedLabels, peers: PeerCaptures) -> None:
        assert store.archive is not None
        store.archive.info = _warcinfo(settings, version)
        self._store = store
        self._labels = labels
        self._peers = peers
        self._ids = _record_ids()
        self._texts: dict[bytes, str] = {}  # texts of URLs that recently named others

    def add(self, visit: Visit, now: float) -> None:
        """Add the records of the visit being settled; none if it neither made a request nor refused its URL."""
        outcome = visit.outcome
        if outcome is not None and outcome.wire is not None:
            self._store.capture(self._exchanged(visit, outcome, outcome.wire))
        elif visit.refused is not None:
            url, said = visit.lease.entry.url, self._story(visit)
            self._store.capture([self._record("metadata", stamp(now), FIELDS, fields(said), _target(url))])

    def _exchanged(self, visit: Visit, outcome: Outcome, wire: Wire) -> list[ArchiveRecord]:
        """Return the archive's records of a request and its answer."""
        url, date = outcome.url, stamp(wire.sent_at)
        received = b"".join(wire.received)
        message = split(received, wire.n_interim)
        records: list[ArchiveRecord] = []
        target, connection = _target(url), _connection(wire, message)
        if message.head:
            whole = received if not (message.interim or message.excess) else message.head + message.body  # avoids a copy
            records.append(self._answer(outcome, wire, message, whole, date, [*target, *connection]))
            connection = []  # the answer's record has it
            if records[0].kind == "response" and wire.is_whole and message.has_head:
                is_plain_sailing = isinstance(outcome, Fetched) and not outcome.flags
                self._store.leave_body_to_archive(partial(may_hold, message, is_plain_sailing=is_plain_sailing))
            target = [*target, ("WARC-Concurrent-To", urn(records[0].id))]
        if wire.request:
            records.append(self._record("request", date, HTTP_REQUEST, wire.request, [*target, *connection]))
        if message.interim:
            beside = [
                ("WARC-Target-URI", f"urn:interim:{url.text}"),
                *target[1:],
            ]  # so that it does not look like a capture of the URL
            records.append(self._record("metadata", date, HTTP_RESPONSE, message.interim, beside))
        more = [("excess", f"{len(message.excess)} bytes behind the end of the answer, left out")] if message.excess else []
        records.append(self._record("metadata", date, FIELDS, fields([*self._story(visit), *more]), target))
        return records

    def _answer(self, outcome: Outcome, wire: Wire, message: HttpMessage, whole: bytes, date: str, headers: Fields) -> ArchiveRecord:
        """Return the record of an answer: a revisit if the archive has its payload already.

        Args:
            whole: Head and body.
            headers: Those that every record of it has.
        """
        url, captures = outcome.url, self._store.tables.captures
        if not (wire.is_whole and message.has_head):
            return self._record("response", date, HTTP_RESPONSE, whole, [*headers, ("WARC-Truncated", _why(outcome, wire))])
        status = outcome.head.status if outcome.head is not None else 0
        if status == 304 and (unchanged := captures.earlier(url.key)) is not None:
            return self._record("revisit", date, HTTP_RESPONSE, message.head, [*headers, *_refers(unchanged, "server-not-modified")])
        digest = sha1(message.payload)
        headers.append(("WARC-Payload-Digest", labelled(digest)))
        known = (captures.earlier(digest) or self._peers.earlier(digest)) if message.payload else None
        if known is not None:
            made = self._record("revisit", date, HTTP_RESPONSE, message.head, [*headers, *_refers(known, "identical-payload-digest")])
        else:
            made = self._record("response", date, HTTP_RESPONSE, whole, headers)
            known = Capture(url.text, date, made.id, digest)
            if message.payload:
                captures.remember(digest, known)
        if status == 200 and outcome.head is not None and any(outcome.head.get(name) for name in _VALIDATORS):
            captures.remember(url.key, known)
        return made

    def _record(self, kind: RecordKind, date: str, content_type: str, block: bytes, headers: Fields) -> ArchiveRecord:
        return ArchiveRecord(kind, next(self._ids), date, content_type, block, headers)

    def _story(self, visit: Visit) -> Fields:
        """Return the fields about where a URL came from and what became of it."""
        outcome = visit.outcome
        url = outcome.url if outcome is not None else visit.lease.entry.url
        said: Fields = [("visit", str(self._store.visit)), ("purpose", url.purpose.name.lower())]
        if url.via != NO_KEY and (via := self._text(url.via)):
            said.append(("via", via))
        if label := self._labels.of(visit.lease.entry.url):  # for a robots.txt: the label of the page before which it was requested
            said.append(("label", label))
        if path := _hops(url):
            said.append(("hopsFromSeed", path))
        if outcome is not None:
            said.append(("fetchTimeMs", str(round(outcome.elapsed_s * 1000))))
        match outcome:
            case Failed():
                said.append(("failure", f"{outcome.cause} {outcome.detail}".strip()))
            case Fetched(refused=reason, refused_by=by):
                said += [("flag", flag) for flag in sorted(outcome.flags if visit.page is None else visit.page.flags)]
                if reason is not None:
                    said.append(("skipped", f"{reason} {by}".rstrip()))
        if visit.refused is not None:
            said.append(("skipped", f"{visit.refused.reason} {visit.refused.by} {visit.refused.text}"))
        return said + _judged(visit)

    def _text(self, key: bytes) -> str:
        """Return the text of a known URL; "" for any other."""
        text = self._texts.get(key)
        if text is None:
            row, needed = self._store.tables.seen.row(key), self._store.tables.requisites.get(key)
            text = self._store.tables.seen.record(row.seq).text if row is not None else needed.text if needed is not None else ""
            if len(self._texts) >= _REMEMBERED:
                self._texts.clear()
            self._texts[key] = text
        return text


def _judged(visit: Visit) -> Fields:
    """Return the fields about what filters decided about a page, and which of its links are not followed."""
    said: Fields = []
    if visit.deliberation is not None:
        judgement = visit.deliberation.judgement
        said += [("kept", str(judgement.keep).lower()), ("followed", str(judgement.follow).lower())]
        said += [("verdict", msgspec.json.encode(msgspec.structs.asdict(one)).decode()) for one in verdict_records(judgement.verdicts)]
    if visit.sifted is not None:
        skips = visit.sifted.skips
        said += [("skipped-link", f"{skip.reason} {skip.by} {skip.text[:_LONGEST]}") for skip in skips[:_MOST_LINKS]]
        if len(skips) > _MOST_LINKS:
            said.append(("skipped-links-left-out", str(len(skips) - _MOST_LINKS)))
    if visit.requisites is not None and visit.requisites.fault:
        said.append(("skipped-requisites", visit.requisites.fault))
    return said


def _record_ids() -> Iterator[str]:
    """Yield UUIDs of version 4. The kernel is asked for the bytes of many at once: one by one they would take three times as long."""
    while True:
        digits = secrets.token_hex(16 * _IDS_AT_ONCE)
        for at in range(0, len(digits), 32):
            h = digits[at : at + 32]
            yield f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"


def _target(url: CrawlURL) -> Fields:
    return [("WARC-Target-URI", url.text)]


def _connection(wire: Wire, message: HttpMessage) -> Fields:
    """Return the fields about the peer and the protocols."""
    said = [("WARC-IP-Address", wire.address)] if wire.address else []
    said.append(("WARC-Protocol", "http/1.0" if message.head.startswith(b"HTTP/1.0") else "http/1.1"))
    if wire.tls:
        said.append(("WARC-Protocol", _TLS.get(wire.tls, wire.tls.lower())))
    if wire.cipher.startswith("TLS_"):  # TLS 1.3 uses the standard's names; for older versions OpenSSL has its own names
        said.append(("WARC-Cipher-Suite", wire.cipher))
    return said


def _refers(capture: Capture, profile: str) -> Fields:
    return [
        ("WARC-Profile", _PROFILE + profile),
        *([("WARC-Refers-To", urn(capture.id))] if capture.id else []),
        ("WARC-Refers-To-Target-URI", capture.url),
        ("WARC-Refers-To-Date", capture.date),
    ]


def _why(outcome: Outcome, wire: Wire) -> str:
    """Return why an answer is incomplete, in the standard's words."""
    cause = wire.broken or (outcome.cause if isinstance(outcome, Failed) else None)
    if isinstance(outcome, Fetched) and (Flag.TRUNCATED_SIZE in outcome.flags or outcome.refused is Reason.TOO_LARGE):
        return "length"
    return _TRUNCATED.get(cause, "unspecified") if cause is not None else "unspecified"


def _hops(url: CrawlURL) -> str:
    """Return the way from a seed as letters: L a click, E a requisite of a page or style sheet, R a redirect after these, P a prerequisite
    (robots.txt).
    """
    needs = "E" * url.site_depth if url.purpose is Purpose.REQUISITE else ""
    return "P" if url.purpose is Purpose.ROBOTS else "L" * url.seed_distance + needs + "R" * url.hops


def _warcinfo(settings: Settings, version: str) -> bytes:
    """Return the block of the `warcinfo` record that begins each file."""
    identity, config = settings.identity, msgspec.json.encode(settings)
    if len(config) > _MOST_CONFIG:
        config = msgspec.json.encode(msgspec.structs.replace(settings, seeds=[]))
    said = [
        ("software", f"Thresher/{version}"),
        ("format", "WARC File Format 1.1"),
        ("conformsTo", _CONFORMS_TO),
        ("operator", identity.contact),
        ("robots", "obey" if settings.robots.obey else "ignore"),
        ("http-header-user-agent", identity.user_agent(version)),
        *([("http-header-from", identity.from_header)] if identity.from_header else []),
        ("configuration", config.decode()),
    ]
    return fields(said)
