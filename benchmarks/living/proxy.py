"""A proxy before a site: it passes the site's answers on, except while a wall answers instead (barriers.py)."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler

from benchmarks.living.apache import Place
from benchmarks.living.barriers import Kind, ProxyAnswer, Schedule, changed, instead, without_session
from benchmarks.support.handler_server import serving

HOP = frozenset(["connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "upgrade", "te", "trailer"])
_PAGES = 40  # of a host, of which a wall may show one in place of another
_EVER_OPEN = ("/robots.txt",)  # walls never answer it: a site that answers it with 503 is not crawled for a while


class Walls:
    """The proxy's state: the present wall, and which wall answered which URL."""

    def __init__(self, schedule: Schedule) -> None:
        self.met: defaultdict[str, list[str]] = defaultdict(list)  # host and path → the wall at each request; "" for none
        self._schedule = schedule
        self._shown: dict[str, deque[str]] = defaultdict(lambda: deque(maxlen=_PAGES))  # host → pages that no wall stood before
        self._lock = threading.Lock()

    def next(self, name: str, path: str) -> Kind | None:
        """Return the wall that answers this request, None for none."""
        with self._lock:
            kind = None if path in _EVER_OPEN else self._schedule.next()
            self.met[name + path].append(kind or "")
            return kind

    def instead(self, kind: Kind, path: str) -> ProxyAnswer | None:
        with self._lock:
            return instead(kind, path, self._schedule.rng, self._schedule.pace)

    def change(self, kind: Kind | None, name: str, html: str) -> str:
        """Return a page as the wall changes it, or as it is."""
        with self._lock:
            if kind is None:
                self._shown[name].append(html)
                return html
            return changed(kind, html, self._schedule.rng, self._shown[name])


@contextmanager
def walled(place: Place, seed: int, kinds: list[Kind], pace: int = 1) -> Iterator[Walls]:
    """Run the proxy at the place's port until the block ends; the server listens at its own port."""
    walls = Walls(Schedule(seed, time.monotonic, kinds, pace))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            name = self.headers.get("Host", "")
            kind = walls.next(name, self.path)
            answer = walls.instead(kind, self.path) if kind else None
            send(self, answer or _asked(place, self, walls, kind))

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Log nothing."""

    with serving(Handler, place.address, place.port):
        yield walls


def _asked(place: Place, handler: BaseHTTPRequestHandler, walls: Walls, kind: Kind | None) -> ProxyAnswer:
    """Return the site's answer, changed if there is a wall that changes answers."""
    connection = HTTPConnection(place.address, place.listens, timeout=60)
    try:
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in {*HOP, "accept-encoding"}}
        connection.request("GET", without_session(handler.path), headers=headers)
        response = connection.getresponse()
        body = response.read()
        kept = {name: value for name, value in response.getheaders() if name.lower() not in HOP}
        if response.status == 200 and "html" in response.headers.get("Content-Type", ""):
            charset, name = response.headers.get_content_charset() or "utf-8", handler.headers.get("Host", "")
            body = walls.change(kind, name, body.decode(charset, "surrogateescape")).encode(charset, "surrogateescape")
        if kind is not None:
            kept = {name: value for name, value in kept.items() if name.lower() not in ("etag", "last-modified")}
        return ProxyAnswer(response.status, kept, body)
    except (OSError, HTTPException) as error:
        return ProxyAnswer(502, {"Content-Type": "text/plain"}, str(error).encode())
    finally:
        connection.close()


def send(handler: BaseHTTPRequestHandler, answer: ProxyAnswer) -> None:
    """Answer a request."""
    handler.send_response(answer.status)
    for name, value in answer.headers.items():
        if name.lower() not in ("server", "date"):
            handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(answer.body)))
    handler.end_headers()
    handler.wfile.write(answer.body)
