"""`lastmod` of sitemaps: the time of a page's last change, and how far a host's statements can be trusted.

A `lastmod` can be checked if the page's answer has a `Last-Modified` that is not the time of the answer itself (pages made on demand send
that). It is right if both differ by less than a day, since many lastmods are dates without a time, in an unknown time zone; a lastmod in
the future is wrong. The trust in a host is the lower end of Wilson's 95 % interval of the share that was right: 0 before any check, .57
after five right ones, .91 after forty. A lastmod of the host is used with this weight.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Final

DAY_S: Final = 86_400.0
_NOW_S: Final = 3_600.0  # seconds: a Last-Modified so close to the answer's time is the time of the answer itself
_Z: Final = 1.96
_W3C: Final = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*([Zz]|[+-]\d\d:?\d\d)?)?)?)?", re.ASCII
)


def parse_time(text: str) -> float:
    """Return a time in W3C's or RFC 822's format as seconds since the epoch; 0 if it has neither format. Without a zone it is UTC."""
    text = text.strip()[:64]
    match = _W3C.fullmatch(text)
    try:
        if match is None:
            at = parsedate_to_datetime(text)
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
        year, month, day, hour, minute, second = (int(part) if part else None for part in match.groups()[:6])
        at = datetime(year or 1, month or 1, day or 1, hour or 0, minute or 0, min(second or 0, 59), tzinfo=_zone(match[7]))
        return max(0.0, at.timestamp())
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0


def _zone(text: str | None) -> timezone:
    if not text or text in "Zz":
        return UTC
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[-2:])))


def holds(lastmod: float, last_modified: float, answered_at: float) -> bool | None:
    """Return whether the page's own answer confirms a lastmod; None if it has no date. All in seconds since the epoch, 0 for none."""
    if not lastmod:
        return None
    if lastmod > answered_at + DAY_S:
        return False
    if not last_modified or abs(answered_at - last_modified) < _NOW_S:
        return None
    return abs(lastmod - last_modified) <= DAY_S


def believed(n_held: int, n_false: int) -> float:
    """Return how far a host's lastmods can be trusted, 0 to 1."""
    n = n_held + n_false
    if not n:
        return 0.0
    p, z2 = n_held / n, _Z * _Z
    spread = _Z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return max(0.0, (p + z2 / (2 * n) - spread) / (1 + z2 / n))
