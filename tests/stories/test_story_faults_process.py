"""Rows of ACCEPTANCE.md with agents in processes of their own: pages that kill their parser, and a system without free file descriptors."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from faulty import Web, crawl, crawl_apart, faulty_web, page
from hostile import Talk
from injecting import crash_at

from thresher.crawler.children.crash_suspects import Suspects
from thresher.crawler.core.html import DecodedBody, prepared
from thresher.storage.store import Store


async def test_a_page_that_kills_the_crawler_is_parsed_where_it_can_do_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F69: the first process that the page kills notes it; the next parses the page in a child process."""
    here: list[int] = []

    def prepare_here(body: bytes, *args: Any, **options: Any) -> DecodedBody | None:
        here.append(len(body))
        return prepared(body, *args, **options)

    async with faulty_web() as web:
        web.say("a.test/poison", page("/after", text="p" * 5_000))
        code, found = await crawl_apart(tmp_path, web, "a.test/poison", environ=crash_at("parsing:1"))
        assert code == -9
        assert found["a.test/poison"].state == "queued"
        monkeypatch.setattr("thresher.crawler.core.html.prepared", prepare_here)
        found = await crawl(tmp_path, web, "a.test/poison")
    assert web.pages("a.test") == ["/poison", "/poison", "/after"]
    assert found["a.test/poison"].flags == set()
    assert max(here) < 5_000  # it is not among the pages that were parsed in the agent


async def test_a_page_that_ended_three_lives_is_not_parsed_a_fourth_time(tmp_path: Path) -> None:
    """F69: it is stored as it came, with a mark, and its links are not followed. Nothing else changes."""
    async with faulty_web() as web:
        web.say("a.test/poison", page("/never"))
        web.say("a.test/good", page("/after"))
        _, found = await crawl_apart(tmp_path, web, "a.test/poison", "a.test/good", environ=crash_at("parsing:1"))
        for _ in range(Suspects.limit - 1):
            _crash_again(tmp_path / "crawl", found["a.test/poison"].row.seq)
        found = await crawl(tmp_path, web, "a.test/poison", "a.test/good")
    assert found["a.test/poison"].flags == {"parse_skipped"}
    assert found["a.test/poison"].body == page("/never").partition(b"\r\n\r\n")[2]
    assert "a.test/never" not in found
    assert found["a.test/after"].state == "done"


def _crash_again(path: Path, seq: int) -> None:
    """Write into the store that the page is being parsed, as an agent that dies over it leaves it."""
    with Store.open(path, None, time.time()) as store:
        suspects = Suspects(path, store.tables)
        assert suspects.accuse()
        store.end_visit()
        suspects.acquit()
        with suspects.watching(store.tables.seen.record(seq).key):
            slot = (path / "working").read_bytes()
        suspects.close()
    (path / "working").write_bytes(slot)


def _slow(web: Web) -> None:
    """Let every host take a moment, so that many connections are open at once."""

    async def answer(talk: Talk) -> None:
        await asyncio.sleep(0.05)
        await talk.send(page("/2", "mailto:a@b.test"))

    for i in range(80):
        web.say_all(f"h{i}.test", lambda seen: answer)


async def test_no_url_is_lost_for_want_of_descriptors(tmp_path: Path) -> None:
    """F91: 64 descriptors for 100 fetchers, the store and its log. There are fewer connections, and no host and no URL fails."""
    async with faulty_web() as web:
        _slow(web)
        code, found = await crawl_apart(tmp_path, web, *(f"h{i}.test/" for i in range(80)), n_files=64, fetch={"concurrency": 100})
    assert code == 0
    assert found.counters["cause:no_descriptors"] > 0
    assert found.causes() == {}
    assert sum(known.page is not None for known in found.urls.values()) == 160
    assert {host.failures for host in found.hosts.values()} == {0}
