"""The demo web's server: HTTP/1.1 with keep-alive on one port of every 127.x.y.z address, and a log of every request.

One listening socket, bound to the loopback device where the kernel allows it; a connection that does not come from 127.0.0.0/8 to
127.0.0.0/8 is cut at once. The Host header chooses the host, whatever the address. Requests of one connection are answered in order
(pipelining); a slow host delays its answers. Attempts are counted per URL for the pages whose first attempts fail (`Web.respond`).

    python -m thresher.crawler.demo.server --profile story --log FILE

It prints {"port": …, "pid": …} and serves until standard input ends.

Time: 25 µs per request, without the page itself. Memory: the web's, and up to 64 KiB of log that is not written yet.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import os
import signal
import socket
import threading
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import uvloop

from thresher.crawler.demo.connection import ServerConnection
from thresher.crawler.demo.demo_settings import PROFILES, DemoSettings, profile
from thresher.crawler.demo.log import ServedRequest
from thresher.crawler.demo.opening import AnyWeb, open_web
from thresher.crawler.demo.tls import server_context
from thresher.crawler.demo.web import FAULTS, Reply, Web

_FLUSH_S = 0.2
_FLUSH_BYTES = 1 << 16
_BACKLOG = 4096


class Server:
    """Serves one web inside `async with Server(demo_settings) as server: … server.port`."""

    def __init__(
        self,
        demo_settings: DemoSettings,
        *,
        port: int = 0,
        log: str | Path | None = None,
        flush_lines: bool = False,
        printed: bool = False,
        authority: str | Path | None = None,
    ) -> None:
        """Create the server.

        Args:
            authority: File for the certificate of the authority that signs the hosts' certificates, for a web with TLS.
        """
        assert authority is not None or not demo_settings.tls, "a web under TLS needs an authority"
        self._demo_settings, self._asked_port, self._printed, self._authority = demo_settings, port, printed, authority
        self._log_path, self._flush_lines = log, flush_lines
        self._log: BinaryIO | None = None
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._flush: asyncio.TimerHandle | None = None
        self._server: asyncio.Server | None = None
        self._connections: set[ServerConnection] = set()
        self._attempts: Counter[tuple[str, str]] = Counter()
        self._n_connections = 0
        self.port = 0  # set on entering
        self.n_requests = 0
        self.n_refused = 0  # connections that were refused: not from loopback
        self.statuses: Counter[int] = Counter()
        self.web: AnyWeb  # set on entering: its pages contain the port

    async def __aenter__(self) -> Self:
        sock = _listen(self._asked_port)
        self.port = sock.getsockname()[1]
        self.web = open_web(self._demo_settings, port=self.port)
        if self._printed and isinstance(self.web, Web):
            self.web.print_all()
            gc.freeze()
        if self._log_path is not None:
            self._log = Path(self._log_path).open("ab", buffering=0)  # noqa: ASYNC230, SIM115 - opened once, closed in __aexit__
        tls = server_context(self.web.hosts(), Path(self._authority)) if self._demo_settings.tls and self._authority else None
        self._server = await asyncio.get_running_loop().create_server(lambda: ServerConnection(self), sock=sock, backlog=_BACKLOG, ssl=tls)
        return self

    async def __aexit__(self, _type: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None) -> None:
        assert self._server is not None
        self._server.close()
        for connection in tuple(self._connections):
            connection.abort()
        await self._server.wait_closed()
        self.flush()
        if self._log is not None:
            self._log.close()
            self._log = None

    # called by connections

    def enter(self, connection: ServerConnection) -> int:
        self._connections.add(connection)
        self._n_connections += 1
        return self._n_connections

    def leave(self, connection: ServerConnection) -> None:
        self._connections.discard(connection)

    def answer(self, method: str, host: str, path: str) -> Reply:
        """Return the web's reply; a GET of a page with faults counts as an attempt."""
        attempt = 1
        if path.startswith(FAULTS) and method == "GET":
            self._attempts[host, path] += 1
            attempt = self._attempts[host, path]
        return self.web.respond(host, path, attempt)

    def record(self, request: ServedRequest) -> None:
        """Count a request and log it: at once with `flush_lines`, otherwise within 0.2 s."""
        self.n_requests += 1
        self.statuses[request.status] += 1
        if self._log is None:
            return
        line = request.line().encode("latin-1")
        self._waiting.append(line)
        self._waiting_bytes += len(line)
        if self._flush_lines or self._waiting_bytes >= _FLUSH_BYTES:
            self.flush()
        elif self._flush is None:
            self._flush = asyncio.get_running_loop().call_later(_FLUSH_S, self.flush)

    def flush(self) -> None:
        """Write the rest of the log."""
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        if self._log is not None and self._waiting:
            chunk = memoryview(b"".join(self._waiting))
            while chunk:
                chunk = chunk[self._log.write(chunk) :]
        self._waiting.clear()
        self._waiting_bytes = 0


def _listen(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with contextlib.suppress(OSError, AttributeError):  # kernels before 5.7 require a privilege, other systems have no such option
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
    try:
        sock.bind(("0.0.0.0", port))  # noqa: S104 - the one way to serve every 127.x.y.z; others are cut in connection_made
        sock.listen(_BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock


def main(arguments: list[str] | None = None) -> None:
    """Serve until SIGTERM, SIGINT or the end of standard input, so that a server never outlives its parent."""
    parser = argparse.ArgumentParser(
        prog="python -m thresher.crawler.demo.server", description="Serve a demo web on every loopback address."
    )
    parser.add_argument("--profile", choices=PROFILES, default="demo")
    parser.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE", help="change a option; the value is JSON")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--log", help="file to append one line per request to")
    parser.add_argument("--flush-lines", action="store_true", help="write each line at once")
    parser.add_argument("--printed", action="store_true", help="print all pages before the first request: the server then costs least")
    parser.add_argument("--authority", help="file to write the certificate to that vouches for a web under TLS")
    options = parser.parse_args(arguments)
    try:
        demo_settings = profile(options.profile, **_changes(options.set))
    except (ValueError, TypeError) as error:
        parser.error(str(error))
    if demo_settings.tls and not options.authority:
        parser.error("tls: --authority is missing")
    server = Server(
        demo_settings,
        port=options.port,
        log=options.log,
        flush_lines=options.flush_lines,
        printed=options.printed,
        authority=options.authority,
    )
    uvloop.run(_serve(server))


def _changes(settings: list[str]) -> dict[str, object]:
    changes: dict[str, object] = {}
    for setting in settings:
        name, _, text = setting.partition("=")
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = text
        changes[name] = tuple(value) if isinstance(value, list) else value
    return changes


async def _serve(server: Server) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    threading.Thread(target=_watch_parent, args=(loop, stop), daemon=True).start()
    async with server:
        print(json.dumps({"port": server.port, "pid": os.getpid()}), flush=True)
        await stop.wait()


def _watch_parent(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Wait on standard input until it ends, then set `stop`; runs in a thread."""
    with contextlib.suppress(OSError):  # there was no standard input
        while os.read(0, 4096):
            pass
    with contextlib.suppress(RuntimeError):  # the loop is closed already
        loop.call_soon_threadsafe(stop.set)


if __name__ == "__main__":
    main()
