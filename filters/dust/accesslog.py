"""A web server's access log, common or combined format, as a list of URLs with their sizes: input where no page was fetched.

What robots fetched is left out, since they follow links that nobody uses, and so are attacks, which invent URLs: clients that say they are
robots or that fetched robots.txt; requests that carry an attack's marks; clients of whose requests most failed. What remains is a page
if it was got whole with status 200; error answers stay, as evidence against rules that lead to them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from filters.dust.urllist import Sighting

_LINE: Final = re.compile(
    r'(?P<client>\S+) \S+ \S+ \[(?P<time>[^\]]*)\] "(?P<request>(?:[^"\\]|\\.)*)" (?P<status>\d{3}) (?P<size>\d+|-)'
    r'(?: "(?P<referer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)")?'
)
_ROBOT: Final = re.compile(
    r"bot\b|bot/|crawl|spider|slurp|archiver|feed|rss|reader|monitor|checker|validator|curl|wget|libwww|python|java/|ruby|perl|php/|"
    r"apache-httpclient|okhttp|go-http|scrapy|httrack|nutch|heritrix|facebookexternalhit|preview",
    re.IGNORECASE,
)
_ATTACK: Final = re.compile(
    r"\.\./|%2e%2e|%00|%c0%ae|\\x|etc/passwd|<|%3cscript|union(?:\+|%20| )+(?:all(?:\+|%20| ))?select|"
    r"proc/self|base64_decode|wp-login|xmlrpc\.php|phpmyadmin|/cgi-bin/.*;|\$\{|%24%7b",
    re.IGNORECASE,
)
_SCANNER: Final = (10, 0.5)  # a client with so many requests of which more than this share failed


class _Request(NamedTuple):
    client: str
    method: str
    target: str
    status: int
    size: int | None
    referer: str
    agent: str


@dataclass(slots=True)
class Dropped:
    """What was left out of a log, in requests."""

    robots: int = 0
    attacks: int = 0
    other: int = 0  # neither GET nor HEAD, or the target is no path


def looks_like_log(line: str) -> bool:
    """Return whether a line is one of an access log."""
    return _LINE.match(line) is not None


def read_log(lines: Iterable[str], complain: Callable[[int, str], None], *, origin: str = "") -> tuple[list[Sighting], Dropped]:
    """Read a log; `complain(number, why)` is told of each line that is none.

    origin: "https://a.example", of the server; "": the host that most referers name, else localhost.
    """
    requests = list(_requests(lines, complain))
    dropped = Dropped()
    base = origin.rstrip("/") or _own_origin(requests)
    robots = {request.client for request in requests if _ROBOT.search(request.agent) or request.target.startswith("/robots.txt")}
    scanners = _scanners(requests)
    found: list[Sighting] = []
    for request in requests:
        if request.client in robots:
            dropped.robots += 1
        elif request.client in scanners or _ATTACK.search(request.target):
            dropped.attacks += 1
        elif request.method not in ("GET", "HEAD") or not request.target.startswith("/"):
            dropped.other += 1
        elif request.status == 200 and request.size is not None and request.method == "GET":
            found.append(Sighting(base + request.target, 200, (request.size, request.size)))
        elif request.status >= 400:
            found.append(Sighting(base + request.target, request.status))
    return found, dropped


def _requests(lines: Iterable[str], complain: Callable[[int, str], None]) -> Iterator[_Request]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        match = _LINE.match(line)
        words = match["request"].split(" ") if match else []
        if match is None or len(words) not in (2, 3):
            complain(number, "expected a line of an access log in common or combined format")
            continue
        size = None if match["size"] == "-" else int(match["size"])
        target = words[1].partition("#")[0]
        yield _Request(match["client"], words[0], target, int(match["status"]), size, match["referer"] or "", match["agent"] or "")


def _own_origin(requests: Iterable[_Request]) -> str:
    """Return the origin that referers name most: most visitors come from another page of the same site."""
    named: Counter[str] = Counter()
    for request in requests:
        match = re.match(r"https?://[^/?#\s]+", request.referer)
        if match:
            named[match[0].lower()] += 1
    return named.most_common(1)[0][0] if named else "http://localhost"


def _scanners(requests: Iterable[_Request]) -> set[str]:
    asked: Counter[str] = Counter()
    failed: defaultdict[str, int] = defaultdict(int)
    for request in requests:
        asked[request.client] += 1
        failed[request.client] += request.status >= 400
    fewest, share = _SCANNER
    return {client for client, n in asked.items() if n >= fewest and failed[client] > share * n}
