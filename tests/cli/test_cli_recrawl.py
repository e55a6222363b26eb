"""`thresher recrawl` and `changes`: what they refuse, and the stream of changes while a crawl runs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command import Command
from harness import ROOT, hear_signals, running
from small_store import SmallStore

from thresher.crawler import cli
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import State
from thresher.crawler.start.rounds import begin_round
from thresher.storage.store import Store
from thresher.storage.view import View

CONTACT = ("--contact", "you@example.org")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    small = SmallStore(tmp_path / "c")
    for name in ("a", "b"):
        url = small.url(f"/{name}")
        small.known(url, State.DONE)
        small.page(url)
    small.close()
    return tmp_path / "c"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--older-than", "soon"], "--older-than soon: expected"),
        (["--older-than", "-1"], "--older-than -1: expected"),
        (["--where", "colour=red"], "--where colour=red: expected FIELD=VALUE"),
        (["--trust", "a.example"], "--trust a.example: no such host is parked. Parked: none"),
    ],
)
def test_what_cannot_be_carried_out_begins_no_round(store: Path, words: list[str], said: str) -> None:
    with pytest.raises(Exception, match=said.split(":", maxsplit=1)[0]) as told:
        cli.thresher.main(["recrawl", str(store), *CONTACT, *words], standalone_mode=False)
    assert said in str(told.value)
    with View(store) as view:
        assert view.tables.rounds.all() == []


def test_a_new_round_breaks_off_the_one_before_and_says_what_it_takes_over(store: Path) -> None:
    assert begin_round(store, older_than_s=0.0, where=()) == "round 2 begins"
    with Store.open(store, None, 0.0) as opened:
        record = opened.tables.rounds.last()
        assert record is not None
        record.stage, record.n_queued, record.n_settled = "asking", 7, 3
        opened.tables.rounds.save(record)
        opened.end_visit()
    assert begin_round(store, older_than_s=0.0, where=()) == "round 3 begins; 4 pages that round 2 still waits for are asked in this one"
    with View(store) as view:
        assert [record.stage for record in view.tables.rounds.all()] == ["broken off", "hosts"]


def test_a_resume_says_how_the_round_stands_that_it_goes_on_with(store: Path, thresher: Command) -> None:
    """Mutation: only `recrawl` says it."""
    begin_round(store, older_than_s=0.0, where=())
    with Store.open(store, None, 0.0) as opened:
        record = opened.tables.rounds.last()
        assert record is not None
        record.stage, record.n_queued, record.n_settled, record.counts = "done", 7, 7, {"changed": 2, "not_modified": 5}
        opened.tables.rounds.save(record)
        opened.end_visit()
    ran = thresher("resume", store, *CONTACT)
    assert ran.err.splitlines()[-1] == "round 2: 7 of 7 visited again; not modified 5, changed 2"


def test_changes_refuses_what_is_no_place(store: Path) -> None:
    with pytest.raises(UsageError, match="--since 7: there is no such round, the last one is 1"):
        cli.thresher.main(["changes", str(store), "--since", "7"], standalone_mode=False)


def test_a_stream_that_is_followed_goes_on_with_what_is_found(store: Path) -> None:
    command = [sys.executable, "-m", "thresher", "changes", str(store), "--follow"]
    with running(command, cwd=ROOT, stdout=subprocess.PIPE, preexec_fn=hear_signals) as child:
        assert child.stdout is not None
        first = [json.loads(child.stdout.readline()) for _ in range(2)]
        assert [row["url"] for row in first] == ["https://a.example/a", "https://a.example/b"]
        with Store.open(store, None, 0.0) as opened:
            page = opened.tables.pages.read(1)
            assert page is not None
            page.url = "https://a.example/c"
            opened.tables.pages.put(page, None)
            opened.end_visit()
        row = json.loads(child.stdout.readline())
        assert (row["url"], row["kind"]) == ("https://a.example/c", "new")
        child.send_signal(signal.SIGINT)
        assert child.wait(600) == 130
