"""Group commit when the loop and the writer's thread do not end together."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any, cast

import pytest

from thresher.config.settings import StoreSettings
from thresher.crawler.settlement.group_commit import Committer
from thresher.storage.store import Store


class Slow:
    """A store whose commit ends when the test says so."""

    pending_visits, pending_bytes, committing = 1, 0, False

    def __init__(self) -> None:
        self.commit: Future[None] = Future()

    def flush(self, _now: float) -> Future[None]:
        return self.commit


def test_a_commit_that_ends_after_its_agent_died_complains_of_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The cause of death is logged already; a message about a closed loop would only hide it. Mutation: the closed loop raises."""
    store = Slow()
    heard: list[object] = []

    async def die() -> None:
        committer = Committer(
            cast("Store", cast("Any", store)), StoreSettings(), clock=lambda: 0.0, on_failure=heard.append, on_commit=lambda: None
        )
        committer.flush()

    asyncio.run(die())
    store.commit.set_result(None)
    assert (caplog.records, heard) == ([], [])


@pytest.mark.parametrize("is_idle", [False, True])
def test_what_settled_during_a_commit_is_committed_at_once_only_if_nothing_else_is_under_way(is_idle: bool) -> None:
    """Mutation: the group closes as soon as the writer is free, and small groups write the same pages again and again."""
    store = Slow()
    flushed: list[float] = []

    def flush(now: float) -> Future[None]:
        flushed.append(now)
        return store.commit if len(flushed) == 1 else Future()

    async def crawl() -> int:
        cast("Any", store).flush = flush
        committer = Committer(
            cast("Store", cast("Any", store)),
            StoreSettings(commit_interval=3600.0),
            clock=lambda: 0.0,
            on_failure=lambda error: None,
            on_commit=lambda: None,
            is_idle=lambda: is_idle,
        )
        committer.flush()
        store.commit.set_result(None)
        for _ in range(3):
            await asyncio.sleep(0)
        return len(flushed)

    assert asyncio.run(crawl()) == 1 + is_idle


async def test_the_ends_of_visits_are_written_before_a_commit_and_before_anything_else_is() -> None:
    """Mutations: the group is committed without them, or other rows are written before them."""
    done: list[str] = []
    store = Slow()

    def flush(_now: float) -> Future[None]:
        done.append("commit")
        return store.commit

    cast("Any", store).flush = flush
    committer = Committer(
        cast("Store", cast("Any", store)),
        StoreSettings(),
        clock=lambda: 0.0,
        on_failure=lambda error: None,
        on_commit=lambda: None,
        catch_up=lambda: done.append("ends"),
    )
    committer.whole(done.append, "rows")
    committer.guard(done.append, "a visit that others may join")
    committer.flush()
    assert done == ["ends", "rows", "a visit that others may join", "ends", "commit"]


def test_an_end_that_cannot_be_written_is_a_visit_that_is_half_written() -> None:
    """Nothing is committed any more. Mutation: an error outside `write` left the group open."""
    committer: Committer

    async def crawl() -> bool:
        nonlocal committer
        committer = Committer(
            cast("Store", cast("Any", Slow())), StoreSettings(), clock=lambda: 0.0, on_failure=lambda _: None, on_commit=lambda: None
        )
        with pytest.raises(KeyError):
            committer.guard({}.__getitem__, "missing")  # type: ignore[arg-type]  # it raises, whatever it is given
        return committer.broken

    assert asyncio.run(crawl())
