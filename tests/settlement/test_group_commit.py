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
