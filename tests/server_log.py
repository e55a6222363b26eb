"""What the demo server's log says about a crawl; the crawler cannot influence this log."""

from __future__ import annotations

from collections import Counter

from thresher.crawler.demo.log import ROBOTS, ServerLog
from thresher.crawler.demo.opening import AnyWeb
from thresher.crawler.demo.plan import PathKind
from thresher.crawler.demo.truth import Truth
from thresher.crawler.demo.web import Web


def unlabelled(web: AnyWeb) -> Web:
    """Return the web of a server as a demo web, with its own type."""
    assert isinstance(web, Web)
    return web


def refetches(log: ServerLog, truth: Truth) -> Counter[str]:
    """Return how often each URL was requested beyond what its faults need; robots.txt beyond once for each origin."""
    over: Counter[str] = Counter()
    for url, n in log.counts().items():
        planted = truth.urls.get(url)
        due = 1 + planted.tries if planted is not None and planted.kind is PathKind.FAULT else 1
        if n > due:
            over[url] = n - due
    return over


def shortest_gap(log: ServerLog) -> float:
    """Return the shortest time between an answer's end and the next request at the same host queue, in seconds."""
    return min((gap for gaps in log.gaps().values() for gap in gaps), default=0.0)


def n_robots(log: ServerLog) -> Counter[str]:
    """Return how often robots.txt of each origin was requested."""
    return Counter(request.host for request in log.requests if request.path == ROBOTS)
