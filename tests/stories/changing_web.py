"""A web that changes between rounds, on loopback; it writes down every request with its conditions.

with ChangingWeb() as web:
    web.put("/a", "words of a", "/b")              a page with a link; an ETag and a Last-Modified that are true
    crawled = await first(tmp_path, web)
    web.put("/a", "other words")
    crawled = await again(tmp_path, web)
    assert web.asked() == […]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from email.utils import formatdate
from hashlib import sha256
from pathlib import Path
from typing import Any

from little_web import SECRET, Crawled, read
from witness import ReceivedRequest, Witness

from thresher.config.settings import (
    DnsSettings,
    FetchSettings,
    FilterSettings,
    IdentitySettings,
    LimitSettings,
    PolitenessSettings,
    RecrawlSettings,
    RetrySettings,
    Settings,
    SoftErrorSettings,
    StoreSettings,
)
from thresher.crawler.start.rounds import begin_round
from thresher.crawler.status import Status
from thresher.filters.spec import FilterSpec
from thresher.running import Crawl
from thresher.storage.export.changes import Changes, Row
from thresher.storage.shards import open_view
from thresher.storage.store import Store
from thresher.storage.verify import verify

HOST = "a.test"
LONG_AGO = 1_700_000_000.0  # another Last-Modified than that of each fresh answer
DAY_S = 86_400.0
Headers = dict[str, str]


def response(status: str, body: bytes, headers: Headers) -> bytes:
    """Return the bytes of a whole answer."""
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers.items()), f"content-length: {len(body)}"]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


class ChangingWeb(Witness):
    """Serves the pages that were put, with true conditions, unless a test puts an answer that lies."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.answers: dict[str, Callable[[ReceivedRequest], bytes]] = {}  # path → an answer that a test made itself
        self.modified: dict[str, float] = {}
        self.headers: dict[str, Headers] = {}  # path → headers in place of ETag and Last-Modified
        self.bytes_sent = 0
        self._mark = 0
        super().__init__(self._answer)

    def put(self, path: str, words: str, *links: str, modified: float = LONG_AGO, title: str = "t") -> None:
        """Put a page, in place of an earlier one."""
        anchors = "".join(f'<a href="{link}">x</a>' for link in links)
        body = f"<!doctype html><title>{title}</title><p>{words}</p>{anchors}".encode()
        if self.bodies.get(path) != body:
            self.bodies[path], self.modified[path] = body, modified
        self.answers.pop(path, None)

    def say(self, path: str, status: str, body: bytes = b"", **headers: str) -> None:
        """Put an answer that the test made itself."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers[path] = lambda _: response(status, body, {"content-type": "text/html", **named})

    def take(self, path: str) -> None:
        """Remove a page: it is answered with 404 from now on."""
        self.bodies.pop(path, None)
        self.answers.pop(path, None)

    def _answer(self, request: ReceivedRequest) -> bytes:
        made = self._made(request)
        self.bytes_sent += len(made)
        return made

    def _made(self, request: ReceivedRequest) -> bytes:
        if (own := self.answers.get(request.path)) is not None:
            return own(request)
        body = self.bodies.get(request.path)
        if body is None:
            return response("404 Not Found", b"nothing here", {"content-type": "text/html"})
        return self.honest(request, body)

    def honest(self, request: ReceivedRequest, body: bytes, *, lies: bool = False) -> bytes:
        """Answer as the request's conditions ask. lies: answer 304 to any condition"""
        tag = f'"{sha256(body).hexdigest()[:16]}"'
        modified = formatdate(self.modified.get(request.path, LONG_AGO), usegmt=True)
        validators = self.headers.get(request.path, {"etag": tag, "last-modified": modified})
        asked = request.header("if-none-match")
        is_same = asked == validators.get("etag") if asked else request.header("if-modified-since") == validators.get("last-modified", "-")
        is_asked = bool(asked or request.header("if-modified-since"))
        if is_asked and (lies or is_same):
            return response("304 Not Modified", b"", validators).replace(b"content-length: 0\r\n", b"")
        return response("200 OK", body, {"content-type": "text/html; charset=utf-8", **validators})

    def asked(self) -> list[str]:
        """Return the paths that were requested since the last call, without robots.txt."""
        new, self._mark = self.requests[self._mark :], len(self.requests)
        return [request.path for request in new if request.path != "/robots.txt"]

    def last(self, path: str) -> ReceivedRequest:
        """Return the last request for a path."""
        return next(request for request in reversed(self.requests) if request.path == path)


def settings(web: ChangingWeb, **sections: Any) -> Settings:
    """Return a configuration without waits; no audits and probes unless they are asked for."""
    base: dict[str, Any] = {
        "identity": IdentitySettings(agent="thresher-test", contact="https://example.org/bot"),
        "limits": LimitSettings(min_free_disk=0, max_wait=5.0),
        "politeness": PolitenessSettings(min_delay=0.0, delay_factor=0.0, jitter=0.0, address_delay=0.0, address_connections=100),
        "fetch": FetchSettings(allow_addresses=["127.0.0.0/8"], allow_ports=[web.port], concurrency=8),
        "dns": DnsSettings(static={".test": "127.0.0.1"}),
        "retry": RetrySettings(scale=1e-6),
        "filters": FilterSettings(audit_share=0.0, soft_error=SoftErrorSettings(max_probes=0)),
        "recrawl": RecrawlSettings(audit_share=0.0),
        "store": StoreSettings(versions="all"),
        "sitemaps": "off",
    }
    return Settings(seeds=[web.url(HOST)], **{**base, **sections})


async def first(path: Path, web: ChangingWeb, plugged: Sequence[FilterSpec] | None = None, **sections: Any) -> Crawled:
    """Crawl for the first time."""
    configuration = settings(web, **sections)
    Store.create(path, configuration, 0.0, secret=SECRET).close()
    return await _run(path, configuration, plugged)


async def again(
    path: Path,
    web: ChangingWeb,
    *,
    where: tuple[str, ...] = (),
    days: float = 0.0,
    older_than_s: float = 0.0,
    plugged: Sequence[FilterSpec] | None = None,
    **sections: Any,
) -> Crawled:
    """Crawl a further round.    days: that have passed since the last one"""
    if days:
        with Store.open(path, None, time.time(), reserves=False) as store:
            store.clock += days * DAY_S
            store.end_visit()
    begin_round(path, older_than_s=older_than_s, where=where)
    return await _run(path, settings(web, **sections), plugged)


async def go_on(path: Path, web: ChangingWeb, **sections: Any) -> Crawled:
    """Resume."""
    return await _run(path, settings(web, **sections))


async def _run(path: Path, configuration: Settings, plugged: Sequence[FilterSpec] | None = None) -> Crawled:
    statuses: list[Status] = []
    ending = await Crawl(path, settings=configuration, specs=plugged).run(on_status=statuses.append)
    assert verify(path) == []
    return read(path, ending, statuses[-1])


def changes(path: Path, since: str = "2") -> list[Row]:
    """Return what has changed since a round."""
    with open_view(path) as view:
        stream = Changes(view)
        place, after = stream.since(since)
        return list(stream.rows(place, after))


def kinds(path: Path, since: str = "2") -> dict[str, str]:
    """Return the kind of the last change of each path."""
    return {"/" + row.url.split("/", 3)[3]: row.kind for row in changes(path, since)}


def counts(path: Path) -> dict[str, int]:
    """Return the counters of the newest round."""
    with open_view(path) as view:
        record = view.tables.rounds.last()
    assert record is not None
    assert (record.stage, record.n_settled) == ("done", record.n_queued)
    return record.counts
