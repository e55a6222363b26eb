"""At an address with sites of several machines, one machine makes requests at a time; with the real files, turns, owners and directory."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from long import shortened
from taking_turns import CONNECTIONS, MACHINES, FakeTime, Life, World, do_harm

from thresher.crawler.cluster import shared_addresses
from thresher.crawler.cluster.address_file import create
from thresher.crawler.cluster.lease import LEASE_S, RENEW_S
from thresher.crawler.cluster.shared_addresses import SharedAddresses
from thresher.crawler.machines import address_turns
from thresher.crawler.machines.address_turns import AddressTurns
from thresher.crawler.machines.directory import SPARE_S, DirectoryAnswer
from thresher.crawler.machines.turns import Turns, TurnsAnswer, TurnsCall, owners_of

GAP_S = 0.2
ADDRESSES = tuple(f"192.0.2.{n}" for n in range(1, 5))
TICK_S = 0.5  # of agents
STEP_S = 0.1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    fake = FakeTime()
    for module in (shared_addresses, address_turns):
        monkeypatch.setattr(module, "time", fake)
        monkeypatch.setattr(module, "boot_s", fake.monotonic)
    return fake


class Owner:
    """An owner of all addresses, with a lease that is as good as new whenever it is asked."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self.turns = Turns("o", delay_s)
        self.lease = DirectoryAnswer(is_granted=True, owners=["o"], may_grant=True)
        self._number = 0

    def hear(self, life: str, now: float, *, wanted: tuple[int, ...] = (), returned: tuple[int, ...] = ()) -> tuple[list[int], list[int]]:
        """Return (granted, recalled)."""
        self._number += 1
        self.turns.take_lease(self.lease, now + LEASE_S, now)
        answer = self.turns.exchange(life, TurnsCall(self._number, [*wanted], [*returned]), now)
        assert answer.lasts_s == LEASE_S
        return answer.granted, answer.recalled


def test_a_machine_keeps_its_turn_until_another_wants_it_and_for_a_while_after_it_got_it() -> None:
    owner = Owner()
    assert owner.hear("a", 0.0, wanted=(1,)) == ([1], [])
    assert owner.hear("a", 4.0, wanted=(1, 2)) == ([1, 2], [])
    assert owner.hear("b", 5.5, wanted=(1, 2)) == ([], [])
    assert owner.hear("a", 6.0) == ([], [1]), "it has had little of the other one"
    assert owner.hear("a", 6.0, wanted=(1,)) == ([1], [1]), "it is renewed while requests are under way"
    assert owner.hear("b", 7.0, wanted=(1,)) == ([], [])
    assert owner.hear("a", 7.0, returned=(1,)) == ([], [])
    assert owner.hear("b", 7.0, wanted=(1,)) == ([1], [])


def test_who_has_waited_longest_is_next_unless_it_does_not_say_so_any_more() -> None:
    owner = Owner()
    for life in "abc":
        owner.hear(life, 0.0, wanted=(1,))
    owner.hear("a", 1.0, wanted=(1,), returned=(1,))  # and wants it again
    assert [life for life in "acb" if owner.hear(life, 1.0, wanted=(1,))[0]] == ["b"]
    owner.hear("b", 2.0, returned=(1,))
    assert not owner.hear("a", 2.0, wanted=(1,))[0]
    assert owner.hear("a", 9.0, wanted=(1,))[0]  # c has not asked again


def test_a_turn_that_is_not_renewed_is_anothers_once_it_and_the_delay_of_the_address_are_over() -> None:
    """Mutations: the delay is left out; a later life of the machine takes the turn of the earlier one over."""
    delay_s = 3.0
    owner, over = Owner(delay_s), delay_s + LEASE_S + SPARE_S + delay_s
    assert not owner.hear("a", 0.0, wanted=(1,))[0], "an earlier life of the owner may have granted a turn that has just ended"
    assert owner.hear("a", delay_s, wanted=(1,))[0]
    for life in ("b", "a, a later life"):
        assert not owner.hear(life, over - 0.1, wanted=(1,))[0]
    assert owner.hear("b", over, wanted=(1,))[0]
    assert not owner.hear("a", over, wanted=(1,))[0]


