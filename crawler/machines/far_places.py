"""The machines on which agents run: the supervisor's side of the calls (machine.py is the other side).

For each machine one call at a time is under way: it carries orders there, and brings events back. When a call fails, the machine counts as
away: its agents may go on until their leases are over, then they wait. Orders since the last answer may be lost, so the supervisor starts
each of its agents again once the machine answers; an agent that still runs goes on.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final

import msgspec

from thresher.crawler.core.errors import StoreError
from thresher.crawler.machines.back_offs import BackOffBook
from thresher.crawler.machines.far_shards import ShardAnswer
from thresher.crawler.machines.supervision import (
    Ended,
    Events,
    MachineCall,
    MachineEvent,
    MachineOrder,
    Noted,
    PassOrder,
    Reported,
    Signal,
    Start,
)
from thresher.crawler.process.places import Away, Note
from thresher.crawler.status import AgentOrder, AgentReport, StateName, Status
from thresher.storage.partitions import Partitions

CALL_S: Final = 10.0  # a machine that has not answered a call for so long is away
SHARD_S: Final = 120.0  # a large store takes time to open
_AGAIN_S = 1.0
_LOOK_S = 0.2

Call = Callable[[str, str, bytes, float], Awaitable[bytes]]  # (machine, what to do, argument, time limit in seconds) → answer; raises Away
_encode = msgspec.json.encode


class FarPlaces:
    """All machines of a crawl; `run` calls them."""

    def __init__(self, table: Partitions, call: Call, note: Note, back_offs: BackOffBook) -> None:
        """Create the places.

        Args:
            call: Calls a machine.
            note: Shows a message to the operator.
            back_offs: Records hosts with long back-offs.
        """
        self._back_offs = back_offs
        self._machines = table.machines
        self._call = call
        self._links = {name: _Link(name, call, note, back_offs) for name in dict.fromkeys(table.machines)}
        self._starts = itertools.count(1)

    async def run(self) -> None:
        """Call all machines until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._back_offs.run())
            for link in self._links.values():
                group.create_task(link.run())

    async def gone(self, after_s: float, is_gone: Callable[[str], Awaitable[bool]]) -> str:
        """Wait until a machine has been away for `after_s` seconds; return its name.

        Args:
            is_gone: Returns whether the engine also says that the machine is gone.
        """
        while True:
            await asyncio.sleep(_AGAIN_S)
            for name, link in self._links.items():
                if link.away_s() > after_s and await is_gone(name):
                    return name

    def life(self, agent: int, note: Note) -> FarLife:
        return FarLife(self._link(agent), agent, next(self._starts), note)

    async def ready(self, agent: int, is_over: Callable[[], bool]) -> bool:
        """Wait until the agent's machine answers; return False if the wait `is_over` before."""
        link = self._link(agent)
        while not link.is_there:
            if is_over():
                return False
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    await link.came.wait()
        return not is_over()

    async def progress(self, agent: int) -> int:
        return msgspec.json.decode(await self._of_shard(agent, "progress"), type=int)

    async def counted(self, agent: int, state: StateName) -> Status:
        status = msgspec.json.decode(await self._of_shard(agent, "counted"), type=Status)
        status.state = state
        return status

    async def damage(self, agent: int) -> str:
        return msgspec.json.decode(await self._of_shard(agent, "damage"), type=str)

    async def strike(self, agent: int) -> None:
        """Do nothing: the machine itself has done it."""

    async def _of_shard(self, agent: int, what: str) -> msgspec.Raw:
        return await ask_shard(self._call, self._machines[agent], what, _encode(agent))

    def _link(self, agent: int) -> _Link:
        return self._links[self._machines[agent]]


async def ask_shard(call: Call, machine: str, what: str, argument: bytes) -> msgspec.Raw:
    """Ask a machine about a shard; return the answer as JSON.

    Raises:
        Away: If the machine does not answer.
        StoreError: If the shard cannot be used.
    """
    answer = msgspec.json.decode(await call(machine, f"shard:{what}", argument, SHARD_S), type=ShardAnswer)
    if answer.fault:
        raise StoreError(f"machine {machine}: {answer.fault}")
    return answer.said


