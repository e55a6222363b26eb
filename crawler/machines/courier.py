"""Carries the connections between agents of two machines: for each agent on another machine there is a socket here, which leads to that
agent.

Agents connect to each other over unix sockets (cluster/transport.py) and are the same on one machine and on several. The courier's
connections may break at any moment, as any socket may: a message counts as delivered only after the receiver's acknowledgement, and the
sender's disk keeps it until then. So the courier stores nothing and repeats nothing.

    agent 0 ── DIR/channels/2 ── courier of machine a ══ parcels ══ courier of machine b ── DIR/channels/2 ── agent 2

Between two machines one parcel is under way in each direction; data that come meanwhile are gathered for the next parcel, up to 256 KiB.
Parcels are numbered. If one may be lost, or does not follow the last, all connections between the two machines are closed; the agents
connect again, and each receiver says where to go on.

Back-pressure: an agent's window (cluster/transport.py) bounds the messages under way for each pair of agents; if more than 1 MiB waits for
a machine, no more is read from the agents that send there. Memory: these, and the messages that its own agents have not read yet.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import cast

from thresher.crawler.machines.parcels import MOST_BYTES, ConnectionPiece, Parcel, PieceKind, Seal, Word, cut

GATHER_S = 0.1
AGAIN_S = 1.0
_REFUSED_S = 10.0
_FULL = 1 << 20  # bytes that wait for a machine

Send = Callable[[str, bytes], Awaitable[bytes]]  # sends a parcel to a machine and returns the answer; raises if it may be lost
_OF_OPENER = frozenset((PieceKind.OPEN, PieceKind.DATA, PieceKind.CLOSE))


class Courier:
    """Carries the connections of the agents of one machine."""

    def __init__(
        self, directory: Path, me: str, machines: Mapping[int, str], *, secret: bytes, send: Send, note: Callable[[str], None]
    ) -> None:
        """Prepare the sockets; `run` opens them.

        Args:
            directory: The directory of the agents' sockets.
            me: The name of this machine.
            machines: Agent → name of its machine.
            note: Takes a message for the operator.
        """
        self._directory = directory
        self._agents = {agent: machine for agent, machine in machines.items() if machine != me}
        self._here = {agent for agent, machine in machines.items() if machine == me}
        names = sorted({*self._agents.values()})
        self._peers = {name: _Peer(self, name, Seal(secret, me, name), Seal(secret, name, me), send, note) for name in names}
        self._place = -1
        self.is_over = False  # whether it carries no more

    async def run(self) -> None:
        """Carry until cancelled."""
        self._place = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)  # the path of a socket must be short
        servers: list[asyncio.Server] = []
        try:
            loop = asyncio.get_running_loop()
            for agent, machine in self._agents.items():
                (self._directory / str(agent)).unlink(missing_ok=True)
                peer = self._peers[machine]
                servers.append(await loop.create_unix_server(partial(_Caller, peer, agent), self.socket(agent)))
            async with asyncio.TaskGroup() as group:
                for peer in self._peers.values():
                    group.create_task(peer.run(group))
        finally:
            self.is_over = True
            for server in servers:
                server.close()
            for peer in self._peers.values():
                peer.hang_up()
            os.close(self._place)

    def receive(self, machine: str, packed: bytes) -> bytes:
        """Handle a parcel of another machine; return the answer."""
        peer = self._peers.get(machine)
        return b"" if peer is None else peer.receive(packed)

    def socket(self, agent: int) -> str:
        """Return the path of an agent's socket."""
        return f"/proc/self/fd/{self._place}/{agent}"

    def is_here(self, agent: int) -> bool:
        """Return whether an agent runs on this machine."""
        return agent in self._here


