"""Servers that misbehave on purpose: a raw TCP server that plays a script of bytes, and a UDP name server whose answers a test sets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import cast

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"  # the first lines of a response

# -- TCP --------------------------------------------------------------------------------------------------------------------------------


class Talk:
    """One connection, from the server's side."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, site: Site) -> None:
        self._reader = reader
        self._writer = writer
        self._site = site
        self.n_sent = 0

    async def request(self) -> bytes:
        """Wait for a request and return its head as received; b"" when the client has gone."""
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return b""
        self._site.requests.append(head)
        return head

    async def send(self, data: bytes) -> None:
        """Send bytes and wait until the kernel has taken them."""
        self._writer.write(data)
        self.n_sent += len(data)
        await self._writer.drain()

    async def drip(self, data: bytes, every_s: float = 0.02) -> None:
        """Send bytes one at a time."""
        for i in range(len(data)):
            await self.send(data[i : i + 1])
            await asyncio.sleep(every_s)

    async def flood(self, data: bytes, times: int = 1 << 30) -> None:
        """Send the same bytes again and again until the client has closed."""
        block = data * max(1, (64 << 10) // len(data))
        for _ in range(times):
            await self.send(block)

    async def gone(self) -> None:
        """Wait without sending anything until the client closes."""
        while await self._reader.read(1 << 16):
            pass

    def reset(self) -> None:
        """Close with RST."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


Script = Callable[[Talk], Awaitable[None]]


@dataclass
class Site:
    """A running server, and the requests that it has received."""

    port: int = 0
    requests: list[bytes] = field(default_factory=list)
    n_connections: int = 0
    peers: list[str] = field(default_factory=list)  # addresses that connected

    def url(self, path: str = "/", host: str = "a.test", scheme: str = "http") -> str:
        """Return the URL of a path at this server."""
        return f"{scheme}://{host}:{self.port}{path}"


def always(*answers: bytes) -> Script:
    """Return the script that answers the n-th request of a connection with the n-th answer, the last one for ever."""

    async def script(talk: Talk) -> None:
        n = 0
        while await talk.request():
            await talk.send(answers[min(n, len(answers) - 1)])
            n += 1

    return script


def speaks(*parts: bytes, endless: bytes = b"") -> Script:
    """Return the script that answers a request with `parts`, then `endless` for ever, and closes."""

    async def script(talk: Talk) -> None:
        await talk.request()
        for part in parts:
            await talk.send(part)
        if endless:
            await talk.flood(endless)

    return script


def stalls(*parts: bytes) -> Script:
    """Return the script that answers a request with `parts`, and then sends nothing more."""

    async def script(talk: Talk) -> None:
        await talk.request()
        for part in parts:
            await talk.send(part)
        await talk.gone()

    return script


def drips(start: bytes, drops: bytes) -> Script:
    """Return the script that answers a request with `start`, then a byte at a time."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.send(start)
        await talk.drip(drops)

    return script


@contextlib.asynccontextmanager
async def serve(script: Script, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    """Run `script` for every connection to a free port of `host`; the connection is closed when it ends."""
    site = Site()
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        site.n_connections += 1
        site.peers.append(writer.get_extra_info("peername")[0])
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await script(Talk(reader, writer, site))
        except (ConnectionError, ssl.SSLError, asyncio.CancelledError):
            pass  # the client has closed, or the test is over
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, host, 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def response(body: bytes = b"", *headers: str, status: str = "200 OK") -> bytes:
    """Return a well-formed response."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: text/html", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunked(*chunks: bytes) -> bytes:
    """Return a body in the chunked transfer coding."""
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is true; the test fails after ten minutes."""
    async with asyncio.timeout(600):
        while not is_so():  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.001)


def make_peak_memory() -> Callable[[], int]:
    """Reset the process's peak of memory; return a function that returns by how many bytes it has grown since."""
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")
    start = _memory("VmRSS")
    return lambda: _memory("VmHWM") - start


def _memory(name: str) -> int:
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(name))
    return int(line.split()[1]) * 1024


# -- DNS --------------------------------------------------------------------------------------------------------------------------------

