"""Pages that must not be parsed in the agent, and the child process that parses them.

The ticker stands for all other pages of the crawl: it must go on while the child is busy. No test measures time.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from long import shortened

from thresher.config.settings import ParseSettings
from thresher.crawler.core import html
from thresher.crawler.core.model import Flag
from thresher.crawler.core.parsed import Link, Parsed
from thresher.crawler.page.parser import Parser

HTML = "text/html"
LINKED = b'<title>t</title><a href="/first" rel=nofollow>x</a>'
MAX_LINKS = 10_000


@pytest.fixture(autouse=True)
def trees_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each page be parsed to a tree, here and in children, since the native pass would read most of these pages without harm."""
    monkeypatch.setattr(html, "NATIVE", False)
    monkeypatch.setenv("THRESHER_NATIVE", "0")


class Harness:
    """A parser, and what a test does with it."""

    def __init__(self, patience_s: float | None = None, **settings: Any) -> None:
        self.parser = Parser(ParseSettings(**{"timeout": 0.5, **settings}), "thresher", patience_s=patience_s)
        self.n_ticks = 0

    def here(self, body: bytes, mime_type: str = HTML) -> Parsed | None:
        return self.parser.here(body, mime_type, mime_type, [], max_links=MAX_LINKS)

    async def apart(self, body: bytes, mime_type: str = HTML, headers: list[str] | None = None) -> Parsed:
        return await self.parser.apart(body, mime_type, mime_type, headers or [], max_links=MAX_LINKS)

    async def tick(self) -> None:
        while True:
            self.n_ticks += 1
            await asyncio.sleep(0.005)


@asynccontextmanager
async def parsing(**settings: Any) -> AsyncIterator[Harness]:
    harness = Harness(**settings)
    async with asyncio.TaskGroup() as group:
        ticker = group.create_task(harness.tick())
        try:
            yield harness
        finally:
            ticker.cancel()
            await harness.parser.close()
            assert children() == []


def children() -> list[int]:
    """Return the process ids of the parser processes of this one that are not yet reaped."""
    found = []
    for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        with suppress(FileNotFoundError):
            if b"thresher.crawler.children.parser_process" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return found


async def parsed_late(harness: Harness, body: bytes, headers: list[str] | None = None) -> Parsed:
    """Let an existing child parse a page, but begin only after other pages have gone on, so that its speed does not matter."""
    (child,) = children()
    os.kill(child, signal.SIGSTOP)
    page, n_ticks = asyncio.ensure_future(harness.apart(body, headers=headers)), harness.n_ticks
    while harness.n_ticks < n_ticks + 10 and not page.done():  # noqa: ASYNC110 - the ticker is all that happens
        await asyncio.sleep(0.005)
    assert not page.done()
    os.kill(child, signal.SIGCONT)
    return await page


def limits(pid: int) -> dict[str, list[str]]:
    """Return the soft and the hard limits of a process by name."""
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return {line[:25].strip(): line[25:].split()[:2] for line in lines[1:]}


def numbered(pattern: bytes, n: int) -> bytes:
    return b"".join(pattern % i for i in range(n))


async def test_an_ordinary_page_is_parsed_here() -> None:
    async with parsing() as harness:
        parsed = harness.here(LINKED)
        assert parsed is not None
        assert parsed.links == (Link("/first", "nofollow", "a"),)
        assert children() == []


async def test_large_pages_and_bombs_are_refused_here_and_binaries_are_not() -> None:
    async with parsing(isolate_above=1000) as harness:
        assert harness.here(LINKED + b" " * 1000) is None
        assert harness.here(b"words " * 1000, "text/plain") is None
        binary = harness.here(b"\0" * 2000)
        assert binary is not None
        assert binary.flags == {Flag.NOT_HTML}
    async with parsing() as harness:
        assert harness.here(b"<div>" * 10_000) is None


async def test_here_and_apart_give_the_same() -> None:
    page = '<title>Größe</title><base href=/b><link rel=canonical href=/c><meta name=robots content=noindex><a href="/é">Text</a>'
    bodies = [(page.encode(), HTML), (page.encode("latin-1"), HTML), (page.encode("utf-16"), HTML), (b"a  b", "text/plain"), (b"\0", HTML)]
    async with parsing() as harness:
        for body, mime_type in bodies:
            assert await harness.apart(body, mime_type, ["nofollow"]) == harness.parser.here(
                body, mime_type, mime_type, ["nofollow"], max_links=MAX_LINKS
            )


async def test_one_child_serves_many_pages_until_it_is_recycled() -> None:
    async with parsing(recycle_after=3) as harness:
        served = []
        for _ in range(7):
            await harness.apart(LINKED)
            served.append(children())
        assert served[0] == served[1] != []
        assert served[2] == served[5] == []  # it ended after its third page
        assert served[3] == served[4] != served[0]


