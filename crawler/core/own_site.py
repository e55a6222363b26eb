"""The operator's own site: to which addresses its host names resolved, and at which ports, when the crawl began.

An exemption holds for a triple of name, port and address, compared at every connection: another name that resolves to a pinned address,
another port there, and a pinned name that later resolves elsewhere are not exempt. crawler/start/pinning.py decides what is pinned. O(1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from thresher.config.settings import Settings
from thresher.crawler.core.url import hostname_of, port_of, queue_name


def endpoint(hostname: str, port: int) -> str:
    """Return the name of a host and port as in `own_site.pinned`: "a.example:443", "[::1]:8000"."""
    return f"[{hostname}]:{port}" if ":" in hostname else f"{hostname}:{port}"


class OwnSite:
    """The pinned addresses. An empty one exempts nothing."""

    def __init__(self, pinned: Mapping[str, Iterable[str]]) -> None:
        """Create the own site.

        Args:
            pinned: Addresses by `endpoint`.
        """
        self._addresses = {name: frozenset(addresses) for name, addresses in pinned.items()}
        self.ports = frozenset((name.rpartition(":")[0].strip("[]"), int(name.rpartition(":")[2])) for name in pinned)
        self._queues = {queue_name(f"{'https' if port == 443 else 'http'}://{endpoint(host, port)}") for host, port in self.ports}
        self._of_names: dict[str, set[str]] = {}
        self._sockets = {(address, port) for host, port in self.ports for address in self._addresses[endpoint(host, port)]}
        for host, port in self.ports:
            self._of_names.setdefault(host, set()).update(self._addresses[endpoint(host, port)])

    @classmethod
    def of(cls, settings: Settings) -> OwnSite:
        """Return the pinned addresses of a configuration; nothing without `profile: own-site`."""
        is_own = settings.profile == "own-site"
        return cls({name: addresses.split() for name, addresses in settings.own_site.pinned.items()} if is_own else {})

    def __bool__(self) -> bool:
        return bool(self._addresses)

    def holds(self, origin: str, address: str) -> bool:
        """Return whether a canonical origin was pinned to exactly this address."""
        return address in self._addresses.get(endpoint(hostname_of(origin), port_of(origin)), ())

    def has_queue(self, name: str) -> bool:
        """Return whether a host queue has a pinned name and port: its host is the operator's own, unless its name now resolves
        elsewhere.
        """
        return name in self._queues

    def has_name(self, hostname: str, address: str) -> bool:
        """Return whether the name was pinned to the address, at any port."""
        return address in self._of_names.get(hostname, ())

    def has_socket(self, address: str, port: int) -> bool:
        """Return whether any name was pinned to the address at this port."""
        return (address, port) in self._sockets


NOTHING_OWN = OwnSite({})
