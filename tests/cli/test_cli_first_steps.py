"""Mistakes of somebody who tries the program for the first time: each message is true, and names all mistakes at once."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from command import Command
from rich.console import Console

from thresher.config.settings import IdentitySettings, ScopeSettings, Settings
from thresher.crawler.core.errors import StoreError
from thresher.crawler.start.opening import with_seeds
from thresher.crawler.status import Status
from thresher.crawler.terminal.progress import headline, summary
from thresher.storage import rot

URL = "http://localhost:8000/"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THRESHER_IDENTITY__CONTACT", raising=False)


def test_a_port_and_a_missing_contact_are_told_at_once(thresher: Command, tmp_path: Path) -> None:
    """Seen to fail: the port alone was told, with how a seed is written, and the contact at the next try."""
    ran = thresher("crawl", URL, "-o", tmp_path / "new")
    assert ran.code == 2
    assert "bad_port: port 8000 (fetch.allow_ports, profile)\nA site of your own? --profile own-site" in ran.err
    assert "or a bare host name" not in ran.err
    assert "--contact" in ran.err
    assert ran.err.count("thresher: ") == 2
    assert thresher("crawl", URL, "-o", tmp_path / "new", "--contact", "me@a.example").err.count("thresher: ") == 1


@pytest.mark.parametrize("text", [None, "a: [1\n", "identity: {contact: me@a.example}\nidentity: {}\n", "seeds\n", ""])
def test_a_contact_is_not_missed_in_a_file_that_cannot_be_read(text: str | None, thresher: Command, tmp_path: Path) -> None:
    """Seen to fail: "identity.contact: … found nothing", though the file may name it."""
    file = tmp_path / "crawl.yaml"
    if text is not None:
        file.write_text(text)
    ran = thresher("check", "-c", file)
    assert (ran.code, ran.err.count("\n"), "identity.contact" in ran.err) == (2, 1, False)
    assert "identity.contact: expected" in thresher("check", "--set", "nonsense=1").err


@pytest.mark.parametrize("command", ["status", "stats", "hosts", "export", "report", "verify", "resume", "quarantine"])
def test_a_file_where_a_crawl_is_expected_is_no_damaged_crawl(command: str, thresher: Command, tmp_path: Path) -> None:
    """Seen to fail: exit 6, and the advice to restore the table of partitions from a backup."""
    file = tmp_path / "notes.txt"
    file.write_text("hello")
    ran = thresher(command, file)
    assert (ran.code, "no crawl here" in ran.err) == (2, True), ran.err


@pytest.mark.parametrize(("name", "start"), [("x.csv", "url,status\n"), ("x.tsv", "http"), ("x.jsonl", '{"url":'), ("x.txt", '{"url":')])
def test_the_name_of_the_file_says_the_format(name: str, start: str, thresher: Command, crawl: Path, tmp_path: Path) -> None:
    """Seen to fail: JSON lines in x.csv."""
    assert thresher("export", crawl, "--fields", "url,status", "-o", tmp_path / name).code == 0
    assert (tmp_path / name).read_text().replace("\r", "").startswith(start)
    assert thresher("export", crawl, "--fields", "url,status", "--format", "jsonl", "--force", "-o", tmp_path / name).code == 0
    assert (tmp_path / name).read_text().startswith('{"url":')


def test_an_unknown_short_key_is_not_taken_for_one_far_away(thresher: Command, tmp_path: Path) -> None:
    """Seen to fail: "foo: unknown key, did you mean filters.depth_cutoff.floor?"."""
    assert "did you mean" not in thresher("check", "--contact", "me@a.example", "--set", "foo=1").err


def test_a_tab_is_called_a_tab(thresher: Command, tmp_path: Path) -> None:
    """Seen to fail: "Put text that begins with this character in quotes"."""
    file = tmp_path / "crawl.yaml"
    file.write_text("identity:\n\tcontact: me@a.example\n")
    ran = thresher("check", "-c", file)
    assert "crawl.yaml:2:1: not YAML" in ran.err
    assert "Indent with spaces" in ran.err


def test_nothing_to_count_is_said_in_the_words_of_what_was_asked(thresher: Command, crawl: Path) -> None:
    for by, words in (("cause", "no request has failed"), ("filter", "--by reason")):
        ran = thresher("stats", crawl, "--by", by)
        assert ran.out or words in ran.err


def test_a_damaged_store_gives_its_advice_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail: "Restore this directory from a backup … restore it from a backup"."""
    for name in ("state", "results"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.mdb").write_bytes(b"\xff" * 20_000)
    with pytest.raises(StoreError) as caught:
        rot.require_sound_pages(tmp_path)
    assert str(caught.value).lower().count("backup") == 1


def test_the_end_of_a_crawl_is_said_without_an_echo() -> None:
    """Seen to fail: "Crawl stopped: stopped by SIGINT"."""
    assert str(headline(Status(state="stopped", why="stopped by SIGINT"))) == "Crawl stopped by SIGINT"
    assert str(headline(Status(state="done", why="limits.max_pages reached"))) == "Crawl done: limits.max_pages reached"


def test_an_outcome_that_no_seed_has_is_refused_with_those_that_there_are(thresher: Command, crawl: Path) -> None:
    """Seen to fail: an empty table and exit 0 for `--outcome fail`."""
    ran = thresher("seeds", crawl, "--outcome", "fail")
    assert (ran.code, "'failed'" in ran.err) == (2, True), ran.err
    assert thresher("seeds", crawl, "--outcome", "fetched", "--outcome", "failed").code == 0


@pytest.mark.parametrize(("name", "says"), [("x.xlsx", ", as JSON lines\n"), ("x.csv", " pages\n"), ("x.jsonl", " pages\n")])
def test_a_name_that_says_no_format_is_told_which_was_written(name: str, says: str, thresher: Command, crawl: Path, tmp_path: Path) -> None:
    """Seen to fail: "x.xlsx: 6 pages", of JSON lines."""
    assert thresher("export", crawl, "--fields", "url,status", "-o", tmp_path / name).err.endswith(says)


def test_what_is_held_is_counted_among_the_known_urls() -> None:
    """Seen to fail: "128 known, 2 still queued" after 92 pages, and not a word of the other 34."""
    status = Status(state="stopped", known=128, queued=2, held=34, held_by={"depth_cutoff": 34}, saved={"dust": 40})
    written = StringIO()
    Console(width=200, file=written).print(summary(status))
    said = written.getvalue()
    assert "128 known, 2 still queued, 34 held by filters" in said
    assert "held now     by filters: depth_cutoff 34" in said
    assert "refused      by filters, links and copies: dust 40" in said
    assert "dropped later" not in said


def test_what_filters_drop_later_has_a_line_in_the_summary() -> None:
    """Seen to fail: fifteen redirects judged soft errors, and a page that was kept at first, were in no line."""
    written = StringIO()
    Console(width=200, file=written).print(summary(Status(state="done", dropped_later={"soft_error": 16})))
    assert "dropped later    pages and redirects: soft_error 16" in written.getvalue()


def test_a_prefix_that_is_a_whole_host_is_said(thresher: Command) -> None:
    """Seen to fail: `/docs` meant the whole host, and nothing said so. A crawl says it at its beginning, as `check` does."""
    seeds = [
        "http://a.example/docs",
        "http://a.example/docs/",
        "http://a.example/",
        "http://a.example/x/docs",
        "http://a.example/index.html",
    ]
    given = ("--contact", "me@a.example")
    said = thresher("check", *seeds, *given, "--set", "scope.type=prefix").err
    warning = "scope.type: prefix: http://a.example/docs covers all of http://a.example/, as its path does not end with a slash. Write "
    assert said.count("scope.type: prefix: ") == 1
    assert f"{warning}http://a.example/docs/ for what lies below it" in said
    assert "scope.type: prefix" not in thresher("check", *seeds, *given).err
    settings = Settings(identity=IdentitySettings(contact="me@a.example"), scope=ScopeSettings(type="prefix"))
    assert with_seeds(settings, seeds, ()).words().startswith(warning)
