"""Whole crawls of webs that misbehave: a real agent on a real store, against raw servers whose own log is the witness.

    async with faulty_web() as web:
        web.say("a.test/", page("/1"))
        found = await crawl(tmp_path, web, "a.test/")
        assert web.paths("a.test") == ["/robots.txt", "/", "/1"]

All names below .test are one server on one port; short names ("a.test/x") stand for its URLs. What has no answer is a 404, robots.txt
included. Politeness, retries and time limits are scaled down so that a schedule of hours takes part of a second; what is proved is its
shape. Every crawl ends with a check of the whole store.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import ssl
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from hostile import Script, Site, Talk, response, serve

from thresher.config.settings import Settings
from thresher.crawler.agent.agent import Agent
from thresher.crawler.core.model import State
from thresher.crawler.core.ports import HostRecord, SeenRow
from thresher.crawler.core.robots import RobotsRecord
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.ending import Ending
from thresher.crawler.start.seeds import read_seeds
from thresher.crawler.status import Status
from thresher.filters.spec import FilterSpec
from thresher.storage.records import HOST, Codec, EdgeRecord, FailureRecord, PageRecord, SkipLine
from thresher.storage.schema import HOSTS, ROBOTS
from thresher.storage.store import Store
from thresher.storage.verify import verify
from thresher.storage.view import View

Reply = bytes | Script
_ROBOTS = Codec(RobotsRecord)
_NOTHING_HERE = response(b"<title>nothing here</title>", status="404 Not Found")
_HANGS_AFTER_S = 600.0
_ROOT = Path(__file__).parents[2]


# -- the web --------------------------------------------------------------------------------------------------------------------------


@dataclass
class Seen:
    """One request, as the server saw it. Times are the event loop's."""

    host: str  # without port
    path: str  # the request target, byte for byte as it was sent
    head: bytes
    began: float  # seconds of the monotonic clock, since the event loop's own clock is exact to a millisecond only
    ended: float = 0.0  # when the answer had been given to the kernel; 0: never

    def header(self, name: str) -> str:
        """Return the value of a request header (lower case), "" if it was not sent."""
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.decode("latin-1").partition(":")
            if key.lower() == name:
                return value.strip()
        return ""


@dataclass
class Web:
    """What the hosts answer, and what they were asked."""

    site: Site
    scheme: str = "http"
    log: list[Seen] = field(default_factory=list)
    most_at_once: Counter[str] = field(default_factory=Counter)  # requests open at a host
    _replies: dict[str, list[Reply]] = field(default_factory=dict)
    _hosts: dict[str, Callable[[Seen], Reply]] = field(default_factory=dict)
    _open: Counter[str] = field(default_factory=Counter)

    def say(self, place: str, *replies: Reply) -> None:
        """Let the n-th request for a place be answered by the n-th reply, all later ones by the last."""
        self._replies[place] = list(replies)

    def say_all(self, host: str, reply: Callable[[Seen], Reply]) -> None:
        """Let a function answer all requests at a host that have no reply of their own; robots.txt stays a 404."""
        self._hosts[host] = reply

    def url(self, place: str) -> str:
        """Return the URL of "a.test/x"."""
        host, slash, path = place.partition("/")
        return f"{self.scheme}://{host}:{self.site.port}{slash}{path}"

    def seen(self, host: str, path: str = "") -> list[Seen]:
        """Return the requests of a host, or of one path of it."""
        return [seen for seen in self.log if seen.host == host and path in ("", seen.path)]

    def paths(self, host: str) -> list[str]:
        """Return the request targets of a host in order."""
        return [seen.path for seen in self.seen(host)]

    def pages(self, host: str) -> list[str]:
        """Return the request targets of a host without robots.txt."""
        return [path for path in self.paths(host) if path != "/robots.txt"]

    def gaps(self, host: str, path: str = "") -> list[float]:
        """Return the seconds from the end of each answer of a host to the beginning of the next request."""
        seen = self.seen(host, path)
        return [after.began - before.ended for before, after in pairwise(seen)]

    async def script(self, talk: Talk) -> None:
        """Serve one connection. A reply of bytes leaves it open; a reply that is a function has it for itself, and closes it."""
        while head := await talk.request():
            seen = _parse(head, time.monotonic())
            self.log.append(seen)
            self._open[seen.host] += 1
            self.most_at_once[seen.host] = max(self.most_at_once[seen.host], self._open[seen.host])
            try:
                reply = self._reply(seen)
                await (talk.send(reply) if isinstance(reply, bytes) else reply(talk))
            finally:
                seen.ended = time.monotonic()
                self._open[seen.host] -= 1
            if not isinstance(reply, bytes):
                return

    def _reply(self, seen: Seen) -> Reply:
        replies = self._replies.get(seen.host + seen.path)
        if replies is None:
            reply = self._hosts.get(seen.host) if seen.path != "/robots.txt" else None
            return reply(seen) if reply is not None else _NOTHING_HERE
        return replies[min(len(self.seen(seen.host, seen.path)), len(replies)) - 1]


