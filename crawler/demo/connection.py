"""One connection to the demo server: reads requests, answers them in order, and logs each.

It understands GET and HEAD without bodies, keep-alive and pipelining, and always sends Content-Length. Any other request is answered with
400, and the connection is closed.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections import deque
from http import HTTPStatus
from typing import Protocol, cast

from thresher.crawler.demo.log import ServedRequest
from thresher.crawler.demo.web import Reply

_MOST_HEAD_BYTES = 1 << 16
_MOST_WAITING = 128  # most pipelined requests; with more, reading pauses
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}


class PendingRequest:
    """A request that is not yet answered."""

    __slots__ = ("agent", "host", "is_last", "method", "path", "start", "takes_gzip")

    def __init__(self, head: bytes) -> None:
        """Parse a request's head.

        Raises:
            ValueError: If the bytes are no request.
        """
        self.start = time.monotonic()
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, version = lines[0].split(" ")
        self.host = self.agent = ""
        self.is_last = version == "HTTP/1.0"
        self.takes_gzip = False
        for line in lines[1:]:
            name, _, value = line.partition(":")
            match name.lower():
                case "host":
                    self.host = value.strip().lower()
                case "user-agent":
                    self.agent = value.strip()
                case "connection":
                    self.is_last = value.strip().lower() == "close" or (self.is_last and value.strip().lower() != "keep-alive")
                case "accept-encoding":
                    self.takes_gzip = "gzip" in value.lower()
                case "content-length" | "transfer-encoding" if value.strip() != "0":
                    raise ValueError("a request with a body")
                case _:
                    pass
        if self.method not in ("GET", "HEAD") or not self.path.startswith("/") or not self.host:
            raise ValueError("not a GET or HEAD of a path of a host")


class Service(Protocol):
    """The parts of the server that a connection uses: answers to requests, and the log."""

    n_refused: int  # connections that were refused: not from loopback

    def enter(self, connection: ServerConnection, /) -> int:
        """Count a connection that is open; return its number."""
        ...

    def leave(self, connection: ServerConnection, /) -> None: ...

    def answer(self, method: str, host: str, path: str, /) -> Reply: ...

    def record(self, request: ServedRequest, /) -> None: ...


class ServerConnection(asyncio.Protocol):
    """The connection of one client. Requests are answered in order; the next one is read when the last answer was sent."""

    def __init__(self, server: Service) -> None:
        self._server = server
        self._number = 0
        self._transport: asyncio.Transport
        self._address = ""
        self._buffer = b""
        self._asked: deque[PendingRequest] = deque()
        self._late: asyncio.TimerHandle | None = None  # the answer to the first of `_asked` is due then
        self._leaving: tuple[PendingRequest, int, int] | None = None  # request, status, bytes of the answer that is being sent
        self._is_reading = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transport does not inherit from the class
        here, peer = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
        if not (here and peer and here[0].startswith("127.") and peer[0].startswith("127.")):
            self._server.n_refused += 1
            self._transport.abort()
            return
        self._address = here[0]
        self._number = self._server.enter(self)
        self._transport.set_write_buffer_limits(high=0)  # so `resume_writing` is called when the last byte has left

    def connection_lost(self, exc: Exception | None) -> None:
        self._give_up()
        self._server.leave(self)

    def abort(self) -> None:
        """Close the connection at once; unanswered requests are logged."""
        self._give_up()
        self._transport.abort()

    def _give_up(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
        if self._leaving is not None:
            self._log(*self._leaving, time.monotonic())
            self._leaving = None
        for asked in self._asked:
            self._log(asked, 0, 0, time.monotonic())
        self._asked.clear()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            try:
                self._asked.append(PendingRequest(head))
            except ValueError:
                self._refuse()
                return
        if len(self._buffer) > _MOST_HEAD_BYTES:
            self._refuse()
            return
        if len(self._asked) > _MOST_WAITING and self._is_reading:
            self._transport.pause_reading()
            self._is_reading = False
        self._go_on()

    def resume_writing(self) -> None:
        if self._leaving is not None:
            leaving, self._leaving = self._leaving, None
            self._finish(*leaving, time.monotonic())
            self._go_on()

    def _go_on(self) -> None:
        """Answer the requests in order, until an answer is delayed or cannot be sent at once."""
        while self._asked and self._late is None and self._leaving is None and not self._transport.is_closing():
            asked = self._asked[0]
            reply = self._server.answer(asked.method, asked.host, asked.path)
            if reply.delay_s:
                self._late = asyncio.get_running_loop().call_later(reply.delay_s, self._send_late, reply)
            else:
                self._send(reply)
        if not self._is_reading and len(self._asked) <= _MOST_WAITING and not self._transport.is_closing():
            self._transport.resume_reading()
            self._is_reading = True

    def _send_late(self, reply: Reply) -> None:
        self._late = None
        self._send(reply)
        self._go_on()

    def _send(self, reply: Reply) -> None:
        asked = self._asked.popleft()
        body, headers = reply.body, reply.headers
        if ("content-encoding", "gzip") in headers and not asked.takes_gzip:
            body = zlib.decompress(body, 31)
            headers = tuple(header for header in headers if header[0] != "content-encoding")
        head = "".join([f"{name}: {value}\r\n" for name, value in headers])
        close = "connection: close\r\n" if asked.is_last else ""
        start = f"{_STATUS_LINES[reply.status]}server: demo\r\n{head}content-length: {len(body)}\r\n{close}\r\n".encode("latin-1")
        n_bytes = 0 if asked.method == "HEAD" else len(body)
        self._leaving = asked, reply.status, n_bytes
        end = time.monotonic()  # taken before the kernel has the answer: the client may go on before this process runs again
        self._transport.write(start + body if n_bytes else start)
        if self._leaving is not None and not self._transport.get_write_buffer_size():
            self._leaving = None
            self._finish(asked, reply.status, n_bytes, end)

    def _finish(self, asked: PendingRequest, status: int, n_bytes: int, end: float) -> None:
        self._log(asked, status, n_bytes, end)
        if asked.is_last:
            self._give_up()
            self._transport.close()

    def _log(self, asked: PendingRequest, status: int, n_bytes: int, end: float) -> None:
        self._server.record(
            ServedRequest(asked.start, end, self._address, asked.host, self._number, asked.method, asked.path, status, n_bytes, asked.agent)
        )

    def _refuse(self) -> None:
        self._transport.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        self._transport.close()
