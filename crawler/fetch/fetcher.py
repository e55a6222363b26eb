"""One request: from a canonical URL to `Fetched | Redirect | Failed`, whatever the server does.

A client speaks the protocol: lean_client.py, or aiohttp_client.py as the reference. Around the client are

    address_guard.py  a socket is opened only to an address that may be reached
    address_connections.py   and that has a place for one more connection
    dns.py      addresses of names, from a cache with their lifetimes
    exchange.py counts every byte
    content_coding.py decodes the body, within bounds
    causes.py         gives every exception a cause
    deadlines.py      the time limits of all phases
    spreading.py      how many answers go on in one round of the loop

The text of the URL is sent unchanged in the request line: exactly what robots.txt and scope have judged.

A request is sent again at once in one case only: a connection that had served before was closed without a byte, since then the server has
not seen the request [RFC 9112, 9.3.1]. Every other repetition is decided by the frontier.

Memory: the body; twice while its pieces are joined.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import resource
import ssl
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import structs

from thresher.config.settings import FetchSettings
from thresher.crawler.core.model import Cause, CrawlURL, Failed, Fetched, Flag, Head, Outcome, Reason, Redirect
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.core.url import hostname_of
from thresher.crawler.fetch.address_connections import AddressConnections, ConnectionUse
from thresher.crawler.fetch.address_guard import AddressGuard
from thresher.crawler.fetch.client import Body, Client, Response
from thresher.crawler.fetch.content_coding import ACCEPT_ENCODING, ARCHIVABLE, BodyDecoder, DecodeError
from thresher.crawler.fetch.credentials import RequestHeader, read_credentials
from thresher.crawler.fetch.deadlines import Deadlines, Watch, Watches
from thresher.crawler.fetch.dns import LookupFailed, Names
from thresher.crawler.fetch.exchange import Connections, Exchange, Recording
from thresher.crawler.fetch.heads import cause_of, is_odd_transfer, location_of, retry_after_s
from thresher.crawler.fetch.lean_client import LeanClient
from thresher.crawler.fetch.local_end import LocalEnd, Sockets
from thresher.crawler.fetch.proxy import Proxy, ProxySockets
from thresher.crawler.fetch.request_headers import RequestHeaders
from thresher.crawler.fetch.spreading import Spreader

WIRE_LEEWAY = 2 << 20  # bytes on the wire beyond fetch.max_body
SMALL_BODY = 64 << 10  # bytes: an unwanted body up to this size is read, so that the connection can be kept
GLANCE_S = 2.0  # seconds that reading an unwanted body may take
RATE_GRACE_S = 10.0

_REDIRECTS = frozenset((301, 302, 303, 307, 308))

if TYPE_CHECKING:
    from thresher.crawler.fetch.aiohttp_client import AiohttpClient

HeadGate = Callable[[Head], tuple[Reason, str] | None]  # returns (why the body is not wanted, which filter decided it), or None
Conditions = Sequence[tuple[bytes, bytes]]  # headers that make a request conditional


class Fetcher:
    """The crawl's only way to the web. Make and close it inside the running event loop."""

    def __init__(
        self,
        settings: FetchSettings,
        *,
        user_agent: str,
        from_header: str,
        resolver: Names,
        guard: AddressGuard,
        address_connections: int,
        elsewhere: ConnectionUse | None = None,
        overriding: Overriding | None = None,
        rate_grace_s: float = RATE_GRACE_S,
        records: bool = False,
        may_request: Callable[[], bool] | None = None,
    ) -> None:
        """Create the fetcher.

        Args:
            settings: The settings that hold in general.
            address_connections: Most connections to one address, idle ones included.
            elsewhere: The connections of other agents, if there are any.
            overriding: Gives the settings that hold for a URL; None: there are no overrides.
            records: Whether to keep the bytes on the wire, for an archive; only the lean client can.
            may_request: Called right before each request is sent: False forbids it; only the lean client does so.
        """
        assert settings.client == "lean" or (not records and may_request is None), "check_startable refuses any other client"
        self._settings = settings
        self._records = records
        self._loop = asyncio.get_running_loop()
        self._overriding = overriding if overriding is not None and overriding.varies else None
        self._grace_s = rate_grace_s
        self._deadlines = {id(settings): Deadlines.of(settings, rate_grace_s)}  # by the identity of settings objects, which are kept
        self._headers = RequestHeaders(settings, overriding)
        self._watches = Watches(self._loop)
        self._spreader = Spreader()
        self._connections = Connections(_spare_descriptors(settings.concurrency))
        self._credentials = read_credentials(settings.credentials)
        self._names = resolver
        self._proxy = Proxy(settings.proxy, self._credentials) if settings.proxy else None
        self._places = _places(settings, guard, self._proxy, address_connections, elsewhere)
        headers = self._headers.of_all(user_agent, from_header, ARCHIVABLE if records else ACCEPT_ENCODING)
        self._client = self._make_client(headers, {} if may_request is None else {"may_request": may_request})

    def _make_client(self, headers: dict[str, str], options: dict[str, Any]) -> Client:
        """Make the client that the settings name.

        Args:
            headers: Headers of every request.
            options: Options that only one of the clients has.
        """
        return _client_class(self._settings.client)(
            headers=headers,
            resolver=self._names,
            tls=_tls(self._settings.ca_file),
            connections=self._connections,
            places=self._places,
            proxy=self._proxy,
            **options,
        )

    async def fetch(
        self,
        url: CrawlURL,
        *,
        head_gate: HeadGate | None = None,
        max_body: int | None = None,
        total_timeout: float | None = None,
        sink: Callable[[bytes], object] | None = None,
        conditions: Conditions = (),
        cookie: str = "",
    ) -> Outcome:
        """Request `url` once. Failures of the web are returned, never raised.

        Args:
            head_gate: Judges status and headers; if it returns a reason, the body is not read.
            max_body: Most bytes of the decoded body; None: as configured.
            total_timeout: Seconds for all of it; None: as configured.
            sink: Called with each piece of the body; then the outcome has only the last part.
            conditions: Headers that make the request conditional.
            cookie: The cookie of the URL's chain of redirects.
        """
        of = self._settings if self._overriding is None else self._overriding.of(url.text).fetch
        at_most = of.max_body if max_body is None else max_body
        total_s = of.total_timeout if total_timeout is None else total_timeout
        deadlines = self._deadlines.get(id(of)) or self._deadlines.setdefault(id(of), Deadlines.of(of, self._grace_s))
        if self._proxy is not None and isinstance(refused := await self._names.resolve(hostname_of(url.host)), LookupFailed):
            return Failed(url, refused.cause, refused.detail)
        asked = [RequestHeader(name.decode("latin-1"), value.decode("latin-1")) for name, value in conditions]
        headers = [*self._headers.beside(of), *self._credentials.headers(url.host, cookie), *asked]
        exchange = self._exchange(at_most)
        outcome = await self._request(_Fetch(self._client, url, exchange, head_gate, at_most, sink, headers), deadlines, total_s)
        if _was_stale(outcome, exchange):
            exchange = self._exchange(at_most)
            outcome = await self._request(_Fetch(self._client, url, exchange, head_gate, at_most, sink, headers), deadlines, total_s)
        if isinstance(outcome, Failed) and outcome.cause is Cause.NO_DESCRIPTORS:
            self._connections.at_most = self._connections.n_open // 2  # keep fewer idle connections from now on
        await self._spreader.pass_on()
        return structs.replace(outcome, wire=exchange.wire()) if self._records else outcome

    def hang_up(self, at: Collection[str] | None = None) -> None:
        """Close every connection, or all to some addresses, since this agent may request nothing there now. Requests in flight are made
        again once it may.
        """
        assert isinstance(self._client, LeanClient)
        self._client.hang_up(at)

    def _exchange(self, at_most: int) -> Exchange:
        recording = Recording(time.time()) if self._records else None
        return Exchange(at_most + WIRE_LEEWAY, recording, is_proxied=self._proxy is not None)

    async def close(self) -> None:
        """Close every connection; requests in flight fail."""
        self._places.close()
        await self._client.close()

    async def _request(self, fetch: _Fetch, deadlines: Deadlines, total_s: float) -> Outcome:
        watch = self._watches.start(fetch.exchange, deadlines, total_s)
        try:
            async with self._client.get(fetch.url.text, fetch.exchange, fetch.headers) as response:
                return await fetch.read(response, watch)
        except asyncio.CancelledError:
            if not watch.absorb():
                raise
            cause, detail = watch.fault.cause, watch.fault.detail
        except Exception as error:  # noqa: BLE001 - the edge where the clients' exceptions end: causes.py names each, and shows what it does not know
            cause, detail = self._client.blame(error, fetch.exchange)
        finally:
            watch.stop()
        return fetch.failed(cause, detail, elapsed_s=self._loop.time() - (fetch.exchange.sent_at or watch.began))