HANGS: dict[str, Callable[[], bytes]] = {
    "F64: 500 KB of nested div": lambda: b"<div>" * 100_000,
    "F66: 50,000 attributes": lambda: b"<a " + numbered(b"a%d ", 50_000) + b">",
    "F66: 400 KB of nested lists": lambda: b"<ul><li>" * 50_000,
    "F66: adoption agency": lambda: b"<a><div>" * 100_000,
}


@pytest.mark.parametrize("name", shortened([*HANGS], 2))
async def test_a_page_that_hangs_its_parser_costs_the_parser_only(name: str) -> None:
    """F64, F66: the child dies when its time is used up, the page keeps the links of a scan, and other pages go on."""
    async with parsing(timeout=0.2, patience_s=300.0) as harness:
        await harness.apart(LINKED)
        first = children()
        parsed = await parsed_late(harness, LINKED + HANGS[name](), headers=["nofollow"])
        assert parsed.flags == {Flag.PARSE_TIMEOUT}
        assert parsed.links == (Link("/first", "nofollow", "a"),)
        assert parsed.directives.nofollow
        assert children() == []
        assert (await harness.apart(LINKED)).flags == set()
        assert children() != first


async def test_a_child_that_gets_no_processor_time_costs_a_page_nothing() -> None:
    """As on a very busy machine: the child stands still for five times the page's time, and uses no processor time.

    Mutation: a wall-clock deadline of `parse.timeout`: the text is lost.
    """
    async with parsing(timeout=0.1, patience_s=300.0) as harness:
        await harness.apart(b"")
        child = children()[0]
        os.kill(child, signal.SIGSTOP)
        page = asyncio.create_task(harness.apart(LINKED + b"<p>words"))
        await asyncio.sleep(0.5)
        os.kill(child, signal.SIGCONT)
        parsed = await page
        assert (parsed.flags, parsed.text, children()) == (frozenset(), "x words", [child])


async def test_a_child_that_never_answers_is_replaced_and_the_page_has_one_more_try() -> None:
    """The last resort: only the wall clock shows that a child will not go on."""
    async with parsing(timeout=20.0, patience_s=300.0) as harness:
        await harness.apart(b"")
        first = children()[0]
        os.kill(first, signal.SIGSTOP)
        harness.parser._patience_s = 0.3
        page = asyncio.create_task(harness.apart(LINKED + b"<p>words"))
        while not harness.parser._turns.locked():  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0)
        harness.parser._patience_s = 300.0  # for the next child: a busy machine may be slow to start it
        parsed = await page
        assert (parsed.flags, parsed.text) == (frozenset(), "x words")
        assert first not in children()


async def test_a_page_that_no_child_answers_for_is_given_up_after_the_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silent, started = tmp_path / "silent", tmp_path / "started"
    silent.write_text(f"#!/bin/sh\necho x >> {started}\nprintf '\\000\\000\\000\\000'\nexec sleep 600\n")
    silent.chmod(0o700)
    monkeypatch.setattr("sys.executable", str(silent))
    async with parsing(patience_s=0.2) as harness:
        parsed = await harness.apart(LINKED)
        assert (parsed.links, parsed.flags) == ((Link("/first", "nofollow", "a"),), frozenset({Flag.PARSE_TIMEOUT}))
    assert started.read_text() == "x\nx\n"


async def test_nested_templates_do_not_kill_the_crawler() -> None:
    """F65: 100,000 of them overflow the stack of a process that serialises them."""
    async with parsing(timeout=10.0) as harness:
        body = LINKED + b"<template>" * 100_000
        assert harness.here(body) is None
        parsed = await harness.apart(body)
        assert parsed.flags <= {Flag.PARSE_CRASH}
        assert parsed.links == (Link("/first", "nofollow", "a"),)


async def test_a_page_that_eats_memory_costs_the_parser_only() -> None:
    """F66: the address space of the child is bounded."""
    async with parsing(timeout=20.0, memory=300 << 20) as harness:
        parsed = await harness.apart(LINKED + numbered(b"<font a=%d><p>", 3_000))
        assert parsed.flags == {Flag.PARSE_CRASH}
        assert parsed.links == (Link("/first", "nofollow", "a"),)
        assert (await harness.apart(LINKED)).flags == set()


async def test_a_child_that_dies_is_replaced() -> None:
    async with parsing() as harness:
        await harness.apart(LINKED)
        first = children()
        os.kill(first[0], signal.SIGSEGV)
        assert (await harness.apart(LINKED)).flags == {Flag.PARSE_CRASH}
        assert (await harness.apart(LINKED)).flags == set()
        assert children() != first


