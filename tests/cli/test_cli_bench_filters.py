"""`thresher bench filters`: plain breadth-first, all filters, all but one, on one labelled web at an equal number of requests."""

import contextlib
import json
import os
import signal
import tempfile
import threading
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from command import Command
from long import shortened

from thresher.crawler.bench import filter_bench
from thresher.crawler.bench.filter_bench import CrawlOutcome

QUICK = ("--set", "politeness.min_delay=0", "--set", "limits.max_wait=1")


@pytest.fixture
def bench(thresher: Command) -> Command:
    return partial(thresher, "bench", "filters", *QUICK)


@pytest.mark.parametrize(("pages", "fetches", "without"), shortened([(40, 460, "none"), (60, 600, "depth_cutoff")], 1))
def test_each_crawl_is_judged_by_the_labels_at_the_same_budget(bench: Command, pages: int, fetches: int, without: str) -> None:
    """A small form of row 22 of ACCEPTANCE.md, with the web's traps alone. Mutation: `_lost` counted URLs that only wait; the crawl without
    a filter then had lost documents.
    """
    run = bench("--part", "depth", "--pages", pages, "--sites", "4", "--fetches", fetches, "--without", without, "--json")
    assert run.code == 0, run.err
    report = json.loads(run.out)
    plain, every, *others = report["crawls"]
    assert [row["crawl"] for row in report["crawls"]] == ["plain", "all"] + [f"all but {without}"] * len(others)
    assert plain["fetches"] == report["budget"] == fetches
    assert plain["useful"] + sum(plain["wasted_by_kind"].values()) == fetches
    assert plain["ratio"] == 1
    assert plain["lost"] == 0
    assert every["ended"] == "nothing left"
    assert every["ratio"] >= 1.5
    assert every["lost %"] <= 2
    assert every["useful"] + every["lost"] == report["documents"]
    assert every["adds"] is None
    assert len(others) == (without != "none")
    assert all(row["lost"] == 0 and row["adds"] > 0.2 for row in others)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell of three crawls that nobody makes."""
    wasted = Counter({"replicas copy": 60})
    plain = CrawlOutcome("plain", 100, list(range(1, 41)), wasted, Counter(), 1.0, is_cut=True)
    every = CrawlOutcome("all", 50, list(range(1, 30)), Counter({"replicas copy": 20}), Counter(), 1.0, is_cut=False)
    without = CrawlOutcome("all but dust", 100, list(range(1, 46)), wasted, Counter(), 1.0, is_cut=True)
    monkeypatch.setattr(filter_bench, "crawls", lambda *_: iter([plain, every, without]))


@pytest.mark.usefixtures("told")
def test_a_row_for_each_crawl_says_what_the_filter_left_out_adds(bench: Command) -> None:
    run = bench("--part", "replicas", "--pages", "6", "--sites", "2", "--fetches", "100", "--without", "dust", "--json")
    assert run.code == 0, run.err
    rows = json.loads(run.out)["crawls"]
    assert [(row["crawl"], row["ratio"], row["adds"]) for row in rows] == [
        ("plain", 1.0, None),
        ("all", 1.45, None),
        ("all but dust", 1.125, 0.325),
    ]


@pytest.mark.usefixtures("told")
def test_one_line_of_the_table_for_each_crawl(bench: Command) -> None:
    run = bench("--part", "replicas", "--pages", "6", "--sites", "2", "--fetches", "100", "--without", "dust")
    assert run.code == 0, run.err
    head, *lines = run.out.splitlines()
    assert head.split()[:3] == ["crawl", "fetches", "useful"]
    assert [line.split()[0] for line in lines[:3]] == ["plain", "all", "all"]
    assert lines[3].startswith("fetched in vain")
    assert lines[-1].startswith("With a budget of 100 requests")
    assert lines[-1].endswith(": not met"), "less than half as much again is too little"


def test_a_crawl_that_ends_early_gives_no_figure(bench: Command) -> None:
    run = bench("--part", "replicas", "--pages", "20", "--sites", "4", "--set", "limits.max_time=0", "--json")
    assert run.code == 2
    assert run.out == ""
    assert "plain: the crawl ended after 0 of" in run.err


def test_a_server_that_dies_in_the_middle_leaves_no_figure(bench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crawl whose server is gone ends like one that has fetched everything. Mutation: the command does not check the server."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = threading.Event()
    killer = threading.Thread(target=_kill_server, args=[tmp_path, ended])
    killer.start()
    try:
        run = bench("--part", "replicas", "--pages", "100", "--sites", "4", "--set", "politeness.min_delay=0.5")
    finally:
        ended.set()
        killer.join()
    assert run.code == 2
    assert run.out == ""
    assert "plain: the server ended in the middle of the crawl: there is no result" in run.err


def _kill_server(directory: Path, ended: threading.Event) -> None:
    """Kill the server once the crawl has logged a first request. The list of children may lack some if one of them ends while it is
    read.
    """
    while not ended.wait(0.05):
        if any(log.stat().st_size for log in directory.glob("*/plain.log")):
            for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split():
                with contextlib.suppress(FileNotFoundError):
                    if b"thresher.crawler.demo.server" in Path(f"/proc/{child}/cmdline").read_bytes():
                        os.kill(int(child), signal.SIGKILL)
                        return


def test_an_unknown_filter_is_named_with_those_that_there_are(bench: Command) -> None:
    run = bench("--without", "depth-cutoff")
    assert run.code == 2
    assert "'depth-cutoff' is not one of" in run.err
    assert "'depth_cutoff'" in run.err
