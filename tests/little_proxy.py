"""A proxy on loopback, as operators run them: plain requests in absolute form, CONNECT, or SOCKS 5. It has the address of each name.

async with LittleProxy({"a.test": "127.0.0.1"}) as proxy:
    … fetch.proxy = proxy.url …
    proxy.asked            ["GET http://a.test:8000/x", "CONNECT a.test:443"], in the order of arrival
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import struct
from collections.abc import Mapping
from typing import Self


class LittleProxy:
    """Relays bytes. For an unknown name it answers 503, as squid does; for a forbidden one, 403."""

    def __init__(
        self,
        names: Mapping[str, str],
        *,
        kind: str = "http",
        login: str = "",
        forbids: frozenset[str] = frozenset(),
        host: str = "127.0.0.1",
    ) -> None:
        """login: the "user:password" that it requires.    forbids: names to which it makes no connection"""
        self.asked: list[str] = []
        self.heads: list[bytes] = []  # of requests, as they came
        self.peers: list[str] = []  # addresses that connected
        self.port = 0
        self.host = host
        self._names, self._kind, self._login, self._forbids = names, kind, login, forbids
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []  # of clients and servers

    @property
    def url(self) -> str:
        return f"{self._kind}://{self.host}:{self.port}"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen, on the same port as before if there was one."""
        self._server = await asyncio.start_server(self._connected, self.host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop: nothing listens, and open connections are closed."""
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*(writer.wait_closed() for writer in self._writers), return_exceptions=True)
        self._writers.clear()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.append(writer)
        self.peers.append(writer.get_extra_info("peername")[0])
        try:
            await (self._socks if self._kind == "socks5" else self._http)(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head)
            method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
            self.asked.append(f"{method} {target}")
            place = target if method == "CONNECT" else target.partition("://")[2].partition("/")[0]
            name, _, port = place.rpartition(":") if ":" in place else (place, "", "80")
            if refusal := self._refusal(head, name):
                writer.write(f"HTTP/1.1 {refusal} X\r\nContent-Length: 0\r\n\r\n".encode())
                await writer.drain()
                continue
            try:
                far_reader, far_writer = await asyncio.open_connection(self._names[name], int(port))
            except (OSError, KeyError):
                writer.write(b"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
                continue
            self._writers.append(far_writer)
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await _relay(reader, writer, far_reader, far_writer)
                return
            path = "/" + target.partition("://")[2].partition("/")[2]
            lines = [line for line in head.split(b"\r\n")[1:] if not line.lower().startswith(b"proxy-")]
            far_writer.write(b"\r\n".join([f"{method} {path} HTTP/1.1".encode(), *lines]))
            answer = await far_reader.readuntil(b"\r\n\r\n")
            length = next(int(line.split(b":")[1]) for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            writer.write(answer + await far_reader.readexactly(length))
            await writer.drain()
            far_writer.close()

    def _refusal(self, head: bytes, name: str) -> int:
        wanted = b"Proxy-Authorization: Basic " + base64.b64encode(self._login.encode())
        if self._login and wanted not in head:
            return 407
        return 403 if name in self._forbids else 0

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, n_methods = await reader.readexactly(2)
        methods = await reader.readexactly(n_methods)
        method = 2 if self._login else 0
        writer.write(bytes((5, method if method in methods else 255)))
        if method == 2:
            user = await reader.readexactly((await reader.readexactly(2))[1])
            password = await reader.readexactly((await reader.readexactly(1))[0])
            is_known = f"{user.decode()}:{password.decode()}" == self._login
            writer.write(bytes((1, not is_known)))
            if not is_known:
                return
        _, _, _, kind = await reader.readexactly(4)
        assert kind == 3, "names are for the proxy to resolve"
        name = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        (port,) = struct.unpack(">H", await reader.readexactly(2))
        self.asked.append(f"SOCKS {name}:{port}")
        if name in self._forbids:
            writer.write(b"\x05\x02\x00\x01" + bytes(6))
            return
        try:
            far = await asyncio.open_connection(self._names[name], port)
        except (OSError, KeyError):
            writer.write(b"\x05\x04\x00\x01" + bytes(6))
            return
        self._writers.append(far[1])
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        await _relay(reader, writer, *far)


async def _relay(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, far_reader: asyncio.StreamReader, far_writer: asyncio.StreamWriter
) -> None:
    """Carry bytes both ways until one side has no more."""

    async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(1 << 16):
                sink.write(data)
                await sink.drain()

    there, back = asyncio.create_task(carry(reader, far_writer)), asyncio.create_task(carry(far_reader, writer))
    try:
        await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
    finally:
        there.cancel()
        back.cancel()
        await asyncio.gather(there, back, return_exceptions=True)
        far_writer.close()
