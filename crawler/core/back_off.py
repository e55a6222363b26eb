"""A long back-off of a host, as agents report it to the head of a crawl on several machines: the host's own record may be lost with a
disk.
"""

from __future__ import annotations

import msgspec


class BackOff(msgspec.Struct, frozen=True):
    """A host that must not be requested for longer than `politeness.max_delay`, since it asked for that, failed, or is behind a wall."""

    name: str  # as in its HostRecord
    site: str
    until: float
