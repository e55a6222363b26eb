r"""A line of a web server's access log, common or combined format, as a value.

    host ident user [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 2326 "http://referer" "agent"

Only combined format has the last two fields; further fields that servers append are ignored. Quotes within a field are escaped by a
backslash, as Apache and nginx write them. If a server received no request line, or one that it cannot read, it logs "-", nothing, or the
received bytes: a browser's spare connection that times out gives `"-" 408 0 "-" "-"`. These are valid log lines; their method is empty.

Pure; crawler/analysis/access_log.py opens the files. Time: 4 µs a line.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple

_LINE: Final = re.compile(
    r"(\S+) \S+ [^\[\n]*\[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d):(\d\d) ([+-]\d{4})\] "
    r'"(?:([A-Za-z-]+) )?((?:[^"\\]|\\.)*)" (\d{3}) (\d+|-)(?:\s*$| "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"(?:\s|$))'
)


class LoggedRequest(NamedTuple):
    """One logged request."""

    client: str  # address or name
    time: int  # seconds since the epoch
    method: str  # "" if no request line was read
    target: str  # path and query as sent; a whole URL in requests to a proxy; else what was received instead, "-" or "" for nothing
    status: int
    size: int  # bytes of the body, -1 if not logged
    referer: str | None  # "-" if none was sent, None if the format has no such field
    agent: str | None  # as referer


def parse(line: str) -> LoggedRequest | None:
    """Parse a line; None if it is cut off or not a line of an access log."""
    found = _LINE.match(line)
    if found is None:
        return None
    client, minute, second, zone, method, asked, status, size, referer, agent = found.groups()
    start = _epoch(minute, zone)
    if start is None:
        return None
    target = asked.rpartition(" HTTP/")[0] or asked
    return LoggedRequest(client, start + int(second), method or "", target, int(status), -1 if size == "-" else int(size), referer, agent)


@lru_cache(maxsize=4096)
def _epoch(minute: str, zone: str) -> int | None:
    """Return the seconds since the epoch at the start of a minute, None if there is no such minute."""
    try:
        return int(datetime.strptime(f"{minute} {zone}", "%d/%b/%Y:%H:%M %z").timestamp())
    except (ValueError, OverflowError):
        return None
