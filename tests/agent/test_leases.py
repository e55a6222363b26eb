"""Leases are handed to idle workers a few in each round of the loop, so that no round lasts as long as a hundred requests take to begin."""

from __future__ import annotations

import asyncio

from frontier_world import World

from thresher.crawler.agent.leases import Leases

_WORKERS = 100
_LIMIT = 20  # leases of a round at most; ours are 16


async def test_a_hundred_workers_that_waited_begin_in_several_rounds() -> None:
    world = World()
    world.fill(_WORKERS, 1)
    world.look_up()
    paused = "paused"
    leases: Leases
    leases = Leases(world.frontier, lambda: world.now, why_not=lambda: paused, wake=lambda: leases.hand_out())
    workers = [asyncio.create_task(leases.next()) for _ in range(_WORKERS)]
    await asyncio.sleep(0)
    assert not leases.in_flight
    paused, at_rounds = "", [0]
    for _ in range(3):
        leases.hand_out()  # as often as something calls for it
    while at_rounds[-1] < _WORKERS:
        at_rounds.append(len(leases.in_flight))
        assert at_rounds[-1] - at_rounds[-2] <= _LIMIT
        assert leases.wait.until is not None  # more is due: nobody may end the crawl now
        leases.hand_out()
        await asyncio.sleep(0)
        assert len(at_rounds) < _WORKERS
    taken = await asyncio.gather(*workers)
    assert len({lease.queue for lease in taken}) == _WORKERS


async def test_no_lease_is_taken_while_a_visit_has_not_ended_and_an_error_ends_who_waits() -> None:
    """Mutations: the worker takes a URL of which a filter has still to learn; it waits for ever for an agent that is broken."""
    world = World()
    world.fill(1, 1)
    world.look_up()
    has_late = True
    leases = Leases(world.frontier, lambda: world.now, why_not=lambda: "", wake=lambda: None, must_wait=lambda: has_late)
    first, second = (asyncio.create_task(leases.next()) for _ in range(2))
    await asyncio.sleep(0)
    assert not leases.in_flight
    leases.hand_out()
    leases.fail(KeyError("missing"))
    taken, failed = await asyncio.gather(second, first, return_exceptions=True)
    assert [*leases.in_flight.values()] == [taken]
    assert isinstance(failed, KeyError)
