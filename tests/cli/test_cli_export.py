"""An export is complete, in strict form, safe to open in a spreadsheet, and whole or not there."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command import Command
from injecting import crash_at
from long import shortened
from small_store import BODY, NOW, SEED, SmallStore, build

from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import Purpose, State, Verdict
from thresher.storage.export.fields import iso
from thresher.storage.export.judged import NewestVerdict, follows, keeps, standing
from thresher.storage.export.kinds import KINDS
from thresher.storage.export.pages import current_pages
from thresher.storage.export.target import replacing
from thresher.storage.records import PageRecord, RevisionRecord, VerdictRecord
from thresher.storage.view import View

ROOT = Path(__file__).parents[2]
ON_REQUEST = ("text", "html", "body", "cross_site")

EXPORT = "import sys; from thresher.crawler.cli import main; sys.argv[0] = 'thresher'; main()"
WRITER = """
import sys
from pathlib import Path
from thresher.crawler.core.model import State
from thresher.storage.store import Store
with Store.open(Path(sys.argv[1]), None, 0.0) as store:
    for line in sys.stdin:
        _, record = store.tables.pages.since(int(line))[0]
        record.title = "fetched again"
        store.tables.pages.put(record, b"new body")
        store.tables.seen.settle(record.key, State.DONE)
        store.end_visit()
        store.flush().result()
        print("done", flush=True)
