"""The laws of the workbench: memory is bounded, no host starves, waiting costs nothing. Each was seen to fail with its rule broken."""

from __future__ import annotations

import random

import pytest
from fake_queues import Addresses
from frontier_world import NO_CIRCUIT, START, World, configured, failure, flaky, page, steady
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.core.model import Cause, CrawlURL, Outcome
from thresher.crawler.core.slots import SlotQueue

seeds = st.integers(min_value=0, max_value=2**32)
fewer = settings(max_examples=2, deadline=None)


@fewer
@given(seeds)
def test_the_bench_never_holds_more_hosts_than_it_may(seed: int) -> None:
    """DESIGN 5, law H. Mutation: `_fill` without the limit of places. Every waiting host gets its turn nevertheless."""
    rng = random.Random(seed)
    answer = flaky if seed % 2 else steady
    settings = configured(frontier={"workbench": 50, "heads": 2}, politeness={**NO_CIRCUIT, "backoff_initial": 5.0})
    world = World(settings, seed=seed, concurrency=16, answer=answer)
    for n in range(3_000):
        world.push(f"http://h{n % 1_000}.site{rng.randrange(400)}.example/{n}")
    world.run()
    assert world.most_on_bench <= 50
    assert len(world.ended) == 3_000
    assert not world.store.due_rows
    world.check()


def test_hosts_far_from_their_turn_give_their_place_to_those_that_wait() -> None:
    """Mutation: `_make_room` not called. Ten hosts back off for a minute on a bench of ten; others come later."""
    slow = {f"http://slow{n}.example" for n in range(10)}

    def answer(url: CrawlURL, rng: random.Random) -> Outcome:
        return failure(url, Cause.HTTP_429, 0.01, status=429) if url.host in slow else page(url)

    world = World(configured(frontier={"workbench": 10}), answer=answer)
    for host in sorted(slow):
        world.push(f"{host}/")
    world.run(until=START + 5.0)
    for n in range(30):
        world.push(f"http://late{n}.example/")
    world.run(until=START + 10.0)
    assert sum(request.entry.url.host.startswith("http://late") for request in world.log) == 30
    assert world.most_on_bench <= 10
    world.check()


def test_a_host_that_waits_gets_its_turn_when_those_before_it_have_used_up_their_rows() -> None:
    """Mutation: a host that needs rows is refilled though others wait for its place."""
    world = World(configured(frontier={"workbench": 2, "heads": 5}))
    for n in range(200):
        world.push(f"http://big{n % 2}.example/{n}")
    last = world.push("http://small.example/")
    assert last is not None
    world.run()
    place = [request.entry.seq for request in world.log].index(last.seq)
    assert place <= 12


@pytest.mark.long
def test_five_thousand_hosts_are_crawled_from_a_bench_of_two_hundred() -> None:
    """Law H at size: memory is bounded by the bench."""
    world = World(configured(frontier={"workbench": 200}), concurrency=64)
    world.validates = False
    for n in range(10_000):
        world.push(f"http://www.site{n % 5_000}.example/{n}")
    world.run()
    assert world.most_on_bench <= 200
    assert len(world.ended) == 10_000


def test_a_thousand_hosts_on_one_address_neither_starve_nor_hold_others_up() -> None:
    """P24. Mutation: no estimate of the wait at an address, so that its crowd holds the whole bench."""
    crowd = {f"h{n}.crowd{n % 300}.example": "10.0.0.1" for n in range(1_000)}
    world = World(configured(frontier={"workbench": 300}), addresses=Addresses(dict(crowd)))
    for name in crowd:
        world.push(f"http://{name}/")
    others = [world.push(f"http://other{n}.example/") for n in range(100)]
    world.run(until=START + 30.0)
    seen = world.n_requests()
    assert all(entry is not None and seen[entry.seq] == 1 for entry in others)
    world.run()
    assert len(world.ended) == 1_100
    starts = sorted(request.start for request in world.log if request.address == "10.0.0.1")
    assert starts[-1] - starts[0] <= 1_000 * 0.2 * 1.2, "the address stood idle while hosts waited for it"


@fewer
@given(seeds)
def test_many_blocked_hosts_cost_a_pop_nothing(seed: int) -> None:
    """No busy loop: the number of lines looked at grows with the requests made, not with the hosts that wait.

    Mutation: a blocked line goes back among the ready ones.
    """
    rng = random.Random(seed)
    crowd = {f"h{n}.crowd{rng.randrange(50)}.example": f"10.0.0.{rng.randrange(3)}" for n in range(600)}
    world = World(configured(politeness={"site_connections": 1, "min_delay": 0.0}), addresses=Addresses(dict(crowd)), seed=seed)
    slots = world.frontier._bench.slots
    n_looks, blocking = 0, slots._blocking

    def counted(line: SlotQueue, now: float) -> object:
        nonlocal n_looks
        n_looks += 1
        return blocking(line, now)

    slots._blocking = counted  # type: ignore[assignment,method-assign]  # counts what the law bounds
    for name in crowd:
        world.push(f"http://{name}/")
    world.run()
    assert len(world.ended) == 600
    assert n_looks <= 12 * 600
