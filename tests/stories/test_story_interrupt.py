"""A crawl that a Python script runs gets Ctrl-C twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from little_web import LittleWeb, settings

import thresher
from thresher.storage.verify import verify


async def test_the_second_ctrl_c_gives_up_what_is_in_flight(tmp_path: Path) -> None:
    """The server never answers; after the first Ctrl-C alone the crawl waits for it."""
    async with LittleWeb() as web:
        web.page("a.test/")
        gate = web.stall("a.test/")
        crawl = thresher.Crawl(tmp_path / "x", settings=settings(web, seeds=["a.test/"]))

        def twice(place: str) -> None:
            if place == "a.test/":
                asyncio.get_running_loop().call_soon(crawl.interrupt)
                asyncio.get_running_loop().call_soon(crawl.interrupt)

        web.on_request = twice
        with pytest.raises(KeyboardInterrupt):
            await crawl.run()
        gate.set()
    assert verify(tmp_path / "x") == []
