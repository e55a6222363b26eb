"""A small HTTP/1.1 client: one connection per request, kept for the next request to its origin; llhttp parses, asyncio does TLS.

It does what a crawler needs of aiohttp's client with a fifth of the Python code: no session, no cookie jar, no timers, no header objects.
It has every guard that is around aiohttp (aiohttp_protocol.py): every byte counted and bounded, interim responses bounded, header lines
bounded in number and length, a byte that no request asked for ends the connection (lean_connection.py), and every socket is opened by the
address guard.

A failure is a `WireFault` with its cause, or the exception of the connection. The same tests run against both clients.

It implements `thresher.crawler.fetch.client.Client`; the option `fetch.client` chooses the client.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from types import TracebackType

import aiohappyeyeballs

from thresher.crawler.core.model import Cause
from thresher.crawler.fetch.address_connections import AddressConnections
from thresher.crawler.fetch.address_guard import AddrInfo
from thresher.crawler.fetch.causes import blame
from thresher.crawler.fetch.connecting import Connecting
from thresher.crawler.fetch.credentials import RequestHeader
from thresher.crawler.fetch.dns import LookupFailed, Names, Unresolved
from thresher.crawler.fetch.exchange import Connections, Exchange, WireFault
from thresher.crawler.fetch.lean_connection import LeanConnection
from thresher.crawler.fetch.proxy import Proxy, addr_info

KEEP_ALIVE_S = 15.0
_HAPPY_EYEBALLS_S = 0.25


class LeanClient:
    """The client: its connections, by origin. Make and close it inside the running event loop."""

    faults: tuple[type[Exception], ...] = (WireFault,)
    blame = staticmethod(blame)

    def __init__(
        self,
        *,
        headers: Mapping[str, str],
        resolver: Names,
        tls: ssl.SSLContext,
        connections: Connections,
        places: AddressConnections,
        proxy: Proxy | None = None,
        may_request: Callable[[], bool] | None = None,
    ) -> None:
        """Create the client.

        Args:
            may_request: Called right before each request is sent: False forbids it.
        """
        self._proxy = proxy
        self._may_request = may_request
        self._head = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("latin-1")
        self._resolver = resolver
        self._tls = tls
        self._connections = connections
        self._places = places
        self._loop = asyncio.get_running_loop()
        self._connecting = Connecting(self._loop)
        self._idle: dict[str, list[LeanConnection]] = {}
        self._busy: set[LeanConnection] = set()
        self._coming: dict[asyncio.Timeout, tuple[str, ...]] = {}  # connections that are being made, each to one of these addresses
        self._sweeper: asyncio.TimerHandle | None = None

    def get(self, text: str, exchange: Exchange, headers: Sequence[RequestHeader] = ()) -> _LeanRequest:
        """Return a context manager that requests `text`, a canonical URL; leave it when the response has been read."""
        return _LeanRequest(self, text, exchange, headers)

    async def close(self) -> None:
        """Close every connection; requests in flight fail."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        self._connecting.close()
        for connection in self._connected():
            connection.close()
        self._idle.clear()
        await asyncio.sleep(0)  # lets the transports close

    def hang_up(self, at: Collection[str] | None = None) -> None:
        """Break off all that goes on, or all at some addresses; the requests fail with the cause `no_lease`."""
        for connection in self._connected():
            if at is None or connection.address in at:
                connection.break_off()
        for coming in [one for one, addresses in self._coming.items() if at is None or any(address in at for address in addresses)]:
            del self._coming[coming]
            coming.reschedule(self._loop.time())

    def _connected(self) -> list[LeanConnection]:
        return [*self._busy, *(one for idle in self._idle.values() for one in idle)]

    async def acquire(self, text: str, exchange: Exchange, headers: Sequence[RequestHeader] = ()) -> LeanConnection:
        """Send the request on a kept connection or a new one and wait for the final response's head."""
        scheme, authority, target = _parts(text)
        origin = text[: len(scheme) + 3 + len(authority)]
        idle = self._idle.get(origin)
        if idle:
            connection = idle[-1]
            self._wake(connection)
        else:
            connection = await self._connect(origin, scheme, authority, exchange)
        self._busy.add(connection)
        try:
            if self._may_request is not None and not (self._may_request() and self._places.may_use(connection.address)):
                raise WireFault(Cause.NO_LEASE, "the lease ended before the request")
            connection.begin(exchange, *self._requests(text, target, authority, headers))
            await connection.head()
        except BaseException:
            self.release(connection, is_wanted=False)
            raise
        return connection

    def _requests(self, text: str, target: str, authority: str, headers: Sequence[RequestHeader]) -> tuple[bytes, bytes]:
        """Return (request as sent, request for an archive: without secrets and without headers for the proxy)."""
        lines = [b"GET %s HTTP/1.1\r\nHost: %s\r\n%s" % (target.encode(), authority.encode(), self._head)]
        if not headers and self._proxy is None:
            return lines[0] + b"\r\n", b""
        shown = [lines[0], *(header.line(shows_secrets=False).encode("latin-1") for header in headers), b"\r\n"]
        if self._proxy is not None and self._proxy.is_plain and text.startswith("http://"):
            own = f"Proxy-Authorization: {self._proxy.authorization}\r\n" if self._proxy.authorization else ""
            lines = [b"GET %s HTTP/1.1\r\nHost: %s\r\n%s%s" % (text.encode(), authority.encode(), self._head, own.encode("ascii"))]
        return b"".join([*lines, *(header.line().encode("latin-1") for header in headers), b"\r\n"]), b"".join(shown)

    def release(self, connection: LeanConnection, *, is_wanted: bool = True) -> None:
        """Keep a connection whose response is complete for the next request to its origin; close any other."""
        self._busy.discard(connection)
        if is_wanted and connection.is_reusable() and self._connections.n_open <= self._connections.at_most:
            connection.idle_since = self._loop.time()
            connection.rest()
            self._idle.setdefault(connection.origin, []).append(connection)
            self._places.on_idle(connection.address, connection, partial(self._drop, connection))
            if self._sweeper is None:
                self._sweeper = self._loop.call_later(KEEP_ALIVE_S / 3, self._sweep)
        else:
            connection.close()

    def on_lost(self, connection: LeanConnection) -> None:
        """Forget a connection that has ended."""
        self._connections.on_lost(connection)
        self._wake(connection)

    def _drop(self, connection: LeanConnection) -> None:
        """Close an idle connection, so that no request can use it any more."""
        self._wake(connection)
        connection.close()

    def _wake(self, connection: LeanConnection) -> None:
        """Take a connection from the idle ones, if it is one of them."""
        idle = self._idle.get(connection.origin)
        if idle is not None and connection in idle:
            self._places.wake(connection.address, connection)
            idle.remove(connection)
            if not idle:
                del self._idle[connection.origin]

    def _sweep(self) -> None:
        """Close connections that have been idle for long."""
        before = self._loop.time() - KEEP_ALIVE_S
        for connection in [one for idle in self._idle.values() for one in idle if one.idle_since < before]:
            connection.close()
        self._sweeper = self._loop.call_later(KEEP_ALIVE_S / 3, self._sweep) if self._idle else None

    async def _connect(self, origin: str, scheme: str, authority: str, exchange: Exchange) -> LeanConnection:
        """Open a connection.

        Raises:
            Unresolved: If the name has no usable address.
            BlockedAddress: If the guard refuses the address.
            OSError: If connecting fails; ssl.SSLError if TLS fails.
            WireFault: If a proxy fails.
        """
        host, port = _host_and_port(authority, scheme)
        answer = await self._resolver.resolve(host)
        if isinstance(answer, LookupFailed):
            raise Unresolved(answer)
        try:
            async with asyncio.timeout(None) as coming:
                self._coming[coming] = answer
                if self._proxy is None:
                    sock = await self._open_socket([addr_info(address, port) for address in answer])
                else:
                    tunnels_to = None if self._proxy.is_plain and scheme == "http" else (host, port)
                    sock = await self._proxy.connected(self._open_socket, exchange, tunnels_to)
                return await self._opened(sock, origin, host if scheme == "https" else None)
        except TimeoutError:
            if coming.expired():
                raise WireFault(Cause.NO_LEASE, "broken off before the request") from None
            raise
        finally:
            self._coming.pop(coming, None)

    async def _opened(self, sock: socket.socket, origin: str, tls_name: str | None) -> LeanConnection:
        """Return the connection over a connected socket; with the name that its certificate must have, over TLS."""
        connection = LeanConnection(self, origin)
        try:
            tls = self._tls if tls_name is not None else None
            await self._loop.create_connection(lambda: connection, sock=sock, ssl=tls, server_hostname=tls_name)
        except BaseException:
            sock.close()
            self._connections.on_lost(connection)
            raise
        return connection

    async def _open_socket(self, infos: list[AddrInfo]) -> socket.socket:
        """Connect to one of the addresses. An address that had no place at its turn is tried again when it has one."""
        if len(infos) == 1:
            return await self._connect_socket(infos[0])
        async with self._places.place(infos) as attempt:
            try:
                return await aiohappyeyeballs.start_connection(
                    attempt.infos,
                    happy_eyeballs_delay=_HAPPY_EYEBALLS_S,
                    loop=self._loop,
                    socket_factory=self._places.open_socket,
                )
            except OSError:
                if not attempt.full:
                    raise
        return await self._open_socket(attempt.full)

    async def _connect_socket(self, info: AddrInfo) -> socket.socket:
        sock = await self._places.open_at(info)
        try:
            sock.setblocking(False)
            await self._connecting.connect(sock, info[4])
        except BaseException:
            sock.close()
            raise
        return sock

    def on_open(self, connection: LeanConnection) -> None:
        """Count a connection that has been made."""
        self._connections.on_open(connection)


class _LeanRequest:
    """`async with client.get(…) as response`."""

    __slots__ = ("_client", "_connection", "_exchange", "_headers", "_text")

    def __init__(self, client: LeanClient, text: str, exchange: Exchange, headers: Sequence[RequestHeader]) -> None:
        self._client = client
        self._text = text
        self._headers = headers
        self._exchange = exchange

    async def __aenter__(self) -> LeanConnection:
        self._connection = await self._client.acquire(self._text, self._exchange, self._headers)
        return self._connection

    async def __aexit__(self, _type: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None) -> None:
        self._client.release(self._connection, is_wanted=error is None)


def _parts(text: str) -> tuple[str, str, str]:
    """Return (scheme, authority, request target) of a canonical URL.

    Raises:
        ValueError: If it is not a canonical URL.
    """
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise ValueError(f"not a canonical URL: {text!r}")
    scheme, _, rest = text.partition("://")
    slash = rest.index("/")
    return scheme, rest[:slash], rest[slash:]


def _host_and_port(authority: str, scheme: str) -> tuple[str, int]:
    host, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = authority, ""
    return host.strip("[]"), int(port) if port else (443 if scheme == "https" else 80)