def test_an_owner_grants_nothing_without_a_lease_nor_beyond_it_nor_at_addresses_of_others() -> None:
    """Mutations: a turn lasts for a whole lease; an owner grants whatever it is asked for."""
    turns, names = Turns("o", 0.0), [*range(1, 41)]
    of_o = [n for n, owner in zip(names, owners_of(np.array(names, dtype=np.uint64), ["o", "p"]), strict=True) if owner == 0]
    with pytest.raises(LookupError, match="has no lease"):
        turns.exchange("a", TurnsCall(1, names), 0.0)
    turns.take_lease(DirectoryAnswer(is_granted=True, owners=["o", "p"], may_grant=True), 10.0, 0.0)
    assert turns.exchange("a", TurnsCall(2, names), 4.0) == TurnsAnswer(6.0, of_o)
    assert 0 < len(of_o) < 40
    with pytest.raises(LookupError, match="has no lease"):
        turns.exchange("a", TurnsCall(3, names), 10.0)
    turns.take_lease(DirectoryAnswer(is_granted=True, owners=["o", "p"], may_grant=False), 20.0, 10.0)
    with pytest.raises(LookupError, match="has no lease"):
        turns.exchange("a", TurnsCall(3, names), 11.0)


def test_a_call_that_comes_late_takes_no_turn_back() -> None:
    """Mutation: calls have no order."""
    owner = Owner()
    owner.hear("a", 0.0, wanted=(1,))
    with pytest.raises(LookupError, match="a later call"):
        owner.turns.exchange("a", TurnsCall(1, [], [1]), 1.0)
    assert not owner.hear("b", 1.0, wanted=(1,))[0]


def test_addresses_are_shared_out_and_only_those_of_a_machine_that_goes_change_their_owner() -> None:
    names = np.random.default_rng(1).integers(1, 1 << 63, 3000, dtype=np.uint64)
    before, after = owners_of(names, ["a", "b", "c"]), owners_of(names, ["a", "c"])
    assert all(900 < n < 1100 for n in np.bincount(before))
    stayed = before != 1
    assert np.array_equal(np.array([0, 9, 1])[before[stayed]], after[stayed])


