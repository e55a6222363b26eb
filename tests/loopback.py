"""Keeps a process on loopback: attempts to reach another address fail, and are kept for the test that made them."""

from __future__ import annotations

import ipaddress
import sys

escapes: list[str] = []


def _is_outside(host: object) -> bool:
    if host is None or host in ("", b"", "localhost", b"localhost"):
        return False
    try:
        return not ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host)).is_loopback
    except ValueError:
        return True  # a name: asking a name server about it would leave the machine


def _watch(event: str, args: tuple[object, ...]) -> None:
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = args[1]
        host = address[0] if isinstance(address, tuple) else None  # unix and netlink sockets have no host
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = args[0]
        if host in ("0.0.0.0", "::"):  # a server is bound, nothing is reached
            return
    else:
        return
    if _is_outside(host):
        escapes.append(f"{event} {host!r}")
        raise PermissionError(f"T-0: {event} to {host!r}: tests stay on loopback")


sys.addaudithook(_watch)
