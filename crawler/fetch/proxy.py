"""One static proxy: every connection of the crawl goes to the proxy, which connects to the web.

    http://HOST:PORT     plain requests in absolute form, https through CONNECT       [RFC 9110, 9.3.6; RFC 9112, 3.2.2]
    socks5://HOST:PORT   both through a tunnel that the proxy opens by name           [RFC 1928, RFC 1929]

What the address guard still guarantees: sockets are opened only to the addresses and the port of the proxy, whatever a page, a redirect or
a name server says (`ProxySockets`), and only the proxy's name is looked up. Literal addresses in URLs, names of `dns.static`, and localhost
are judged as without a proxy (`ProxyNames`). Only the proxy knows to what another name resolves: its own rules must keep it out of private
networks. Since it is unknown which names share an address, all names of one registrable domain count as one address for
`politeness.address_connections` and `address_delay`.

Faults: if the proxy cannot be reached, wants credentials or sends invalid answers, that is our fault (`Cause.PROXY`): the URL keeps its
tries, no host counts as dead, and after three such faults in a row the crawl pauses and tries again every few seconds. If the proxy forbids
a URL, that is final (`Cause.PROXY_REFUSED`). If the proxy reports that the host failed, it is the host's fault, as without a proxy.

Its credentials are those of http://HOST:PORT in `fetch.credentials`.
"""

from __future__ import annotations

import asyncio
import base64
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from thresher.config.settings import Settings
from thresher.crawler.core.model import Cause
from thresher.crawler.core.url import site_of
from thresher.crawler.fetch.address_guard import AddressGuard, AddrInfo, BlockedAddress
from thresher.crawler.fetch.causes import blame_connect
from thresher.crawler.fetch.credentials import Credentials
from thresher.crawler.fetch.dns import LookupFailed, Names, Resolver
from thresher.crawler.fetch.exchange import Exchange, WireFault
from thresher.crawler.fetch.given_addresses import GivenAddresses
from thresher.crawler.fetch.watched_socket import WatchedSocket

_LONGEST_HEAD: Final = 16 << 10  # bytes of the answer to CONNECT
_KNOWN_S: Final = 60.0  # seconds for which the addresses of the proxy's name are cached
_NEVER_S: Final = 3_600.0  # seconds for which a refused name is cached
_CHUNK: Final = 4 << 10

# RFC 1928, 6
_SOCKS_CAUSES: Final = {
    1: (Cause.CONN_REFUSED, "general failure"),
    2: (Cause.PROXY_REFUSED, "not allowed by its rules"),
    3: (Cause.CONN_TIMEOUT, "network unreachable"),
    4: (Cause.CONN_TIMEOUT, "host unreachable"),
    5: (Cause.CONN_REFUSED, "connection refused"),
    6: (Cause.CONN_TIMEOUT, "TTL expired"),
}


OpenSocket = Callable[[list[AddrInfo]], Awaitable[socket.socket]]