@dataclass(slots=True)
class _Fetch:
    """One request: which part of its response is wanted, and how it is read."""

    client: Client
    url: CrawlURL
    exchange: Exchange
    head_gate: HeadGate | None
    max_body: int
    sink: Callable[[bytes], object] | None = None
    headers: Sequence[RequestHeader] = ()

    async def read(self, response: Response, watch: Watch) -> Outcome:
        """Read the response as far as it is wanted."""
        exchange, status = self.exchange, response.status
        head = Head(self.url, status, response.raw_headers, exchange.address, exchange.head_at - exchange.sent_at)
        is_recorded = exchange.recording is not None
        if status in _REDIRECTS:
            target = location_of(head)
            if target:
                await self._glance(response, watch, head, is_wanted=is_recorded)
                return Redirect(self.url, head, target, exchange.wire_bytes, self._elapsed_s())
        if status == 407 and exchange.is_proxied:
            await self._glance(response, watch, head)
            return self.failed(Cause.PROXY, "the proxy wants other credentials: status 407", elapsed_s=self._elapsed_s())
        cause = cause_of(status)
        if cause is not None:
            body = await self._glance(response, watch, head, is_wanted=is_recorded)
            asked_s = retry_after_s(head, time.time())
            return self.failed(cause, f"status {status}", elapsed_s=self._elapsed_s(), retry_after_s=asked_s, head=head, body=body)
        refusal = self.head_gate(head) if self.head_gate is not None else None
        if refusal is not None:
            reason, by = refusal
            await self._glance(response, watch, head)
            return Fetched(self.url, head, b"", exchange.wire_bytes, self._elapsed_s(), refused=reason, refused_by=by)
        return await self._read_body(response, head)

    async def _read_body(self, response: Response, head: Head) -> Outcome:
        """Read and decode the body up to the cap."""
        exchange, content = self.exchange, response.content
        decoder = BodyDecoder(",".join(head.all(b"content-encoding")), self.max_body, self.sink)
        wants_more = True
        try:
            while wants_more and not content.at_eof():
                wants_more = decoder.feed(await content.readany())
            if not wants_more:
                response.close()
            elif exchange.is_cut:
                return self._spoilt(head, Cause.INCOMPLETE, "connection lost", decoder.body)
            elif not decoder.is_whole():
                return self._spoilt(head, Cause.TRUNCATED_ENCODING, "the encoded stream does not end", decoder.body)
        except DecodeError as error:
            if exchange.recording is not None and error.cause is not Cause.BOMB:
                await self._drain(content)
            return self._spoilt(head, error.cause, error.detail, decoder.body)
        except self.client.faults as error:
            cause, detail = self.client.blame(error, exchange)
            return self._spoilt(head, cause, detail, decoder.body if cause is Cause.INCOMPLETE else b"")
        if is_odd_transfer(head):
            decoder.flags.add(Flag.BAD_TRANSFER_ENCODING)
        return Fetched(self.url, head, decoder.body, exchange.wire_bytes, self._elapsed_s(), frozenset(decoder.flags))

    async def _drain(self, content: Body) -> None:
        """Read the rest of a body that cannot be decoded, for an archive. The budget of wire bytes bounds it."""
        with contextlib.suppress(*self.client.faults):
            while not content.at_eof():
                await content.readany()

    def _spoilt(self, head: Head, cause: Cause, detail: str, body: bytes) -> Failed:
        return self.failed(cause, detail, elapsed_s=self._elapsed_s(), head=head, body=body)

    async def _glance(self, response: Response, watch: Watch, head: Head, *, is_wanted: bool = False) -> bytes:
        """Read a body of little interest if it is small and comes at once; otherwise close the connection.

        Args:
            is_wanted: Whether an archive wants it like any other body.
        """
        at_most = self.max_body if is_wanted else SMALL_BODY
        content, decoder = response.content, BodyDecoder(",".join(head.all(b"content-encoding")), at_most)
        length = head.get(b"content-length")
        n_read = 0
        if not content.is_eof():
            if length.isdecimal() and int(length[:18]) > at_most:
                response.close()
                return b""
            if not is_wanted:
                watch.hurry(GLANCE_S)
        try:
            while n_read <= at_most and not content.at_eof():
                data = await content.readany()
                n_read += len(data)
                if not decoder.feed(data):
                    break
        except asyncio.CancelledError:
            if not watch.absorb():
                raise
        except DecodeError:
            pass
        except self.client.faults:
            pass  # status and headers are enough
        if not content.at_eof():
            response.close()
        return decoder.body

    def _elapsed_s(self) -> float:
        return max(self.exchange.read_at, self.exchange.head_at) - self.exchange.sent_at

    def failed(
        self,
        cause: Cause,
        detail: str,
        *,
        elapsed_s: float,
        retry_after_s: float | None = None,
        head: Head | None = None,
        body: bytes = b"",
    ) -> Failed:
        """Return the failure of this request."""
        return Failed(self.url, cause, detail, elapsed_s, self.exchange.wire_bytes, retry_after_s, head, body)


