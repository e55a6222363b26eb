"""HTTP/1.1 as aiohttp speaks it, with what it must not decide alone taken from it: it follows no redirect, repeats no request, keeps no
cookie, decodes no body, obeys no proxy variable and sets no timer. The reference that the lean client is measured against.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from thresher.crawler.fetch.address_connections import AddressConnections
from thresher.crawler.fetch.address_guard import AddrInfo
from thresher.crawler.fetch.aiohttp_causes import blame_aiohttp
from thresher.crawler.fetch.aiohttp_protocol import CURRENT, WireProtocol, make_protocol
from thresher.crawler.fetch.dns import LookupFailed, Resolver, Unresolved
from thresher.crawler.fetch.exchange import Connections, Exchange, WireFault
from thresher.crawler.fetch.lean_client import KEEP_ALIVE_S

_READ_BUFFER = 64 << 10


class _Connector(aiohttp.TCPConnector):
    """Makes connections whose beginnings and ends are counted, at addresses that have a place for them."""

    connections: Connections
    places: AddressConnections

    async def _wrap_create_connection(
        self, *args: Any, addr_infos: list[AddrInfo], **options: Any
    ) -> tuple[asyncio.Transport, ResponseHandler]:
        make: Callable[[], ResponseHandler] = args[0]
        made: list[ResponseHandler] = []

        def remembered() -> ResponseHandler:
            made.append(make())
            return made[-1]

        try:
            async with self.places.place(addr_infos) as attempt:
                return await super()._wrap_create_connection(remembered, *args[1:], addr_infos=attempt.infos, **options)
        except BaseException:
            for protocol in made:
                self.connections.lost(protocol)
            raise

    async def _get(self, key: Any, traces: Any) -> Any:
        taken = await super()._get(key, traces)
        if taken is not None and isinstance(taken.protocol, WireProtocol):
            self.places.wake(taken.protocol.address, taken.protocol)
        return taken

    def _release(self, key: Any, protocol: ResponseHandler, *, should_close: bool = False) -> None:
        super()._release(key, protocol, should_close=should_close)
        if isinstance(protocol, WireProtocol) and protocol.is_connected():
            self.places.rest(protocol.address, protocol, protocol.abort)


class AiohttpClient:
    """The session. Make it inside the running loop, close it there."""

    faults: tuple[type[Exception], ...] = (aiohttp.ClientError, WireFault)
    blame = staticmethod(blame_aiohttp)

    def __init__(
        self,
        *,
        headers: Mapping[str, str],
        resolver: Resolver,
        tls: ssl.SSLContext,
        connections: Connections,
        places: AddressConnections,
    ) -> None:
        connector = _Connector(
            limit=0,  # the frontier bounds requests, in all and per host
            ssl=tls,
            resolver=Lookups(resolver),
            use_dns_cache=False,
            happy_eyeballs_delay=0.25,
            keepalive_timeout=KEEP_ALIVE_S,
            socket_factory=places.open_socket,
        )
        connector.connections, connector.places = connections, places
        connector._factory = functools.partial(make_protocol, asyncio.get_running_loop(), connections, places)
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            raise_for_status=False,
            timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None),
            max_line_size=16_384,
            max_field_size=32_768,
            max_headers=256,
            read_bufsize=_READ_BUFFER,
        )
        self._session._retry_connection = False  # it would send any request twice, politeness or not

    def get(
        self, text: str, exchange: Exchange, conditions: Sequence[tuple[bytes, bytes]] = ()
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Return a context that requests `text`, a canonical URL, and is left when its response is done with.

        conditions: headers of this request alone
        """
        CURRENT.set(exchange)
        more = {name.decode("latin-1"): value.decode("latin-1") for name, value in conditions}
        return self._session.get(_request_url(text), allow_redirects=False, headers=more)

    async def close(self) -> None:
        """Close every connection; requests in flight fail."""
        await self._session.close()


def _request_url(text: str) -> URL:
    """Return `text` as yarl's URL with path and query as one opaque string, so that it is sent as it is, an empty query too."""
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise ValueError(f"not a canonical URL: {text!r}")
    scheme, _, rest = text.partition("://")
    slash = rest.index("/")
    return URL.build(scheme=scheme, authority=rest[:slash], path=rest[slash:], encoded=True)


class Lookups(AbstractResolver):
    """aiohttp's view of the resolver."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[ResolveResult]:
        """Return the addresses of `host` in the order in which they are to be tried; raises Unresolved."""
        answer = await self._resolver.resolve(host)
        if isinstance(answer, LookupFailed):
            raise Unresolved(answer)
        return [
            ResolveResult(hostname=host, host=address, port=port, family=_family(address), proto=0, flags=socket.AI_NUMERICHOST)
            for address in answer
        ]

    async def close(self) -> None:
        """The resolver is closed by whoever made it."""


def _family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
