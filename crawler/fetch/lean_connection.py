"""One connection of the lean client (lean_client.py): the response that is being read from it, parsed by llhttp under our own bounds.

Every byte is counted and bounded, interim responses and header lines too, and a byte that no request asked for ends the connection. If the
response breaks a rule, or the connection breaks, that is a `WireFault` with its cause; data that came before can still be read.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Protocol, cast

import httptools

from thresher.crawler.core.model import Cause
from thresher.crawler.fetch.exchange import MAX_INTERIM, Exchange, Recording, WireFault

MAX_LINE = 32_768  # bytes of a header line, name and value
MAX_HEADERS = 256
_UNFINISHED = 65_536  # most bytes of a head without the end of a line
_HIGH_WATER = 128 << 10  # with so many unread bytes of a body, receiving is paused

RawHeaders = tuple[tuple[bytes, bytes], ...]


class Owner(Protocol):
    """The owner of the connection; it is called when the connection opens and when it is lost."""

    def on_open(self, connection: LeanConnection, /) -> None: ...

    def on_lost(self, connection: LeanConnection, /) -> None: ...


class LeanConnection(asyncio.Protocol):
    """One connection, and the response that is being read from it: status, headers, and the body as it comes."""

    def __init__(self, owner: Owner, origin: str) -> None:
        self.origin = origin
        self.idle_since = 0.0
        self.status = 0
        self.raw_headers: RawHeaders = ()
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self.address = ""  # the peer's address, once the connection is open
        self._exchange: Exchange | None = None
        self._parser: Any = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._chunks: list[bytes] = []
        self._n_waiting = 0  # bytes in `_chunks`
        self._n_unfinished = 0  # bytes since the end of the last header line
        self._n_served = 0
        self._waiter: asyncio.Future[None] | None = None
        self._fault: WireFault | None = None
        self._is_answered = False  # the head of the final response has arrived
        self._is_complete = True
        self._is_kept = False  # whether the response allows another request on this connection
        self._is_paused = False

    # Called by the client

    def begin(self, exchange: Exchange, request: bytes, shown: bytes = b"") -> None:
        """Send a request.

        Args:
            shown: The request for an archive; b"" if that is the same.
        """
        self._exchange = exchange
        exchange.is_reused = self._n_served > 0
        exchange.address = "" if exchange.is_proxied else self.address
        exchange.sent_at = exchange.read_at = self._loop.time()
        self._n_served += 1
        if exchange.recording is not None:
            self._record(exchange.recording, shown or request)
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._headers = []
        self._n_unfinished = 0
        self._is_answered = self._is_complete = self._is_kept = False
        if self._transport is None or self._transport.is_closing():
            self._fail(Cause.DISCONNECTED, "closed before the request")
        else:
            self._transport.write(request)

    def _record(self, recording: Recording, request: bytes) -> None:
        recording.sent_at, recording.request = time.time(), request
        session = self._transport.get_extra_info("ssl_object") if self._transport is not None else None
        if session is not None:
            recording.tls, recording.cipher = session.version() or "", (session.cipher() or ("",))[0]

    async def head(self) -> None:
        """Wait for the head of the final response.

        Raises:
            WireFault: If the exchange fails.
        """
        while not self._is_answered and self._fault is None:
            await self._more()
        if self._fault is not None and not self._is_answered:
            raise self._fault

    @property
    def content(self) -> LeanConnection:
        """The body, for `readany`."""
        return self

    def is_eof(self) -> bool:
        """Return whether the whole body has been received."""
        return self._is_complete

    def at_eof(self) -> bool:
        """Return whether the whole body has been read."""
        return self._is_complete and not self._chunks and self._fault is None

    async def readany(self) -> bytes:
        """Return the received bytes of the body that are unread; b"" at its end.

        Raises:
            WireFault: If the exchange failed, once the bytes before the failure have been read.
        """
        while not self._chunks and not self._is_complete and self._fault is None:
            await self._more()
        if self._chunks:
            data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
            self._chunks.clear()
            self._n_waiting = 0
            if self._is_paused and self._transport is not None:
                self._is_paused = False
                self._transport.resume_reading()
            return data
        if self._fault is not None:
            raise self._fault
        return b""

    def is_reusable(self) -> bool:
        """Return whether the connection may serve another request: not while a byte of the last response is unread."""
        return self._is_kept and self.at_eof() and self._transport is not None

    def rest(self) -> None:
        """Keep nothing of the last response while no request is on the connection: of thousands of idle ones that would be megabytes."""
        self._exchange = self._parser = None
        self.raw_headers, self._headers = (), []

    def close(self) -> None:
        """Close the connection at once; a request that waits on it fails."""
        if self._transport is not None:
            self._transport.abort()

    def break_off(self) -> None:
        """Close the connection at once, since nothing may be requested here now; a response that is not complete fails."""
        if not self._is_complete:
            self._fail(Cause.NO_LEASE, "broken off")
        self._is_kept = False
        self.close()

    async def _more(self) -> None:
        waiter = self._waiter = self._loop.create_future()
        try:
            await waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, cause: Cause, detail: str) -> None:
        """Fail the exchange and close the connection."""
        if self._fault is None:
            self._fault = WireFault(cause, detail)
            self._is_kept = False
            if self._exchange is not None and self._exchange.recording is not None:
                self._exchange.recording.broken = cause
            self._wake()
            self.close()

    # Called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transports are not subclasses
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if peer else ""
        self._owner.on_open(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = self._parser = None  # they refer to each other: else only the garbage collector frees them
        exchange = self._exchange
        if exchange is not None and not self._is_complete and self._fault is None:
            if not self._is_answered and exc is None:
                self._fail(Cause.DISCONNECTED, f"closed after {exchange.wire_bytes} bytes, before the end of the headers")
            elif not self._is_answered:
                self._fail(Cause.CONN_RESET, str(exc))
            elif exc is None and self._ends_at_close():
                self._is_complete = exchange.is_whole = True
            else:
                self._fail(Cause.INCOMPLETE, "connection lost" if exc is None else str(exc))
        self._wake()
        self._owner.on_lost(self)

    def data_received(self, data: bytes) -> None:
        exchange = self._exchange
        if exchange is None or self._is_complete or self._fault is not None:
            self._is_kept = False
            self.close()  # bytes that no request asked for
            return
        self._n_unfinished += len(data)
        if exchange.recording is not None:
            exchange.recording.pieces.append(data)
        if (fault := exchange.on_bytes(len(data), self._loop.time())) is not None:
            self._fail(fault.cause, fault.detail)
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._is_kept = False  # a fault after the end of a response does not make this response fail
            if not self._is_complete:
                self._fail(Cause.PROTOCOL, str(error))
        if not self._is_answered and self._n_unfinished > _UNFINISHED:
            self._fail(Cause.PROTOCOL_HEADERS, f"a header line of more than {MAX_LINE} bytes")
        if self._n_waiting > _HIGH_WATER and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    # Called by the parser

    def on_message_begin(self) -> None:
        if self._is_complete:
            self._is_kept = False  # a second response in the same segment

    def on_header(self, name: bytes, value: bytes) -> None:
        self._n_unfinished = 0
        self._headers.append((name, value.strip(b" \t")))
        if len(self._headers) > MAX_HEADERS:
            self._fail(Cause.PROTOCOL_HEADERS, f"more than {MAX_HEADERS} headers")
        elif len(name) + len(value) > MAX_LINE:
            self._fail(Cause.PROTOCOL_HEADERS, f"a header line of more than {MAX_LINE} bytes")
        elif b"\0" in value:
            self._fail(Cause.PROTOCOL, "a zero byte in a header")

    def on_headers_complete(self) -> None:
        exchange = self._exchange
        if self._is_complete or self._fault is not None or exchange is None:
            return
        self._n_unfinished = 0
        status, version = self._parser.get_status_code(), self._parser.get_http_version()
        if 100 <= status < 200 and status != 101:
            exchange.n_interim += 1
            self._headers = []
            if exchange.n_interim > MAX_INTERIM:
                self._fail(Cause.PROTOCOL_WIRE_BUDGET, f"more than {MAX_INTERIM} interim responses")
            return
        if not 200 <= status <= 599 or not version.startswith("1."):
            self._fail(Cause.PROTOCOL_STATUS, f"status {status}, HTTP/{version}")
            return
        self.status, self.raw_headers = status, tuple(self._headers)
        self._headers = []  # from here on, header lines are trailers
        self._is_answered = True
        exchange.head_at = exchange.read_at

    def on_body(self, data: bytes) -> None:
        if not self._is_complete and self._fault is None:
            self._chunks.append(data)
            self._n_waiting += len(data)

    def on_message_complete(self) -> None:
        if self._is_answered and not self._is_complete and self._fault is None:
            self._is_complete = True
            self._is_kept = self._parser.should_keep_alive()
            if self._exchange is not None:
                self._exchange.is_whole = True

    def _ends_at_close(self) -> bool:
        """Return whether the end of the connection is the end of the body."""
        names = {name.lower(): value for name, value in self.raw_headers}
        return b"content-length" not in names and names.get(b"transfer-encoding", b"").lower().rpartition(b",")[2].strip() != b"chunked"