"""


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def exported(thresher: Command, crawl: Path, *flags: str) -> list[dict[str, Any]]:
    ran = thresher("export", crawl, *flags)
    assert (ran.code, ran.err) == (0, "")
    return lines(ran.out)


_ABSENT = {  # of one host without sitemaps
    *("hostgraph", "sitegraph", "sitemaps", "announced", "orphans", "unannounced", "forgotten", "browser", "requisites"),
}


# each export of texts starts a child: the fields of its rows are in test_cli_export_texts.py, too
@pytest.mark.parametrize("what", shortened([*sorted(set(KINDS) - _ABSENT - {"texts"}), "texts"], -1))
def test_all_fields_come_by_default_in_both_formats(what: str, thresher: Command, crawl: Path) -> None:
    names = [field.name for field in KINDS[what].fields if not field.on_request]
    words = ["--what", what, *(["--text", "visible"] if what == "texts" else [])]  # main texts take longer: test_cli_export_texts.py
    rows = exported(thresher, crawl, *words)
    assert rows
    assert all(list(row) == names for row in rows)
    table = list(csv.reader(io.StringIO(thresher("export", crawl, *words, "--format", "csv").out, newline="")))
    assert table[0] == names
    assert len(table) == len(rows) + 1
    assert thresher("export", crawl, "--what", what, "--list-fields").out.split()[: len(names)] == names


def test_pages_tell_all_that_a_record_holds(thresher: Command, crawl: Path) -> None:
    rows = {row["url"]: row for row in exported(thresher, crawl)}
    assert len(rows) == 6
    page = rows["https://a.example/page"]
    expected = {"status": 200, "depth": 1, "via": SEED, "type": "text/html", "charset": "utf-8", "bytes": len(BODY), "purpose": "page"}
    expected |= {"fetched_at": iso(NOW + 2), "elapsed": 0.25, "flags": ["truncated_size"], "signals": ["ai-train=no"], "visit": 2}
    assert page == page | expected
    assert rows[SEED]["via"] is None
    assert rows["https://a.example/new"]["via"] == "https://a.example/old"
    assert rows["https://a.example/error"]["failed"] == "http_5xx"


def test_a_verdict_names_the_page_it_means_by_its_url(thresher: Command, crawl: Path) -> None:
    rows = {row["url"]: row for row in exported(thresher, crawl, "--fields", "url,keep,verdicts")}
    (verdict,) = rows["https://a.example/copy"]["verdicts"]
    assert verdict["evidence"] == {"copy_of": "https://a.example/page"}
    assert rows["https://a.example/copy"]["keep"] is False
    assert rows["https://a.example/page"]["verdicts"][0]["revised_at"] == iso(NOW + 50)


def test_what_a_body_says_comes_when_it_is_named(thresher: Command, crawl: Path) -> None:
    rows = {row["url"]: row for row in exported(thresher, crawl, "--fields", "url,text,html,body")}
    page = rows["https://a.example/page"]
    assert page["text"] == "Words of the page"
    assert base64.b64decode(page["body"]) == BODY
    assert page["html"] == BODY.decode()
    assert rows["https://a.example/copy"] == {"url": "https://a.example/copy", "text": None, "html": None, "body": None}


def test_urls_tell_state_reason_and_last_failure(thresher: Command, crawl: Path) -> None:
    rows = {row["url"]: row for row in exported(thresher, crawl, "--what", "urls")}
    assert len(rows) == 18
    assert rows["https://a.example/alias"]["state"] == "alias"
    assert rows["https://a.example/private/x"]["reason"] == "robots_denied"
    dead = rows["https://a.example/dead"]
    assert (dead["attempts"], dead["failure"], dead["final"]) == (4, "conn_refused", True)


def test_redirects_name_both_ends(thresher: Command, crawl: Path) -> None:
    (row,) = exported(thresher, crawl, "--what", "redirects")
    edge = {"url": "https://a.example/old", "to": "https://a.example/new", "status": 301, "at": iso(NOW)}
    assert row == edge | {"final": "https://a.example/new", "final_status": 200, "hops": 1, "end": "settled", "label": None}


def test_links_are_pairs_of_urls_in_page_order(thresher: Command, crawl: Path) -> None:
    rows = exported(thresher, crawl, "--what", "links")
    assert len(rows) == 8
    assert rows[0] == {"source": SEED, "target": "https://a.example/page"}
    assert rows[-1] == {"source": "https://a.example/page", "target": SEED}


def test_outlinks_are_what_the_stored_body_says(thresher: Command, crawl: Path) -> None:
    """Also what the crawl did not take up, and what leaves it."""
    page, fields = "https://a.example/page", "source,target,cross_site,anchor,rel,element,state"
    home, outside = [row for row in exported(thresher, crawl, "--what", "outlinks", "--fields", fields) if row["source"] == page]
    assert home == {"source": page, "target": SEED, "cross_site": False, "anchor": "Home", "rel": "", "element": "a", "state": "done"}
    said = {"anchor": "Out", "rel": "nofollow", "element": "a", "state": None}
    assert outside == {"source": page, "target": "https://elsewhere.example/", "cross_site": True} | said


def test_the_log_of_skipped_urls_names_who_refused_them(thresher: Command, crawl: Path) -> None:
    rows = {row["url"]: row for row in exported(thresher, crawl, "--what", "skipped")}
    outside = rows["https://elsewhere.example/"]
    assert (outside["by"], outside["via"], outside["host"]) == ("scope", "https://a.example/page", "elsewhere.example")
    assert rows["mailto:x@a.example\n=1"]["host"] is None


def test_fields_come_in_the_order_they_are_named(thresher: Command, crawl: Path) -> None:
    assert thresher("export", crawl, "--fields", "status, url", "--format", "csv").out.startswith(
        "status,url\r\n200,https://a.example/\r\n"
    )


def test_an_unknown_field_is_refused_with_the_nearest_and_the_list(thresher: Command, crawl: Path) -> None:
    ran = thresher("export", crawl, "--fields", "url,titel")
    assert (ran.code, ran.out) == (2, "")
    assert "mean title?" in ran.err
    assert "fetched_at" in ran.err


# -- files


def test_a_file_is_replaced_only_by_force(thresher: Command, crawl: Path, tmp_path: Path) -> None:
    """S33: the old file stays whole and as it is."""
    file = tmp_path / "urls.jsonl"
    assert thresher("export", crawl, "--what", "urls", "-o", file).code == 0
    assert len(lines(file.read_text())) == 18
    file.write_text("old")
    ran = thresher("export", crawl, "-o", file)
    assert (ran.code, file.read_text()) == (2, "old")
    assert "--force" in ran.err
    assert thresher("export", crawl, "-o", file, "--force").code == 0
    own = crawl / "state" / "data.mdb"
    before = own.read_bytes()
    ran = thresher("export", crawl, "-o", own, "--force")
    assert (ran.code, "lies in the crawl's own directory" in ran.err, own.read_bytes() == before) == (2, True, True)
    assert len(lines(file.read_text())) == 6
    assert [path.name for path in tmp_path.iterdir()] == ["urls.jsonl"]


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_symbolic_link_is_never_written_through(force: tuple[str, ...], thresher: Command, crawl: Path, tmp_path: Path) -> None:
    """S32: exit 74, the link's target untouched, whether it is there or not."""
    for target in (tmp_path / "target", tmp_path / "missing"):
        (tmp_path / "target").write_text("mine")
        link = tmp_path / "out.jsonl"
        link.symlink_to(target)
        assert thresher("export", crawl, "-o", link, *force).code == 74
        assert (tmp_path / "target").read_text() == "mine"
        assert not (tmp_path / "missing").exists()
        link.unlink()


