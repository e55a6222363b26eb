"""HTTP/1.1 by aiohttp, with everything switched off that the crawler decides: it follows no redirect, repeats no request, keeps no cookie,
decodes no body, obeys no proxy variable and sets no timer. The lean client is tested against it.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohappyeyeballs
import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from thresher.crawler.fetch.address_connections import AddressConnections
from thresher.crawler.fetch.address_guard import AddrInfo
from thresher.crawler.fetch.aiohttp_causes import blame_aiohttp
from thresher.crawler.fetch.aiohttp_protocol import CURRENT, WireProtocol, make_protocol
from thresher.crawler.fetch.credentials import RequestHeader
from thresher.crawler.fetch.dns import LookupFailed, Names, Unresolved
from thresher.crawler.fetch.exchange import Connections, Exchange, WireFault
from thresher.crawler.fetch.lean_client import KEEP_ALIVE_S
from thresher.crawler.fetch.proxy import Proxy

_READ_BUFFER = 64 << 10
_HAPPY_EYEBALLS_S = 0.25


class _Connector(aiohttp.TCPConnector):
    """Makes connections, counts their beginnings and ends, and waits for a place at the address."""

    connections: Connections
    places: AddressConnections
    proxy: Proxy | None

    async def _wrap_create_connection(
        self, *args: Any, addr_infos: list[AddrInfo], **options: Any
    ) -> tuple[asyncio.Transport, ResponseHandler]:
        make: Callable[[], ResponseHandler] = args[0]
        made: list[ResponseHandler] = []

        def remembered() -> ResponseHandler:
            made.append(make())
            return made[-1]

        try:
            if self.proxy is not None:
                return await self._through(self.proxy, remembered, *args[1:], **options)
            async with self.places.place(addr_infos) as attempt:
                return await super()._wrap_create_connection(remembered, *args[1:], addr_infos=attempt.infos, **options)
        except BaseException:
            for protocol in made:
                self.connections.on_lost(protocol)
            raise

    async def _through(
        self, proxy: Proxy, factory: Callable[[], ResponseHandler], *args: Any, **options: Any
    ) -> tuple[asyncio.Transport, ResponseHandler]:
        """Connect through the proxy: plain http goes to the proxy itself, https through a tunnel to the host."""
        url = options["req"].url
        tunnels_to = None if proxy.is_plain and url.scheme == "http" else (url.raw_host, url.port)
        sock = await proxy.connected(self._open_socket, CURRENT.get(), tunnels_to)
        return await self._wrap_existing_connection(factory, *args, sock=sock, **options)

    async def _open_socket(self, infos: list[AddrInfo]) -> socket.socket:
        async with self.places.place(infos) as attempt:
            return await aiohappyeyeballs.start_connection(
                attempt.infos, happy_eyeballs_delay=_HAPPY_EYEBALLS_S, loop=self._loop, socket_factory=self.places.open_socket
            )

    async def _get(self, key: Any, traces: Any) -> Any:
        taken = await super()._get(key, traces)
        if taken is not None and isinstance(taken.protocol, WireProtocol):
            self.places.wake(taken.protocol.address, taken.protocol)
        return taken

    def _release(self, key: Any, protocol: ResponseHandler, *, should_close: bool = False) -> None:
        super()._release(key, protocol, should_close=should_close)
        if isinstance(protocol, WireProtocol) and protocol.is_connected():
            self.places.on_idle(protocol.address, protocol, protocol.abort)


class AiohttpClient:
    """The session of aiohttp. Make and close it inside the running event loop."""

    faults: tuple[type[Exception], ...] = (aiohttp.ClientError, WireFault)
    blame = staticmethod(blame_aiohttp)

    def __init__(
        self,
        *,
        headers: Mapping[str, str],
        resolver: Names,
        tls: ssl.SSLContext,
        connections: Connections,
        places: AddressConnections,
        proxy: Proxy | None = None,
    ) -> None:
        self._proxy = proxy
        connector = _Connector(
            limit=0,  # the frontier limits requests, in all and per host
            ssl=tls,
            resolver=ResolverView(resolver, proxy),
            use_dns_cache=False,
            happy_eyeballs_delay=_HAPPY_EYEBALLS_S,
            keepalive_timeout=KEEP_ALIVE_S,
            socket_factory=places.open_socket,
        )
        connector.connections, connector.places, connector.proxy = connections, places, proxy
        connector._factory = functools.partial(make_protocol, asyncio.get_running_loop(), connections, places)  # noqa: SLF001 - its one way in
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
        self._session._retry_connection = False  # noqa: SLF001 - it would send any request twice, politeness or not

    def get(
        self, text: str, exchange: Exchange, headers: Sequence[RequestHeader] = ()
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Return a context manager that requests `text`, a canonical URL; leave it when the response has been read."""
        CURRENT.set(exchange)
        ours = {header.name: header.value for header in headers}
        proxy = self._proxy if self._proxy is not None and self._proxy.is_plain and text.startswith("http://") else None
        if proxy is not None and proxy.authorization:
            ours["Proxy-Authorization"] = proxy.authorization
        return self._session.get(_request_url(text), allow_redirects=False, headers=ours, proxy=proxy.url if proxy is not None else None)

    async def close(self) -> None:
        """Close every connection; requests in flight fail."""
        await self._session.close()


def _request_url(text: str) -> URL:
    """Return `text` as yarl's URL with path and query as one opaque string, so that it is sent unchanged, also with an empty query."""
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise ValueError(f"not a canonical URL: {text!r}")
    scheme, _, rest = text.partition("://")
    slash = rest.index("/")
    return URL.build(scheme=scheme, authority=rest[:slash], path=rest[slash:], encoded=True)


class ResolverView(AbstractResolver):
    """aiohttp's view of the resolver."""

    def __init__(self, resolver: Names, proxy: Proxy | None = None) -> None:
        self._resolver = resolver
        self._proxy = proxy

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[ResolveResult]:
        """Return the addresses of `host` in the order in which to try them.

        Raises:
            Unresolved: If the name has no usable address.
        """
        answer = await self._resolver.resolve(host) if self._proxy is None else await self._proxy.addresses()
        if isinstance(answer, LookupFailed):
            raise Unresolved(answer)
        return [
            ResolveResult(hostname=host, host=address, port=port, family=_family(address), proto=0, flags=socket.AI_NUMERICHOST)
            for address in answer
        ]

    async def close(self) -> None:
        """Do nothing: the code that made the resolver closes it."""


def _family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
