"""A few visits end together; whoever waits for their ends gets them, or the error."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from thresher.config.settings import StoreSettings
from thresher.crawler.agent.batch_settler import BatchSettler
from thresher.crawler.settlement.group_commit import Committer

_TOGETHER = 16


class _Settler:
    """Lets each visit wait."""

    def __init__(self) -> None:
        self.n_late = 0
        self.ended: list[int] = []  # number of visits that ended together
        self.error: Exception | None = None

    def settle_soon(self, _visit: object, _now: float) -> None:
        self.n_late += 1

    def catch_up(self) -> None:
        if self.error is not None:
            raise self.error
        self.ended.append(self.n_late)
        self.n_late = 0


class _World:
    def __init__(self) -> None:
        self.settler = _Settler()
        self.n_to_come = 0
        self.failed: list[BaseException] = []
        self.n_woken = 0
        committer = Committer(cast("Any", None), StoreSettings(), clock=lambda: 0.0, on_failure=lambda _: None, on_commit=lambda: None)
        self.committer = committer
        self.batch_settler = BatchSettler(
            cast("Any", self.settler), committer, is_joined=lambda: self.n_to_come > 0, wake=self._wake, fail=self.failed.append
        )

    def _wake(self) -> None:
        self.n_woken += 1
        self.batch_settler.catch_up()

    def settle(self) -> None:
        self.batch_settler.settle(cast("Any", None), 0.0)


async def test_visits_of_several_rounds_end_together_while_more_may_join() -> None:
    """Mutation: each round of the loop ends its own."""
    world = _World()
    for world.n_to_come in range(2 * _TOGETHER - 1, -1, -1):
        world.settle()
        await asyncio.sleep(0)
        if world.batch_settler.owns_round:
            await asyncio.sleep(0)  # no journey goes on in this round
    await asyncio.sleep(0)
    assert world.settler.ended == [_TOGETHER, _TOGETHER]
    assert world.n_woken == len(world.settler.ended), "the workers get their leases then"


async def test_a_visit_that_none_joins_ends_in_the_next_round() -> None:
    world = _World()
    world.settle()
    assert world.batch_settler.has_late
    assert not world.batch_settler.owns_round
    await asyncio.sleep(0)
    assert world.batch_settler.owns_round, "the round in which it ends is its own"
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (world.settler.ended, world.batch_settler.has_late, world.batch_settler.owns_round) == ([1], False, False)


async def test_an_end_that_cannot_be_written_ends_the_workers_and_all_commits() -> None:
    """Mutation: the error was told to the loop alone, and the crawl stood still."""
    world = _World()
    world.settle()
    world.settler.error = KeyError("missing")
    with pytest.raises(KeyError):
        world.batch_settler.catch_up()
    assert world.failed == [world.settler.error]
    assert world.committer.broken
