"""Makes the stored record of what a visit found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

import numpy as np

from thresher.crawler.core.ai_preferences import Stated
from thresher.crawler.core.model import NO_KEY, Cause, CrawlURL, Directives, Failed, Fetched, Flag, Judgement, Page, Verdict
from thresher.crawler.page.browser_need import is_challenge
from thresher.storage.records import FailureRecord, PageRecord, VerdictRecord

_SHORT = 64 << 10  # most bytes of an error page that may be a challenge
_TITLE = 1_000  # most characters of a title
_PARTIAL = {Cause.TRUNCATED_ENCODING: Flag.TRUNCATED_ENCODING, Cause.INCOMPLETE: Flag.INCOMPLETE, Cause.INTERNAL_ERROR: Flag.INTERNAL_ERROR}


def page_record(
    outcome: Fetched,
    page: Page | None,
    charset: str,
    judgement: Judgement | None,
    now: float,
    *,
    failure: Failed | None = None,
    ai: Iterable[Stated] = (),
) -> PageRecord:
    """Return the record of a response; `page` and `judgement` are None if it failed for good and its body is worth keeping."""
    url, head = outcome.url, outcome.head
    return PageRecord(
        url=url.text,
        key=url.key,
        status=head.status,
        mime_type=head.mime_type,
        charset=charset,
        n_bytes=len(outcome.body),
        wire_bytes=outcome.wire_bytes,
        seed_distance=url.seed_distance,
        site_depth=url.site_depth,
        hops=url.hops,
        via=url.via,
        purpose=url.purpose,
        fetched_at=now,
        elapsed_s=outcome.elapsed_s,
        address=head.address,
        headers=list(head.headers),
        flags=sorted(page.flags if page else outcome.flags),
        keep=judgement.keep if judgement else bool(outcome.body),
        follow=judgement.follow if judgement else False,
        verdicts=verdict_records(judgement.verdicts) if judgement else [],
        failed_cause=failure.cause if failure else "",
        failed_detail=failure.detail if failure else "",
        ai=list(ai),
        **_parsed(page),
    )


class _Parsed(TypedDict):
    """The fields of a record that only a parsed page fills."""

    title: str
    fingerprint: bytes
    canonical: str
    noindex: bool
    nofollow: bool
    signals: list[str]
    n_links: int


def _parsed(page: Page | None) -> _Parsed:
    """Return the fields that come from parsing; they are empty if nothing was parsed."""
    if page is None:
        return {"title": "", "fingerprint": NO_KEY, "canonical": "", "noindex": False, "nofollow": False, "signals": [], "n_links": 0}
    said = page.directives
    return {
        "title": page.title[:_TITLE],
        "fingerprint": page.fingerprint,
        "canonical": page.canonical,
        "noindex": said.noindex,
        "nofollow": said.nofollow,
        "signals": list(said.signals),
        "n_links": len(page.links),
    }


def unread_page(outcome: Fetched) -> Page:
    """Return an answer whose body a head gate refused as a page without text or links."""
    url, head = outcome.url, outcome.head
    nothing = np.zeros(0, dtype=np.uint64)
    return Page(url, head.status, head.mime_type, "", "", nothing, b"", (), "", Directives(), 0)


def failure_record(outcome: Failed, attempts: int, now: float, *, final: bool = True) -> FailureRecord:
    """Return the record of a failed request.

    Args:
        final: Whether no other request will be made.
    """
    return FailureRecord(str(outcome.cause), outcome.detail, now, attempts, final, outcome.head.status if outcome.head else 0)


def refusal_record(outcome: Fetched, now: float) -> FailureRecord:
    """Return the record of an answer whose body a head gate refused."""
    head = outcome.head
    detail = f"{head.mime_type or 'no type'}, {head.get(b'content-length') or 'unknown'} bytes"
    return FailureRecord(str(outcome.refused), detail, now, 1, True, head.status)


def partial_answer(url: CrawlURL, outcome: Failed) -> Fetched | None:
    """Return the received part of an answer that failed for good (an error page, or the beginning of a body); None if nothing was
    received.
    """
    if outcome.head is None:
        return None
    flags = frozenset({_PARTIAL[outcome.cause]} if outcome.cause in _PARTIAL else ())
    if len(outcome.body) <= _SHORT and is_challenge(outcome.head, outcome.body):
        flags |= {Flag.CHALLENGE}
    return Fetched(url, outcome.head, outcome.body, outcome.wire_bytes, outcome.elapsed_s, flags)


def verdict_records(verdicts: Iterable[Verdict]) -> list[VerdictRecord]:
    """Return the verdicts that are not empty, as they are stored."""
    return [
        VerdictRecord(
            verdict.filter, verdict.keep, verdict.follow, verdict.score, verdict.reason or "", dict(verdict.evidence), verdict.new
        )
        for verdict in verdicts
        if verdict.is_against or verdict.evidence
    ]
