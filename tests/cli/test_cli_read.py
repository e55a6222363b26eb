"""status, stats, hosts and verify say what a store holds, to people and to programs."""

from __future__ import annotations

import errno
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from command import Command
from small_store import NOW, SmallStore

from thresher.crawler.cli import thresher as group
from thresher.crawler.core.model import State, Verdict
from thresher.crawler.process.supervisor import write_status
from thresher.crawler.status import Status
from thresher.storage.tables.verdicts import verdict_records

ROOT = Path(__file__).parents[2]
READERS = ("status", "stats", "hosts", "seeds", "explain", "export", "verify", "quarantine")

HOLDER = """
import sys
from pathlib import Path
from thresher.storage.store import Store
with Store.open(Path(sys.argv[1]), None, 0.0):
    print("ready", flush=True)
    sys.stdin.read()
"""


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def by_first(text: str) -> dict[Any, dict[str, Any]]:
    return {next(iter(row.values())): row for row in lines(text)}


@pytest.mark.parametrize("name", READERS)
def test_each_example_in_the_help_works(name: str, thresher: Command, crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(crawl, tmp_path / "example")
    monkeypatch.chdir(tmp_path)
    shown = thresher(name, "--help")
    command = group.get_command(click.Context(group), name)
    assert command is not None
    assert command.epilog is not None
    assert " ".join(command.epilog.split()) in " ".join(shown.out.split())
    example = command.epilog.removeprefix("Example: thresher ")
    assert example != command.epilog
    assert thresher(*shlex.split(example)).code == 0


@pytest.mark.parametrize("name", ["status", "stats", "hosts", "export", "verify"])
def test_a_directory_without_a_store_is_named_in_one_message(name: str, thresher: Command, tmp_path: Path) -> None:
    ran = thresher(name, tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert str(tmp_path) in ran.err
    assert ran.err.count("\n") == 1


def test_status_without_a_written_one_counts_the_store(thresher: Command, crawl: Path) -> None:
    (said,) = lines(thresher("status", crawl, "--json").out)
    assert (said["pages"], said["known"], said["queued"], said["hosts"]) == (6, 18, 5, 2)
    assert (said["alive"], said["holder"], said["state"]) == (False, 0, "stopped")


def test_status_prints_what_the_supervisor_wrote_last(thresher: Command, crawl: Path, tmp_path: Path) -> None:
    shutil.copytree(crawl, tmp_path / "c")
    write_status(tmp_path / "c", Status(state="done", why="nothing is left to do", pages=41, status_classes={"2xx": 41}))
    (said,) = lines(thresher("status", tmp_path / "c", "--json").out)
    assert set(msgspec.to_builtins(Status())) < set(said)
    assert (said["pages"], said["state"], said["alive"]) == (41, "done", False)
    assert "done: nothing is left to do" in thresher("status", tmp_path / "c").out


def test_status_says_how_a_crawl_ended_that_filled_the_disk(
    thresher: Command, crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail: there was no room for a new status.json, and the crawl had "ended without a word"."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "c"
    shutil.copytree(crawl, path)
    write_status(path, Status(state="waiting", why="1 host: delay_factor 10, next in 0.1 s"))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        write_status(path, Status(state="failed", why="the disk refuses"))
    assert "failed: the disk refuses" in thresher("status", path).out
    assert not (path / "status.json.tmp").exists()


def test_a_torn_status_file_is_as_good_as_none(thresher: Command, crawl: Path, tmp_path: Path) -> None:
    shutil.copytree(crawl, tmp_path / "c")
    (tmp_path / "c" / "status.json").write_bytes(b'{"pid": 1, "pages": 4')
    (said,) = lines(thresher("status", tmp_path / "c", "--json").out)
    assert said["pages"] == 6


def test_everything_can_be_read_while_a_process_holds_the_store(thresher: Command, crawl: Path, tmp_path: Path) -> None:
    path = tmp_path / "c"
    shutil.copytree(crawl, path)
    write_status(path, Status(state="crawling", pages=6))
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n"
        (said,) = lines(thresher("status", path, "--json").out)
        assert (said["alive"], said["holder"]) == (True, holder.pid)
        assert len(lines(thresher("export", path).out)) == 6
        assert thresher("verify", path).code == 0
        assert str(holder.pid) in thresher("status", path).out
        holder.stdin.close()
    (said,) = lines(thresher("status", path, "--json").out)
    assert (said["alive"], said["holder"]) == (False, 0)
    assert "ended without a word" in thresher("status", path).out


def test_stats_without_a_key_are_totals(thresher: Command, crawl: Path) -> None:
    (totals,) = lines(thresher("stats", crawl, "--json").out)
    assert totals["urls"] == sum(totals[state] for state in ("queued", "done", "held", "alias", "refused"))
    assert (totals["pages"], totals["wire_bytes"], totals["skipped"], totals["saved"]) == (6, 3000, 5, 2)
    assert "wire bytes" in thresher("stats", crawl).out


def test_stats_count_by_every_key(thresher: Command, crawl: Path) -> None:
    def by(key: str) -> dict[Any, dict[str, Any]]:
        ran = thresher("stats", crawl, "--by", key, "--json")
        assert ran.code == 0
        assert thresher("stats", crawl, "--by", key).out.count("\n") == ran.out.count("\n") + 1
        return by_first(ran.out)

    assert by("host")["a.example"]["pages"] == 6
    assert by("site")["parked.example"] == {**by("site")["parked.example"], "failed": 12, "hosts": 1, "queued": 1}
    assert {code: row["answers"] for code, row in by("status").items()} == {200: 4, 301: 1, 404: 1, 503: 1}
    assert by("status")[200] == {**by("status")[200], "pages": 4, "kept": 3, "wire_bytes": 2000}
    counts = {"saved": 1, "held": 0, "would_save": 0, "verdicts": 2, "not_kept": 1, "not_followed": 1, "revised": 1}
    nothing_changed = {"revised_to_not_kept": 0, "revised_to_kept": 0, "redirects_not_kept": 0}
    assert by("filter")["exact_duplicate"] == {"filter": "exact_duplicate", **counts, **nothing_changed}
    assert by("reason")["out_of_scope"]["skipped"] == 1
    assert {depth: (row["pages_from_seed"], row["pages_in_site"]) for depth, row in by("depth").items()} == {0: (1, 1), 1: (5, 5)}
    assert by("type")["text/html"]["pages"] == 6


def test_a_page_that_is_revised_to_not_kept_counts_as_lost_and_a_redirect_by_itself(thresher: Command, tmp_path: Path) -> None:
    """Mutation: verdicts were counted as they were given with the page: "not kept 0, revised 2" hid two lost pages."""
    small = SmallStore(tmp_path / "revised")
    dropped, given_back = (Verdict("soft_error", keep=keep, follow=keep) for keep in (False, True))
    for name, first, newest in (("/lost", (), dropped), ("/back", (dropped,), given_back), ("/twice", (), dropped), ("/kept", (), None)):
        url = small.url(name)
        small.known(url, State.DONE)
        small.page(url, keep=not first, verdicts=verdict_records(first))
        if newest is not None:
            small.store.tables.verdicts.revise(url.key, newest, NOW)
    small.store.tables.verdicts.revise(small.url("/twice").key, given_back, NOW + 1)
    small.store.tables.verdicts.revise(small.url("/moved").key, dropped, NOW)
    small.close()
    (row,) = lines(thresher("stats", tmp_path / "revised", "--by", "filter", "--json").out)
    assert row == {
        "filter": "soft_error",
        "saved": 0,
        "held": 0,
        "would_save": 0,
        "verdicts": 3,
        "not_kept": 1,
        "not_followed": 1,
        "revised": 3,
        "revised_to_not_kept": 1,
        "revised_to_kept": 1,
        "redirects_not_kept": 1,
    }
    (by_status,) = [row for row in lines(thresher("stats", tmp_path / "revised", "--by", "status", "--json").out) if row["pages"]]
    assert (by_status["pages"], by_status["kept"]) == (4, 3)


def test_the_top_rows_come_first_and_the_cut_is_said_on_stderr(thresher: Command, crawl: Path) -> None:
    ran = thresher("stats", crawl, "--by", "status", "--top", 2)
    assert len(ran.out.splitlines()) == 3
    assert "more" in ran.err
    assert [row["status"] for row in lines(thresher("stats", crawl, "--by", "status", "--top", 1, "--json").out)] == [200]


def test_nothing_to_count_is_said_so(thresher: Command, crawl: Path) -> None:
    ran = thresher("stats", crawl, "--by", "cause")
    assert (ran.code, ran.out) == (0, "")
    assert "nothing" in ran.err


def test_hosts_show_queue_delay_and_what_parked_them(thresher: Command, crawl: Path) -> None:
    rows = by_first(thresher("hosts", crawl, "--json").out)
    assert list(rows) == ["a.example", "parked.example"]
    assert rows["a.example"] == {**rows["a.example"], "queued": 4, "pages": 6, "requests": 9, "crawl_delay": 3.0, "next_in": 0.0}
    assert rows["parked.example"]["parked"] == "host_dead"
    assert rows["parked.example"]["next_in"] > 1e8
    assert "12 (9 in a row)" in thresher("hosts", crawl).out


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--sort", "errors"), ["parked.example", "a.example"]),
        (("--sort", "delay"), ["parked.example", "a.example"]),
        (("--sort", "name", "--top", "1"), ["a.example"]),
        (("--sort", "pages", "--top", "1"), ["a.example"]),
        (("--parked",), ["parked.example"]),
    ],
)
def test_hosts_are_sorted_cut_and_chosen(flags: tuple[str, ...], expected: list[str], thresher: Command, crawl: Path) -> None:
    assert list(by_first(thresher("hosts", crawl, "--json", *flags).out)) == expected


def test_verify_finds_a_sound_store_sound(thresher: Command, crawl: Path) -> None:
    ran = thresher("verify", crawl)
    assert (ran.code, ran.out) == (0, "")
    assert "sound" in ran.err


@pytest.fixture
def damaged(crawl: Path, tmp_path: Path) -> Path:
    """A store whose state is overwritten past its meta pages."""
    path = tmp_path / "damaged"
    shutil.copytree(crawl, path)
    file = path / "state" / "data.mdb"
    content = bytearray(file.read_bytes())
    content[2 * 4096 :] = b"\xa5" * (len(content) - 2 * 4096)
    file.write_bytes(content)
    return path


def test_verify_survives_what_stops_its_reader(thresher: Command, damaged: Path) -> None:
    ran = thresher("verify", damaged, "--json")
    assert ran.code == 6
    assert all("problem" in row for row in lines(ran.out))
    assert "problem" in ran.err


@pytest.mark.parametrize("words", [("status",), ("stats",), ("hosts",), ("export",), ("explain", "https://a.example/", "-o")])
def test_a_damaged_store_is_one_message(words: tuple[str, ...], thresher: Command, damaged: Path) -> None:
    ran = thresher(*words, damaged)
    assert (ran.code, ran.out, ran.err.count("\n")) == (6, "", 1)
    assert "verify" in ran.err


def test_verify_outlives_a_reader_that_is_killed(thresher: Command, crawl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a page beyond the end of a cut file kills the reader by SIGBUS: that ends the child process, not the command."""
    monkeypatch.setattr("thresher.crawler.cli.verify.CHECK", "import os, signal; os.kill(os.getpid(), signal.SIGBUS)")
    ran = thresher("verify", crawl)
    assert ran.code == 6
    assert "signal 7" in ran.out
    monkeypatch.setattr("thresher.crawler.cli.verify.CHECK", "raise SystemExit(3)")
    assert "exit 3" in thresher("verify", crawl).out


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("stats", "--by", "status"),
        ("hosts",),
        ("explain", "https://a.example/"),
        ("export",),
        ("verify",),
        ("report", "-o", "report.html"),
        ("resume",),
        ("rank",),
        ("soft-errors",),
        ("patterns",),
        ("filters",),
        ("replicas",),
        ("dust", "list"),
        ("depth", "advise"),
    ],
)
def test_where_no_crawl_is_the_operator_erred_and_nothing_is_damaged(words: tuple[str, ...], thresher: Command, tmp_path: Path) -> None:
    """Seen to fail: a mistyped directory ended with exit 6, that of a damaged store."""
    where = tmp_path / "nowhere"
    head, rest = (words[:2], words[2:]) if words[0] in ("dust", "depth") else (words[:1], words[1:])
    ran = thresher(*head, where, *rest)
    assert (ran.code, ran.out, "damaged" in ran.err) == (2, "", False)
    assert str(where) in ran.err
    assert not where.exists()