def _parse(head: bytes, now: float) -> Seen:
    lines = head.decode("latin-1").split("\r\n")
    host = next((line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:")), "")
    return Seen(host.rpartition(":")[0], lines[0].split(" ")[1], head, now)


@contextlib.asynccontextmanager
async def faulty_web(host: str = "127.0.0.1", *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Web]:
    """Run a web on a free port of `host`."""
    web = Web(Site(), "https" if tls else "http")
    async with serve(web.script, host=host, tls=tls) as site:
        web.site = site
        yield web


def page(*links: str, text: str = "words of a page", head: str = "") -> bytes:
    """Return the response that is a page with links."""
    anchors = "".join(f'<a href="{link}">link</a>\n' for link in links)
    return response(f"<!doctype html><title>page</title>{head}<p>{text}</p>\n{anchors}".encode())


def redirect(location: str | bytes, status: str = "302 Found", *headers: str) -> bytes:
    """Return a redirect; its Location may be any bytes."""
    raw = location if isinstance(location, bytes) else location.encode()
    lines = [f"HTTP/1.1 {status}".encode(), b"Content-Length: 0", b"Location: " + raw, *(header.encode() for header in headers)]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def robots(*lines: str) -> bytes:
    """Return the response that is a robots.txt."""
    body = "\n".join(lines).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


async def slowly(talk: Talk, answer: bytes, *, n_drops: int, every_s: float) -> None:
    """Send an answer whose last bytes come one at a time. The answer ends when the last of them is sent."""
    await talk.send(answer[:-n_drops])
    await talk.drip(answer[-n_drops:-1], every_s)
    await talk.send(answer[-1:])


async def silence(talk: Talk) -> None:
    """Send nothing until the client closes the connection."""
    await talk.gone()


async def hang_up(talk: Talk) -> None:
    """Close the connection without an answer."""


async def reset(talk: Talk) -> None:
    """Close the connection with RST."""
    talk.reset()


# -- the crawl ------------------------------------------------------------------------------------------------------------------------

_QUICK: dict[str, dict[str, Any]] = {
    "identity": {"agent": "thresher", "contact": "https://contact.test/"},
    "scope": {"type": "any"},
    "limits": {"min_free_disk": 0, "max_wait": 1.5, "max_error_rate": 1.0},
    "politeness": {
        "min_delay": 0.0,
        "delay_factor": 0.0,
        "jitter": 0.0,
        "address_delay": 0.0,
        "address_connections": 1000,
        "site_connections": 1000,
        "backoff_initial": 0.01,
        "dead_after": 1000,
    },
    "fetch": {"allow_addresses": ["127.0.0.0/8"], "allow_ports": "any", "concurrency": 32},
    "filters": {"soft_error": {"max_probes": 0}, "canary": {"mode": "off"}},  # requests for canaries would be counted, too
    "dns": {"static": {".test": "127.0.0.1"}},
    "retry": {"scale": 1e-4},
}


def _configured(web: Web, seeds: Sequence[str], sections: dict[str, dict[str, Any]]) -> Settings:
    """Return the quick configuration, changed by `sections` option by option, with seeds as the command makes them."""
    merged = {name: {**_QUICK.get(name, {}), **sections.get(name, {})} for name in {**_QUICK, **sections}}
    configured = msgspec.convert(merged, Settings)
    whole = [seed if "://" in seed else web.url(seed) for seed in seeds]
    seeds = read_seeds(whole, [], [], url_rules(configured)).urls
    return msgspec.structs.replace(configured, seeds=seeds, sitemaps="off")  # stories name every request, so there are none for sitemaps


@dataclass
class Known:
    """All that the store holds about one URL."""

    row: SeenRow
    page: PageRecord | None
    body: bytes
    failure: FailureRecord | None
    edge: EdgeRecord | None

    @property
    def state(self) -> str:
        return self.row.state.name.lower()

    @property
    def cause(self) -> str:
        """Why there is no page, "" if there is no final failure."""
        return self.failure.reason if self.failure is not None and self.failure.final else ""

    @property
    def detail(self) -> str:
        return self.failure.detail if self.failure is not None else ""

    @property
    def tries(self) -> int:
        """Requests made for it that failed, once it is given up; 0 if it is not."""
        return self.failure.attempts if self.failure is not None and self.failure.final else 0

    @property
    def flags(self) -> set[str]:
        return set(self.page.flags) if self.page is not None else set()


@dataclass
class Found:
    """What is in the store of a crawl at its end."""

    ending: Ending
    urls: dict[str, Known]
    n_pages: Counter[str]  # records by URL
    skipped: list[SkipLine]
    hosts: dict[str, HostRecord]
    robots: dict[str, RobotsRecord]  # by origin
    attempts: dict[str, int]  # of what is still queued
    counters: dict[str, int]
    _url: Callable[[str], str]

    def __getitem__(self, place: str) -> Known:
        return self.urls[self._url(place) if "://" not in place else place]

    def __contains__(self, place: str) -> bool:
        return (self._url(place) if "://" not in place else place) in self.urls

    def causes(self) -> dict[str, str]:
        """Return the final failures: path, or URL of another server, to cause."""
        return {url.partition("://")[2].partition("/")[2]: known.cause for url, known in self.urls.items() if known.cause}


async def crawl(
    directory: Path,
    web: Web,
    *seeds: str,
    filters: Sequence[FilterSpec] | None = None,
    meanwhile: Callable[[Agent], Awaitable[None]] | None = None,
    **sections: dict[str, Any],
) -> Found:
    """Crawl from seeds (short or whole names) into `directory/crawl` until nothing is due any more. A store that exists goes on.

    sections: of the configuration. meanwhile: a coroutine that runs beside the crawl, and is ended with it at the latest.
    """
    path, configured = directory / "crawl", _configured(web, seeds, sections)
    make = Store.open if path.exists() else Store.create
    statuses: list[Status] = []
    with make(path, configured, time.time()) as store:
        agent = Agent(path, store, configured, report=statuses.append, filters=filters)
        try:
            async with asyncio.timeout(_HANGS_AFTER_S):
                ending = await _run(agent, meanwhile)
        finally:
            await agent.close()
    assert verify(path) == []
    return _read(path, ending, web.url)


async def crawl_apart(
    directory: Path, web: Web, *seeds: str, environ: dict[str, str] | None = None, n_files: int = 0, **sections: dict[str, Any]
) -> tuple[int, Found]:
    """Crawl in a process of its own, as the supervisor starts one; return also its exit code, -9 for a kill. n_files: how many files it may
    open at once.
    """
    path = directory / "crawl"
    if not path.exists():
        Store.create(path, _configured(web, seeds, sections), time.time()).close()
    limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n_files, n_files))) if n_files else None
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "thresher.crawler.process.agent_process", str(path)),
        cwd=_ROOT,
        env={**os.environ, **(environ or {})},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        preexec_fn=limit,
    )
    try:
        async with asyncio.timeout(_HANGS_AFTER_S):
            code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert verify(path) == []
    return code, _read(path, Ending(code, ""), web.url)


