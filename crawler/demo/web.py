"""The demo web: every answer is a pure function of (settings, port, host, path, attempt).

`respond` finds the place of a URL in its host's plan and renders it. It stores only values that could be computed again: plans, and recent
replies up to `cache_bytes`. Only transient errors depend on more than the URL: the caller says how often the URL was requested (`attempt`
counts from 1; the server counts requests per URL), and the first `tries` attempts fail.
"""

from __future__ import annotations

import hashlib
import sys
import zlib
from collections import OrderedDict
from dataclasses import dataclass, replace

from thresher.crawler.demo.atlas import Atlas, Declared, DemoHost, RobotsKind
from thresher.crawler.demo.demo_settings import DemoSettings
from thresher.crawler.demo.endless import Trap, calendar_links, calendar_place, farm_page
from thresher.crawler.demo.html_renderer import HtmlRenderer
from thresher.crawler.demo.links import DemoLink
from thresher.crawler.demo.plan import PathKind, PathPlan, PlannedHost
from thresher.crawler.demo.prose import prose_of
from thresher.crawler.demo.seeded_random import SeededRandom
from thresher.crawler.demo.truth import Truth, walk

FAULTS = "/busy/"  # the directory of all pages whose first attempts fail
_PRIVATE = "/private/"
_IGNORED = ("utm_source", "utm_campaign", "ref")
_LEAF_BYTES = 4_000
_MIME = {
    "pdf": "application/pdf",
    "png": "image/png",
    "zip": "application/zip",
    "jpg": "image/jpeg",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
_MAGIC = {"pdf": b"%PDF-1.7\n", "png": b"\x89PNG\r\n\x1a\n", "zip": b"PK\x03\x04", "jpg": b"\xff\xd8\xff\xe0", "docx": b"PK\x03\x04"}
_FARM_ADDRESS = "127.66.{}.1"

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. The server adds Content-Length and Connection."""

    status: int
    headers: Headers  # names in lower case
    body: bytes
    delay_s: float = 0.0


class Web:
    """One demo web, as seen on one port. Not thread-safe: one per thread."""

    def __init__(self, demo_settings: DemoSettings, *, port: int = 80, cache_bytes: int = 32 << 20) -> None:
        self.demo_settings = demo_settings
        self._rng = SeededRandom(demo_settings.seed)
        self._atlas = Atlas(demo_settings, self._rng)
        self._scheme = "https" if demo_settings.tls else "http"
        self._suffix = "" if port == (443 if demo_settings.tls else 80) else f":{port}"
        self._plans: dict[int, tuple[PlannedHost, HtmlRenderer]] = {}
        self._recent: OrderedDict[tuple[str, str], Reply] = OrderedDict()
        self._recent_bytes, self._cache_bytes = 0, cache_bytes

    # seeds, hosts, addresses, traps

    def origin(self, host: str) -> str:
        return f"{self._scheme}://{host}{self._suffix}"

    def seeds(self) -> list[str]:
        """Return the URLs to start from."""
        return [self.origin(host.name) + "/" for host in self._atlas.seeds]

    def hosts(self) -> list[str]:
        """Return the names of all hosts but those of farms."""
        return [host.name for host in self._atlas.hosts]

    def static_dns(self) -> dict[str, str]:
        """Return name → address for `dns.static`; a farm is a suffix with a leading dot."""
        names = {host.name: host.address for host in self._atlas.hosts}
        return names | {f".{farm}": _FARM_ADDRESS.format(i) for i, farm in enumerate(self._atlas.farms)}

    def traps(self) -> tuple[Trap, ...]:
        """Return all endless parts."""
        traps = [Trap(PathKind.CALENDAR, host.name, "/calendar/") for host in self._atlas.hosts if host.has_calendar]
        traps += [Trap(PathKind.SESSION, host.name, "sid=") for host in self._atlas.hosts if host.has_sessions]
        return (*traps, *(Trap(PathKind.FARM, f".{farm}") for farm in self._atlas.farms))

    def truth(self, *, max_redirects: int = 5) -> Truth:
        """Return what is planted, and which of it a crawl from the seeds must find. Only for finite webs. Time: some 5 µs per link."""
        return walk(self, max_redirects=max_redirects)

    # robots.txt

    def allows(self, host: str, path: str) -> bool:
        """Return whether the host's robots.txt allows `path` for every crawler."""
        known = self._atlas.by_name.get(_name(host))
        if known is None or path == "/robots.txt":
            return True
        match known.robots:
            case RobotsKind.CLOSED | RobotsKind.BROKEN:
                return False
            case RobotsKind.DISALLOW:
                return not path.startswith(_PRIVATE)
            case _:
                return True

    def crawl_delay(self, host: str) -> float:
        """Return the Crawl-delay that the host asks for in seconds, 0 if none."""
        known = self._atlas.by_name.get(_name(host))
        return float(known.crawl_delay_s) if known else 0.0

    # what is at a URL

    def locate(self, host: str, path: str) -> PathPlan:
        """Return what is at `path` (with query) of `host`."""
        known = self._atlas.by_name.get(_name(host))
        if known is None:
            return PathPlan(PathKind.FARM if self._farm_of(_name(host)) else PathKind.UNKNOWN, path, status=404)
        if path == "/robots.txt":
            return PathPlan(PathKind.ROBOTS, path)
        if known.forwards_to:
            target = self.origin(known.forwards_to) + path
            return PathPlan(PathKind.REDIRECT, path, status=301, target=target, location=target)
        plan = self._plan(known)[0]
        return plan.find(path) or self._locate_odd(plan, path) or PathPlan(PathKind.UNKNOWN, path, status=404)

    def _locate_odd(self, plan: PlannedHost, path: str) -> PathPlan | None:
        """Return a calendar's page, or the page under a query that the host ignores."""
        if plan.host.has_calendar and path.startswith("/calendar/"):
            return calendar_place(path)
        bare, mark, query = path.partition("?")
        if not mark:
            return None
        fields = [field.partition("=") for field in query.split("&")]
        ignored = (*_IGNORED, "sid") if plan.host.has_sessions else _IGNORED
        kept = "&".join("".join(field) for field in fields if field[0] not in ignored)
        place = plan.find(f"{bare}?{kept}" if kept else bare)
        session = next((value for name, _, value in fields if name == "sid"), "") if plan.host.has_sessions else ""
        if place is None or place.kind is not PathKind.PAGE:
            return place
        return replace(place, kind=PathKind.SESSION if session else PathKind.VARIANT, session=session)

    def links(self, host: str, place: PathPlan) -> list[DemoLink]:
        """Return the links of the page at `place`."""
        plan = self._plan(self._atlas.by_name[_name(host)])[0]
        links = plan.links(place)
        return links[: plan.n_navigation()] + calendar_links(plan, self._rng, place) if place.kind is PathKind.CALENDAR else links

    def page_url(self, host: str, place: PathPlan) -> str:
        """Return the URL of the tree's page whose content is at `place`."""
        return self._plan(self._atlas.by_name[_name(host)])[0].page_url(place.page)

    def _plan(self, host: DemoHost) -> tuple[PlannedHost, HtmlRenderer]:
        if (known := self._plans.get(host.index)) is None:
            plan = PlannedHost(self.demo_settings, self._rng, self._atlas, host, self.origin)
            known = self._plans[host.index] = (
                plan,
                HtmlRenderer(
                    host,
                    plan.navigation,
                    prose_of(self.demo_settings.seed, host.subject, host.vocabulary, host.charset),
                    state_bytes=self.demo_settings.state_bytes,
                    attribute_bytes=self.demo_settings.attribute_bytes,
                ),
            )
        return known

    def _farm_of(self, name: str) -> str:
        return next((farm for farm in self._atlas.farms if name.endswith(f".{farm}")), "")

    # answers

    def respond(self, host: str, path: str, attempt: int = 1) -> Reply:
        """Answer GET `path` (with query) of `host`, which may name a port."""
        key = _name(host), path
        if (reply := self._recent.get(key)) is not None:
            self._recent.move_to_end(key)
            return reply
        reply, is_final = self._answer(*key, attempt)
        if is_final:
            self._remember(key, reply)
        return reply

    def print_all(self) -> int:
        """Render every page of the hosts' trees and keep them, whatever their size; return their bytes in all. Time: 0.3 ms a page."""
        self._cache_bytes = sys.maxsize
        for host in self._atlas.plain:
            for page in range(host.n_pages):
                self.respond(host.name, self._plan(host)[0].page_url(page).removeprefix(self.origin(host.name)))
        return self._recent_bytes

    def page_urls(self) -> list[str]:
        """Return the pages of the trees of all hosts that can be reached by plain links."""
        return [self._plan(host)[0].page_url(page) for host in self._atlas.plain for page in range(host.n_pages)]

    def _remember(self, key: tuple[str, str], reply: Reply) -> None:
        self._recent[key] = reply
        self._recent_bytes += len(reply.body)
        while self._recent_bytes > self._cache_bytes:
            self._recent_bytes -= len(self._recent.popitem(last=False)[1].body)

    def _answer(self, name: str, path: str, attempt: int) -> tuple[Reply, bool]:
        """Return (the reply, whether every later attempt gets the same reply)."""
        host = self._atlas.by_name.get(name)
        if host is None:
            return self._answer_elsewhere(name, path), True
        place = self.locate(name, path)
        plan, renderer = self._plan(host)
        notice = (("content-type", "text/html"),)
        match place.kind:
            case PathKind.ROBOTS:
                return _robots(host), True
            case PathKind.REDIRECT:
                return Reply(place.status, (*notice, ("location", place.location)), renderer.notice("Moved"), host.delay_s), True
            case PathKind.GONE | PathKind.UNKNOWN:
                return Reply(place.status, notice, renderer.notice("Not found"), host.delay_s), True
            case PathKind.FAULT if attempt <= place.tries:
                wait = (
                    (("retry-after", str(self.demo_settings.retry_after_s)),)
                    if self.demo_settings.retry_after_s and place.status == 503
                    else ()
                )
                return Reply(place.status, notice + wait, renderer.notice("Out of order"), host.delay_s), False
            case PathKind.ASSET:
                return _asset(self.demo_settings.seed, host, path), True
            case _:
                return self._print(plan, renderer, place), place.kind is not PathKind.FAULT

    def _answer_elsewhere(self, name: str, path: str) -> Reply:
        farm = self._farm_of(name)
        if not farm:
            return Reply(404, (("content-type", "text/plain"),), b"no such host\n")
        if path == "/robots.txt":
            return Reply(404, (("content-type", "text/plain"),), b"no such file\n")
        return Reply(200, (("content-type", "text/html; charset=utf-8"),), farm_page(self._rng, name, farm, path, self.origin))

    def _print(self, plan: PlannedHost, renderer: HtmlRenderer, place: PathPlan) -> Reply:
        host = plan.host
        is_of_tree = place.kind in (PathKind.PAGE, PathKind.COPY, PathKind.NEAR_COPY, PathKind.VARIANT, PathKind.SESSION)
        headers: Headers = (("content-type", f"text/html; charset={host.charset}" if host.declared is Declared.HEADER else "text/html"),)
        robots = canonical = ""
        if place.kind is PathKind.DEAD_END:
            if self._rng.throw("by header", host.name, place.path) % 2:
                headers += (("x-robots-tag", "nofollow"),)
            else:
                robots = "noindex, nofollow"
        elif is_of_tree and self._rng.unit("canonical", host.name, place.page) < self.demo_settings.canonical_share:
            canonical = plan.page_url(place.page)
        n_bytes = plan.extent(place.page)[0] if is_of_tree else _LEAF_BYTES
        body = renderer.page(place, self.links(host.name, place), n_bytes, canonical=canonical, robots=robots)
        if host.gzips:
            deflate = zlib.compressobj(6, zlib.DEFLATED, 31)
            body = deflate.compress(body) + deflate.flush()
            headers += (("content-encoding", "gzip"),)
        return Reply(200, headers, body, host.delay_s)


def _name(host: str) -> str:
    return host.partition(":")[0].rstrip(".").lower()


def _robots(host: DemoHost) -> Reply:
    text = (("content-type", "text/plain"),)
    if host.robots is RobotsKind.MISSING:
        return Reply(404, text, b"no such file\n", host.delay_s)
    if host.robots is RobotsKind.BROKEN:
        return Reply(503, text, b"out of order\n", host.delay_s)
    rule = {RobotsKind.CLOSED: "Disallow: /", RobotsKind.DISALLOW: f"Disallow: {_PRIVATE}"}.get(host.robots, "Disallow:")
    delay = f"Crawl-delay: {host.crawl_delay_s}\n" if host.crawl_delay_s else ""
    return Reply(200, text, f"# {host.name}\nUser-agent: *\n{rule}\n{delay}".encode(), host.delay_s)


def _asset(seed: int, host: DemoHost, path: str) -> Reply:
    extension = path.rpartition(".")[2]
    noise = hashlib.shake_128(f"{seed} {host.name} {path}".encode())
    n_bytes = 2_000 + int.from_bytes(noise.digest(2), "big") % 20_000
    return Reply(200, (("content-type", _MIME[extension]),), _MAGIC[extension] + noise.digest(n_bytes), host.delay_s)
