"""A web of a few pages written by hand, and a crawl of it in this process: for stories in which every single request matters.

async with LittleWeb() as web:
    web.page("a.test/", "a.test/1", "a.test/2")           links to two pages
    web.redirect("a.test/1", "b.test/")
    crawled = await crawl(tmp_path, settings(web, seeds=["a.test/"]))
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Self

import msgspec

from thresher.config.settings import (
    CanarySettings,
    DnsSettings,
    FetchSettings,
    FilterSettings,
    IdentitySettings,
    LimitSettings,
    PolitenessSettings,
    RetrySettings,
    ScopeSettings,
    Settings,
    SoftErrorSettings,
)
from thresher.crawler.core.model import State
from thresher.crawler.core.ports import SeenRow
from thresher.crawler.core.url import URLSpace
from thresher.crawler.status import Status
from thresher.filters.spec import FilterSpec
from thresher.running import Crawl, CrawlEnd
from thresher.storage.records import PageRecord
from thresher.storage.store import Store
from thresher.storage.verify import verify
from thresher.storage.view import View

ROBOTS = "/robots.txt"
PORT = 17_389  # always the same, as the secret is: URLs keep their keys, by which filters choose what they sample and audit
SECRET = b"the stories' own secret, ever so"
_numbers = count(1)


class LittleWeb:
    """Serves the pages that were put, at a loopback address of its own, for every name below .test. It keeps the host and path of each
    request.
    """

    def __init__(self) -> None:
        self.address = f"127.{64 + os.getpid() // 256 % 64}.{os.getpid() % 256}.{next(_numbers) % 250 + 1}"
        self.port = PORT
        self.requests: list[str] = []  # "a.test/1", in order of arrival; robots.txt left out
        self.robots_requests: list[str] = []
        self.heads: list[bytes] = []  # of all requests, as they came
        self.generate: Callable[[str], Sequence[str]] | None = None  # links of a place for which nothing was put
        self.generated_text = ""  # link that all such places have; "": each has another one
        self.missing: dict[str, Callable[[str], None]] = {}  # prefix of places for which nothing was put → what puts a page there
        self.on_request: Callable[[str], None] = lambda _: None  # called with the place of each request
        self._times: dict[str, list[tuple[float, float]]] = {}  # host → (arrival, answer) of each request
        self._answers: dict[str, tuple[int, str, bytes]] = {}  # place → status, headers, body
        self._cookies: dict[str, tuple[str, str]] = {}
        self._gates: dict[str, asyncio.Event] = {}
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None] | None] = set()

    def url(self, place: str) -> str:
        """Return the canonical URL of "a.test/1"."""
        host, _, path = place.partition("/")
        return f"http://{host}:{self.port}/{path}"

    def place(self, url: str) -> str:
        return url.removeprefix("http://").replace(f":{self.port}/", "/", 1)

    def page(self, place: str, *links: str, text: str = "", status: int = 200, head: str = "", title: str = "") -> None:
        """Put a page with links to other places; a link may also be any other text that can stand in an href."""
        hrefs = [self.url(link) if link.partition("/")[0].endswith(".test") else link for link in links]
        own = blake2b(place.encode(), digest_size=5).hexdigest()  # words that do not depend on the URL
        words = text or " ".join(f"{own}{i}" for i in range(30))
        anchors = "".join(f'<a href="{href}">x</a>' for href in hrefs)
        body = f"<html><head><title>{title or place}</title>{head}</head><body><p>{words}</p>{anchors}</body></html>"
        self._answers[place] = status, "Content-Type: text/html; charset=utf-8\r\n", body.encode()

    def redirect(self, place: str, target: str, status: int = 301) -> None:
        """Put a redirect to another place, or to any other text that can stand in a Location."""
        location = self.url(target) if target.partition("/")[0].endswith(".test") else target
        self._answers[place] = status, f"Location: {location}\r\n", b""

    def with_cookie(self, place: str, cookie: str, elsewhere: str) -> None:
        """Put a page that only requests with a cookie get. Others get the cookie, and a redirect to another place."""
        self.page(place)
        self._cookies[place] = cookie, elsewhere

    def file(self, place: str, content_type: str, body: bytes, *, status: int = 200) -> None:
        """Put an answer that is no page."""
        self._answers[place] = status, f"Content-Type: {content_type}\r\n", body

    def robots(self, host: str, text: str) -> None:
        self.file(host + ROBOTS, "text/plain", text.encode())

    def gaps(self, host: str) -> list[float]:
        """Return the seconds from each answer of a host to its next request."""
        times = self._times[host]
        return [arrival - answer for (_, answer), (arrival, _) in pairwise(times)]

    def stall(self, place: str) -> asyncio.Event:
        """Answer requests for a place only after the event is set."""
        return self._gates.setdefault(place, asyncio.Event())

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self.address, self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.close()
        await self._server.wait_closed()
        await asyncio.gather(*(task for task in self._tasks if task is not None))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self._tasks.add(asyncio.current_task())
        try:
            while True:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                lines = self.heads[-1].decode("latin-1").split("\r\n")
                host = next(line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:"))
                place = host.partition(":")[0] + lines[0].split(" ")[1]
                cookie, elsewhere = self._cookies.get(place, ("", ""))
                is_brought = any(line.lower().startswith("cookie:") and cookie in line for line in lines)
                away = f"Set-Cookie: {cookie}; Path=/\r\nLocation: {self.url(elsewhere)}\r\n" if cookie and not is_brought else ""
                await self._answer(place, writer, away)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, place: str, writer: asyncio.StreamWriter, sends_away: str = "") -> None:
        arrival = time.monotonic()
        (self.robots_requests if place.endswith(ROBOTS) else self.requests).append(place)
        self.on_request(place)
        if gate := self._gates.get(place):
            await gate.wait()
        if place not in self._answers and self.generate is not None and not place.endswith(ROBOTS):
            self.page(place, *self.generate(place), text=self.generated_text)
        prefix = max((prefix for prefix in self.missing if place.startswith(prefix)), key=len, default="")
        if place not in self._answers and prefix and not place.endswith(ROBOTS):
            self.missing[prefix](place)
        status, headers, body = self._answers.get(place, (404, "Content-Type: text/html\r\n", b"<p>nothing here"))
        if sends_away:
            status, headers, body = 302, sends_away, b""
        writer.write(f"HTTP/1.1 {status} X\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self._times.setdefault(place.partition("/")[0], []).append((arrival, time.monotonic()))
        await writer.drain()


def no_held_url_is_fetched(configuration: Settings) -> Settings:
    """Return the configuration with `tail_yield` 1, so that URLs which filters hold are never fetched."""
    return msgspec.structs.replace(configuration, filters=msgspec.structs.replace(configuration.filters, tail_yield=1.0))


def settings(web: LittleWeb, seeds: Sequence[str], *, canaries: bool = False, **sections: Any) -> Settings:
    """Return a configuration without waits, probes or canaries, of the whole web.

    Args:
        web: What is crawled.
        seeds: Places.
        canaries: Whether there are canaries, whose requests would stand among those that a story counts.
        sections: Structs in place of these.
    """
    base: dict[str, Any] = {
        "identity": IdentitySettings(agent="thresher-test", contact="https://example.org/bot"),
        "scope": ScopeSettings(type="any"),
        "limits": LimitSettings(min_free_disk=0, max_wait=5.0),
        "politeness": PolitenessSettings(min_delay=0.0, delay_factor=0.0, jitter=0.0, address_delay=0.0, address_connections=100),
        "fetch": FetchSettings(allow_addresses=["127.0.0.0/8"], allow_ports=[web.port], concurrency=8),
        "dns": DnsSettings(static={".test": web.address}),
        "retry": RetrySettings(scale=1e-6),
        "filters": FilterSettings(audit_share=0.0, tail_yield=0.0, soft_error=SoftErrorSettings(max_probes=0)),
        "sitemaps": "off",  # stories name every request; those about sitemaps turn them on
    }
    made = Settings(seeds=[web.url(seed) for seed in seeds], **{**base, **sections})
    return made if canaries else without_canaries(made)


def without_canaries(of: Settings) -> Settings:
    """Return a configuration in which no page is fetched again to find out whether a wall answers for it."""
    return msgspec.structs.replace(of, filters=msgspec.structs.replace(of.filters, canary=CanarySettings(mode="off")))


@dataclass
class Crawled:
    """The results of a crawl."""

    path: Path
    ending: CrawlEnd
    status: Status
    rows: dict[str, SeenRow]  # by URL
    pages: dict[str, PageRecord]  # by URL, the last one
    pairs: dict[str, tuple[str, int, int]]  # original → target, hops, status
    edges: dict[str, str]
    held_by: dict[str, list[str]]
    aliases: dict[str, str]
    links: dict[str, set[str]]
    revised: dict[str, list[str]]  # URL → filters whose verdict on it was revised

    def state(self, url: str) -> State | None:
        row = self.rows.get(url)
        return row.state if row else None


async def crawl(path: Path, configuration: Settings, filters: Sequence[FilterSpec] | None = None) -> Crawled:
    """Crawl to the end in this process; the store must be sound afterwards."""
    statuses: list[Status] = []
    if not (path / "state").exists():
        Store.create(path, configuration, 0.0, secret=SECRET).close()
    ending = await Crawl(path, settings=configuration, specs=filters).run(on_status=statuses.append)
    faults = verify(path)
    assert faults == [], "\n".join(faults[:20])
    return read(path, ending, statuses[-1])


def read(path: Path, ending: CrawlEnd, status: Status) -> Crawled:
    """Read what stories ask about from a store."""
    with View(path, at_once=True) as view:
        known = [(url, row) for url, row in view.all_urls()]
        text = {url.key: url.text for url, _ in known}
        number = {row.seq: url.text for url, row in known}
        pages = dict(view.all_pages())
        pairs = {url.text: pair for url, _ in known if (pair := view.tables.redirects.pair(url.key))}
        aliases = {url.text: alias for url, _ in known if (alias := view.tables.aliases.get(url.key))}
        return Crawled(
            path,
            ending,
            msgspec.structs.replace(status),
            {url.text: row for url, row in known},
            {page.url: page for page in pages.values()},
            {original: (pair.target_text, pair.hops, pair.status) for original, pair in pairs.items()},
            {text[key]: edge.to_text for key, edge in view.all_edges()},
            {url.text: holders for url, _ in known if (holders := view.tables.held.holders(url.key))},
            {url: alias.to_text for url, alias in aliases.items()},
            {pages[visit].url: {number[seq] for seq in targets} for visit, targets in view.all_links()},
            {
                url.text: [revision.verdict.filter for revision in found]
                for url, _ in known
                if (found := view.tables.verdicts.revisions(url.key))
            },
        )


def space(web: LittleWeb, path: Path) -> URLSpace:
    """Return the URL space of a finished crawl."""
    from thresher.crawler.core.url_rules import url_rules

    with View(path) as view:
        return URLSpace(view.secret, url_rules(view.settings))
