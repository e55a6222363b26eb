"""A thread sees what blocks the loop: the stack is logged, and pages of that host are parsed in a child process from then on."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from test_batch_reader import batch_reader, fetched

from thresher.crawler.core import html
from thresher.crawler.core.parsed import Parsed
from thresher.crawler.page.loop_watch import LIMIT_S, LoopStep, LoopWatch


async def test_a_stalled_loop_is_logged_with_the_stack_that_holds_it(caplog: pytest.LogCaptureFixture) -> None:
    """F94: a sleep is injected. No host is suspected, since nothing computes."""
    step, accused, told = LoopStep(), list[str](), threading.Event()
    step.host = "http://a.test"
    watch = LoopWatch(step, accused.append)
    logging.getLogger("thresher.crawler.page.loop_watch").addHandler(handler := Telling(told))
    try:
        await asyncio.sleep(0)
        told.wait(60.0)  # the loop is blocked until the watch has seen it
    finally:
        logging.getLogger("thresher.crawler.page.loop_watch").removeHandler(handler)
        watch.close()
    assert "told.wait(60.0)" in caplog.text
    assert accused == []


class Telling(logging.Handler):
    """Sets an event at the first line that is logged."""

    def __init__(self, told: threading.Event) -> None:
        super().__init__()
        self._told = told

    def emit(self, record: logging.LogRecord) -> None:
        self._told.set()


async def test_a_host_whose_page_computes_in_the_loop_is_parsed_apart_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Mutation: `_prepare` does not check the hosts: the second page is parsed in the agent."""
    parsed_here: list[bytes] = []
    accused = threading.Event()

    def parse(source: html.DecodedBody, **options: Any) -> Parsed:
        parsed_here.append(source.body_utf8)
        while source.body_utf8 == b"slow" and not accused.is_set():
            sum(range(1000))
        return finished(source, **options)

    finished = html.finished
    monkeypatch.setattr(html, "finished", parse)
    async with batch_reader(tmp_path, clock=time.monotonic) as table:

        def accuse(host: str) -> None:
            table.isolate(host)
            accused.set()

        watch = LoopWatch(table.step, accuse)
        try:
            first = await table.read(fetched("slow", b"slow"))
            second = await table.read(fetched("next", b"<title>t</title>quick"))
        finally:
            watch.close()
    assert (first.page.text, second.page.title, second.page.text) == ("slow", "t", "quick")
    assert parsed_here == [b"slow"]
    assert "http://a.test, whose pages are parsed apart" in caplog.text
    assert "in parse\n" in caplog.text


async def test_a_loop_that_goes_on_accuses_nobody() -> None:
    """Time that other processes take from the machine is no fault of a page: no host is suspected."""
    step, accused = LoopStep(), list[str]()
    watch = LoopWatch(step, accused.append)
    step.host = "http://a.test"
    for _ in range(20):
        await asyncio.sleep(LIMIT_S / 10)
    watch.close()
    assert accused == []


async def test_a_closed_watch_leaves_no_thread() -> None:
    watch = LoopWatch(LoopStep(), lambda _: None)
    assert [thread.name for thread in threading.enumerate()].count("loop watch") == 1
    watch.close()
    assert "loop watch" not in [thread.name for thread in threading.enumerate()]
