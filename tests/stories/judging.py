"""What a judge of politeness reads in the server's log: each function returns in words what broke a rule, [] if nothing did."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from thresher.crawler.demo.log import ROBOTS, ServerLog
from thresher.crawler.demo.web import Web

TOLERANCE_S = 0.001
WINDOW_S = 1.0
_COMMITTED_S = 2.0  # by then what followed from an answer is on disk: eight commit intervals


def short_gaps(log: ServerLog, web: Web, min_delay_s: float, kills: Sequence[float] = ()) -> list[str]:
    """P19–P21, P26: the gap from the end of an answer to the next request at the same host queue. A Crawl-delay counts once its robots.txt
    was served. It does not count for the next request of that robots.txt itself: an agent that lost the rules in a kill does not know it.

    Args:
        kills: Times of the log at which an agent was killed. Rules of one name of a queue that were served just before may be lost. Then
            they do not count for the queue's other name until they are served again.
    """
    found = []
    for requests in log.queues().values():
        asked: dict[str, tuple[float, float]] = {}  # when the rules of a name were served, and their delay
        end = requests[0].end
        for before, request in pairwise(requests):
            end = max(end, before.end)
            if before.path == ROBOTS:
                asked[before.host] = before.end, web.crawl_delay(before.host)
            if request.path == ROBOTS:
                asked.pop(request.host, None)
            for kill in kills:
                if end <= kill <= request.start:
                    asked = {host: rules for host, rules in asked.items() if rules[0] < kill - _COMMITTED_S}
            due_s = max(min_delay_s, *(delay_s for _, delay_s in asked.values()), 0.0)
            if request.start - end < due_s - TOLERANCE_S:
                found.append(f"{request.start - end:.4f} s before {request.host}{request.path}, due are {due_s:g} s")
    return found


def n_gaps(log: ServerLog) -> int:
    return len(log) - len(log.queues())


def crowded_queues(log: ServerLog) -> list[str]:
    """P23, P26: more than one request at the same time at a host queue."""
    return [f"{queue}: {n} at once" for queue, n in log.max_concurrency().items() if n > 1]


def crowded_addresses(log: ServerLog, connections: int, delay_s: float) -> list[str]:
    """P24: too many requests at the same time at an address, or too many that began in any span of its length; beginnings are taken from
    the client's clock, not the server's.
    """
    at_once = log.max_concurrency(lambda request: request.address)
    found = [f"{address}: {n} at once" for address, n in at_once.items() if n > connections]
    most = WINDOW_S / delay_s + 2
    for address, requests in log.by(lambda request: request.address).items():
        starts = [request.start for request in requests]
        busiest = max(sum(start <= other < start + WINDOW_S for other in starts) for start in starts)
        found += [f"{address}: {busiest} in {WINDOW_S:g} s"] if busiest > most else []
    return found


def returning_connections(log: ServerLog) -> list[str]:
    """P24: requests on connections that others had followed at their address, so that there were two, although there may be one."""
    found = []
    for address, requests in log.by(lambda request: request.address).items():
        newest = 0
        for request in sorted(requests, key=lambda request: request.start):
            if request.connection < newest:
                found.append(f"{address}: {request.host}{request.path} on connection {request.connection}, after one on {newest}")
            newest = max(newest, request.connection)
    return found


def forbidden(log: ServerLog, web: Web) -> list[str]:
    """P9, P13, P57: requests for URLs that robots.txt forbids."""
    return [f"{request.host}{request.path}" for request in log.forbidden(web.allows)]