class Proxy:
    """The proxy's place, and its protocol."""

    def __init__(self, url: str, credentials: Credentials) -> None:
        """Create the proxy.

        Args:
            url: The URL of the proxy, in a form that `config/check.py` accepts.
        """
        parts = urlsplit(url)
        self.is_socks = parts.scheme == "socks5"
        self.host = parts.hostname or ""
        self.port = parts.port or (1080 if self.is_socks else 80)
        shown = f"[{self.host}]" if ":" in self.host else self.host
        self.url = f"http://{shown}:{self.port}"
        own = credentials.of(self.url.removesuffix(":80"))
        self.authorization = own.value if own is not None and own.name == "Authorization" else ""
        self._addresses: tuple[str, ...] = ()
        self._known_until = 0.0

    def __repr__(self) -> str:
        return f"<proxy {self.host}:{self.port}>"

    @property
    def is_plain(self) -> bool:
        """Whether requests of plain http go to the proxy itself, and not through a tunnel."""
        return not self.is_socks

    async def addresses(self) -> tuple[str, ...]:
        """Return the addresses of the proxy, looked up by the system.

        Raises:
            WireFault: If its name has none.
        """
        loop = asyncio.get_running_loop()
        if loop.time() >= self._known_until:
            try:
                found = await loop.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
            except OSError as error:
                raise proxy_fault(f"the name of the proxy cannot be resolved: {error.strerror or error}") from None
            self._addresses = tuple(dict.fromkeys(str(info[4][0]) for info in found))
            self._known_until = loop.time() + _KNOWN_S
        return self._addresses

    def is_at(self, address: str, port: int) -> bool:
        """Return whether this was the proxy's address and port at the last look-up."""
        return port == self.port and address in self._addresses

    async def connected(self, open_socket: OpenSocket, exchange: Exchange, tunnels_to: tuple[str, int] | None) -> socket.socket:
        """Return a socket that leads to the proxy, or through it to a host.

        Args:
            open_socket: Connects to one of several addresses.
            exchange: The record of the request.
            tunnels_to: Host and port of the tunnel; None: no tunnel.

        Raises:
            WireFault: If the proxy fails or refuses.
            OSError: If there is no free file descriptor.
        """
        exchange.is_at_proxy = True
        try:
            sock = await open_socket([addr_info(address, self.port) for address in await self.addresses()])
        except OSError as error:
            cause, detail = blame_connect(error)
            if cause is Cause.NO_DESCRIPTORS:
                raise
            raise proxy_fault(f"no connection to the proxy: {detail}") from None
        exchange.is_at_proxy = False
        if tunnels_to is not None:
            try:
                await self.tunnel(sock, *tunnels_to)
            except BaseException:
                sock.close()
                raise
        return sock

    async def tunnel(self, sock: socket.socket, host: str, port: int) -> None:
        """Let the proxy connect `sock`, a socket to the proxy, to a host.

        Raises:
            WireFault: If the proxy fails or refuses.
        """
        try:
            await (self._socks(sock, host, port) if self.is_socks else self._connect(sock, host, port))
        except OSError as error:
            raise proxy_fault(f"the proxy broke off: {error.strerror or error}") from None

    async def _connect(self, sock: socket.socket, host: str, port: int) -> None:
        authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
        if self.authorization:
            lines.append(f"Proxy-Authorization: {self.authorization}")
        loop, head = asyncio.get_running_loop(), b""
        await loop.sock_sendall(sock, "\r\n".join([*lines, "", ""]).encode("ascii"))
        while b"\r\n\r\n" not in head:
            data = await loop.sock_recv(sock, _CHUNK)
            head += data
            if not data or len(head) > _LONGEST_HEAD:
                raise proxy_fault("the proxy closed before it answered CONNECT" if not data else "the proxy's answer to CONNECT has no end")
        judge_connect(head.split(b"\r\n", 1)[0])
        if not head.endswith(b"\r\n\r\n"):
            raise proxy_fault("the proxy sent more than its answer to CONNECT")

    async def _socks(self, sock: socket.socket, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        methods = b"\x00\x02" if self.authorization else b"\x00"
        await loop.sock_sendall(sock, b"\x05" + bytes((len(methods),)) + methods)
        version, method = await _exactly(sock, 2)
        if version != 5 or method not in methods:
            raise proxy_fault("the proxy wants other credentials" if version == 5 else "the proxy does not speak SOCKS 5")
        if method == 2:
            user, _, password = base64.b64decode(self.authorization.removeprefix("Basic ")).partition(b":")
            await loop.sock_sendall(sock, b"\x01" + _counted(user) + _counted(password))
            if (await _exactly(sock, 2))[1] != 0:
                raise proxy_fault("the proxy refuses the credentials")
        await loop.sock_sendall(sock, b"\x05\x01\x00" + _destination(host) + struct.pack(">H", port))
        _, reply, _, kind = await _exactly(sock, 4)
        if reply:
            cause, words = _SOCKS_CAUSES.get(reply, (Cause.PROXY, f"reply {reply}"))
            raise WireFault(cause, f"the proxy says: {words}")
        length = {1: 4, 4: 16}.get(kind) or (await _exactly(sock, 1))[0]
        await _exactly(sock, length + 2)


def judge_connect(line: bytes) -> None:
    """Check the status line of an answer to CONNECT.

    Raises:
        WireFault: Unless the tunnel is open.
    """
    words = line.split(None, 2)
    status = int(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/1.") and words[1].isdigit() and len(words[1]) == 3 else 0
    if 200 <= status < 300:
        return
    if not status:
        raise proxy_fault("the proxy's answer to CONNECT is no HTTP")
    raise WireFault(cause_of_connect(status), f"the proxy answered CONNECT with status {status}")


def cause_of_connect(status: int) -> Cause:
    """Return the cause of failure if a proxy answers CONNECT with this status."""
    if status in (407, 429):
        return Cause.PROXY
    if status == 504:
        return Cause.CONN_TIMEOUT
    return Cause.CONN_REFUSED if status >= 500 else Cause.PROXY_REFUSED


def proxy_fault(detail: str) -> WireFault:
    """Return the fault of a proxy."""
    return WireFault(Cause.PROXY, detail)


def names(settings: Settings, guard: AddressGuard, clock: Callable[[], float] | None = None) -> Names:
    """Return the source of addresses: a resolver, or `ProxyNames` if a proxy resolves names.

    Args:
        clock: As for `Resolver`.
    """
    return ProxyNames(settings.dns.static, guard) if settings.fetch.proxy else Resolver(settings.dns, guard=guard, clock=clock)


class ProxySockets:
    """Opens sockets only to the proxy."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    def open_socket(self, addr_info: AddrInfo) -> socket.socket:
        """Return a new socket for one connection.

        Raises:
            BlockedAddress: If the address is not the proxy's.
        """
        family, kind, protocol, _, sockaddr = addr_info
        if not self._proxy.is_at(sockaddr[0], sockaddr[1]):
            raise BlockedAddress(sockaddr[0], "it is not the proxy's")
        return WatchedSocket(family, kind, protocol)


class ProxyNames:
    """Names behind a proxy, which resolves them: none is looked up here. Implements `core.ports.AddressBook`."""

    def __init__(self, static: Mapping[str, str], guard: AddressGuard) -> None:
        """Create the proxy names.

        Args:
            static: The addresses of `dns.static`.
            guard: Judges addresses that are known without a look-up.
        """
        self._given = GivenAddresses(static)
        self._guard = guard

    def address(self, hostname: str, _now: float) -> str | None:
        """Return a text that stands for the address of a name; None if the name is refused."""
        return None if self._refusal(hostname) else site_of(hostname)

    async def resolve(self, hostname: str) -> tuple[str, ...] | LookupFailed:
        """Return texts that stand for the addresses of a name."""
        why = self._refusal(hostname)
        return LookupFailed(Cause.BLOCKED_ADDRESS, why, _NEVER_S) if why else (site_of(hostname),)

    async def close(self) -> None:
        """Do nothing: nothing is open."""

    def _refusal(self, hostname: str) -> str:
        """Return why a name must not be requested; "" if it may be."""
        name = hostname.rstrip(".")
        given = self._given.of(hostname) or ("127.0.0.1" if name == "localhost" or name.endswith(".localhost") else "")  # RFC 6761, 6.3
        if not given:
            return ""
        why = self._guard.refuses(given, hostname)
        return f"{given}: {why}" if why else ""


def addr_info(address: str, port: int) -> AddrInfo:
    """Return the argument with which a socket to this address is opened."""
    if ":" in address:
        return socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port, 0, 0)
    return socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port)


async def _exactly(sock: socket.socket, n: int) -> bytes:
    """Read n bytes.

    Raises:
        WireFault: If the proxy closes the connection before.
    """
    loop, data = asyncio.get_running_loop(), b""
    while len(data) < n:
        piece = await loop.sock_recv(sock, n - len(data))
        if not piece:
            raise proxy_fault("the proxy closed before it answered")
        data += piece
    return data


def _counted(text: bytes) -> bytes:
    return bytes((min(len(text), 255),)) + text[:255]


def _destination(host: str) -> bytes:
    try:
        packed = ip_address(host).packed
    except ValueError:
        return b"\x03" + _counted(host.encode("ascii"))
    return (b"\x01" if len(packed) == 4 else b"\x04") + packed
