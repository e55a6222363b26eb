"""The local end of connections: the addresses of this machine that `fetch.bind` names.

A socket is bound before it connects, its port chosen by the system when it does. Where only addresses of one family are named, there is no
way to those of the other: such an address counts as one without a route. Look-ups of names take the system's way.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final, Protocol

from thresher.crawler.core.errors import UsageError
from thresher.crawler.fetch.address_guard import AddrInfo

_IP_BIND_ADDRESS_NO_PORT: Final = 24  # of Linux, which Python does not name: the port is chosen by the connect, so that many may share one


class Sockets(Protocol):
    """Who opens sockets: the address guard, or what stands before it."""

    def open_socket(self, addr_info: AddrInfo, /) -> socket.socket: ...


class LocalEnd:
    """Binds each new socket."""

    def __init__(self, sockets: Sockets, addresses: Sequence[str]) -> None:
        self._sockets = sockets
        self._of_family = {int(_family(address)): address for address in addresses}

    def open_socket(self, addr_info: AddrInfo) -> socket.socket:
        """Return a new socket for one connect; raises BlockedAddress, OSError."""
        address = self._of_family.get(addr_info[0])
        if address is None:
            raise OSError(errno.ENETUNREACH, f"fetch.bind names no address of the family of {addr_info[4][:2]}")
        sock = self._sockets.open_socket(addr_info)
        try:
            sock.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
            sock.bind((address, 0))
        except BaseException:
            sock.close()
            raise
        return sock


def check_bind(addresses: Sequence[str]) -> None:
    """Raise UsageError for an address that is not this machine's."""
    for address in addresses:
        with socket.socket(_family(address), socket.SOCK_STREAM) as sock:
            try:
                sock.bind((address, 0))
            except OSError as error:
                raise UsageError(
                    f"fetch.bind: expected an address of this machine, found {address}: {error.strerror}. See `ip address`"
                ) from None


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ip_address(address).version == 6 else socket.AF_INET
