"""What runs on each machine of a crawl: its agents, the courier of their messages, the leases that they request under, and turns.

The engine starts it and carries its calls (ray_actors.py); the supervisor on the head orders, and hears what the agents report
(far_places.py). Everything is below one directory of this machine's disk:

    DIR/partitions.json   the head's table: which agent has which sites, which machine has which agent
    DIR/agent-3 …         the shards of this machine's agents; on the head also DIR itself, the shard of agent 0
    DIR/channels          sockets: one for each agent here, and one for each elsewhere (courier.py)

One object is one life of the machine (directory.py). When it ends, its agents end with it.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from thresher.config.settings import SnapshotSettings
from thresher.crawler.cluster.address_file import create
from thresher.crawler.cluster.lease import LEASE_S, RENEW_S, boot_s
from thresher.crawler.machines.address_turns import AddressTurns
from thresher.crawler.machines.courier import Courier, Send
from thresher.crawler.machines.directory import DirectoryAnswer
from thresher.crawler.machines.figures import Figures
from thresher.crawler.machines.supervision import (
    Begin,
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
from thresher.crawler.machines.turns import Turns, TurnsAnswer, TurnsCall
from thresher.crawler.process.agent_life import AgentLife
from thresher.crawler.process.places import ThisMachine
from thresher.crawler.process.snapshots import SnapshotTimer
from thresher.crawler.process.supervisor import AGENT, SILENCE_S
from thresher.crawler.status import AgentOrder, AgentReport
from thresher.storage.lock import lock_holder
from thresher.storage.partitions import ADDRESSES, Partitions, channels_path, shard_path, write_partitions

EVENTS_S = 0.2  # how long a call waits for an event
_LOOK_S = 0.1
_ENDING_S = 15.0

Ask = Callable[[str, str], Awaitable[DirectoryAnswer]]  # asks the directory to "join", "renew" or "leave", for a life


@dataclass(slots=True)
class _Running:
    """An agent that was started."""

    agent: int
    start: int
    life: AgentLife
    signals: list[int]  # that came before its process was there
    has_begun: bool = False
    was_leased: bool = False


class Machine:
    """One life of a machine in one run of a crawl."""

    def __init__(
        self,
        begin: Begin,
        *,
        ask: Ask,
        ask_turns: Callable[[str, str, TurnsCall], Awaitable[TurnsAnswer]],
        send: Send,
        figures: Figures | None = None,
    ) -> None:
        """Take the head's table over; `run` does the rest.

        Args:
            ask: Raises whatever the engine raises when the directory cannot be reached.
            ask_turns: The same; tells another machine, which owns addresses, of a life's turns there.
            send: Carries a parcel to another machine.
            figures: Shows what agents report to those who watch the cluster.
        """
        self.life = secrets.token_hex(8)
        self._ask = ask
        self._figures = figures
        self._ask_turns = ask_turns
        self._name = begin.machine
        self._turns: AddressTurns | None = None  # once the file is there in which agents want them
        self._granted = Turns(begin.machine, begin.address_delay)  # at the addresses that this machine owns
        self._directory = Path(begin.directory)
        self._running: dict[int, _Running] = {}  # by agent
        self._tasks: set[asyncio.Task[None]] = set()
        self._events: list[MachineEvent] = []
        self._first = 1  # the number of the first of them
        self._called = 0  # the number of the last call
        self._shown = 0  # the number of the last that was in an answer
        self._happened = asyncio.Event()
        self._lease_until = 0.0
        self._leased = asyncio.Event()  # once this life was granted its first lease
        self._why_refused = ""
        self._over = asyncio.Event()
        table = msgspec.json.decode(begin.partitions, type=Partitions)
        if begin.machine != table.machines[0]:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_partitions(self._directory, table)
        self._places = ThisMachine(self._directory, AGENT, silence_s=SILENCE_S, settle=begin.settle)
        self._timer = self._snapshots(begin, table)
        self._courier = self._carrier(begin, table, send)

    def _snapshots(self, begin: Begin, table: Partitions) -> SnapshotTimer:
        """Return what takes the snapshots of this machine's shards."""
        return SnapshotTimer(
            self._directory,
            SnapshotSettings() if begin.settle else begin.snapshots,
            lambda what: self._tell(Noted(0, f"says: {what}")),
            folder=begin.machine,
            agents=[agent for agent, machine in enumerate(table.machines) if machine == begin.machine],
        )

    def _carrier(self, begin: Begin, table: Partitions, send: Send) -> Courier:
        """Return what carries messages to and from this machine."""
        return Courier(
            channels_path(self._directory),
            begin.machine,
            dict(enumerate(table.machines)),
            secret=begin.secret,
            send=send,
            note=lambda what: self._tell(Noted(0, what)),
        )

    async def run(self) -> None:
        """Renew the lease and carry messages, until cancelled or until this life is over; the agents end with it."""
        joined = await self._ask("join", self.life)
        if not joined.is_granted:
            self._tell(Noted(0, f"takes no part: {joined.why}"))
            return
        addresses = channels_path(self._directory) / ADDRESSES
        create(addresses)
        self._turns = AddressTurns(addresses, self._ask_for_turns)
        taking_turns = asyncio.ensure_future(self._turns.run())
        carrying = asyncio.ensure_future(self._courier.run())
        renewing = asyncio.ensure_future(self._keep_lease())
        timing = asyncio.ensure_future(self._timer.run())
        try:
            await self._over.wait()
        finally:
            for one in self._running.values():
                one.life.signal(signal.SIGKILL)
            for task in (tasks := [taking_turns, carrying, renewing, timing, *self._tasks]):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._turns.close()

    async def leave(self) -> None:
        """End this life: give the lease back once all agents have ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_S):
                await asyncio.gather(*self._tasks, return_exceptions=True)
        is_quiet = not self._running
        self._over.set()
        if is_quiet:
            await self._ask("leave", self.life)

    def receive(self, machine: str, parcel: bytes) -> bytes:
        """Take in what another machine sends."""
        return self._courier.receive(machine, parcel)

    def turns(self, life: str, call: TurnsCall) -> TurnsAnswer:
        """Answer a life of a machine that asks for turns at addresses that this machine owns.

        Raises:
            LookupError: If this machine may not grant any now.
        """
        return self._granted.exchange(life, call, boot_s())

    async def _ask_for_turns(self, owner: str, call: TurnsCall) -> TurnsAnswer:
        return self.turns(self.life, call) if owner == self._name else await self._ask_turns(owner, self.life, call)

    def _take_lease(self, lease: DirectoryAnswer, until: float) -> None:
        assert self._turns is not None
        self._lease_until = until
        self._turns.owners = lease.owners
        self._granted.take_lease(lease, until, boot_s())
        self._leased.set()
        for one in self._running.values():
            one.life.order(AgentOrder(lease_until=until))

    async def _keep_lease(self) -> None:
        while not self._over.is_set():
            asked_at = boot_s()
            try:
                async with asyncio.timeout(LEASE_S):
                    answer = await self._ask("renew", self.life)
            except Exception as error:  # noqa: BLE001 - whatever it is: nothing was granted
                answer = DirectoryAnswer(why=f"the directory on the head cannot be reached ({type(error).__name__})")
            if answer.is_granted:
                self._take_lease(answer, asked_at + LEASE_S)
            if answer.is_over:
                self._over.set()
            if answer.why and answer.why != self._why_refused:
                self._tell(Noted(0, f"has no new lease: {answer.why}"))
            self._why_refused = answer.why
            await asyncio.sleep(RENEW_S)

    # -- what the supervisor calls

    async def exchange(self, call: MachineCall) -> Events:
        """Carry out orders, unless they are for an earlier life, and return what has happened since; wait a little for it."""
        if call.life == self.life and call.number > self._called:
            self._called = call.number
            for order in call.orders:
                self._obey(order)
            n_known = call.after + 1 - self._first
            if n_known > 0:
                del self._events[:n_known]
                self._first += n_known
        if not self._events:
            self._happened.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(EVENTS_S):
                    await self._happened.wait()
        self._shown = self._first + len(self._events) - 1
        return Events(self.life, self._first, [*self._events])

    def _tell(self, event: MachineEvent) -> None:
        """Keep an event for the supervisor. A report takes the place of one that it has not had."""
        last = self._events[-1] if self._first + len(self._events) - 1 > self._shown else None
        if isinstance(event, Reported) and isinstance(last, Reported) and last.start == event.start:
            newest = {one.name: one for one in (*last.report.back_offs, *event.report.back_offs)}
            event.report.back_offs = [*newest.values()]
            self._events[-1] = event
        else:
            self._events.append(event)
        self._happened.set()

    def _obey(self, order: MachineOrder) -> None:
        match order:
            case Start(agent=agent, start=start, signals=signals):
                if agent in self._running:
                    self._running[agent].start = start
                else:
                    life = self._places.life(agent, lambda what: self._note(agent, what))
                    one = self._running[agent] = _Running(agent, start, life, [*signals])
                    task = asyncio.ensure_future(self._keep(one))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
            case Signal(start=start, number=number):
                for one in self._of(start):
                    one.life.signal(number) if one.has_begun else one.signals.append(number)
            case PassOrder(start=start, order=told):
                for one in self._of(start):
                    one.life.order(told)

    def _of(self, start: int) -> list[_Running]:
        return [one for one in self._running.values() if one.start == start]

    def _note(self, agent: int, what: str) -> None:
        self._tell(Noted(self._running[agent].start, what))

    async def _keep(self, one: _Running) -> None:
        """Run an agent to its end, once no earlier life of this machine can run it."""
        code = 1
        try:
            await self._leased.wait()
            while lock_holder(shard_path(self._directory, one.agent)):  # noqa: ASYNC110 - another process that is about to end
                await asyncio.sleep(_LOOK_S)
            one.has_begun = True
            code = await one.life.run(one.signals, lambda report: self._on_report(one, report))
            await self._places.strike(one.agent)
        finally:
            del self._running[one.agent]
            if self._figures is not None:
                self._figures.end(one.agent)
            self._tell(Ended(one.start, code))

    def _on_report(self, one: _Running, report: AgentReport) -> None:
        if not one.was_leased:  # orders before its first report would have been lost
            one.was_leased = True
            one.life.order(AgentOrder(lease_until=self._lease_until))
        if self._figures is not None:
            self._figures.take(one.agent, report)
        self._tell(Reported(one.start, report))
