"""A server that counts its open connections. It uses threads, so that the event loop of this process does not influence the count."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Self

Answer = Callable[[str, str], bytes]  # host without port, path → the whole response


class CountingServer:
    """Serves every host on one port of an address, inside a `with` block.

    A connection is open from its acceptance until its other end has closed. At each acceptance the server first checks all others.
    """

    def __init__(self, answer: Answer, address: str = "127.0.0.1", port: int = 0) -> None:
        self._answer = answer
        self._place = (address, port)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self.most_open = self.n_accepted = 0
        self.paths: list[str] = []  # host and path of each request

    def __enter__(self) -> Self:
        self._listening = socket.create_server(self._place, backlog=128)
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with self._lock:
                self._open = {other for other in self._open if _is_open(other)} | {connection}
                self.n_accepted += 1
                self.most_open = max(self.most_open, len(self._open))
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        read = b""
        with contextlib.suppress(OSError):
            while True:
                while b"\r\n\r\n" not in read:
                    more = connection.recv(65_536)
                    if not more:
                        break
                    read += more
                head, end, read = read.partition(b"\r\n\r\n")
                if not end:
                    break
                lines = head.decode("latin-1").split("\r\n")
                host = next(line[6:].rpartition(":")[0] for line in lines if line.lower().startswith("host:"))
                path = lines[0].split(" ")[1]
                self.paths.append(host + path)
                connection.sendall(self._answer(host, path))
        with self._lock:
            self._open.discard(connection)
        connection.close()


def _is_open(connection: socket.socket) -> bool:
    """Return whether the other end has not closed yet."""
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