@pytest.fixture
def world(tmp_path: Path, clock: FakeTime) -> Iterator[World]:
    made = World(tmp_path, clock, random.Random(1), GAP_S)
    yield made
    made.close()


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the file of addresses few rows: each machine reads all of them in each of thousands of steps."""
    for module in (shared_addresses, address_turns):
        monkeypatch.setattr(module, "N_ROWS", 64)


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize(
    ("seed", "gap_s", "n_steps"),
    shortened([(1, 0.2, 4000), (2, 3.0, 4000), (3, 0.2, 8000), (4, 5.0, 8000), (5, 1.0, 8000), (6, 3.0, 8000)], 2),
)
async def test_whatever_dies_or_is_cut_off_an_address_is_asked_by_one_machine_at_a_time_and_each_has_its_turn(
    tmp_path: Path, clock: FakeTime, seed: int, gap_s: float, n_steps: int
) -> None:
    """P24: owners die, are cut off from some only, and change with runs; calls are lost and late. Mutations: a turn has no end, or not that
    of the owner's lease; an owner that comes back grants at once, one that takes over before the delay is over; leases of an earlier run do
    not count; a turn ends before its requests; what runs out is given back, or wanted again before all is broken off.
    """
    rng = random.Random(seed)
    world = World(tmp_path, clock, rng, gap_s)
    world.is_faulty = True
    world.begin_run(*MACHINES)
    last: dict[str, tuple[str, float]] = {}
    n_requests, n_turns, n_broken_off = 0, 0, 0
    for step in range(n_steps):
        clock.now += STEP_S
        world.directory.keep(world.run, clock.now)
        do_harm(world, step)
        for life in [*world.lives]:
            if clock.now >= life.cut_off_until.get("head", 0.0) and step % round(RENEW_S / STEP_S) == 0:
                life.renew()
            await life.look()
            if step % round(TICK_S / STEP_S) == 0:
                before = len(life.requests)
                life.tick()
                n_broken_off += before - len(life.requests) if life.has_lease else 0
            if life.requests and rng.random() < 0.05:
                life.finish()
            address = rng.choice(ADDRESSES)
            is_late = bool(life.reserved)
            if not (life.send() if is_late else rng.random() < 0.5 and life.begin(address)):
                continue
            address = life.requests[-1]
            assert not [one.life for one in world.lives if one is not life and address in one.requests], f"{life.life} at step {step}"
            assert life.requests.count(address) <= CONNECTIONS
            if not is_late:
                before_by, at = last.get(address, ("", 0.0))
                assert clock.now - at >= gap_s - 1e-6, f"{life.life} after {before_by} at step {step}"
                last[address] = life.life, clock.now
                n_requests, n_turns = n_requests + 1, n_turns + (before_by != life.life)
    world.close()
    assert n_requests > n_steps * 3 / 80
    assert n_turns > n_steps * 3 / 800
    assert n_broken_off > n_steps * 3 // 8000


class Asked:
    """One machine, and an owner that grants whatever is wanted, as soon as it may answer."""

    def __init__(self, path: Path, clock: FakeTime) -> None:
        self.clock = clock
        self.calls: list[TurnsCall] = []
        self.may_answer = asyncio.Event()
        self.recalled: list[int] = []
        create(path)
        self.turns = AddressTurns(path, self._answer)
        self.turns.owners = ["o"]
        self.agent = SharedAddresses(path, 0, connections=CONNECTIONS, gap_s=GAP_S, takes_turns=True)
        self.may_answer.set()

    async def _answer(self, _owner: str, call: TurnsCall) -> TurnsAnswer:
        self.calls.append(call)
        await self.may_answer.wait()
        return TurnsAnswer(LEASE_S, call.wanted, self.recalled)

    async def look(self, after_s: float) -> asyncio.Future[list[None]]:
        """Let time pass and look; return what waits for answers."""
        self.clock.now += after_s
        asking = asyncio.gather(*self.turns.look())
        for _ in range(4):
            await asyncio.sleep(0)
        return asking

    def close(self) -> None:
        self.turns.close()
        self.agent.close()


@pytest.fixture
def asked(tmp_path: Path, clock: FakeTime) -> Iterator[Asked]:
    made = Asked(tmp_path / "channels" / "addresses", clock)
    made.agent.start("192.0.2.1")
    yield made
    made.close()


async def test_what_is_left_of_a_turn_that_ran_out_has_no_part_in_the_next_one(asked: Asked) -> None:
    """Others may have had the turn meanwhile. Mutations: it is wanted, or taken, while a request of the last turn is not broken off yet; an
    agent believes the row.
    """
    agent = asked.agent
    await asked.look(0.0)
    assert agent.start("192.0.2.1") == 0.0
    assert agent.connect("192.0.2.1")
    asked.may_answer.clear()
    renewing = await asked.look(LEASE_S - 0.5)
    assert len(asked.calls[-1].wanted) == 1
    asked.clock.now += 1.0
    assert agent.over() == {"192.0.2.1"}, "the agent sees it, even if nobody looks"
    assert agent.start("192.0.2.1") > 0.0
    await asked.look(0.0)
    asked.may_answer.set()
    await renewing
    assert agent.over() == {"192.0.2.1"}
    assert agent.start("192.0.2.1") > 0.0
    await asked.look(0.5)
    assert agent.start("192.0.2.1") > 0.0
    assert len(asked.calls) == 2
    agent.disconnect("192.0.2.1")
    agent.end("192.0.2.1", was_used=True)
    await asked.look(0.5)
    assert agent.start("192.0.2.1") == 0.0


async def test_a_turn_that_is_given_back_while_it_is_renewed_is_gone(asked: Asked) -> None:
    """Mutation: the answer is taken as it is."""
    agent = asked.agent
    await asked.look(0.0)
    assert agent.start("192.0.2.1") == 0.0
    asked.recalled = [name := asked.calls[0].wanted[0]]
    await asked.look(2.5)
    asked.may_answer.clear()
    renewing = await asked.look(2.5)
    assert asked.calls[-1].wanted == [name]
    agent.end("192.0.2.1", was_used=True)
    await asked.look(0.5)
    asked.recalled = []
    asked.may_answer.set()
    await renewing
    assert agent.start("192.0.2.1") > 0.0
    await asked.look(0.5)
    assert asked.calls[-1].returned == [name]


async def _met(world: World, *machines: str) -> list[Life]:
    """Let the lives of machines get leases, and their owners grant."""
    world.begin_run(*machines)
    await _passes(world, world.gap_s, *machines)
    return world.lives


async def _passes(world: World, seconds: float, *of: str) -> None:
    """Let time pass while the lives of some machines renew their leases and their turns."""
    for _ in range(round(seconds / STEP_S) + 1):
        world.directory.keep(world.run, world.clock.now)
        for life in [life for life in world.lives if life.name in of]:
            life.renew()
            await life.look()
        world.clock.now += STEP_S


def _owned_by(owner: str, addresses: list[str], machines: list[str]) -> set[str]:
    owners = owners_of(np.array([shared_addresses._name(address) for address in addresses], dtype=np.uint64), machines)
    return {address for address, at in zip(addresses, owners, strict=True) if machines[at] == owner}


async def test_requests_at_addresses_whose_owner_cannot_be_reached_are_broken_off_when_their_turns_end(
    world: World, clock: FakeTime
) -> None:
    """P24: only there, although both have a lease; and nothing more is sent there. Mutations: an agent looks at what the row says, not
    until when; a turn has no end.
    """
    one, _ = await _met(world, "a", "b")
    addresses = [f"192.0.2.{n}" for n in range(1, 9)]
    assert not any(one.begin(address) for address in addresses)
    await one.look()
    assert all(one.begin(address) for address in addresses)
    one.cut_off_until["b"] = clock.now + 60.0
    await _passes(world, LEASE_S + 1.0, "a", "b")
    cut = _owned_by("b", addresses, ["a", "b"])
    assert 0 < len(cut) < 8
    assert one.has_lease
    assert one.agent.over() == cut
    assert {address for address in addresses if not one.agent.may_use(address)} == cut
    assert not any(one.agent.connect(address) for address in cut)
    one.tick()
    assert {*one.requests} == {*addresses} - cut
    assert one.agent.over() == set()


async def test_when_a_machine_is_gone_another_one_owns_its_addresses(world: World) -> None:
    """So that only its own hosts wait. Mutation: a machine without a lease owns addresses."""
    one, gone, _ = await _met(world, "a", "b", "c")
    addresses = [f"192.0.2.{n}" for n in range(1, 9)]
    await _passes(world, 90.0, "a", "b", "c")  # until then one that has not begun would be waited for
    world.end_life(gone)
    await _passes(world, LEASE_S + SPARE_S + RENEW_S + world.gap_s, "a", "c")
    assert not any(one.begin(address) for address in addresses)
    await one.look()
    assert all(one.begin(address) for address in addresses)
    assert _owned_by("b", addresses, ["a", "b", "c"])


async def test_turns_are_asked_for_and_renewed_in_one_call_to_each_owner_and_each_is_worth_many_requests(
    world: World, clock: FakeTime
) -> None:
    """Mutations: a call for each address; a turn is asked for again before each request."""
    one, _ = await _met(world, "a", "b")
    addresses = [f"192.0.2.{n}" for n in range(1, 101)]
    assert not any(one.begin(address) for address in addresses)
    before = one.n_calls
    await one.look()
    assert one.n_calls == before + 2
    n_requests = 0
    for _ in range(round(2 * LEASE_S / GAP_S)):
        for address in addresses:
            n_requests += one.begin(address)
            if one.requests:
                one.finish()
        clock.now += GAP_S
        world.directory.keep(world.run, clock.now)
        for life in world.lives:
            life.renew()
        await one.look()
    assert n_requests == len(addresses) * round(2 * LEASE_S / GAP_S)
    assert one.n_calls - before <= 2 * (2 + 2 * LEASE_S / address_turns._TALK_S)
