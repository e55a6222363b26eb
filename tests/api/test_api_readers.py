"""Several readers of a crawl in one process, and what a reader is told of a crawl that this process runs."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import demo, options

import thresher
from thresher.crawler.core.errors import UsageError
from thresher.crawler.demo.process import ServerProcess


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with demo("story", tmp_path_factory.mktemp("demo")) as served:
        yield served


@pytest.fixture(scope="module")
def crawled(server: ServerProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("crawled") / "c"
    thresher.crawl(server.web.seeds()[:3], path, **options(server, limits={"max_pages": 5}))
    return path


def urls(reader: thresher.CrawlReader) -> list[str]:
    return [row["url"] for row in reader.pages("url")]


def test_two_readers_of_a_crawl_are_open_at_once_whichever_is_closed_first(crawled: Path) -> None:
    """Seen to fail: the second was told that the store is damaged. Mutation: the first one that closes closes the other's map."""
    for first_closes in (True, False):
        one, other = thresher.open(crawled), thresher.open(crawled)
        expected = urls(one)
        assert len(expected) == 5
        (one if first_closes else other).close()
        assert urls(other if first_closes else one) == expected
        (other if first_closes else one).close()
    with thresher.open(crawled) as again:
        assert urls(again) == expected


def test_a_reader_that_has_no_name_stays_open_while_its_rows_are_read(crawled: Path) -> None:
    """Mutation: the rows refer to the store, but not to its reader."""
    rows = thresher.open(crawled).pages("url")
    gc.collect()
    assert len(list(rows)) == 5


def test_a_crawl_that_this_process_runs_cannot_be_opened_and_is_not_called_damaged(server: ServerProcess, tmp_path: Path) -> None:
    """Nor can a crawl go on that this process reads."""
    said: list[str] = []

    def open_it(_: thresher.CrawledPage) -> None:
        with pytest.raises(UsageError) as refused:
            thresher.open(tmp_path / "c")
        said.append(str(refused.value))

    few = options(server, limits={"max_pages": 2})
    thresher.crawl(server.web.seeds()[:3], tmp_path / "c", on_page=open_it, **few)
    assert len(said) == 2
    assert all("a crawl of this process has it open" in text and "Nothing is damaged" in text for text in said)
    with thresher.open(tmp_path / "c"), pytest.raises(UsageError, match="Close the reader"):
        thresher.crawl([], tmp_path / "c", **options(server, limits={"max_pages": 4}))


def test_a_crawl_stays_where_it_began_wherever_its_script_goes(
    server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    few = options(server, limits={"max_pages": 3})
    thresher.crawl(server.web.seeds()[:3], "c", on_page=lambda _: os.chdir(tmp_path / "elsewhere"), **few)
    assert (tmp_path / "c" / "status.json").is_file()
    assert [*(tmp_path / "elsewhere").iterdir()] == []


def test_labels_and_patterns_are_taken_as_they_are(server: ServerProcess, tmp_path: Path) -> None:
    """A label's URL may hold a `=`, a pattern any character. Seen to fail: the label was cut at the `=`, the pattern was no YAML."""
    seed = server.web.seeds()[0] + "?a=b"
    few = options(server, limits={"max_pages": 1}, scope={"type": "any", "exclude": ["\N{GRINNING FACE}x"]})
    thresher.crawl([seed], tmp_path / "c", labels={seed: "museum"}, **few)
    with thresher.open(tmp_path / "c") as reader:
        assert [row["label"] for row in reader.pages("label")] == ["museum"]


async def test_no_page_is_told_once_the_caller_waits_no_longer(server: ServerProcess, tmp_path: Path) -> None:
    """Seen to fail: four more pages were told while the store was closed already."""
    told: list[str] = []
    third = asyncio.Event()

    async def slowly(page: thresher.CrawledPage) -> None:
        told.append(page.url)
        if len(told) == 3:
            third.set()
            await asyncio.sleep(600.0)

    running = asyncio.ensure_future(thresher.Crawl(tmp_path / "c", server.web.seeds(), **options(server)).run(on_page=slowly))
    await third.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert len(told) == 3
