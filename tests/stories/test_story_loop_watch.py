"""A page whose parsing blocks the event loop of an agent: this is noticed, and the next pages of its host are parsed in another process;
those of other hosts are not.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import pytest
from little_web import LittleWeb, crawl, settings

from thresher.crawler.core import html
from thresher.crawler.core.parsed import Parsed


class Seen(logging.Handler):
    """A log handler that sets an event when a host is reported for blocking the loop."""

    def __init__(self) -> None:
        super().__init__()
        self.accused = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "parsed apart" in record.getMessage():
            self.accused.set()


async def test_a_host_that_holds_the_loop_does_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F94, in a whole crawl. Mutation: no page is suspected, and the next one is parsed in the agent, too."""
    parsed_here: list[str] = []

    def parse(source: html.DecodedBody, **options: Any) -> Parsed:
        parsed = finished(source, **options)
        parsed_here.append(parsed.title)
        limit = 10**6
        while parsed.title == "hostile.test/" and not seen.accused.is_set() and limit:
            limit -= 1
            sum(range(1000))
        return parsed

    finished = html.finished
    monkeypatch.setattr(html, "finished", parse)
    logger, seen = logging.getLogger("thresher.crawler.page.loop_watch"), Seen()
    logger.addHandler(seen)
    try:
        async with LittleWeb() as web:
            web.page("hostile.test/", "hostile.test/next", "honest.test/")
            web.page("hostile.test/next")
            web.page("honest.test/")
            crawled = await crawl(tmp_path / "c", settings(web, ["hostile.test/"]))
    finally:
        logger.removeHandler(seen)
    assert seen.accused.is_set()
    assert set(parsed_here) == {"hostile.test/", "honest.test/"}
    assert crawled.pages[web.url("hostile.test/next")].title == "hostile.test/next"
    assert "loop watch" not in [thread.name for thread in threading.enumerate()]
