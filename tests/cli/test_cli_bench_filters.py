"""`thresher bench filters`: plain breadth-first, all filters, all but one, on one labelled web at an equal number of requests."""

import contextlib
import json
import os
import signal
import tempfile
import threading
from functools import partial
from pathlib import Path

import pytest
from command import Command

QUICK = ("--set", "politeness.min_delay=0", "--set", "limits.max_wait=1")


@pytest.fixture
def bench(thresher: Command) -> Command:
    return partial(thresher, "bench", "filters", *QUICK)


def test_each_crawl_is_judged_by_the_labels_at_the_same_budget(bench: Command) -> None:
    """A small form of row 22 of ACCEPTANCE.md, with the web's traps alone. Mutation: `_lost` counted URLs that only wait; the crawl without
    a filter then had lost documents.
    """
    run = bench("--part", "depth", "--pages", "60", "--sites", "4", "--fetches", "600", "--without", "depth_cutoff", "--json")
    assert run.code == 0, run.err
    report = json.loads(run.out)
    plain, every, without = report["crawls"]
    assert [row["crawl"] for row in report["crawls"]] == ["plain", "all", "all but depth_cutoff"]
    assert plain["fetches"] == report["budget"] == 600
    assert plain["useful"] + sum(plain["wasted_by_kind"].values()) == 600
    assert plain["ratio"] == 1
    assert every["ended"] == "nothing left"
    assert every["ratio"] >= 1.5
    assert every["lost %"] <= 2
    assert every["useful"] + every["lost"] == report["documents"]
    assert without["lost"] == 0
    assert every["adds"] is None
    assert without["adds"] > 0.2


def test_one_line_of_the_table_for_each_crawl(bench: Command) -> None:
    run = bench("--part", "replicas", "--pages", "20", "--sites", "4", "--without", "none")
    assert run.code == 0, run.err
    head, *lines = run.out.splitlines()
    assert head.split()[:3] == ["crawl", "fetches", "useful"]
    assert [line.split()[0] for line in lines[:2]] == ["plain", "all"]
    assert lines[2].startswith("fetched in vain")
    assert lines[-1].startswith("With a budget of ")
    assert lines[-1].endswith(": not met"), "mirrors alone are little to gain from"


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
