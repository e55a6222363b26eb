"""Reads the head of an answer: whether and when to try again, where a redirect leads, how the body is transferred."""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from thresher.crawler.core.model import Cause, Head
from thresher.crawler.core.politeness import parse_retry_after
from thresher.crawler.core.url_spelling import latin1_href

RETRY_AFTER_MAX_S: Final = 86_400.0
RETRY_AFTER_UNREADABLE_S: Final = 60.0
_THROTTLED: Final = frozenset((429, 503))
_TRY_AGAIN: Final = frozenset((408, 425))


def retry_after_s(head: Head, wall_now: float) -> float | None:
    """Return the seconds that the server asks us to wait, at most a day; None if it does not ask.

    A date is compared with the response's own Date. A value in neither form counts as a minute on 429 and 503, since the server does ask
    for a wait.
    """
    text = head.get(b"retry-after")
    if not text:
        return None
    asked_s = parse_retry_after(text, _sent_at(head.get(b"date"), wall_now))
    if asked_s is None:
        return RETRY_AFTER_UNREADABLE_S if head.status in _THROTTLED else None
    return min(asked_s, RETRY_AFTER_MAX_S)


def _sent_at(date: str, wall_now: float) -> float:
    try:
        at = parsedate_to_datetime(date[:64])
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return wall_now


def cause_of(status: int) -> Cause | None:
    """Return the cause of failure for a status that asks for another try; None for any other status."""
    if status < 400:
        return None
    if status == 429:
        return Cause.HTTP_429
    if status >= 500:
        return Cause.HTTP_5XX
    return Cause.HTTP_RETRY if status in _TRY_AGAIN else None


def location_of(head: Head) -> str:
    """Return the first Location as text, with bytes beyond ASCII percent-encoded; "" if there is none."""
    return next((latin1_href(value).strip() for name, value in head.headers if name.lower() == b"location"), "")


def is_odd_transfer(head: Head) -> bool:
    """Return whether the body came in a transfer coding other than chunked, which was not decoded."""
    return any(value.lower() not in ("", "chunked", "identity") for value in head.all(b"transfer-encoding"))
