"""The durable ends of the channels between agents: messages that were sent and not yet acknowledged, and the last received number of each
sender.

A message to an agent is a row of `outbox`, written in the commit of the visit that makes it, under the channel's next number from 1. The
receiver carries it out and moves its watermark for that sender in one commit; then it acknowledges up to there, and the sender deletes.
No number is used twice or skipped; so each message is carried out once, in order, even if either agent dies at any moment.

Messages to send are read from disk, not from the open group: after a crash, the number of an uncommitted message is given to another one.
"""

from __future__ import annotations

from typing import Protocol

from thresher.storage.packing import pack_u64, unpack_i64, unpack_u64
from thresher.storage.rows import Rows
from thresher.storage.schema import COUNTERS, OUTBOX

_SENT = "channel:sent:"
_HEARD = "channel:heard:"


class Durable(Protocol):
    """Reads committed rows only."""

    def committed(self, table: str, key: bytes) -> bytes | None: ...

    def committed_rows(self, table: str, prefix: bytes, start: bytes, limit: int) -> list[tuple[bytes, bytes]]: ...


class ChannelTable:
    """What one agent stores of its channels to and from the other agents."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def send(self, to: int, message: bytes) -> None:
        """Write a message to another agent; it goes out once it is committed."""
        counters = self._rows.counters
        counters.add(f"{_SENT}{to}")
        self._rows.put(OUTBOX, _key(to, counters.get(f"{_SENT}{to}")), message)

    def sent(self, to: int) -> int:
        """Return the number of the last message to another agent."""
        return self._rows.counters.get(f"{_SENT}{to}")

    def received(self, sender: int) -> int:
        """Return the number of the last message of another agent that was carried out."""
        return self._rows.counters.get(f"{_HEARD}{sender}")

    def all_received(self) -> dict[int, int]:
        """Return the number of the last message of each agent that was carried out."""
        return {int(name.removeprefix(_HEARD)): n for name, n in self._rows.counters.all(_HEARD).items()}

    def succeed(self, to: int, heard: int) -> None:
        """Number the next message to another agent after all that it has received: this shard was restored from an older state.

        Args:
            to: The other agent.
            heard: Number of the last message that it has received from this one.
        """
        self._rows.counters.add(f"{_SENT}{to}", max(0, heard - self.sent(to)))

    def hear(self, sender: int) -> None:
        """Record that the current visit carries out the sender's next message."""
        self._rows.counters.add(f"{_HEARD}{sender}")

    def forget(self, to: int, first: int, through: int) -> None:
        """Delete messages that were acknowledged."""
        for number in range(first, through + 1):
            self._rows.delete(OUTBOX, _key(to, number))


def received_durably(store: Durable, sender: int) -> int:
    """Return the number of the last message of a sender that was carried out and is on disk."""
    value = store.committed(COUNTERS, f"{_HEARD}{sender}".encode())
    return 0 if value is None else unpack_i64(value)


def sent_durably(store: Durable, to: int) -> int:
    """Return the number of the last message to another agent that is on disk."""
    value = store.committed(COUNTERS, f"{_SENT}{to}".encode())
    return 0 if value is None else unpack_i64(value)


def outgoing(store: Durable, to: int, after: int, limit: int) -> list[tuple[int, bytes]]:
    """Return up to `limit` messages to another agent that are on disk, with their numbers, which are greater than `after`."""
    rows = store.committed_rows(OUTBOX, to.to_bytes(2, "big"), _key(to, after + 1), limit)
    return [(unpack_u64(key[2:]), value) for key, value in rows]


def _key(to: int, number: int) -> bytes:
    return to.to_bytes(2, "big") + pack_u64(number)
