"""A web server's access log as a list of URLs with their sizes: input where no page was fetched.

Some clients are left out with all their requests: robots, because they follow links that nobody uses, and attackers, because they invent
URLs. These are clients that call themselves robots or fetched robots.txt; that sent a request with an attack's marks; or most of whose
requests failed (connections that never sent a request, status 408, do not count). Of the rest, a request is a page if it was sent whole
with status 200; error answers are kept, as evidence against rules that lead to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from thresher.crawler.core.access_log import LoggedRequest
from thresher.filters.dust.urllist import Sighting
from thresher.filters.log_visitors import is_attack, is_robot, of_referer

_NO_REQUEST: Final = 408  # the status if a connection sent no request in time: browsers open some connections in advance
_SCANNER: Final = (10, 0.5)  # a client with at least so many requests, of which more than this share failed


@dataclass(slots=True)
class LeftOut:
    """What was left out of a log, in requests."""

    robots: int = 0
    attacks: int = 0
    other: int = 0  # neither GET nor HEAD, or the target is no path


def sightings(requests: Iterable[LoggedRequest], *, origin: str = "") -> tuple[list[Sighting], LeftOut]:
    """Return the answers for URLs that a log contains, and counts of what was left out.

    Args:
        origin: "https://a.example", of the server; "": the one that most referers name, else http://localhost.
    """
    every = list(requests)
    dropped = LeftOut()
    base = origin.rstrip("/") or _own_origin(every)
    robots = {request.client for request in every if is_robot(request.agent, request.target)}
    scanners = _scanners(every)
    found: list[Sighting] = []
    for request in every:
        target = request.target.partition("#")[0]
        if request.client in robots:
            dropped.robots += 1
        elif request.client in scanners or is_attack(target):
            dropped.attacks += 1
        elif request.method not in ("GET", "HEAD") or not target.startswith("/"):
            dropped.other += 1
        elif request.status == 200 and request.size >= 0 and request.method == "GET":
            found.append(Sighting(base + target, 200, (request.size, request.size)))
        elif request.status >= 400:
            found.append(Sighting(base + target, request.status))
    return found, dropped


def _own_origin(requests: Iterable[LoggedRequest]) -> str:
    """Return the origin that referers name most: most visitors come from another page of the same site."""
    named = Counter(found[0].lower() for request in requests if (found := of_referer(request.referer)))
    return named.most_common(1)[0][0] if named else "http://localhost"


def _scanners(requests: Iterable[LoggedRequest]) -> set[str]:
    asked: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for request in requests:
        if request.status == _NO_REQUEST:
            continue
        asked[request.client] += 1
        failed[request.client] += request.status >= 400
    fewest, share = _SCANNER
    return {client for client, n in asked.items() if n >= fewest and failed[client] > share * n}
