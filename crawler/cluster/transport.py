"""Carries messages between the agents of one machine: from the sender's outbox over a unix socket, acknowledged once they are done and on
disk.

Every agent listens on a socket and connects to every other. The side that connects sends its number, receives the number of the last
message that the other side has carried out, and sends the messages after it:

    sender → receiver   agent 2, then any number of times: number 8 ‖ bytes 4 ‖ message
    sender ← receiver   number 8 ‖ number 8: all messages up to the first are carried out and on disk, and the sender may delete those up to
                        the second; at the start, then after commits

- Only committed messages are sent, and only committed work is acknowledged. So when either side dies, the next connection goes on where the
  receiver's disk ends. The receiver skips messages that it had before, and closes the connection if a number is missing.
- Both numbers are equal, unless lost disks are restored from snapshots: then a sender keeps messages until the receiver's snapshot has them
  (storage/snapshots/marks.py).
- At most `_WINDOW` messages are under way to an agent; all others wait in LMDB. No fetch ever waits for a message. A receiver whose commits
  are late stops reading from the socket.

Memory: for each pair of agents, twice as many messages as are under way. Time: about 10 µs a message on either side, without doing what it
asks for.
"""

from __future__ import annotations

import asyncio
import os
import struct
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast

from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.ownership import Ownership
from thresher.storage.snapshots.marks import Marks
from thresher.storage.store import Store
from thresher.storage.tables.channels import outgoing, received_durably, sent_durably

_WINDOW = 512  # most messages that are sent and not acknowledged yet
_INBOX = 2 * _WINDOW  # most messages of all senders that wait to be carried out: then no more are read
_SLICE_S = 0.005  # seconds of carrying out messages before other work has its turn
_CALL_AGAIN_S = 0.05
_BEHIND_S = 0.02
_LONGEST = 64 << 20  # bytes of a message
_HELLO = struct.Struct(">H")
_ACK = struct.Struct(">QQ")
_FRAME = struct.Struct(">QI")


class PeerTransport:
    """All connections of one agent to and from the other agents."""

    def __init__(
        self,
        directory: Path,
        store: Store,
        ownership: Ownership,
        *,
        carry_out: Callable[[int, bytes], None],
        behind: Callable[[], bool],
        on_failure: Callable[[StoreError], None],
        marks: Marks | None = None,
    ) -> None:
        """Prepare the connections; `run` opens them.

        Args:
            directory: The directory of the sockets.
            carry_out: Called with sender and message; does what the message asks for, as a visit.
            behind: Returns whether the store's commits are late: then no more messages are read.
            on_failure: Called when the shards do not fit together, because one was restored from an older backup.
            marks: What this agent's last snapshot has; None: senders keep nothing for it.
        """
        self._marks = marks
        self._directory = directory
        self._store = store
        self._me = ownership.me
        self._carry_out = carry_out
        self._behind = behind
        self._out = {to: _Outgoing(store, to, self._me, on_failure) for to in ownership.others}
        self._in: dict[int, _Incoming] = {}  # the newest connection of each sender; older ones are ignored
        self.is_over = False
        self.connections: set[_Incoming] = set()  # all open connections of senders
        self._inbox: deque[tuple[int, int, bytes]] = deque()  # sender, number, message
        self._arrived = asyncio.Event()

    async def run(self, on_received: Callable[[], None]) -> None:
        """Listen, connect to the other agents, and carry out their messages, until cancelled.

        Args:
            on_received: Called when messages were carried out.
        """
        place = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)  # the path of a socket must be short
        try:
            loop, own = asyncio.get_running_loop(), f"/proc/self/fd/{place}/{self._me}"
            server = await loop.create_unix_server(lambda: _Incoming(self), own, start_serving=False)
            async with server, asyncio.TaskGroup() as group:
                await server.start_serving()
                for to, channel in self._out.items():
                    group.create_task(channel.keep_calling(f"/proc/self/fd/{place}/{to}"))
                await self._work(on_received)
        finally:
            self.is_over = True
            for connection in [*self.connections]:
                connection.hang_up()
            os.close(place)

    async def _work(self, on_received: Callable[[], None]) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            until = time.monotonic() + _SLICE_S  # the loop's own clock does not advance within one round of the loop
            while self._inbox and time.monotonic() < until and not self._behind():
                sender, number, message = self._inbox.popleft()
                if number == self._store.tables.channels.received(sender) + 1:
                    self._carry_out(sender, message)
            on_received()
            if self._inbox:
                self._arrived.set()
                await asyncio.sleep(_BEHIND_S if self._behind() else 0)
            else:
                for connection in self._in.values():
                    connection.read_on()

    def on_commit(self) -> None:
        """Send the messages that are on disk now, and acknowledge those whose work is on disk; called after each commit."""
        for channel in self._out.values():
            channel.send_more()
        for connection in self._in.values():
            connection.acknowledge()

    @property
    def is_quiet(self) -> bool:
        """Whether no message waits to be carried out."""
        return not self._inbox

    def counts(self) -> tuple[dict[int, int], dict[int, int]]:
        """Return ({agent: messages sent to it}, {agent: messages of it that were carried out})."""
        channels = self._store.tables.channels
        return {to: channels.sent(to) for to in self._out}, {sender: channels.received(sender) for sender in self._out}

    # -- called by connections

    def on_hello(self, connection: _Incoming, sender: int) -> int:
        """Use this connection for the sender from now on; return the number of its last message whose work is on disk."""
        self._in[sender] = connection
        self._inbox = deque(item for item in self._inbox if item[0] != sender)
        return received_durably(self._store, sender)

    def on_message(self, connection: _Incoming, sender: int, number: int, message: bytes) -> bool:
        """Queue a message to be carried out; return whether there is room for more."""
        if self._in.get(sender) is connection:
            self._inbox.append((sender, number, message))
            self._arrived.set()
        return len(self._inbox) < _INBOX

    def received(self, sender: int) -> int:
        """Return the number of a sender's last message whose work is on disk."""
        return received_durably(self._store, sender)

    def kept(self, sender: int) -> int:
        """Return the number up to which a sender may delete its messages."""
        through = self.received(sender)
        return through if self._marks is None else min(through, self._marks.kept(sender))


