"""A server that writes down every request with all its headers, and answers what a test says: for what the demo web does not do.

    with Witness(answer) as server: …            answer(request) → bytes of the whole response, or (bytes, seconds to wait before)

It serves every host on one port of all 127.x.y.z, in a thread of the test's process. Times are of the monotonic clock.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self, TypeVar

T = TypeVar("T")


@dataclass
class ReceivedRequest:
    """One request as it came."""

    method: str
    host: str  # without the port
    path: str
    headers: list[tuple[str, str]]  # names in lower case
    start: float
    number: int  # of the requests for this URL, from 1
    end: float = 0.0  # before the answer is handed to the kernel

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")


Responder = Callable[[ReceivedRequest], bytes]


def page(body: str = "", status: str = "200 OK", *headers: str) -> bytes:
    """Return a whole HTML response."""
    content = f"<!doctype html><title>t</title>{body}".encode()
    lines = [f"HTTP/1.1 {status}", "content-type: text/html; charset=utf-8", f"content-length: {len(content)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def text(body: str, status: str = "200 OK") -> bytes:
    """Return a whole plain-text response, as of a robots.txt."""
    return f"HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


def links(*urls: str) -> str:
    return "".join(f'<a href="{url}">{i}</a>' for i, url in enumerate(urls))


@dataclass
class Witness:
    """Serves while it is entered."""

    answer: Responder
    port: int = 0
    requests: list[ReceivedRequest] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._talk, "0.0.0.0", 0))  # tests reach it on loopback only
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}:{self.port}{path}"

    def of(self, host: str) -> list[ReceivedRequest]:
        """Return the requests at a host, in order."""
        return [request for request in self.requests if request.host == host]

    def paths(self, host: str) -> list[str]:
        return [request.path for request in self.of(host)]

    def gaps(self, host: str) -> list[float]:
        """Return the seconds from each answer to the next request at a host."""
        made = self.of(host)
        return [after.start - before.end for before, after in pairwise(made)]

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(600)

    async def _stop(self) -> None:
        self._server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = self._read(await reader.readuntil(b"\r\n\r\n"))
                response = self.answer(request)
                request.end = time.monotonic()
                writer.write(response)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _read(self, head: bytes) -> ReceivedRequest:
        start = time.monotonic()
        first, *lines = head.decode("latin-1").strip().split("\r\n")
        method, path, _ = first.split(" ")
        headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        host = next(value for name, value in headers if name == "host").partition(":")[0]
        number = 1 + sum(request.host == host and request.path == path for request in self.requests)
        request = ReceivedRequest(method, host, path, headers, start, number)
        self.requests.append(request)
        return request