async def _run(agent: Agent, meanwhile: Callable[[Agent], Awaitable[None]] | None) -> Ending:
    if meanwhile is None:
        return await agent.run()
    beside = asyncio.ensure_future(meanwhile(agent))
    try:
        return await agent.run()
    finally:
        beside.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await beside


def _read(path: Path, ending: Ending, url: Callable[[str], str]) -> Found:
    """Read all of a store that a test may ask for."""
    with View(path, at_once=True) as view:
        pages = {page.key: (visit, page) for visit, page in view.all_pages()}
        edges = dict(view.all_edges())
        urls, texts = {}, {}
        for record, row in view.all_urls():
            visit, found = pages.get(record.key, (0, None))
            body = view.tables.bodies.get(visit) if found is not None and found.has_body else None
            urls[record.text] = Known(row, found, body or b"", view.tables.failures.get(record.key), edges.get(record.key))
            texts[row.seq] = record.text
        attempts = {}
        for place, waiting in view.tables.queues.waiting(b""):
            if place.seq in texts:
                attempts[texts[place.seq]] = waiting.attempt
        hosts = [HOST.decode(value) for _, value in view.rows(HOSTS)]
        records = [_ROBOTS.decode(value) for _, value in view.rows(ROBOTS)]
        assert {text for text, known in urls.items() if known.row.state is State.QUEUED} == set(attempts)
        return Found(
            ending,
            urls,
            Counter(page.url for _, page in view.all_pages()),
            list(view.all_skipped()),
            {host.name: host for host in hosts},
            {record.origin: record for record in records},
            attempts,
            view.counters.all(),
            url,
        )