class _Outgoing(asyncio.Protocol):
    """The connection to one agent, over which this one sends."""

    def __init__(self, store: Store, to: int, me: int, on_failure: Callable[[StoreError], None]) -> None:
        self._on_failure = on_failure
        self._store = store
        self._to = to
        self._me = me
        self._transport: asyncio.WriteTransport | None = None
        self._lost = asyncio.Event()
        self._buffer = b""
        self._acked = -1  # the last number that was acknowledged; -1: none over this connection yet
        self._deleted = 0  # messages up to this number are deleted
        self._sent = 0  # the last number that was sent over this connection
        self._is_full = False

    async def keep_calling(self, path: str) -> None:
        """Stay connected, until cancelled."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                self._lost.clear()
                with suppress(OSError):
                    await loop.create_unix_connection(lambda: self, path)
                    await self._lost.wait()
                await asyncio.sleep(_CALL_AGAIN_S)
        finally:
            if self._transport is not None:
                self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)  # uvloop's transports are not subclasses
        self._buffer, self._acked, self._is_full = b"", -1, False
        self._transport.write(_HELLO.pack(self._me))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._lost.set()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self.send_more()

    def data_received(self, data: bytes) -> None:
        """Take the newest acknowledgement, which includes all before it."""
        data = self._buffer + data
        whole = len(data) - len(data) % _ACK.size
        self._buffer = data[whole:]
        if not whole:
            return
        through, kept = _ACK.unpack_from(data, whole - _ACK.size)
        if through > sent_durably(self._store, self._to):
            self._on_failure(_older(f"agent {self._to} has had {through} messages, of which agent {self._me} does not know all"))
            return
        if self._acked < 0:
            self._sent = through
        self._forget(kept)
        self._acked = through
        self.send_more()

    def _forget(self, through: int) -> None:
        """Delete the messages up to this number: the receiver will never need them again."""
        if not self._deleted:
            waiting = outgoing(self._store, self._to, 0, 1)
            self._deleted = waiting[0][0] - 1 if waiting else through
        self._store.tables.channels.forget(self._to, self._deleted + 1, through)
        self._deleted = max(self._deleted, through)

    def send_more(self) -> None:
        """Send messages that are on disk until `_WINDOW` of them are not acknowledged."""
        transport = self._transport
        if transport is None or transport.is_closing() or self._acked < 0 or self._is_full:
            return
        if self._store.tables.channels.sent(self._to) <= self._sent:
            return
        room = self._acked + _WINDOW - self._sent
        for number, message in outgoing(self._store, self._to, self._sent, room) if room > 0 else ():
            if number != self._sent + 1:
                self._on_failure(_older(f"message {self._sent + 1} of agent {self._me} to agent {self._to} is gone"))
                return
            self._send(transport, number, message)
            if self._is_full or transport.is_closing():
                break

    def _send(self, transport: asyncio.WriteTransport, number: int, message: bytes) -> None:
        transport.write(_FRAME.pack(number, len(message)) + message)
        self._sent = number


class _Incoming(asyncio.Protocol):
    """The connection from another agent, over which it sends."""

    def __init__(self, channels: PeerTransport) -> None:
        self._channels = channels
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._sender = -1  # -1 until the sender's number has arrived
        self._acked = 0
        self._kept = 0
        self._next = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._channels.connections.add(self)
        if self._channels.is_over:
            self.hang_up()  # the connection was accepted after this agent had stopped

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._channels.connections.discard(self)

    def data_received(self, data: bytes) -> None:
        """Queue complete messages, in the order of their numbers."""
        buffer, at = self._buffer, 0
        buffer += data
        if self._sender < 0 and len(buffer) >= _HELLO.size:
            self._sender, at = _HELLO.unpack_from(buffer)[0], _HELLO.size
            self._acked = self._channels.on_hello(self, self._sender)
            self._next = self._acked + 1
            self._say()
        while self._sender >= 0 and len(buffer) - at >= _FRAME.size:
            number, size = _FRAME.unpack_from(buffer, at)
            if number != self._next or size > _LONGEST:
                self.hang_up()
                return
            if len(buffer) - at < _FRAME.size + size:
                break
            at += _FRAME.size
            self._take(number, bytes(buffer[at : at + size]))
            at += size
        del buffer[:at]

    def _take(self, number: int, message: bytes) -> None:
        self._next = number + 1
        if not self._channels.on_message(self, self._sender, number, message) and self._transport is not None:
            self._transport.pause_reading()

    def read_on(self) -> None:
        """Read further, if reading was paused."""
        if self._transport is not None and not self._transport.is_reading():
            self._transport.resume_reading()

    def acknowledge(self) -> None:
        """Send the number of the last message whose work is on disk, and that of the last message that the sender may delete, if one of
        them has grown.
        """
        through = self._channels.received(self._sender)
        if through > self._acked or self._channels.kept(self._sender) > self._kept:
            self._acked = through
            self._say()

    def _say(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._kept = min(self._acked, self._channels.kept(self._sender))
            self._transport.write(_ACK.pack(self._acked, self._kept))

    def hang_up(self) -> None:
        """Close the connection; the other side connects again."""
        if self._transport is not None:
            self._transport.abort()


def _older(what: str) -> StoreError:
    return StoreError(f"{what}: one shard is older than the others. Restore all of them from one backup")