class FarLife:
    """One start of an agent on another machine (or on the head, through the same calls)."""

    def __init__(self, link: _Link, agent: int, start: int, note: Note) -> None:
        self._link = link
        self._agent = agent
        self._start = start
        self._note = note
        self._ended: asyncio.Future[int] | None = None
        self._on_report: Callable[[AgentReport], None] | None = None

    async def run(self, signals: Iterable[int], on_report: Callable[[AgentReport], None]) -> int:
        """Start the agent and wait for its end; return its exit code.

        Raises:
            Away: If the machine does not answer any more.
        """
        self._ended, self._on_report = asyncio.get_running_loop().create_future(), on_report
        self._link.lives[self._start] = self
        self._link.order(Start(self._agent, self._start, list(signals)))
        try:
            return await self._ended
        finally:
            del self._link.lives[self._start]

    def signal(self, number: int) -> None:
        self._link.order(Signal(self._start, number))

    def order(self, order: AgentOrder) -> None:
        self._link.order(PassOrder(self._start, order))

    def on_event(self, event: MachineEvent) -> None:
        """Handle an event of the agent."""
        if self._ended is None or self._ended.done() or self._on_report is None:
            return
        match event:
            case Reported(report=report):
                self._on_report(report)
            case Noted(what=what):
                self._note(what)
            case Ended(code=code):
                self._ended.set_result(code)

    def on_away(self, why: str) -> None:
        """Handle that the machine is away: this start ends, and what becomes of the agent is unknown."""
        if self._ended is not None and not self._ended.done():
            self._ended.set_exception(Away(why))


class _Link:
    """The calls to one machine."""

    def __init__(self, name: str, call: Call, note: Note, back_offs: BackOffBook) -> None:
        self.lives: dict[int, FarLife] = {}  # number of the start → start
        self.came = asyncio.Event()  # set while the machine answers
        self._name = name
        self._call = call
        self._note = note
        self._back_offs = back_offs
        self._orders: list[MachineOrder] = []
        self._away_since = time.monotonic()
        self._life = ""
        self._number = 0
        self._after = 0

    @property
    def is_there(self) -> bool:
        return self.came.is_set()

    def away_s(self) -> float:
        """Return the seconds since the machine last answered."""
        return 0.0 if self.is_there else time.monotonic() - self._away_since

    def order(self, order: MachineOrder) -> None:
        """Send an order with the next call, if the machine answers."""
        if self.is_there:
            self._orders.append(order)

    async def run(self) -> None:
        """Call the machine until cancelled."""
        while True:
            orders, self._orders = self._orders, []
            self._number += 1
            call = MachineCall(self._life, self._number, orders, self._after)
            try:
                answer = msgspec.json.decode(await self._call(self._name, "exchange", _encode(call), CALL_S), type=Events)
            except Away as away:
                self._on_away(str(away))
                await asyncio.sleep(_AGAIN_S)
                continue
            if answer.life != self._life:
                self._on_away(f"machine {self._name} was started again")
                self._life, self._after = answer.life, answer.first - 1
            self.came.set()
            for number, event in enumerate(answer.events, answer.first):
                if number > self._after:
                    self._after = number
                    self._on_event(event)

    def _on_event(self, event: MachineEvent) -> None:
        if isinstance(event, Reported):
            self._back_offs.note(event.report.back_offs)
        life = self.lives.get(event.start)
        if life is not None:
            life.on_event(event)
        elif isinstance(event, Noted) and not event.start:
            self._note(f"machine {self._name} {event.what}")

    def _on_away(self, why: str) -> None:
        if self.is_there:
            self._away_since = time.monotonic()
        self.came.clear()
        self._orders.clear()
        for life in [*self.lives.values()]:
            life.on_away(why)
