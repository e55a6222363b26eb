"""Ports for the servers of a benchmark; no other program on this machine gets them while it runs."""

from __future__ import annotations

import atexit
import socket


def free_port(address: str) -> int:
    """Return a port of the address that servers may use, one after another, until this process ends.

    A socket that is bound and does not listen holds it. A server that sets SO_REUSEADDR, as all do, may bind it too; the kernel gives it
    to nobody else, neither to a server that asks for any port nor to a client.
    """
    holder = socket.socket()
    holder.bind((address, 0))
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # after the bind: alone it may hold what another holds
    atexit.register(holder.close)
    port: int = holder.getsockname()[1]
    return port