def _was_stale(outcome: Outcome, exchange: Exchange) -> bool:
    """Return whether a kept connection turned out to be closed before the request reached the server."""
    if not isinstance(outcome, Failed) or not exchange.is_reused or exchange.wire_bytes:
        return False
    return outcome.cause in (Cause.DISCONNECTED, Cause.CONN_RESET)


def _client_class(name: str) -> type[LeanClient | AiohttpClient]:
    """Return the class of a client; importing aiohttp takes a fifth of a second."""
    if name == "lean":
        return LeanClient
    from thresher.crawler.fetch.aiohttp_client import AiohttpClient

    return AiohttpClient


def _places(
    settings: FetchSettings, guard: AddressGuard, proxy: Proxy | None, address_connections: int, elsewhere: ConnectionUse | None
) -> AddressConnections:
    """Return the opener of sockets. With a proxy, all connections lead to its address: then the limit per address does not apply."""
    sockets: Sockets = guard if proxy is None else ProxySockets(proxy)
    if settings.bind:
        sockets = LocalEnd(sockets, settings.bind)
    if proxy is not None:
        return AddressConnections(sockets, 2 * settings.concurrency)
    return AddressConnections(sockets, address_connections, elsewhere=elsewhere)


@functools.cache
def _tls(ca_file: str) -> ssl.SSLContext:
    """Return a context that verifies certificates by the system's authorities and those of `ca_file`."""
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(cafile=ca_file)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _spare_descriptors(concurrency: int) -> int:
    """Return how many connections may stay open: half of the file descriptors; the rest is for connections being opened and for the
    store.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(min(concurrency, soft // 2), (soft - 128) // 2) if soft != resource.RLIM_INFINITY else 1 << 20
