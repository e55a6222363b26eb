"""A long rest of a host, as agents tell it to the head of a crawl on several machines: the host's own record may be lost with a disk."""

from __future__ import annotations

import msgspec


class BackOff(msgspec.Struct, frozen=True):
    """A host that is not to be asked for longer than `politeness.max_delay`, since it asked for that, failed, or is walled."""

    name: str  # as in its HostRecord
    site: str
    until: float
