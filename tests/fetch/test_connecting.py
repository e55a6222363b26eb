"""Sockets are connected by one epoll set of the event loop, as by the loop's own `sock_connect`."""

from __future__ import annotations

import asyncio
import errno
import select
import socket
from collections.abc import Awaitable, Callable, Iterator

import pytest
import uvloop

from thresher.crawler.fetch.connecting import Connecting

LOOPS = (asyncio.new_event_loop, uvloop.new_event_loop)


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """A server that takes one connection that it does not accept; one more waits until another is accepted."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        yield listening


def run(loop: Callable[[], asyncio.AbstractEventLoop], test: Callable[[Connecting], Awaitable[None]]) -> None:
    async def main() -> None:
        connecting = Connecting(asyncio.get_running_loop())
        try:
            async with asyncio.timeout(20.0):
                await test(connecting)
        finally:
            connecting.close()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(main())


def client() -> socket.socket:
    made = socket.socket()
    made.setblocking(False)
    return made


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("has_epoll", [True, False])
def test_sockets_are_connected_or_their_error_is_raised(
    loop: Callable[[], asyncio.AbstractEventLoop], has_epoll: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutation: the error of the socket is not asked for."""
    if not has_epoll:
        monkeypatch.delattr(select, "epoll")

    async def test(connecting: Connecting) -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=100) as listening, socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            socks = [client() for _ in range(20)]
            places = [(listening if i % 2 else bound).getsockname() for i in range(20)]
            ends = await asyncio.gather(*map(connecting.connect, socks, places), return_exceptions=True)
            for i, (sock, end) in enumerate(zip(socks, ends, strict=True)):
                if i % 2:
                    assert end is None
                    assert sock.getpeername() == listening.getsockname()
                else:
                    assert isinstance(end, ConnectionRefusedError)
                    assert (end.errno, str(places[i]) in str(end)) == (errno.ECONNREFUSED, True)
                sock.close()

    run(loop, test)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_socket_that_is_given_up_leaves_the_set(loop: Callable[[], asyncio.AbstractEventLoop], server: socket.socket) -> None:
    """The next socket has the same descriptor. Mutation: it stays in the set."""

    async def test(connecting: Connecting) -> None:
        first = client()
        await connecting.connect(first, server.getsockname())
        for _ in range(3):
            second = client()
            trying = asyncio.ensure_future(connecting.connect(second, server.getsockname()))
            done, _ = await asyncio.wait([trying], timeout=0.05)
            assert not done
            trying.cancel()
            await asyncio.wait([trying])
            assert not connecting._waiting
            assert connecting._set is not None
            with second, pytest.raises(FileNotFoundError):
                connecting._set.unregister(second.fileno())
        with client() as third, socket.create_server(("127.0.0.1", 0)) as other:
            await connecting.connect(third, other.getsockname())
        first.close()

    run(loop, test)


@pytest.mark.parametrize("loop", LOOPS)
def test_whoever_waits_when_it_is_closed_is_cancelled(loop: Callable[[], asyncio.AbstractEventLoop], server: socket.socket) -> None:
    async def test(connecting: Connecting) -> None:
        with client() as first, client() as second:
            await connecting.connect(first, server.getsockname())
            trying = asyncio.ensure_future(connecting.connect(second, server.getsockname()))
            await asyncio.wait([trying], timeout=0.05)
            connecting.close()
            await asyncio.wait([trying])
            assert trying.cancelled()

    run(loop, test)
