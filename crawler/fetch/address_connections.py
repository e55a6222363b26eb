"""Counts the crawl's connections by address: at most `politeness.address_connections` to one address, idle ones included.

Every socket is opened here, after the address guard has allowed it. It counts from then until its file descriptor is closed by anybody:
while it connects, carries a request, is kept for the next request, or ends TLS. Requests are bounded before (slots.py). So if an address is
full and a request needs a connection, one connection must be idle: the one that has been idle longest is closed, and the new one is opened
only when the old descriptor is free.

The idle connection may belong to another agent, which then closes it: crawler/cluster/shared_addresses.py.

If a name has several addresses, each that has a free place is tried (RFC 8305).

Memory: 100 bytes an address in use. Time: 3 µs a connection.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache, partial
from ipaddress import ip_address
from typing import Protocol

from thresher.crawler.fetch.address_guard import AddrInfo
from thresher.crawler.fetch.local_end import Sockets
from thresher.crawler.fetch.watched_socket import WatchedSocket

_LOOK_S = 0.05  # seconds between two looks at the connections for which other agents wait
_AGAIN_S = 0.02  # seconds until the next try at an address that other agents have filled


@dataclass(slots=True)
class Attempt:
    """The connecting to one name: its addresses, the one with a reserved place first."""

    infos: list[AddrInfo]
    held: str  # the address with the reserved place, until a socket takes it
    full: list[AddrInfo] = field(default_factory=list)  # addresses that were tried and had no free place


_ATTEMPT: ContextVar[Attempt | None] = ContextVar("attempt", default=None)  # of the task that connects, and of its tasks


class NoPlace(OSError):  # noqa: N818 - named for what it says
    """All connections that an address may have are in use."""


class ConnectionUse(Protocol):
    """The open connections of all agents of a machine, by address."""

    def connect(self, address: str) -> bool:
        """Reserve a connection and return True. If there are as many as allowed, ask the other agents to close an idle one and return
        False.
        """
        ...

    def disconnect(self, address: str) -> None:
        """End a reservation."""
        ...

    def may_use(self, address: str) -> bool:
        """Return whether a request may be sent on a connection to the address now."""
        ...

    def has_calls(self) -> bool:
        """Return whether another agent has asked for a connection since the last call."""
        ...

    def is_called_for(self, address: str) -> bool:
        """Return whether another agent waits for a connection at the address."""
        ...


class AddressConnections:
    """Opens sockets and knows which connections are idle. For one event loop."""

    def __init__(self, guard: Sockets, at_most: int, *, elsewhere: ConnectionUse | None = None) -> None:
        """Create the address connections.

        Args:
            at_most: Most connections at one address.
            elsewhere: The connections of other agents, if there are any.
        """
        self._guard = guard
        self._at_most = at_most
        self._elsewhere = elsewhere
        self._loop = asyncio.get_running_loop()
        self._open: Counter[str] = Counter()  # address → connections that are open or reserved
        self._idle: dict[str, dict[object, Callable[[], None]]] = {}  # address → {connection: function that closes it}, idle longest first
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def place(self, infos: Sequence[AddrInfo]) -> AsyncIterator[Attempt]:
        """Wait for a place at one of the addresses, which is kept for `open_socket` until the block ends.

        At other addresses of the name that are full an idle connection is closed now, since they may be tried in a moment.
        """
        keys = [_key(info) for info in infos]
        if self._take(keys[0]):
            i = 0
        elif keys[0] in self._idle:
            i = await self._wait(keys[:1])  # the address that was reserved for the request
        else:
            i = next((i for i, key in enumerate(keys) if self._take(key)), -1)
            i = i if i >= 0 else await self._wait(keys)
        for key in keys:
            if key != keys[i] and self._open[key] >= self._at_most:
                self._close_idle(key)
        attempt = Attempt([infos[i], *infos[:i], *infos[i + 1 :]], keys[i])
        before = _ATTEMPT.set(attempt)
        try:
            yield attempt
        finally:
            _ATTEMPT.reset(before)
            if attempt.held:
                self._on_freed(attempt.held)

    def open_socket(self, info: AddrInfo) -> socket.socket:
        """Return a new socket for one connection; also used as `aiohttp.TCPConnector(socket_factory=)`.

        Raises:
            BlockedAddress: If the guard refuses the address.
            NoPlace: If the address has no free place.
        """
        key, attempt = _key(info), _ATTEMPT.get()
        if attempt is not None and attempt.held == key:
            attempt.held = ""
        elif not self._take(key):
            if attempt is not None:
                attempt.full.append(info)
            raise NoPlace(f"address {key} has all the connections that it may have")
        return self._open_socket(info, key)

    async def open_at(self, info: AddrInfo) -> socket.socket:
        """Wait for a place at an address; return a new socket for it. For a name that has one address.

        Raises:
            BlockedAddress: If the guard refuses the address.
        """
        key = _key(info)
        if not self._take(key):
            await self._wait((key,))
        return self._open_socket(info, key)

    def _open_socket(self, info: AddrInfo, key: str) -> socket.socket:
        """Return a new socket in a place that was taken; it frees the place when it is closed."""
        try:
            opened = self._guard.open_socket(info)
            if not isinstance(opened, WatchedSocket):
                opened = WatchedSocket(*info[:3], fileno=opened.detach())
        except BaseException:
            self._on_freed(key)
            raise
        opened.on_freed = partial(self._on_freed, key)
        return opened

    def on_idle(self, address: str, connection: object, close: Callable[[], None]) -> None:
        """Remember an idle connection, or close it if a request waits for its place.

        Args:
            close: Closes it at once.
        """
        key = _canonical(address)
        if key in self._waiting:
            close()
            return
        self._idle.setdefault(key, {})[connection] = close
        if self._elsewhere is not None and self._timer is None:
            self._timer = self._loop.call_later(_LOOK_S, self._look)

    def wake(self, address: str, connection: object) -> None:
        """Forget an idle connection: it carries a request again, or has ended."""
        key = _canonical(address)
        idle = self._idle.get(key)
        if idle is not None:
            idle.pop(connection, None)
            if not idle:
                del self._idle[key]

    def may_use(self, address: str) -> bool:
        """Return whether a request may be sent on an open connection to the address now."""
        return self._elsewhere is None or self._elsewhere.may_use(_canonical(address))

    def close(self) -> None:
        """Stop looking for connections for which other agents wait."""
        if self._timer is not None:
            self._timer.cancel()

    def _take(self, key: str) -> bool:
        if self._open[key] >= self._at_most or (self._elsewhere is not None and not self._elsewhere.connect(key)):
            return False
        self._open[key] += 1
        return True

    async def _wait(self, keys: Sequence[str]) -> int:
        """Close the connection that is idle longest, at the first of the addresses that has an idle one. Return the index of the address
        that has a place.
        """
        while True:
            any(self._close_idle(key) for key in keys)  # only at the first address with an idle connection
            freed = self._loop.create_future()
            for key in keys:
                self._waiting.setdefault(key, deque()).append(freed)
            try:
                await asyncio.wait((freed,), timeout=_AGAIN_S if self._elsewhere is not None else None)
            finally:
                self._forget(freed, keys)
            for i, key in enumerate(keys):
                if self._take(key):
                    return i

    def _forget(self, waiter: asyncio.Future[None], keys: Sequence[str]) -> None:
        """Take a waiter out of the queues. A place that gets free wakes all waiters of its address, so no wake-up is lost with a cancelled
        waiter.
        """
        waiter.cancel()
        for key in dict.fromkeys(keys):
            queue = self._waiting[key]
            while waiter in queue:
                queue.remove(waiter)
            if not queue:
                del self._waiting[key]

    def _close_idle(self, key: str) -> bool:
        idle = self._idle.get(key)
        if not idle:
            return False
        connection = next(iter(idle))
        close = idle[connection]
        self.wake(key, connection)
        close()
        return True

    def _on_freed(self, key: str) -> None:
        """Record that a place is free: the descriptor is closed, or none was needed."""
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]
        if self._elsewhere is not None:
            self._elsewhere.disconnect(key)
        for waiter in self._waiting.get(key, ()):
            if not waiter.done():
                waiter.set_result(None)

    def _look(self) -> None:
        """Close one idle connection at each address at which another agent waits for one."""
        assert self._elsewhere is not None
        if self._elsewhere.has_calls():
            for key in [key for key in self._idle if self._elsewhere.is_called_for(key)]:
                self._close_idle(key)
        self._timer = self._loop.call_later(_LOOK_S, self._look) if self._idle else None


def _key(info: AddrInfo) -> str:
    return _canonical(info[4][0])


@lru_cache(maxsize=65_536)
def _canonical(address: str) -> str:
    """Return the canonical text of an address, without its zone."""
    return str(ip_address(address.partition("%")[0]))
