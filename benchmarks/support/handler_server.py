"""A server for the site of a measurement or a test: `http.server`'s handlers, in threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serving(handler: Callable[..., BaseHTTPRequestHandler], address: str, port: int = 0) -> Iterator[int]:
    """Serve until the block ends; yield the port.

    Args:
        handler: Answers the requests of one connection.
        address: A loopback address to listen on.
        port: 0 for one that is free.
    """
    with ThreadingHTTPServer((address, port), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
