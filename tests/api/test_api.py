"""Crawling and reading from Python: the same store, the same rules, the same errors as on the command line."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import Options, demo, options, running
from stopping_demo import stopping_demo

import thresher
from thresher.crawler.demo.process import ServerProcess
from thresher.storage.verify import verify

N_PAGES = 30


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with demo("story", tmp_path) as served:
        yield served


def few(server: ServerProcess, n: int = N_PAGES, **sections: dict[str, Any]) -> Options:
    return options(server, **{"limits": {"max_pages": n}, **sections})


def test_the_import_brings_nothing_along() -> None:
    """Mutation: an eager import of the agent in the facade."""
    code = "import sys; before = set(sys.modules); import thresher; print(*sorted(set(sys.modules) - before))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in said if "thresher" in name} <= {"thresher", "thresher.crawler", "thresher.crawler.version"}
    assert len(said) < 12


def test_a_script_that_sets_up_no_log_gets_none() -> None:
    """Mutation: no handler at the logger `thresher`: Python prints warnings of it on stderr then."""
    code = "import logging, thresher; thresher.Crawl; logging.getLogger('thresher.page').warning('the loop is held')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr == ""


def test_every_name_of_the_facade_is_there() -> None:
    for name in thresher.__all__:
        assert getattr(thresher, name) is not None
    assert dir(thresher) == thresher.__all__
    with pytest.raises(AttributeError, match="has no attribute 'no_such'"):
        _ = thresher.no_such


def test_a_script_crawls_reads_and_goes_on(server: ServerProcess, tmp_path: Path) -> None:
    """`on_page` gets each page once, in the order of the visits, after its commit; the same call continues with a new limit."""
    told: list[thresher.CrawledPage] = []
    texts: dict[str, str | None] = {}

    def on_page(page: thresher.CrawledPage) -> None:
        told.append(page)
        texts[page.url] = page.text()

    seeds = server.web.seeds()
    first = thresher.crawl(seeds, tmp_path / "x", on_page=on_page, **few(server))
    assert (first.code, first.is_done, first.why) == (0, True, "limits.max_pages reached")
    assert len(told) == first.pages == first.new_pages >= N_PAGES
    assert [page.visit for page in told] == sorted({page.visit for page in told})
    with thresher.open(tmp_path / "x") as read:
        rows = {row["url"]: row for row in read.pages()}
        assert set(rows) == {page.url for page in told}
        assert all((rows[page.url]["status"], rows[page.url]["title"]) == (page.status, page.title) for page in told)
        assert all(read.text(url) == text for url, text in texts.items())
        assert sum(text is not None for text in texts.values()) > N_PAGES / 2
        assert {row["state"] for row in read.urls("state")} >= {"done", "queued"}
        assert list(next(iter(read.links("source", "target")))) == ["source", "target"]
        assert read.explain(told[0].url).state == "done"
        assert read.text("no url") is None
    second = thresher.crawl((), tmp_path / "x", limits={"max_pages": N_PAGES + 10})
    assert second.pages >= N_PAGES + 10
    assert second.new_pages == second.pages - first.pages
    assert verify(tmp_path / "x") == []


def test_the_sections_may_be_one_mapping_and_options_win(server: ServerProcess, tmp_path: Path) -> None:
    sections = {**few(server, 5), "limits": {"max_pages": 5, "min_free_disk": 0}}
    assert thresher.crawl(server.web.seeds(), tmp_path / "x", config=sections, limits={"max_pages": 2}).is_done
    with thresher.open(tmp_path / "x") as read:
        assert 2 <= len(list(read.pages("url"))) < 5


def test_rows_come_as_a_table(server: ServerProcess, tmp_path: Path) -> None:
    thresher.crawl(server.web.seeds(), tmp_path / "x", **few(server, 5))
    with thresher.open(tmp_path / "x") as read:
        table = read.to_arrow("pages", "url", "status")
        assert table.column_names == ["url", "status"]
        assert table.num_rows == len(list(read.pages("url")))
        with pytest.raises(thresher.UsageError, match="what: expected one of pages, urls"):
            read.rows("paeges")
        with pytest.raises(thresher.UsageError, match="Did you mean title"):
            read.pages("titel")


async def test_a_coroutine_is_awaited_and_may_stop_the_crawl(server: ServerProcess, tmp_path: Path) -> None:
    slow = {"min_delay": 0.2, "delay_factor": 0.0}  # else a busy machine has crawled the whole web before the fifth page is told
    crawl = thresher.Crawl(tmp_path / "x", server.web.seeds(), **few(server, 10_000, politeness=slow))
    told = 0

    async def on_page(page: thresher.CrawledPage) -> None:
        nonlocal told
        await asyncio.sleep(0)
        told += 1
        if told == 5:
            crawl.stop()

    outcome = await crawl.run(on_page=on_page)
    assert (outcome.code, outcome.is_done, outcome.why) == (3, False, "stopped by its caller")
    assert told == outcome.pages


async def test_snapshots_are_taken_of_a_crawl_from_python_too(server: ServerProcess, tmp_path: Path) -> None:
    """Mutation: only the command line starts the timer."""
    taken = tmp_path / "kept" / "snapshots" / "000001"

    async def wait(_page: thresher.CrawledPage) -> None:
        async with asyncio.timeout(600):
            while not taken.exists():  # noqa: ASYNC110 - no event comes from another process
                await asyncio.sleep(0.05)

    with_snapshots = few(server, 3, snapshots={"target": str(tmp_path / "kept")})
    outcome = await thresher.Crawl(tmp_path / "x", server.web.seeds(), **with_snapshots).run(on_page=wait)
    assert outcome.is_done
    assert taken.exists()


async def test_what_the_callers_code_raises_stops_the_crawl_and_is_raised(server: ServerProcess, tmp_path: Path) -> None:
    def on_page(page: thresher.CrawledPage) -> None:
        raise KeyError(page.url)

    with pytest.raises(KeyError, match="http"):
        await thresher.Crawl(tmp_path / "x", server.web.seeds(), **few(server)).run(on_page=on_page)
    assert verify(tmp_path / "x") == []


async def test_a_notebook_has_a_loop_already(server: ServerProcess, tmp_path: Path) -> None:
    assert thresher.crawl(server.web.seeds(), tmp_path / "x", **few(server, 5)).pages >= 5


def test_ctrl_c_stops_gracefully(tmp_path: Path) -> None:
    """In a script of its own, with the signals that a terminal sends, while the server does not answer."""
    script = tmp_path / "job.py"
    with stopping_demo("story", tmp_path, 12) as server:
        script.write_text(
            "import sys, thresher\n"
            f"options = {few(server, 10_000)!r}\n"
            "outcome = thresher.crawl(sys.argv[2:], sys.argv[1], on_page=lambda page: print(page.url, flush=True), **options)\n"
            "print(outcome.code, outcome.why, flush=True)\n"
        )
        command = [sys.executable, str(script), str(tmp_path / "x"), *server.web.seeds()]
        with running(command, stdout=subprocess.PIPE, text=True) as job:
            assert job.stdout is not None
            assert job.stdout.readline().startswith("http")
            server.until_stopped()
            job.send_signal(signal.SIGINT)
            server.goes_on()
            assert job.stdout.read().splitlines()[-1] == "3 stopped by Ctrl-C"
            assert job.wait(600) == 0
    assert verify(tmp_path / "x") == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"limits": {"max_pages": "many"}}, "limits.max_pages: expected"),
        ({"limits": {"max_pagse": 1}}, "limits.max_pagse"),
        ({"agents": 2}, "agents: expected 1"),
        ({"identity": {"contact": ""}}, "identity.contact"),
        ({"snapshots": {"target": "nowhere://kept"}}, "snapshots.target: nowhere://kept: cannot be used as a target"),
    ],
)
def test_bad_options_are_told_before_anything_is_written(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    whole: dict[str, Any] = {"identity": {"contact": "https://example.org/bot"}, **changed}
    with pytest.raises((thresher.UsageError, thresher.ConfigError)) as raised:
        thresher.crawl(["http://a.example/"], tmp_path / "x", **whole)
    assert message in str(raised.value)
    assert "--set limits" not in str(raised.value)
    assert not (tmp_path / "x").exists()


def test_a_directory_without_a_crawl_is_told(tmp_path: Path) -> None:
    with pytest.raises(thresher.UsageError, match="expected the directory of a crawl, found none"):
        thresher.open(tmp_path)


def test_a_running_crawl_can_be_read(server: ServerProcess, tmp_path: Path) -> None:
    """From another process, as a dashboard would."""
    script = tmp_path / "job.py"
    script.write_text(
        "import sys, thresher\n"
        f"options = {few(server, 10_000, politeness={'min_delay': 0.2, 'delay_factor': 0.0})!r}\n"
        "thresher.crawl(sys.argv[2:], sys.argv[1], on_page=lambda page: print(page.url, flush=True), **options)\n"
    )
    environ = {name: value for name, value in os.environ.items() if not name.startswith("THRESHER_")}
    command = [sys.executable, str(script), str(tmp_path / "x"), *server.web.seeds()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as job:
        assert job.stdout is not None
        url = job.stdout.readline().strip()
        deadline = time.monotonic() + 600
        with thresher.open(tmp_path / "x") as read:
            assert url in {row["url"] for row in read.pages("url")}
        assert time.monotonic() < deadline
        job.kill()
