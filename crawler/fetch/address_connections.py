"""The connections of the crawl by the address they lead to: at most `politeness.address_connections` at one, idle ones among them.

Every socket is opened here, past the address guard, and counts from then until its descriptor is closed, by any party: while it
connects, while it carries a request, while it is kept for the next one, while TLS says good-bye. Requests are bounded before (slots.py),
so where an address is full and a request needs a connection, one of them carries none: the one that has been idle longest is closed, and
the new one is opened when its descriptor is free, not before.

The idle one may be another agent's, which then closes it: crawler/cluster/shared_addresses.py.

A name of several addresses is tried at each (RFC 8305), as far as they have a place.

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
from typing import Any, Protocol

from thresher.crawler.fetch.address_guard import AddrInfo
from thresher.crawler.fetch.local_end import Sockets

_LOOK_S = 0.05  # between two looks at what other agents wait for
_AGAIN_S = 0.02  # until the next try at an address that others have filled


@dataclass(slots=True)
class Attempt:
    """One name's connect: the addresses to try, that with a place first."""

    infos: list[AddrInfo]
    held: str  # the place, until a socket has it
    full: list[AddrInfo] = field(default_factory=list)  # tried, and without a place


_ATTEMPT: ContextVar[Attempt | None] = ContextVar("attempt", default=None)  # of the task, and of those that try its addresses


class NoPlace(OSError):  # noqa: N818 - named for what it says
    """All connections that an address may have are in use."""


class ConnectionUse(Protocol):
    """What all agents of a machine have open at one address."""

    def connect(self, address: str) -> bool:
        """Reserve a connection; False if there are as many as may be: then the others are asked to close one that is idle."""
        ...

    def disconnect(self, address: str) -> None:
        """Release a reservation."""
        ...

    def has_calls(self) -> bool:
        """Return whether anybody has asked for a connection since the last call."""
        ...

    def is_called_for(self, address: str) -> bool:
        """Return whether somebody waits for a connection at the address."""
        ...


class _Socket(socket.socket):
    """Says when its descriptor is closed, by itself or by a loop that has taken it over."""

    on_freed: Callable[[], None] | None = None

    def _real_close(self, *how: Any) -> None:
        super()._real_close(*how)  # type: ignore[misc]  # what `close` calls once no file uses the socket
        self._free()

    def detach(self) -> int:
        descriptor = super().detach()
        self._free()
        return descriptor

    def __del__(self) -> None:
        super().__del__()  # type: ignore[misc]  # closes it, with a warning
        self._free()

    def _free(self) -> None:
        on_freed, self.on_freed = self.on_freed, None
        if on_freed is not None:
            on_freed()


class AddressConnections:
    """Opens sockets and knows which connections are idle. Of one event loop."""

    def __init__(self, guard: Sockets, at_most: int, *, elsewhere: ConnectionUse | None = None) -> None:
        """Create the address connections.

        Args:
            at_most: At one address.
            elsewhere: What other agents have, if there are any.
        """
        self._guard = guard
        self._at_most = at_most
        self._elsewhere = elsewhere
        self._loop = asyncio.get_running_loop()
        self._open: Counter[str] = Counter()  # and reserved
        self._idle: dict[str, dict[object, Callable[[], None]]] = {}  # the longest first, and what closes each
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def place(self, infos: Sequence[AddrInfo]) -> AsyncIterator[Attempt]:
        """Wait for a place at one of the addresses, which is kept for `open_socket` until the block ends.

        At others that are full an idle connection is closed now, as they may be tried in a moment.
        """
        keys = [_key(info) for info in infos]
        if self._take(keys[0]):
            i = 0
        elif keys[0] in self._idle:
            i = await self._wait(keys[:1])  # the one that was reserved for the request
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
        """Return a new socket for one connect; raises BlockedAddress, and NoPlace.    For `aiohttp.TCPConnector(socket_factory=)`."""
        key, attempt = _key(info), _ATTEMPT.get()
        if attempt is not None and attempt.held == key:
            attempt.held = ""
        elif not self._take(key):
            if attempt is not None:
                attempt.full.append(info)
            raise NoPlace(f"address {key} has all the connections that it may have")
        try:
            opened = _Socket(*info[:3], fileno=self._guard.open_socket(info).detach())
        except BaseException:
            self._on_freed(key)
            raise
        opened.on_freed = partial(self._on_freed, key)
        return opened

    def on_idle(self, address: str, connection: object, close: Callable[[], None]) -> None:
        """Keep a connection in mind that carries no request, or close it if its place is waited for.

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

    def close(self) -> None:
        """Stop looking at what others wait for."""
        if self._timer is not None:
            self._timer.cancel()

    def _take(self, key: str) -> bool:
        if self._open[key] >= self._at_most or (self._elsewhere is not None and not self._elsewhere.connect(key)):
            return False
        self._open[key] += 1
        return True

    async def _wait(self, keys: Sequence[str]) -> int:
        """Close what is idle longest at the first of the addresses that has such; return which one has got a place."""
        while True:
            any(self._close_idle(key) for key in keys)  # the first that has one
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
        """Take a waiter out of the queues. Each place that gets free wakes all of them, so that no cancelled one takes a word with it."""
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
        """A place is free: the descriptor is closed, or none was needed."""
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
    """Return an address as it is always written, its zone left out."""
    return str(ip_address(address.partition("%")[0]))
