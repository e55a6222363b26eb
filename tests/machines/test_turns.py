"""At an address with sites of several machines, one machine makes requests at a time; with the real shared files, turns and directory."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from long import shortened

from thresher.crawler.cluster import shared_addresses
from thresher.crawler.cluster.address_file import create
from thresher.crawler.cluster.lease import LEASE_S, RENEW_S
from thresher.crawler.cluster.shared_addresses import SharedAddresses
from thresher.crawler.machines import address_turns
from thresher.crawler.machines.address_turns import AddressTurns
from thresher.crawler.machines.directory import Directory, DirectoryState
from thresher.crawler.machines.turns import TURN_S, Turns, TurnsAnswer, TurnsCall

GAP_S = 0.2
CONNECTIONS = 2
ADDRESSES = ("192.0.2.1", "192.0.2.2")
RUN = "run"


class FakeTime:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    fake = FakeTime()
    monkeypatch.setattr(shared_addresses, "time", fake)
    monkeypatch.setattr(address_turns, "time", fake)
    return fake


def turns(*machines: str, until: float = 0.0) -> Turns:
    return Turns(machines, until, has_lease=lambda _machine, _now: True)


def test_a_machine_keeps_its_turn_until_another_wants_it_and_for_a_while_after_it_got_it() -> None:
    known = turns()
    assert known.exchange("a", TurnsCall([1]), 0.0) == TurnsAnswer([1])
    assert known.exchange("a", TurnsCall(), 100.0) == TurnsAnswer()
    assert known.exchange("a", TurnsCall([2]), 100.0) == TurnsAnswer([2])
    assert known.exchange("b", TurnsCall([1, 2]), 101.0) == TurnsAnswer()
    assert known.exchange("a", TurnsCall(), 102.0) == TurnsAnswer(recalled=[1])  # it has had little of the other one
    assert known.exchange("b", TurnsCall([1]), 103.0) == TurnsAnswer()
    assert known.exchange("a", TurnsCall(returned=[1]), 103.0) == TurnsAnswer()
    assert known.exchange("b", TurnsCall([1]), 103.0) == TurnsAnswer([1])


def test_who_has_waited_longest_is_next_unless_it_does_not_say_so_any_more() -> None:
    known = turns()
    for machine in "abc":
        known.exchange(machine, TurnsCall([1]), 0.0)
    known.exchange("a", TurnsCall([1], [1]), 1.0)  # and wants it again
    assert [machine for machine in "acb" if known.exchange(machine, TurnsCall([1]), 1.0).granted] == ["b"]
    known.exchange("b", TurnsCall(returned=[1]), 2.0)
    assert not known.exchange("a", TurnsCall([1]), 2.0).granted
    assert known.exchange("a", TurnsCall([1]), 9.0).granted  # c has not asked again


def test_a_turn_ends_with_the_lease_of_its_machine() -> None:
    known = Turns((), 0.0, has_lease=lambda machine, now: machine != "a" or now < 10.0)
    known.exchange("a", TurnsCall([1]), 0.0)
    assert not known.exchange("b", TurnsCall([1]), 9.0).granted
    assert known.exchange("b", TurnsCall([1]), 10.0).granted
    assert known.exchange("a", TurnsCall(held=[1, 2]), 11.0).lost == [1]


def test_a_directory_that_was_started_again_gives_nothing_away_before_it_knows_what_others_have() -> None:
    known = turns("a", "b", until=12.0)
    assert not known.exchange("a", TurnsCall([1], held=[2]), 1.0).granted
    assert not known.exchange("b", TurnsCall([2], held=[]), 2.0).granted
    assert known.exchange("a", TurnsCall([1]), 2.0).granted
    known = turns("a", "b", until=12.0)
    assert not known.exchange("a", TurnsCall([1], held=[]), 11.0).granted
    assert known.exchange("a", TurnsCall([1]), 12.0).granted


class FakeMachine:
    """The parts of a machine that matter here: its lease, the requests of one agent, and its turns."""

    def __init__(self, name: str, path: Path, clock: FakeTime) -> None:
        self.name, self._path, self._clock = name, path, clock
        self._n_lives = 0
        self.n_calls = 0  # about turns
        self.directory: Directory
        self.turns: AddressTurns | None = None
        self.agent: SharedAddresses | None = None

    def begin_life(self) -> None:
        self.end_life()
        self._n_lives += 1
        self.life = f"{self.name}{self._n_lives}"
        self._granted_by, self.lease_until = "", 0.0
        self.directory.join(self.name, self.life, RUN)
        create(self._path)
        self.turns = AddressTurns(self._path, self._ask)
        self.agent = SharedAddresses(self._path, 0, connections=CONNECTIONS, gap_s=GAP_S, takes_turns=True)
        self.requests: list[str] = []  # the address of each in flight, which has a connection

    def end_life(self) -> None:
        if self.turns is not None and self.agent is not None:
            self.turns.close()
            self.agent.close()

    async def _ask(self, call: TurnsCall) -> TurnsAnswer:
        self.n_calls += 1
        return self.directory.turns(self.name, self.life, RUN, call, self._clock.now)

    async def renew(self) -> None:
        assert self.turns is not None
        answer = self.directory.renew(self.name, self.life, RUN, self._clock.now)
        if answer.is_granted:
            if answer.directory != self._granted_by or self._clock.now > self.lease_until:
                await self.turns.declare()
                self._granted_by = answer.directory
            self.lease_until = self._clock.now + LEASE_S

    def request(self, address: str) -> bool:
        """Begin a request with a connection of its own, if it is allowed."""
        assert self.agent is not None
        if self._clock.now >= self.lease_until or self.agent.start(address):
            return False
        if not self.agent.connect(address):
            self.agent.end(address, was_used=False)
            return False
        self.requests.append(address)
        return True

    def finish(self) -> None:
        """End the oldest request; without a lease all of them."""
        assert self.agent is not None
        while self.requests:
            address = self.requests.pop(0)
            self.agent.disconnect(address)
            self.agent.end(address, was_used=True)
            if self._clock.now < self.lease_until:
                return


@pytest.fixture
def machines(tmp_path: Path, clock: FakeTime) -> Iterator[list[FakeMachine]]:
    made = [FakeMachine(name, tmp_path / name / "addresses", clock) for name in "abc"]
    yield made
    for machine in made:
        machine.end_life()


@pytest.mark.parametrize("seed", shortened(range(3), 1))
async def test_whatever_dies_or_is_cut_off_an_address_is_asked_by_one_machine_at_a_time_and_each_has_its_turn(
    machines: list[FakeMachine], clock: FakeTime, seed: int
) -> None:
    """Mutations: the directory grants at once after its start; a life that was cut off does not report its turns; a recalled turn ends
    before its requests.
    """
    rng = random.Random(seed)
    state = DirectoryState()
    directory = _started(state, clock)
    for machine in machines:
        machine.directory = directory
        machine.begin_life()
    cut_off_until = dict.fromkeys("abc", 0.0)
    last: dict[str, tuple[str, float]] = {}
    n_requests, n_turns = 0, 0
    for step in range(6000):
        clock.now += 0.05
        directory.keep(RUN, clock.now)
        if step % 1500 == 700:
            directory = _started(state, clock)
            for machine in machines:
                machine.directory = directory
        for machine in machines:
            if rng.random() < 0.0005:
                machine.begin_life()
            if rng.random() < 0.0005:
                cut_off_until[machine.name] = clock.now + rng.choice((5.0, 20.0))
            if clock.now >= cut_off_until[machine.name]:
                if step % int(RENEW_S / 0.05) == 0:
                    await machine.renew()
                if clock.now < machine.lease_until:
                    assert machine.turns is not None
                    await machine.turns.look()
            if machine.requests and (rng.random() < 0.1 or clock.now >= machine.lease_until):
                machine.finish()
            if rng.random() < 0.5 and machine.request(address := rng.choice(ADDRESSES)):
                others = [one for one in machines if one is not machine]
                assert not any(address in one.requests and clock.now < one.lease_until for one in others)
                assert len([one for one in machine.requests if one == address]) <= CONNECTIONS
                before, at = last.get(address, ("", 0.0))
                assert clock.now - at >= GAP_S - 1e-6
                last[address] = machine.name, clock.now
                n_requests, n_turns = n_requests + 1, n_turns + (before != machine.name)
    assert n_requests > 300
    assert n_turns > 2 * 6000 * 0.05 / (TURN_S + 20) / 2


def _started(state: DirectoryState, clock: FakeTime) -> Directory:
    directory = Directory(state, lambda _: None, clock.now)
    directory.begin(RUN, clock.now)
    return directory


async def test_what_an_earlier_life_had_is_free(machines: list[FakeMachine], clock: FakeTime) -> None:
    """The machine does not want the turn any more, so it does not mention it."""
    one, other, _ = machines
    one.directory = other.directory = _started(DirectoryState(), clock)
    for machine in (one, other):
        machine.begin_life()
        await machine.renew()
    assert not one.request("192.0.2.1")
    assert one.turns is not None
    await one.turns.look()
    assert one.request("192.0.2.1")
    clock.now += LEASE_S * 2
    one.directory.keep(RUN, clock.now)
    one.begin_life()
    for machine in (one, other):
        await machine.renew()
    assert not other.request("192.0.2.1")
    assert other.turns is not None
    await other.turns.look()
    assert other.request("192.0.2.1")


async def test_turns_are_asked_for_all_addresses_at_once_and_each_is_worth_many_requests(
    machines: list[FakeMachine], clock: FakeTime
) -> None:
    """Mutations: a call for each address; a turn is asked for again before each request."""
    one, other, _ = machines
    one.directory = other.directory = _started(DirectoryState(), clock)
    addresses = [f"192.0.2.{n}" for n in range(1, 101)]
    for machine in (one, other):
        machine.begin_life()
        await machine.renew()
    assert not any(one.request(address) for address in addresses)
    assert one.turns is not None
    before = one.n_calls
    await one.turns.look()
    assert one.n_calls == before + 1
    n_requests = 0
    for _ in range(int(TURN_S / GAP_S)):
        for address in addresses:
            n_requests += one.request(address)
            one.finish()
        clock.now += GAP_S
        await one.turns.look()
    assert n_requests == len(addresses) * int(TURN_S / GAP_S)
    assert one.n_calls - before <= 2 + TURN_S / address_turns._TALK_S
