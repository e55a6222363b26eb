"""What is planted in a demo web, and which of its URLs a crawl from the seeds must find.

The walk goes over the plans, breadth first, without rendering a page, so it does not depend on the web's HTML.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

from thresher.crawler.demo.endless import Trap
from thresher.crawler.demo.links import DemoLink
from thresher.crawler.demo.plan import PathKind, PathPlan

_SCHEME = "http://"
_SAME = (PathKind.COPY, PathKind.VARIANT, PathKind.NEAR_COPY)
_WITHOUT_LINKS = (PathKind.REDIRECT, PathKind.GONE, PathKind.UNKNOWN, PathKind.ASSET)


@dataclass(frozen=True, slots=True)
class Planted:
    """One URL, as a crawl must find it."""

    url: str
    kind: PathKind
    status: int  # status of the last answer; 200 for a fault, which recovers
    depth: int  # clicks from the nearest seed; redirects are no clicks
    hops: int = 0  # redirects since the last link on the way
    target: str = ""  # target of a redirect
    same_as: str = ""  # of a copy, near copy or variant: URL of the page
    tries: int = 0  # of a fault: failing answers that come first
    error: int = 0  # of a fault: their status


@dataclass(frozen=True, slots=True)
class Truth:
    """All URLs that are reached by links and redirects that may be followed, without the endless parts."""

    urls: dict[str, Planted]  # URLs that a crawl must fetch, without robots.txt
    denied: frozenset[str]  # linked URLs that robots.txt forbids, or whose robots.txt is broken
    unfollowed: frozenset[str]  # URLs named only by links that must not be followed
    cut: frozenset[str]  # URLs beyond the largest number of redirects
    traps: tuple[Trap, ...]  # endless: none of their URLs is in `urls`

    def of_kind(self, kind: PathKind) -> list[Planted]:
        return [planted for planted in self.urls.values() if planted.kind is kind]

    def redirects(self) -> dict[str, str]:
        """Return source → target of every redirect that must be found."""
        return {planted.url: planted.target for planted in self.urls.values() if planted.kind is PathKind.REDIRECT}

    def copies(self) -> dict[str, str]:
        """Return URL → URL of the page with exactly the same body."""
        return {planted.url: planted.same_as for planted in self.urls.values() if planted.kind in (PathKind.COPY, PathKind.VARIANT)}

    def in_trap(self, url: str) -> bool:
        return any(trap.holds(*split(url)) for trap in self.traps)


class WebPlans(Protocol):
    """What is at each URL of a web, and its links; implemented by `Web`."""

    def seeds(self) -> list[str]: ...

    def traps(self) -> tuple[Trap, ...]: ...

    def allows(self, host: str, path: str, /) -> bool: ...

    def locate(self, host: str, path: str, /) -> PathPlan: ...

    def links(self, host: str, place: PathPlan, /) -> list[DemoLink]: ...

    def page_url(self, host: str, place: PathPlan, /) -> str: ...


def split(url: str) -> tuple[str, str]:
    """Return host name and path (with query) of a canonical URL of the demo web."""
    authority, slash, path = url.removeprefix(_SCHEME).partition("/")
    return authority.partition(":")[0], slash + path


def walk(web: WebPlans, *, max_redirects: int) -> Truth:
    """Walk the web's plans from its seeds, breadth first."""
    by_host: dict[str, list[Trap]] = {}
    for trap in web.traps():
        by_host.setdefault(trap.host, []).append(trap)
    urls: dict[str, Planted] = {}
    denied: set[str] = set()
    avoided: set[str] = set()
    cut: set[str] = set()
    queue = deque((url, 0, 0) for url in web.seeds())
    while queue:
        url, depth, hops = queue.popleft()
        host, path = split(url)
        near = (*by_host.get(host, ()), *by_host.get(host[host.find(".") :], ())) if by_host else ()
        if url in urls or url in denied or any(trap.holds(host, path) for trap in near):
            continue
        if not web.allows(host, path):
            denied.add(url)
            continue
        place = web.locate(host, path)
        urls[url] = _planted(web, host, url, place, depth, hops)
        if place.kind is PathKind.REDIRECT and hops < max_redirects:
            queue.append((place.target, depth, hops + 1))
        elif place.kind is PathKind.REDIRECT:
            cut.add(place.target)
        elif place.kind not in _WITHOUT_LINKS:
            links = web.links(host, place)
            to_follow = place.kind is not PathKind.DEAD_END
            queue.extend((link.url, depth + 1, 0) for link in links if to_follow and link.is_followed)
            avoided.update(link.url for link in links if not (to_follow and link.is_followed))
    found = urls.keys() | denied
    return Truth(urls, frozenset(denied), frozenset(avoided - found), frozenset(cut - found), web.traps())


def _planted(web: WebPlans, host: str, url: str, place: PathPlan, depth: int, hops: int) -> Planted:
    is_fault = place.kind is PathKind.FAULT
    return Planted(
        url,
        place.kind,
        200 if is_fault else place.status,
        depth,
        hops,
        place.target,
        web.page_url(host, place) if place.kind in _SAME else "",
        place.tries,
        place.status if is_fault else 0,
    )