@pytest.mark.parametrize(("name", "code"), [(".", 2), ("nowhere/x.jsonl", 2), ("pipe", 2)])
def test_what_is_no_place_for_a_file_is_refused(name: str, code: int, thresher: Command, crawl: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    ran = thresher("export", crawl, "-o", tmp_path / name, "--force")
    assert (ran.code, ran.out) == (code, "")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_an_export_killed_before_its_end_leaves_the_old_file(crawl: Path, tmp_path: Path) -> None:
    """S33: a file is whole or not there."""
    file = tmp_path / "pages.csv"
    file.write_text("old")
    command = [sys.executable, "-c", EXPORT, "export", str(crawl), "--format", "csv", "--force", "-o", str(file)]
    killed = subprocess.run(command, cwd=ROOT, env={**os.environ, **crash_at("export_rename:1")}, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert file.read_text() == "old"
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    assert file.read_text().startswith("url,status,")


def fail_half_way(path: Path) -> None:
    with replacing(path, force=False) as file:
        file.write(b"half")
        raise RuntimeError("half way")


def lose_the_race(path: Path) -> None:
    with replacing(path, force=False):
        path.write_text("somebody else's")


def test_an_export_that_fails_leaves_no_trace(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="half way"):
        fail_half_way(tmp_path / "x")
    assert [path.name for path in tmp_path.iterdir()] == []
    with pytest.raises(UsageError, match="already"):
        lose_the_race(tmp_path / "x")
    assert (tmp_path / "x").read_text() == "somebody else's"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_full_disk_is_exit_74(crawl: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-c", EXPORT, "export", str(crawl)]
        ran = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False)
    assert ran.returncode == 74
    assert ran.stderr.count(b"\n") == 1


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    small = SmallStore(tmp_path / "c")
    for n in range(2000):
        small.known(small.url(f"/{n}/{'x' * 200}"))
    small.close()
    words = ["export", str(tmp_path / "c"), "--what", "urls"]
    with subprocess.Popen([sys.executable, "-c", EXPORT, *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.wait() == 0
        assert child.stderr.read() == b""


# -- a crawl that goes on


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Callable[[int], None]]:
    """Another process that crawls into tmp_path/c: fetches the page of a visit once more."""
    build(tmp_path / "c")
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, tmp_path / "c"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        answers = child.stdout

        def fetch_again(visit: int) -> None:
            print(visit, file=child.stdin, flush=True)
            assert answers.readline() == "done\n"

        yield fetch_again
        child.stdin.close()


def test_each_url_comes_once_though_its_page_is_fetched_again_meanwhile(
    writer: Callable[[int], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law of an export of a running crawl. Fails if a URL that was fetched again since is left out, or its newer page is written
    too.
    """
    monkeypatch.setattr("thresher.storage.export.pages._CHUNK", 1)
    with View(tmp_path / "c") as view:
        pages = current_pages(view)
        seen = [next(pages)[1].url]
        for visit in (1, 2, 3):
            writer(visit)
        seen += [page.url for _, page in pages]
        assert len(seen) == len(set(seen)) == 6
        later = {page.url: page.title for _, page in current_pages(view)}
    assert sum(title == "fetched again" for title in later.values()) == 3
    assert set(later) == set(seen)


def test_the_newest_visit_of_a_url_is_its_page_and_probes_are_none(tmp_path: Path) -> None:
    small = SmallStore(tmp_path)
    url, probe = small.url("/x"), small.url("/probe", purpose=Purpose.PROBE)
    for known in (url, probe):
        small.known(known, State.DONE)
    small.page(url, title="old")
    small.page(probe)
    small.page(small.url("/x", purpose=Purpose.AUDIT), title="new")
    small.close()
    with View(tmp_path) as view:
        assert [page.title for _, page in current_pages(view)] == ["new"]


# -- revisions


def record(*, keep: bool, **verdicts: bool) -> PageRecord:
    made = [VerdictRecord(name, keep=word, follow=word) for name, word in verdicts.items()]
    return PageRecord(url="", key=b"", status=200, keep=keep, follow=keep, verdicts=made)


@pytest.mark.parametrize(
    ("page", "revised", "expected"),
    [
        (record(keep=True), {}, True),
        (record(keep=True), {"a": False}, False),
        (record(keep=False, a=False), {"a": True}, True),
        (record(keep=False, a=False, b=False), {"a": True}, False),
        (record(keep=True, a=False), {"b": True}, True),  # filter a only observes: its verdict never counted
        (record(keep=False, a=False), {}, False),
    ],
)
def test_a_revised_verdict_stands_in_place_of_the_first(page: PageRecord, revised: dict[str, bool], expected: bool) -> None:
    revisions = [RevisionRecord(NOW, VerdictRecord(name, keep=word, follow=word)) for name, word in revised.items()]
    verdicts = standing(page, revisions)
    assert all(isinstance(verdict, NewestVerdict) for verdict in verdicts)
    assert (keeps(page, verdicts), follows(page, verdicts)) == (expected, expected)


def test_a_page_whose_verdict_is_revised_is_exported_as_it_stands_now(thresher: Command, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path)
    small = SmallStore(tmp_path)
    url = small.url("/x")
    small.known(url, State.DONE)
    small.page(url)
    small.store.tables.verdicts.revise(url.key, Verdict("exact_duplicate", keep=False, follow=False), NOW)
    small.close()
    (row,) = exported(thresher, tmp_path)
    assert (row["keep"], row["follow"]) == (False, False)
