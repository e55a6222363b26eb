"""Resolves names to addresses: one resolver per process, a cache with bounded lifetimes, one query per name at a time.

The frontier asks `address` for a cached address, and names the hosts that must be looked up. `resolve` asks the name servers and caches the
answer, also a failure. aiohttp connects through an adapter on the same cache, so a host is reached at the address that was reserved for it.

    source           lifetime
    answer           its TTL, within dns.min_ttl .. dns.max_ttl
    no such name     dns.negative_ttl (NXDOMAIN, and names without addresses)
    server failure   30 s: the frontier's retries decide when it is worth asking again
    refused          the TTL: the guard refuses every address of the name

Addresses that the guard refuses are left out. IPv4 comes first, so that every network connects to the address that was reserved.
At most half of `dns.max_addresses` are IPv6 if there are enough others: n refusing addresses cost n(n+1)/2 connects.
Names are absolute: no search domain is added.

`dns.timeout` ends a lookup that has no answer. c-ares would end it sooner: it asks again when a server has been silent for five times
its usual answer time, at least a quarter of a second, and waits twice as long each time. So it is given as many tries as fill `dns.timeout`
even if the server answers other names at once. c-ares accepts only an answer to its last try; still, a name whose answers take up to a
quarter of `dns.timeout` is always found.

Memory: about 350 bytes per name, at most 131,072 names. Time: 0.1 µs from the cache, 95 µs for a query.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, inf, log2
from typing import TYPE_CHECKING, Protocol

from thresher.config.settings import DnsSettings
from thresher.crawler.clock import Clock
from thresher.crawler.core.model import Cause
from thresher.crawler.fetch.address_guard import AddressGuard
from thresher.crawler.fetch.given_addresses import GivenAddresses

if TYPE_CHECKING:
    import aiodns  # imported at the first query: behind a proxy, and if all names are given, there is none

CACHED_NAMES = 131_072
FAILURE_TTL_S = 30.0
RESERVATION_S = 1.0  # seconds: an answer with a TTL of 0 still serves the request for which it was made
_FIRST_WAIT = 0.5  # part of `dns.timeout` after which a server is asked again that has not answered c-ares yet
_SHORTEST_WAIT_S = 0.25  # the wait of c-ares for a server that has answered before; the n-th wait is at least 2 ** (n - 2) times as long
_NOSORT = 1 << 7  # ARES_AI_NOSORT, which pycares does not name: sorting opens a socket per address

_CAUSES = {
    "ARES_ENODATA": Cause.DNS_NODATA,
    "ARES_ENOTFOUND": Cause.DNS_NXDOMAIN,
    "ARES_EBADNAME": Cause.DNS_NXDOMAIN,
    "ARES_ETIMEOUT": Cause.DNS_TIMEOUT,
}
_FINAL = frozenset((Cause.DNS_NXDOMAIN, Cause.DNS_NODATA))


@dataclass(frozen=True, slots=True)
class LookupFailed:
    """A name without a usable address, and for how long this failure is cached."""

    cause: Cause
    detail: str
    ttl_s: float


class Unresolved(OSError):  # noqa: N818 - named for what it says, as its cause is
    """A look-up failed while a client was connecting; carries the failure to the fetcher."""

    def __init__(self, failure: LookupFailed) -> None:
        super().__init__(failure.detail)
        self.failure = failure


class Names(Protocol):
    """Resolves names to addresses, or to texts that stand for them: `Resolver`, or `ProxyNames` (proxy.py)."""

    def address(self, hostname: str, now: float, /) -> str | None: ...

    async def resolve(self, hostname: str, /) -> tuple[str, ...] | LookupFailed: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Known:
    """A cached answer: addresses, or the failure if there are none."""

    addresses: tuple[str, ...]
    failure: LookupFailed | None
    expires_at: float


class Resolver:
    """Resolves names and caches the answers. Implements `core.ports.AddressBook`."""

    def __init__(self, settings: DnsSettings, *, guard: AddressGuard, clock: Callable[[], float] | None = None) -> None:
        """Create the resolver.

        Args:
            clock: The crawl's clock in seconds, with which `now` of `address` is compared; None: a new `Clock`.
        """
        self._settings = settings
        self._guard = guard
        self._clock = clock or Clock()
        self._given = GivenAddresses(settings.static)
        self._known: dict[str, _Known] = {}
        self._asking: dict[str, asyncio.Future[None]] = {}
        self._slots = asyncio.Semaphore(settings.max_in_flight)
        self._channel: aiodns.DNSResolver | None = None

    def address(self, hostname: str, now: float) -> str | None:
        """Return the address to connect to first, None if the name must be looked up (again)."""
        known = self._recall(hostname, now - RESERVATION_S)
        return known.addresses[0] if known is not None and known.addresses else None

    async def resolve(self, hostname: str) -> tuple[str, ...] | LookupFailed:
        """Return the addresses of a name, from the cache or from its name servers."""
        while True:
            now = self._clock()
            known = self._recall(hostname, now)
            if known is not None:
                return _answer(known, now)
            asking = self._asking.get(hostname)
            if asking is None:
                return _answer(await self._ask(hostname), self._clock())
            await asyncio.shield(asking)

    async def close(self) -> None:
        """Abandon the queries in flight and close the channel."""
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    def _recall(self, hostname: str, now: float) -> _Known | None:
        known = self._known.get(hostname)
        if known is not None and known.expires_at > now:
            return known
        given = self._given.of(hostname)
        return self._remember(hostname, [given], inf, now) if given else None

    def _remember(self, hostname: str, addresses: Iterable[str], ttl_s: float, now: float) -> _Known:
        """Cache what a name resolved to, without the addresses that the guard refuses."""
        found = list(dict.fromkeys(addresses))
        usable = _chosen([address for address in found if not self._guard.refuses(address, hostname)], self._settings.max_addresses)
        ttl_s = max(self._settings.min_ttl, min(ttl_s, self._settings.max_ttl))
        if usable:
            return self._keep(hostname, _Known(usable, None, now + ttl_s))
        if not found:
            return self._fail(hostname, Cause.DNS_NODATA, "no address", now)
        why = f"{found[0]}: {self._guard.refuses(found[0], hostname)}"
        return self._keep(hostname, _Known((), LookupFailed(Cause.BLOCKED_ADDRESS, why, ttl_s), now + ttl_s))

    def _fail(self, hostname: str, cause: Cause, detail: str, now: float) -> _Known:
        ttl_s = self._settings.negative_ttl if cause in _FINAL else FAILURE_TTL_S
        return self._keep(hostname, _Known((), LookupFailed(cause, detail, ttl_s), now + ttl_s))

    def _keep(self, hostname: str, known: _Known) -> _Known:
        self._known.pop(hostname, None)  # so that it becomes the newest entry
        if len(self._known) >= CACHED_NAMES:
            del self._known[next(iter(self._known))]
        self._known[hostname] = known
        return known

    async def _ask(self, hostname: str) -> _Known:
        """Ask the name servers; other callers for the same name wait for the answer."""
        done = self._asking[hostname] = asyncio.get_running_loop().create_future()
        try:
            async with self._slots:
                return await self._query(hostname)
        finally:  # if this call was cancelled, one of the waiting callers asks instead
            del self._asking[hostname]
            done.set_result(None)

    async def _query(self, hostname: str) -> _Known:
        import aiodns
        import pycares

        timeout_s = self._settings.timeout
        if self._channel is None:
            flags = pycares.ARES_FLAG_EDNS | pycares.ARES_FLAG_NOSEARCH  # names are absolute: no search domain is ever appended
            self._channel = aiodns.DNSResolver(
                nameservers=self._settings.servers or None, timeout=timeout_s * _FIRST_WAIT, tries=_tries(timeout_s), flags=flags
            )
        try:
            async with asyncio.timeout(timeout_s):
                result = await self._channel.getaddrinfo(hostname, socket.AF_UNSPEC, type=socket.SOCK_STREAM, flags=_NOSORT)
        except aiodns.error.DNSError as error:
            code, detail = error.args[0], str(error.args[1])
            return self._fail(hostname, _CAUSES.get(pycares.errno.errorcode.get(code, ""), Cause.DNS_FAIL), detail, self._clock())
        except TimeoutError:
            return self._fail(hostname, Cause.DNS_TIMEOUT, "no answer", self._clock())
        ttl_s = min((node.ttl for node in result.nodes), default=0)
        return self._remember(hostname, (_text(node.addr[0]) for node in result.nodes), ttl_s, self._clock())


def _answer(known: _Known, now: float) -> tuple[str, ...] | LookupFailed:
    if known.failure is None:
        return known.addresses
    return LookupFailed(known.failure.cause, known.failure.detail, max(0.0, known.expires_at - now))


def _tries(timeout_s: float) -> int:
    """Return how often c-ares must ask so that its waits together are at least `timeout_s`."""
    return 1 + ceil(log2(max(1.0, timeout_s / _SHORTEST_WAIT_S)))


def _chosen(addresses: list[str], at_most: int) -> tuple[str, ...]:
    """Pick `at_most` addresses, half of them IPv6 if there are enough of both kinds; IPv4 comes first."""
    v4 = [address for address in addresses if ":" not in address]
    v6 = [address for address in addresses if ":" in address]
    n_v6 = min(len(v6), max(at_most // 2, at_most - len(v4)))
    return (*v4[: at_most - n_v6], *v6[:n_v6])


def _text(address: bytes | str) -> str:
    return address.decode("ascii") if isinstance(address, bytes) else address