async def test_a_huge_attribute_is_dropped() -> None:
    """F67: the size limit cuts the page at 10 MiB, and the URL in the attribute never leaves the child."""
    async with parsing(timeout=10.0) as harness:
        parsed = await harness.apart(LINKED + b'<a href="' + b"x" * (10 << 20))
        assert parsed.links == (Link("/first", "nofollow", "a"),)
        parsed = await harness.apart(LINKED + b'<a href="' + b"x" * (10 << 20) + b'">')
        assert (len(parsed.links), parsed.n_links, parsed.flags) == (1, 2, frozenset())


@pytest.mark.parametrize("n", shortened([1 << 17, 1 << 20], 1))
async def test_of_very_many_links_ten_thousand_are_kept(n: int) -> None:
    """F68: both if the parser succeeds and if it is killed meanwhile."""
    async with parsing(timeout=60.0) as harness:
        body = b"<a href=x>" * n
        await harness.apart(LINKED)
        parsed = await parsed_late(harness, body)
        assert (len(parsed.links), parsed.n_links, parsed.flags) == (MAX_LINKS, n, frozenset({Flag.LINKS_TRUNCATED}))
    async with parsing(timeout=0.05) as harness:
        parsed = await harness.apart(body)
        assert (len(parsed.links), parsed.flags) == (MAX_LINKS, frozenset({Flag.LINKS_TRUNCATED, Flag.PARSE_TIMEOUT}))
        assert parsed.n_links > MAX_LINKS


async def test_zero_bytes_do_no_harm_apart() -> None:
    """F63."""
    async with parsing() as harness:
        body = b" " * html.SNIFF_BYTES + LINKED + b"\0<a href='/\0'>\0</a>" * 1000
        parsed = await harness.apart(body)
        assert parsed.links[:2] == (Link("/first", "nofollow", "a"), Link("/\ufffd", "", "a"))


async def test_a_cancelled_caller_leaves_no_answer_to_the_next() -> None:
    async with parsing(timeout=10.0) as harness:
        await harness.apart(LINKED)
        first = children()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await harness.apart(b"<div>" * 100_000)
        parsed = await harness.apart(b"<a href=/second>")
        assert parsed.links == (Link("/second", "", "a"),)
        assert children() != first


async def test_a_caller_cancelled_while_the_child_starts_leaves_none_behind() -> None:
    async with parsing() as harness:
        for delay in (0.0, 0.01, 0.05):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(delay):
                    await harness.apart(LINKED)
        assert (await harness.apart(LINKED)).flags == set()
        assert len(children()) == 1


@pytest.mark.parametrize("processes", shortened([2, 1], 1))
async def test_callers_wait_their_turn(processes: int) -> None:
    async with parsing(processes=processes, timeout=5.0) as harness:
        bodies = [b"<a href=/%d>" % i * 2000 for i in range(20)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(harness.apart(body)) for body in bodies]
        assert [task.result().links[0].href for task in tasks] == [f"/{i}" for i in range(20)]
        assert len(children()) == processes


async def test_a_child_that_cannot_start_costs_the_tree_only(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    async with parsing() as harness:
        parsed = await harness.apart(LINKED)
        assert (parsed.links, parsed.flags) == ((Link("/first", "nofollow", "a"),), frozenset({Flag.PARSE_SKIPPED}))
        plain = await harness.apart(b"a <a href=x>", "text/plain")
        assert (plain.links, plain.text) == ((), "a <a href=x>")
    assert "could be started" in caplog.text


async def test_the_child_is_limited() -> None:
    memory = 512 << 20
    async with parsing(memory=memory) as harness:
        await harness.apart(LINKED)
        values = limits(children()[0])
        assert values["Max address space"] == [str(memory)] * 2
        assert values["Max core file size"] == values["Max file size"] == ["0", "0"]
        assert values["Max open files"] == ["16", "16"]
        assert int(values["Max cpu time"][0]) <= 4


BUSY_PARENT = """
import asyncio, os
from thresher.config.settings import ParseSettings
from thresher.crawler.page.parser import Parser

async def main():
    parser = Parser(ParseSettings(timeout=60.0), "thresher")
    await parser.apart(b"", "", "", [], max_links=9)
    print(open(f"/proc/self/task/{os.getpid()}/children").read().split()[-1], flush=True)
    await parser.apart(b"<div>" * 100_000, "", "", [], max_links=9)

asyncio.run(main())
"""


def test_a_busy_child_dies_with_the_crawler() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY_PARENT], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as parent:
        assert parent.stdout is not None
        child = os.pidfd_open(int(parent.stdout.readline()))
        try:
            parent.kill()
            assert select.select([child], [], [], 600.0)[0] == [child]
        finally:
            os.close(child)
