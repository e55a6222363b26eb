"""The local end of connections: the addresses of this machine that `fetch.bind` names.

A socket is bound before it connects; the system chooses its port when it connects. If only addresses of one family (IPv4 or IPv6) are
named, addresses of the other family count as having no route. Look-ups of names are not bound.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final, Protocol

from thresher.crawler.core.errors import UsageError
from thresher.crawler.fetch.address_guard import AddrInfo

_IP_BIND_ADDRESS_NO_PORT: Final = 24  # Linux's option, not in Python: connect() chooses the port, so sockets may share one


class Sockets(Protocol):
    """Opens sockets: the address guard, or a class that calls it."""

    def open_socket(self, addr_info: AddrInfo, /) -> socket.socket: ...


class LocalEnd:
    """Opens sockets that are bound to the configured addresses."""

    def __init__(self, sockets: Sockets, addresses: Sequence[str]) -> None:
        self._sockets = sockets
        self._of_family = {int(_family(address)): address for address in addresses}

    def open_socket(self, addr_info: AddrInfo) -> socket.socket:
        """Return a new socket for one connection.

        Raises:
            BlockedAddress: If the guard refuses the address.
            OSError: If it cannot be bound.
        """
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
    """Check the addresses of `fetch.bind`.

    Raises:
        UsageError: If one of them is not an address of this machine.
    """
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
