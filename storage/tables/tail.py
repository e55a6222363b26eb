"""The tails of hosts: URLs that an opinion of a filter held, by class and in the order in which they are drawn.

tail_hosts    queue 16                                  → state of the host's tail
tail_classes  queue 16 ‖ class 8                        → one class: its holder, and what was drawn from it
tail_members  queue 16 ‖ class 8 ‖ cohort 2 ‖ order 8   → key 16        a scan of a cohort is the order of drawing
tail_places   key 16 → queue's last 8 ‖ class 8 ‖ cohort 2 ‖ order 8 ‖ inherited 1        where a held URL waits
tail_draws    key 16 → queue's last 8 ‖ what was drawn                                    until its fetch is settled

The first 8 bytes of a queue are its site's, as those of its URLs' keys are. Records are bytes here; filters/tail decodes them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from thresher.storage.rows import Rows
from thresher.storage.schema import TAIL_CLASSES, TAIL_DRAWS, TAIL_HOSTS, TAIL_MEMBERS, TAIL_PLACES
from thresher.storage.tables.held import filter_of

PENDING = "tail:pending"  # counter: drawn URLs that wait for their fetch
HELD_NOW = "held:"  # with the name of a filter, a counter: URLs that wait in its classes
_PLACE = struct.Struct(">8s8sH8s?")
_HOLDER: msgspec.msgpack.Decoder[list[Any]] = msgspec.msgpack.Decoder(list[Any])  # the first value of a class's record is its holder


class TailPlace(NamedTuple):
    """Where a held URL waits."""

    queue: bytes
    tag: bytes  # 8: of its class
    cohort: int
    order: bytes  # 8: smallest first
    is_inherited: bool  # it is held only because no page outside the class has named it


def class_tag(holder: str) -> bytes:
    """Return the 8 bytes that identify a class in keys."""
    return blake2b(holder.encode(), digest_size=8).digest()


class TailTables:
    """Hosts, classes and members are always consistent."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def host(self, queue: bytes) -> bytes | None:
        return self._rows.get(TAIL_HOSTS, queue)

    def put_host(self, queue: bytes, record: bytes) -> None:
        self._rows.put(TAIL_HOSTS, queue, record)

    def queues(self, after: bytes, limit: int) -> list[bytes]:
        """Return up to `limit` queues that have a tail, in order, after the queue `after`."""
        return [queue for queue, _ in self._rows.scan(TAIL_HOSTS, start=after + b"\0", limit=limit)]

    def classes(self, queue: bytes) -> list[bytes]:
        """Return the records of all classes of a host."""
        return [record for _, record in self._rows.scan(TAIL_CLASSES, queue)]

    def class_(self, queue: bytes, tag: bytes) -> bytes | None:
        return self._rows.get(TAIL_CLASSES, queue + tag)

    def put_class(self, queue: bytes, holder: str, record: bytes) -> None:
        self._rows.put(TAIL_CLASSES, queue + class_tag(holder), record)

    def add(self, key: bytes, place: TailPlace, holder: str) -> None:
        """Add a URL to its class, that of `holder`."""
        self._rows.counters.add(HELD_NOW + filter_of(holder), 1)
        self._rows.put(TAIL_MEMBERS, member_key(place), key)
        self._rows.put(TAIL_PLACES, key, _PLACE.pack(place.queue[8:], place.tag, place.cohort, place.order, place.is_inherited))

    def place(self, key: bytes) -> TailPlace | None:
        """Return where a held URL waits; None if it is in no class."""
        value = self._rows.get(TAIL_PLACES, key)
        if value is None:
            return None
        queue, tag, cohort, order, is_inherited = _PLACE.unpack(value)
        return TailPlace(key[:8] + queue, tag, cohort, order, is_inherited)

    def remove(self, key: bytes, place: TailPlace, holder: str) -> None:
        """Remove a URL from its class, that of `holder`."""
        self._rows.counters.add(HELD_NOW + filter_of(holder), -1)
        self._rows.delete(TAIL_MEMBERS, member_key(place))
        self._rows.delete(TAIL_PLACES, key)

    def holder_of(self, place: TailPlace) -> str:
        """Return the holder of the class in which a URL waits; its record must be written."""
        record = self.class_(place.queue, place.tag)
        assert record is not None, f"class {place.tag.hex()} has a member and no record"
        return str(_HOLDER.decode(record)[0])

    def count_moved(self, key: bytes, n: int) -> None:
        """Count a held URL whose rows come from another shard (n = 1) or go there (n = -1); those of its class are there meanwhile."""
        place = self.place(key)
        assert place is not None, f"{key.hex()} moves and is in no class"
        self._rows.counters.add(HELD_NOW + filter_of(self.holder_of(place)), n)

    def count_if_never(self) -> None:
        """Count what each filter holds, in a store of a version that did not count it."""
        counters = self._rows.counters
        if counters.get("state:held") and not counters.all(HELD_NOW):
            for place in self.places():
                counters.add(HELD_NOW + filter_of(self.holder_of(place)), 1)

    def places(self) -> Iterator[TailPlace]:
        """Yield where each held URL waits, from disk."""
        start = b""
        while rows := self._rows.scan(TAIL_PLACES, start=start, limit=1000):
            for key, _ in rows:
                place = self.place(key)
                assert place is not None, "a row that was read just now"
                yield place
            start = rows[-1][0] + b"\0"

    def first(self, queue: bytes, holder: str, cohort: int, limit: int) -> list[bytes]:
        """Return the keys of the URLs of a cohort that are drawn next."""
        prefix = queue + class_tag(holder) + cohort.to_bytes(2, "big")
        return [key for _, key in self._rows.scan(TAIL_MEMBERS, prefix, limit=limit)]

    def draw(self, key: bytes) -> tuple[bytes, bytes] | None:
        """Return (queue of a drawn URL, record of the draw); None if it is not drawn, or is settled."""
        value = self._rows.get(TAIL_DRAWS, key)
        return None if value is None else (key[:8] + value[:8], value[8:])

    def put_draw(self, key: bytes, queue: bytes, record: bytes) -> None:
        self._rows.put(TAIL_DRAWS, key, queue[8:] + record)

    def end_draw(self, key: bytes) -> None:
        self._rows.delete(TAIL_DRAWS, key)

    def hosts(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield (queue, record) of every host with a tail, from disk."""
        start = b""
        while rows := self._rows.scan(TAIL_HOSTS, start=start, limit=1000):
            yield from rows
            start = rows[-1][0] + b"\0"


def member_key(place: TailPlace) -> bytes:
    """Return the key of a URL's row in `tail_members`."""
    return place.queue + place.tag + place.cohort.to_bytes(2, "big") + place.order
