"""Machines whose agents have sites on the same addresses, under a clock of their own: real files, turns, owners and directory, and a
network that loses calls, carries them late, and answers late.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from pathlib import Path

from thresher.crawler.cluster.address_file import create
from thresher.crawler.cluster.lease import LEASE_S
from thresher.crawler.cluster.shared_addresses import SharedAddresses
from thresher.crawler.machines.address_turns import AddressTurns
from thresher.crawler.machines.directory import Directory, DirectoryState
from thresher.crawler.machines.turns import Turns, TurnsAnswer, TurnsCall

CONNECTIONS = 2
MACHINES = ("a", "b", "c")


class FakeTime:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


class World:
    """Machines with several lives, the directory, and the network between them: calls are lost, late, and answered late."""

    def __init__(self, path: Path, clock: FakeTime, rng: random.Random, gap_s: float) -> None:
        self.path, self.clock, self.rng, self.gap_s = path, clock, rng, gap_s
        self.state = DirectoryState()
        self.n_lives, self.run = 0, ""
        self.lives: list[Life] = []  # the last one of a machine is the one that calls reach
        self.late: list[tuple[Life, str, TurnsCall]] = []
        self.is_faulty = False
        self.start_directory()

    def start_directory(self) -> None:
        self.directory = Directory(self.state, lambda _: None, self.clock.now)

    def begin_run(self, *machines: str) -> None:
        """Begin a run on these machines. What runs of an earlier one may not notice at once."""
        self.run += "run "
        self.directory.begin(self.run, machines, self.clock.now)
        for name in machines:
            self.begin_life(name)

    def begin_life(self, name: str) -> None:
        """Start a life; what runs there may go on beside it, cut off."""
        for life in [one for one in self.lives if one.name == name]:
            if self.is_faulty and self.rng.random() < 0.5:
                life.cut_off_until = dict.fromkeys(("head", *MACHINES), self.clock.now + self.rng.choice((0.0, 1000.0)))
            else:
                self.end_life(life)
        self.lives.append(Life(self, name))

    def end_life(self, life: Life) -> None:
        self.lives.remove(life)
        life.end()

    def of(self, name: str) -> Life:
        """Return the life of a machine that calls reach."""
        found = [life for life in self.lives if life.name == name]
        if not found:
            raise ConnectionError
        return found[-1]

    async def ask(self, life: Life, owner: str, call: TurnsCall) -> TurnsAnswer:
        """Carry a call about turns."""
        life.n_calls += 1
        if self.clock.now < life.cut_off_until.get(owner, 0.0):
            raise ConnectionError
        fate = self.rng.random() if self.is_faulty else 1.0
        if fate < 0.02:
            self.late.append((life, owner, call))
        if fate < 0.04:
            raise ConnectionError
        answer = self.of(owner).granted.exchange(life.life, call, self.clock.now)
        if fate < 0.06:
            raise ConnectionError
        if fate < 0.08:
            until = self.clock.now + self.rng.choice((0.5, 3.0))
            while self.clock.now < until:  # noqa: ASYNC110 - the clock is ours
                await asyncio.sleep(0)
        return answer

    def deliver_late(self) -> None:
        """Carry a call whose caller has given up."""
        life, owner, call = self.late.pop(self.rng.randrange(len(self.late)))
        with suppress(ConnectionError, LookupError):
            self.of(owner).granted.exchange(life.life, call, self.clock.now)

    def close(self) -> None:
        for life in [*self.lives]:
            self.end_life(life)


class Life:
    """The parts of a life of a machine that matter here: its lease, the requests of one agent, its turns and those that it grants."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name, self.run = world, name, world.run
        world.n_lives += 1
        self.life = f"{name}{world.n_lives}"
        self.lease_until = 0.0
        self.n_calls = 0  # about turns
        self.cut_off_until: dict[str, float] = {}  # from the head, or from another machine
        self.granted = Turns(name, world.gap_s)
        world.directory.join(name, self.life, self.run)
        path = world.path / self.life / "addresses"
        create(path)
        self.turns = AddressTurns(path, lambda owner, call: world.ask(self, owner, call))
        self.agent = SharedAddresses(path, 0, connections=CONNECTIONS, gap_s=world.gap_s, takes_turns=True)
        self.calls: set[asyncio.Task[None]] = set()
        self.reserved: list[str] = []  # addresses of requests that have no connection yet
        self.requests: list[str] = []  # of those in flight, each of which has one

    def end(self) -> None:
        for call in self.calls:
            call.cancel()
        self.requests = []
        self.turns.close()
        self.agent.close()

    @property
    def has_lease(self) -> bool:
        return self.world.clock.now < self.lease_until

    def renew(self) -> None:
        now = self.world.clock.now
        answer = self.world.directory.renew(self.name, self.life, self.run, now)
        if answer.is_granted:
            self.lease_until = now + LEASE_S
            self.turns.owners = answer.owners
            self.granted.take_lease(answer, self.lease_until, now)

    async def look(self) -> None:
        """Ask for turns and give them back; answers that are there at once are taken."""
        for call in self.turns.look():
            task = asyncio.ensure_future(self.turns._tried(call))
            self.calls.add(task)
            task.add_done_callback(self.calls.discard)
        for _ in range(4):
            await asyncio.sleep(0)

    def begin(self, address: str) -> bool:
        """Reserve a request, and connect and send it at once."""
        if not self.has_lease or self.agent.start(address):
            return False
        self.reserved.append(address)
        return self.send()

    def send(self) -> bool:
        """Connect for the oldest reservation, and send its request."""
        address = self.reserved[0]
        if not self.has_lease or not self.agent.connect(address):
            return False
        self.reserved.pop(0)
        assert self.agent.may_use(address)
        self.requests.append(address)
        return True

    def finish(self) -> None:
        """End the oldest request."""
        address = self.requests.pop(0)
        self.agent.disconnect(address)
        self.agent.end(address, was_used=True)

    def tick(self) -> None:
        """Break off what may not go on: without a lease everything, at an address without a turn all that is there."""
        over = self.agent.over()
        for address in [one for one in self.requests if one in over or not self.has_lease]:
            self.requests.remove(address)
            self.requests.insert(0, address)
            self.finish()
        for address in [one for one in self.reserved if one in over or not self.has_lease]:
            self.reserved.remove(address)
            self.agent.end(address, was_used=False)


def do_harm(world: World, step: int) -> None:
    """Let something happen to a part of the world, sometimes."""
    rng, now = world.rng, world.clock.now
    if step % 1500 == 700:
        world.start_directory()
    if step % 2000 == 1900:
        world.start_directory()
        world.begin_run(*rng.sample(MACHINES, rng.choice((2, 3))))
    if world.late and rng.random() < 0.05:
        world.deliver_late()
    for life in [*world.lives]:
        if rng.random() < 0.0005 and life is world.of(life.name) and life.run == world.run:
            world.begin_life(life.name)
        elif rng.random() < 0.001:
            cut = rng.sample(("head", *MACHINES), rng.choice((1, 1, 2, 4)))
            life.cut_off_until |= dict.fromkeys(cut, now + rng.choice((5.0, 20.0, 40.0)))
        elif rng.random() < 0.0003:
            world.end_life(life)
            world.directory.leave(life.name, life.life)
            world.begin_life(life.name) if life.run == world.run else None
