"""A killed child is always waited for, even if the waiting task is cancelled.

Mutation: the wait could be cancelled. Then a loop that ended left zombies behind: two agents of a crawl whose display fails, the parser of
a crawl that ends.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from thresher.config.settings import ParseSettings
from thresher.crawler.core.errors import UsageError
from thresher.crawler.page.parser import Parser
from thresher.crawler.process.agent_life import AgentLife
from thresher.crawler.status import AgentReport

TALKS = "import sys, time; print('{}', flush=True); time.sleep(600)"


async def _agent_whose_display_fails() -> None:
    def heard(report: AgentReport) -> None:
        assert task is not None
        asyncio.get_running_loop().call_soon(task.cancel)  # as when a loop ends
        raise UsageError("the server has ended")

    task = asyncio.current_task()
    await AgentLife((sys.executable, "-S", "-c", TALKS), silence_s=60, note=print).run([], heard)


async def _page_given_up_twice() -> None:
    parser, task = Parser(ParseSettings(timeout=60.0), "thresher"), asyncio.current_task()
    await parser.apart(b"", "", "", [], max_links=9)
    assert task is not None
    asyncio.get_running_loop().call_later(0.01, lambda: (task.cancel(), asyncio.get_running_loop().call_soon(task.cancel)))
    await parser.apart(b"<div>" * 100_000, "", "", [], max_links=9)


@pytest.mark.parametrize("waits", [_agent_whose_display_fails, _page_given_up_twice])
async def test_a_child_that_is_killed_is_gone_before_who_killed_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, waits: Callable[[], Awaitable[None]]
) -> None:
    made: list[Process] = []

    async def begin(*command: str, **options: Any) -> Process:
        made.append(await create(*command, **options))
        return made[-1]

    create = asyncio.create_subprocess_exec
    monkeypatch.setattr(asyncio, "create_subprocess_exec", begin)

    async def begun() -> list[int | None]:
        with pytest.raises(asyncio.CancelledError):
            await waits()
        return [process.returncode for process in made]

    assert await asyncio.create_task(begun()) == [-signal.SIGKILL]