class _Peer:
    """Another machine: data that wait to be sent there, and the connections to and from it."""

    def __init__(self, courier: Courier, name: str, outgoing: Seal, incoming: Seal, send: Send, note: Callable[[str], None]) -> None:
        self.courier = courier
        self._name = name
        self._outgoing, self._incoming = outgoing, incoming
        self._send = send
        self._note = note
        self._session = secrets.randbits(64)
        self._number = 0
        self._from = (0, 0)  # session and number of the last parcel that arrived
        self._waiting: deque[ConnectionPiece] = deque()
        self._n_bytes = 0
        self._wake = asyncio.Event()
        self._wake.set()  # send a first parcel, so that the other side sees the new session
        self._next = 0
        self._made: dict[int, _Connection] = {}  # connections that were opened on this machine
        self._taken: dict[int, _Connection] = {}  # connections that were opened on the other machine
        self._group: asyncio.TaskGroup | None = None
        self._was_refused = False

    async def run(self, group: asyncio.TaskGroup) -> None:
        """Send what waits, until cancelled."""
        self._group = group
        while True:
            await self._wake.wait()
            if self._n_bytes < MOST_BYTES:
                await asyncio.sleep(GATHER_S)
            self._wake.clear()
            self._number += 1
            packed = self._outgoing.pack(Parcel(self._session, self._number, self._gather()))
            try:
                word = self._outgoing.read_answer(packed, await self._send(self._name, packed))
            except Exception:  # noqa: BLE001 - whatever it is: the parcel may be lost
                await self._again(AGAIN_S)
                continue
            if word is Word.TAKEN:
                self._was_refused = False
                if self._waiting:
                    self._wake.set()
            else:
                self._on_refusal(word)
                await self._again(_REFUSED_S if word is Word.REFUSED else 0.0)

    def _on_refusal(self, word: Word) -> None:
        if word is Word.REFUSED:
            self._refuse(f"{self._name} refuses what this machine sends: they do not share the crawl's secret, or not the version")

    def _refuse(self, why: str) -> None:
        """Tell the operator that nothing can be carried; once, until something can."""
        if not self._was_refused:
            self._was_refused = True
            self._note(why)

    async def _again(self, pause_s: float) -> None:
        """End all connections, and begin a new session after a pause."""
        self.hang_up()
        self._session, self._number = secrets.randbits(64), 0
        await asyncio.sleep(pause_s)
        self._wake.set()

    def _gather(self) -> list[ConnectionPiece]:
        """Return the data that wait, as much as a parcel may hold."""
        pieces: list[ConnectionPiece] = []
        size = 0
        while self._waiting and (not pieces or size + self._waiting[0].size <= MOST_BYTES):
            pieces.append(self._waiting.popleft())
            size += pieces[-1].size
        was_full, self._n_bytes = self._n_bytes > _FULL, self._n_bytes - size
        if was_full and self._n_bytes <= _FULL:
            for connection in (*self._made.values(), *self._taken.values()):
                connection.read_on()
        return pieces

    def put(self, kind: PieceKind, number: int, content: bytes = b"") -> bool:
        """Queue a piece to be sent; return whether there is room for more."""
        for piece in cut(kind, number, content) if content else (ConnectionPiece(kind, number, b""),):
            self._waiting.append(piece)
            self._n_bytes += piece.size
        self._wake.set()
        return self._n_bytes <= _FULL

    def open(self, connection: _Connection, agent: int) -> int:
        """Begin a connection to an agent on the other machine; return its number."""
        self._next += 1
        self._made[self._next] = connection
        self.put(PieceKind.OPEN, self._next, agent.to_bytes(2, "big"))
        return self._next

    def forget(self, connection: _Connection, number: int, *, is_mine: bool) -> None:
        """Tell the other side that a connection has ended here, unless it ended there."""
        known = self._made if is_mine else self._taken
        if known.get(number) is connection:
            del known[number]
            self.put(PieceKind.CLOSE if is_mine else PieceKind.HUNG_UP, number)

    def hang_up(self) -> None:
        """End all connections, and drop the data that wait for them."""
        ended = [*self._made.values(), *self._taken.values()]
        self._made.clear()
        self._taken.clear()
        self._waiting.clear()
        self._n_bytes = 0
        for connection in ended:
            connection.hang_up()

    def receive(self, packed: bytes) -> bytes:
        """Handle a parcel, if it follows the last one or begins a session; return the answer."""
        try:
            parcel = self._incoming.unpack(packed)
        except ValueError as error:
            self._refuse(f"{self._name} sends {error}")
            return self._incoming.answer(packed, Word.REFUSED)
        if parcel is None:
            self._refuse(f"what {self._name} sends is not signed with this crawl's secret: it is refused")
            return self._incoming.answer(packed, Word.REFUSED)
        session, last = self._from
        if parcel.number == 1 and parcel.session != session:
            for connection in (*self._made.values(), *self._taken.values()):
                connection.hang_up()  # the other side is told of each, in case this parcel is an old one that came late
        elif (parcel.session, parcel.number) != (session, last + 1):
            return self._incoming.answer(packed, Word.UNKNOWN)
        self._from = (parcel.session, parcel.number)
        for piece in parcel.pieces:
            self._take(piece)
        return self._incoming.answer(packed, Word.TAKEN)

    def _take(self, piece: ConnectionPiece) -> None:
        """Do to this end of a connection what happened at its other end."""
        by_opener = piece.kind in _OF_OPENER
        known = self._taken if by_opener else self._made
        if piece.kind == PieceKind.OPEN:
            agent = int.from_bytes(piece.content, "big")
            if self.courier.is_here(agent) and self._group is not None:
                called = known[piece.connection] = _Called(self, piece.connection)
                self._group.create_task(called.connect(self.courier.socket(agent)))
            else:
                self.put(PieceKind.HUNG_UP, piece.connection)
            return
        connection = known.get(piece.connection)
        if piece.kind in (PieceKind.CLOSE, PieceKind.HUNG_UP):
            known.pop(piece.connection, None)
            if connection is not None:
                connection.hang_up()
        elif connection is not None:
            connection.write(piece.content)
        else:
            self.put(PieceKind.HUNG_UP if by_opener else PieceKind.CLOSE, piece.connection)


