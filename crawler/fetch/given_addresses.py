"""Addresses that are known without a look-up: literal addresses, and the names of `dns.static`.

An entry is a name, or a suffix that begins with a dot; the longest match decides. An address that ends in "#" stands for many: its last
16 bits are replaced by a hash of the name. Time: 0.5 µs a label of the name. Memory: the map's.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from zlib import crc32


class GivenAddresses:
    """The static map of a configuration."""

    def __init__(self, static: Mapping[str, str]) -> None:
        """Create the given addresses.

        Args:
            static: Addresses by name or suffix.
        """
        self._static = {name.rstrip(".").lower(): address for name, address in static.items()}

    def of(self, hostname: str) -> str:
        """Return the address of a name that needs no look-up; "" for others."""
        if self._static:
            found = self._static.get(hostname)
            if found:
                return found
            dot = hostname.find(".")
            while dot >= 0:
                found = self._static.get(hostname[dot:])
                if found:
                    return _spread(found, hostname)
                dot = hostname.find(".", dot + 1)
        if ":" in hostname or hostname.rpartition(".")[2].isdigit():
            return hostname
        return ""


def _spread(given: str, hostname: str) -> str:
    """Return the static address; one that ends in "#" has its last 16 bits replaced by the name's hash."""
    if not given.endswith("#"):
        return given
    base = ip_address(given[:-1])
    number = (int(base) & ~0xFFFF) | (1 + crc32(hostname.encode()) % 0xFFFE)
    return str(IPv4Address(number) if isinstance(base, IPv4Address) else IPv6Address(number))
