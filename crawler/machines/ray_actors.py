"""The actors that Ray starts: one on each machine, and the directory on the head; and its tasks. Arguments and answers are bytes.

Ray starts each on the machine whose disk its resource names, starts it again there when it has died, and carries the calls. Ray does
nothing else: data that must not be lost are on the agents' disks, and leases decide which machine may request.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import ray
from ray.util.metrics import Counter, Gauge

from thresher.crawler.analysis.jobs import run
from thresher.crawler.cluster.lease import LEASE_S
from thresher.crawler.core.errors import UsageError
from thresher.crawler.machines.directory import DirectoryAnswer
from thresher.crawler.machines.directory_life import LOOK_S, DirectoryLife
from thresher.crawler.machines.far_shards import FarShards
from thresher.crawler.machines.figures import Figures
from thresher.crawler.machines.machine import Machine
from thresher.crawler.machines.names import DIRECTORY, directory_namespace, namespace
from thresher.crawler.machines.own_shards import OwnShards
from thresher.crawler.machines.supervision import Begin, MachineCall
from thresher.crawler.machines.turns import TurnsAnswer, TurnsCall
from thresher.crawler.version import VERSION
from thresher.storage.carrying import FilePiece
from thresher.storage.ways import Ask

_SEND_S = 30.0
_TURNS_S = 5.0  # half a lease, so that a lost call costs no turn
_PIECE_S = 60.0
_READ_S = 600.0
_encode = msgspec.json.encode


class DirectoryActor:
    """The actor of a crawl's directory. It is detached: no command owns it, and it ends itself when its command is gone."""

    def __init__(self, path: str) -> None:
        self._life = DirectoryLife(Path(path))
        self._me = ray.get_runtime_context().current_actor
        Thread(target=self._look, daemon=True).start()

    def order(self, what: str, run: str, machines: bytes) -> bool:
        """Carry out an order of a run's supervisor: begin (with these machines), keep or stop; return whether the run counts."""
        return self._life.order(what, run, msgspec.json.decode(machines, type=list[str]))

    def ask(self, what: str, machine: str, life: str, run: str) -> bytes:
        """Answer a machine: join, renew or leave."""
        return _encode(self._life.ask(what, machine, life, run))

    def _look(self) -> None:
        while not self._life.look():
            time.sleep(LOOK_S)
        ray.kill(self._me)  # so that Ray does not start it again


def run_task(name: str, *parts: bytes) -> bytes | list[bytes]:
    """Run a task on exports and on what other tasks returned (crawler/analysis/jobs.py)."""
    found = run(name, parts)
    return found[0] if len(found) == 1 else found


class ShardActor:
    """The actor that makes and reads the shards of one machine, for a command on the head."""

    def __init__(self, path: str) -> None:
        self._here = OwnShards(Path(path))

    def read(self, agent: int, at_once: bool, question: bytes) -> bytes:
        """Answer a question about a shard."""
        return self._here.read(agent, question, at_once=at_once)

    def export(self, agent: int, order: bytes) -> bytes:
        """Return columns of a shard, which Ray keeps on this machine for tasks."""
        return self._here.export(agent, order)

    def shard(self, what: str, argument: bytes) -> bytes:
        """Do a step with a shard."""
        return self._here.step(what, argument)

    def bring(self, what: str, argument: bytes, source: Any) -> bytes:
        """Do a step that needs data from the disk of another machine.

        Args:
            source: The actor on that machine.
        """

        def fetch(piece: FilePiece) -> bytes:
            return bytes(ray.get(source.piece.remote(_encode(piece)), timeout=_PIECE_S))

        def ask_of(agent: int) -> Ask:
            return lambda question: bytes(ray.get(source.read.remote(agent, False, question), timeout=_READ_S))

        return self._here.step(what, argument, fetch, ask_of)

    def piece(self, packed: bytes) -> bytes:
        """Return a part of a file of a shard."""
        return self._here.piece(packed)


class MachineActor:
    """The actor with everything that runs on one machine in a run of a crawl."""

    def __init__(self, begin: bytes) -> None:
        self._begin = msgspec.json.decode(begin, type=Begin)
        if self._begin.version != VERSION:
            raise UsageError(f"machine {self._begin.machine} has Thresher {VERSION}, the head {self._begin.version}: install the same")
        self._machine: Machine | None = None
        self._running: asyncio.Task[None] | None = None
        self._handles: dict[str, Any] = {}
        self._shards = FarShards(Path(self._begin.directory))
        self._figures = Figures(self._begin.directory, self._begin.machine, Counter, Gauge)

    async def exchange(self, call: bytes) -> bytes:
        """Carry out the supervisor's orders; return events."""
        return _encode(await self._here().exchange(msgspec.json.decode(call, type=MachineCall)))

    async def receive(self, machine: str, parcel: bytes) -> bytes:
        """Handle a parcel of another machine; return the answer."""
        return self._here().receive(machine, parcel)

    async def turns(self, life: str, call: bytes) -> bytes:
        """Grant another machine turns at addresses that this one owns."""
        return _encode(self._here().turns(life, msgspec.json.decode(call, type=TurnsCall)))

    async def leave(self, _argument: bytes) -> bytes:
        """End everything that runs here."""
        await self._here().leave()
        return b""

    async def shard(self, what: str, argument: bytes) -> bytes:
        """Read a shard, or make it, in a thread."""
        return await asyncio.to_thread(self._shards.answer, what, argument)

    def _here(self) -> Machine:
        """Return this machine's life; it begins with the first call, since there is no event loop before."""
        if self._machine is None or (self._running is not None and self._running.done()):
            self._machine = Machine(self._begin, ask=self._ask, ask_turns=self._ask_turns, send=self._send, figures=self._figures)
            self._running = asyncio.ensure_future(self._machine.run())
        return self._machine

    async def _ask(self, what: str, life: str) -> DirectoryAnswer:
        said = await self._call(DIRECTORY, "ask", LEASE_S, what, self._begin.machine, life, self._begin.run)
        return msgspec.json.decode(said, type=DirectoryAnswer)

    async def _ask_turns(self, owner: str, life: str, call: TurnsCall) -> TurnsAnswer:
        said = await self._call(owner, "turns", _TURNS_S, life, _encode(call))
        return msgspec.json.decode(said, type=TurnsAnswer)

    async def _send(self, machine: str, parcel: bytes) -> bytes:
        return await self._call(machine, "receive", _SEND_S, self._begin.machine, parcel)

    async def _call(self, name: str, method: str, within_s: float, *arguments: object) -> bytes:
        """Call another actor of the run. A handle that failed is looked up again."""
        try:
            if name not in self._handles:
                place = directory_namespace(self._begin.secret) if name == DIRECTORY else namespace(self._begin.run)
                self._handles[name] = await asyncio.to_thread(ray.get_actor, name, place)
            async with asyncio.timeout(within_s):
                answer = await getattr(self._handles[name], method).remote(*arguments)
        except BaseException:
            self._handles.pop(name, None)
            raise
        assert isinstance(answer, bytes)
        return answer