class _Connection(asyncio.Protocol):
    """This machine's end of a connection: a unix socket to an agent here."""

    kind: PieceKind  # kind of the pieces with data from that agent
    is_mine: bool  # whether it was opened on this machine

    def __init__(self, peer: _Peer) -> None:
        self._peer = peer
        self._number = 0
        self._transport: asyncio.Transport | None = None
        self._early: list[bytes] = []  # data to write once the socket is open
        self._is_over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if self._is_over:
            self._transport.abort()
        for content in self._early:
            self._transport.write(content)
        self._early.clear()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._is_over = True
        self._peer.forget(self, self._number, is_mine=self.is_mine)

    def data_received(self, data: bytes) -> None:
        if not self._peer.put(self.kind, self._number, data) and self._transport is not None:
            self._transport.pause_reading()

    def read_on(self) -> None:
        """Read further, if reading was paused."""
        if self._transport is not None and not self._transport.is_reading():
            self._transport.resume_reading()

    def write(self, content: bytes) -> None:
        """Write what the agent at the other end has written."""
        if self._transport is not None:
            self._transport.write(content)
        elif not self._is_over:
            self._early.append(content)

    def hang_up(self) -> None:
        """Close the socket."""
        self._is_over = True
        if self._transport is not None:
            self._transport.abort()


class _Caller(_Connection):
    """A connection that an agent here opened to an agent on another machine."""

    kind = PieceKind.DATA
    is_mine = True

    def __init__(self, peer: _Peer, agent: int) -> None:
        super().__init__(peer)
        self._agent = agent

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._is_over = self._peer.courier.is_over  # then it was accepted while the courier ended, and nothing else would close it
        super().connection_made(transport)
        if not self._is_over:
            self._number = self._peer.open(self, self._agent)


class _Called(_Connection):
    """A connection that an agent on another machine opened to an agent here."""

    kind = PieceKind.BACK
    is_mine = False

    def __init__(self, peer: _Peer, number: int) -> None:
        super().__init__(peer)
        self._number = number

    async def connect(self, path: str) -> None:
        """Connect to the agent here; if that fails, the other side is told."""
        try:
            await asyncio.get_running_loop().create_unix_connection(lambda: self, path)
        except OSError:
            self._is_over = True
            self._peer.forget(self, self._number, is_mine=False)