A, CNAME, AAAA = 1, 5, 28


@dataclass(frozen=True)
class Question:
    """A question of a resolver."""

    name: str
    kind: int
    n: int  # how often this name and kind were asked before


@dataclass(frozen=True)
class DnsAnswer:
    """An answer of the name server. `raw` replaces everything but the id."""

    records: Sequence[tuple[int, str]] = ()  # kind and value; owners follow the chain of CNAMEs
    ttl: int = 300
    rcode: int = 0
    is_truncated: bool = False
    delay_s: float = 0.0
    id_shift: int = 0
    question: str = ""  # the name in the answer's question, if it shall differ
    raw: bytes | None = None


Zone = Callable[[Question], DnsAnswer | None]  # None: silence


def hosts(*addresses: str, ttl: int = 300) -> Zone:
    """Return the zone in which every name has these addresses."""

    def zone(question: Question) -> DnsAnswer:
        wanted = [address for address in addresses if (":" in address) == (question.kind == AAAA)]
        return DnsAnswer([(question.kind, address) for address in wanted], ttl=ttl)

    return zone


class NameServer(asyncio.DatagramProtocol):
    """Answers by its zone, and counts."""

    def __init__(self, zone: Zone) -> None:
        self._zone = zone
        self.questions: list[Question] = []
        self._asked: dict[tuple[str, int], int] = {}
        self._open: dict[str, int] = {}
        self.max_open = 0  # most lookups at one time
        self.port = 0

    @property
    def address(self) -> str:
        """For `dns.servers`."""
        return f"127.0.0.1:{self.port}"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        name, end = _read_name(data)
        kind = struct.unpack(">H", data[end : end + 2])[0]
        n = self._asked.get((name, kind), 0)
        self._asked[name, kind] = n + 1
        question = Question(name, kind, n)
        self.questions.append(question)
        answer = self._zone(question)
        self._open[name] = self._open.get(name, 0) + 1
        self.max_open = max(self.max_open, len(self._open))
        delay_s = answer.delay_s if answer else 0.0
        asyncio.get_running_loop().call_later(delay_s, self._send, data[: end + 4], name, answer, addr)

    def _send(self, asked: bytes, name: str, answer: DnsAnswer | None, addr: tuple[str, int]) -> None:
        self._open[name] -= 1
        if not self._open[name]:
            del self._open[name]
        if answer is not None and not self._transport.is_closing():
            self._transport.sendto(_encode(asked, answer), addr)


@contextlib.asynccontextmanager
async def name_server(zone: Zone) -> AsyncIterator[NameServer]:
    """Run a name server on a free port of loopback."""
    server = NameServer(zone)
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: server, local_addr=("127.0.0.1", 0))
    server.port = transport.get_extra_info("sockname")[1]
    try:
        yield server
    finally:
        transport.close()


def _read_name(data: bytes) -> tuple[str, int]:
    labels, i = [], 12
    while data[i]:
        labels.append(data[i + 1 : i + 1 + data[i]].decode().lower())  # c-ares mixes upper and lower case
        i += data[i] + 1
    return ".".join(labels), i + 1


def _write_name(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def _encode(asked: bytes, answer: DnsAnswer) -> bytes:
    """Return the datagram: header, the question as it was asked (also upper and lower case), records."""
    number = (struct.unpack(">H", asked[:2])[0] + answer.id_shift) & 0xFFFF
    if answer.raw is not None:
        return struct.pack(">H", number) + answer.raw
    question = _write_name(answer.question) + asked[-4:] if answer.question else asked[12:]
    flags = 0x8180 | answer.rcode | (0x0200 if answer.is_truncated else 0)
    records, owner = b"", b"\xc0\x0c"
    for kind, value in answer.records:
        data = _write_name(value) if kind == CNAME else ip_address(value).packed
        records += owner + struct.pack(">HHIH", kind, 1, answer.ttl, len(data)) + data
        owner = data if kind == CNAME else owner
    return struct.pack(">HHHHHH", number, flags, 1, len(answer.records), 0, 0) + question + records
