"""Rules of a round of revisits: which requests may be conditional, which pages are audited, when a page is gone and when a host is parked.

Conditional requests [RFC 9110, 13]: If-None-Match with the ETag, If-Modified-Since with the Last-Modified, each as it was received. Invalid
validators are not sent: an ETag with wrong syntax or longer than 1 KB; a Last-Modified that is not a date, is later than the answer's own
Date (8.8.2.1), or within the last second before it, in which the page may have changed again (8.8.2.2).
"""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

import xxhash

LONGEST_ETAG: Final = 1024  # bytes
WINDOW: Final = 20  # last answers of a host in a round that are considered
MOST_LOST: Final = 10  # so many of them may be lost; then the host is parked
GONE: Final = frozenset((404, 410))

_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')
_DAY_S = 86_400.0
_ALL = 1 << 64


class Validators(NamedTuple):
    """The validators of an answer (ETag, Last-Modified): values of headers as received, "" for none."""

    etag: str = ""
    last_modified: str = ""

    def conditions(self) -> tuple[tuple[bytes, bytes], ...]:
        """Return the headers that make a request conditional; none if there are no validators."""
        pairs = ((b"If-None-Match", self.etag), (b"If-Modified-Since", self.last_modified))
        return tuple((name, value.encode("latin-1")) for name, value in pairs if value)


def validators(etag: str, last_modified: str, date: str, at: float) -> Validators:
    """Return the validators of an answer that may be sent back.

    Args:
        date: The value of its Date header.
        at: When it was received, in seconds since the epoch.
    """
    modified, answered = _seconds(last_modified), _seconds(date)
    is_usable = modified is not None and modified <= (at if answered is None else answered) - 1.0
    is_tag = len(etag) <= LONGEST_ETAG and _ETAG.fullmatch(etag) is not None
    return Validators(etag if is_tag else "", last_modified if is_usable else "")


def _seconds(text: str) -> float | None:
    """Return an HTTP date as seconds since the epoch, None if it is none."""
    if not text or len(text) > 64 or not text.isprintable():
        return None
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def is_drawn(key: bytes, number: int, share: float) -> bool:
    """Return whether a URL is drawn as an audit in a round. Its keyed hash decides: a site cannot predict it, and a resumed crawl draws the
    same.
    """
    return xxhash.xxh3_64_intdigest(key + number.to_bytes(8, "big")) < share * _ALL


def has_lied(asked: Validators, answered: Validators, *, is_change: bool, said_at: float) -> bool:
    """Return whether a 304 was false: the page, asked for once more without conditions, is another.

    Args:
        asked: The validators that were sent with the request that the 304 answered.
        answered: The validators of the whole page, from the second request.
        is_change: Whether the page differs from the stored one.
        said_at: When the 304 was received, in seconds since the epoch. A page may truly have changed between the two requests: then its
            validators have changed, too, and its date is later than the 304.
    """
    if not is_change:
        return False
    if asked.etag and answered.etag:
        if asked.etag == answered.etag:
            return True
    elif asked.last_modified and asked.last_modified == answered.last_modified:
        return True
    modified = _seconds(answered.last_modified)
    return modified is not None and modified < said_at - 1.0


def is_gone(status: int, missing_since: float, now: float, *, is_doubted: bool) -> bool:
    """Return whether a page is gone for good.

    Args:
        missing_since: Time of its first 404 in a row, seconds since the epoch; 0: this one.
        is_doubted: Whether its host was parked because of sudden losses.
    """
    if status == 410:
        return True
    return status == 404 and missing_since > 0 and now // _DAY_S != missing_since // _DAY_S and not is_doubted


def is_sudden(history: int) -> bool:
    """Return whether a host has lost too much at once.

    Args:
        history: A bit for each of its last answers in this round, 1 for a lost page.
    """
    return (history & ((1 << WINDOW) - 1)).bit_count() >= MOST_LOST
