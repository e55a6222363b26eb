"""`thresher export --since`: what was found since the last export, each row once, also while a crawl runs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command import Command
from forking_agents import forked_code
from small_store import NOW, SECRET, SEED, SmallStore

from thresher.config.settings import Settings
from thresher.crawler.cluster.resharding import reshard
from thresher.crawler.core.model import Reason, State
from thresher.storage.export.kinds import KINDS, TIMED
from thresher.storage.export.reading import reading
from thresher.storage.store import Store
from thresher.storage.tables.sitemaps import REQUESTER


class Growing:
    """A crawl that grows between two exports, by a process of its own or in this one: a process cannot open a store twice."""

    def __init__(self, path: Path, secret: bytes = SECRET) -> None:
        self.path, self.n, self.now = path, 0, NOW
        self.small = SmallStore(path, Settings(seeds=[SEED]), secret)
        self.small.store.close(self.now)

    def grow(self) -> None:
        """Settle a page with a link, and a redirect, and log a skip."""
        with self.opened():
            self.add()

    def add(self) -> None:
        self.n, self.now = self.n + 1, self.now + 1
        small, n = self.small, self.n
        seq = small.known(small.url(f"/found{n}", via=f"/page{n}"), State.DONE)
        page = small.url(f"/page{n}")
        small.known(page, State.DONE)
        small.page(page, links=(seq,), fetched_at=self.now)
        old, new = small.url(f"/old{n}"), small.url(f"/new{n}")
        small.known(old, State.DONE)
        small.store.tables.redirects.put(old.key, new.key, new.text, 301, self.now)
        small.settle(old)
        small.store.tables.skips.add(f"https://a.example/skipped{n}", Reason.EXCLUDED, page.key, "scope")
        small.store.end_visit()

    @contextmanager
    def opened(self) -> Iterator[None]:
        self.small.store = Store.open(self.path, None, self.now)
        try:
            yield
        finally:
            self.small.store.close(self.now)


WRITER = """
import sys
from pathlib import Path
from test_cli_export_since import Growing
from thresher.storage.store import Store
crawl = Growing(Path(sys.argv[1]))
crawl.small.store = store = Store.open(crawl.path, None, crawl.now)
for line in sys.stdin:
    match line.split():
        case ["add"]:
            crawl.add()
        case ["commit"]:
            store.flush(crawl.now).result()
        case ["again", n]:
            crawl.now += 1
            crawl.small.page(crawl.small.url(f"/page{n}"), fetched_at=crawl.now, title="again")
    print("done", flush=True)
store.close(crawl.now)
"""


class Writer:
    """Another process that crawls into a store, step by step."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._process = subprocess.Popen([*forked_code(WRITER), str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def do(self, *steps: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for step in steps:
            self._process.stdin.write(step + "\n")
            self._process.stdin.flush()
            assert self._process.stdout.readline() == "done\n"

    def close(self) -> None:
        self._process.communicate(timeout=600)


@pytest.fixture
def growing(tmp_path: Path) -> Growing:
    return Growing(tmp_path / "crawl")


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    other = Writer(tmp_path / "written")
    yield other
    other.close()


def since(thresher: Command, crawl: Path, what: str, cursor: str) -> tuple[list[str], str]:
    """Return the first field of each row, and the next cursor."""
    ran = thresher("export", crawl, "--what", what, "--since", cursor)
    assert ran.code == 0, ran.err
    rows = [next(iter(json.loads(line).values())) for line in ran.out.splitlines()]
    return rows, ran.err.rpartition("--since ")[2].strip()


ROWS = {
    "pages": ["https://a.example/page{n}"],
    "links": ["https://a.example/page{n}"],
    "redirects": ["https://a.example/old{n}"],
    "skipped": ["https://a.example/skipped{n}"],
    "urls": ["https://a.example/found{n}", "https://a.example/page{n}", "https://a.example/old{n}"],
}


@pytest.mark.parametrize("what", ROWS)
def test_a_cursor_goes_on_where_the_last_export_ended(what: str, growing: Growing, thresher: Command) -> None:
    """Mutation: `<=` for `<` at the start of a span, or no end of it."""
    made = ROWS[what]
    growing.grow()
    growing.grow()
    first, cursor = since(thresher, growing.path, what, "start")
    assert sorted(first) == sorted(row.format(n=n) for row in made for n in (1, 2))
    nothing, same = since(thresher, growing.path, what, cursor)
    assert nothing == []
    growing.grow()
    growing.grow()
    third, last = since(thresher, growing.path, what, same)
    assert sorted(third) == sorted(row.format(n=n) for row in made for n in (3, 4))
    assert since(thresher, growing.path, what, last)[0] == []


def test_what_is_not_committed_yet_is_given_once_it_is(writer: Writer, thresher: Command) -> None:
    writer.do("add", "commit", "add")
    for what, made in ROWS.items():
        first, cursor = since(thresher, writer.path, what, "start")
        assert sorted(first) == sorted(row.format(n=1) for row in made)
    writer.do("commit")
    for what, made in ROWS.items():
        assert sorted(since(thresher, writer.path, what, cursor)[0]) == sorted(row.format(n=2) for row in made)


@pytest.mark.parametrize("what", ROWS)
def test_what_is_committed_during_an_export_is_the_next_ones(what: str, writer: Writer, thresher: Command) -> None:
    """The crawl commits while the export's rows are read. Mutation: the cursor is that of the export's end."""
    writer.do("add", "add", "commit")
    with reading(writer.path) as view:
        cursor = view.narrow("start")
        kind = KINDS[what]
        field = kind.fields[0]
        rows = kind.rows(view, frozenset((field.name,)))
        writer.do("add", "commit")
        first = [field.of(row) for row in rows]
    assert sorted(first) == sorted(row.format(n=n) for row in ROWS[what] for n in (1, 2))
    assert sorted(since(thresher, writer.path, what, cursor)[0]) == sorted(row.format(n=3) for row in ROWS[what])


def test_a_page_that_is_fetched_again_during_an_export_is_given_as_it_was_and_then_again(writer: Writer, thresher: Command) -> None:
    writer.do("add", "add", "commit")
    with reading(writer.path) as view:
        cursor = view.narrow("start")
        rows = KINDS["pages"].rows(view, frozenset(("url",)))
        writer.do("again 1", "commit")
        first = [(row.page.url, row.page.title) for row in rows]
    assert sorted(first) == [(f"https://a.example/page{n}", "A title") for n in (1, 2)]
    assert since(thresher, writer.path, "pages", cursor)[0] == ["https://a.example/page1"]


def test_every_kind_with_a_time_takes_a_cursor_and_the_others_say_so(growing: Growing, thresher: Command) -> None:
    growing.grow()
    for what in KINDS:
        ran = thresher("export", growing.path, "--what", what, "--since", "start", "--text", "visible")
        assert (ran.code, "has no time" in ran.err) == ((0, False) if what in TIMED else (2, True)), (what, ran.err)


def test_a_cursor_holds_when_the_requests_that_waited_end(growing: Growing, thresher: Command) -> None:
    """Mutation: the cursor has the highest number of all, and a crawl that requests sitemaps, requisites or probes refuses its own
    cursors.
    """
    growing.grow()
    with growing.opened():
        store, now = growing.small.store, growing.now
        numbers = [store.tables.requests.add(growing.small.url(f"/probe{n}"), REQUESTER, now) for n in (1, 2)]
        store.end_visit()
    _, cursor = since(thresher, growing.path, "urls", "start")
    with growing.opened():
        for number in numbers:
            growing.small.store.tables.requests.pop(number)
        growing.small.store.end_visit()
    assert since(thresher, growing.path, "urls", cursor)[0] == []
    growing.grow()
    assert since(thresher, growing.path, "pages", cursor)[0] == ["https://a.example/page2"]


@pytest.mark.parametrize("cursor", ["", "nonsense", "ÄÖ", "AAAA", "k" * 5000, "2026-01-01"])
def test_what_is_no_cursor_is_told(cursor: str, growing: Growing, thresher: Command) -> None:
    growing.grow()
    ran = thresher("export", growing.path, "--since", cursor)
    assert (ran.code, "expected `start` or the cursor" in ran.err) == ((2, True) if cursor else (0, False))


def test_a_cursor_of_another_crawl_is_refused(growing: Growing, thresher: Command, tmp_path: Path) -> None:
    growing.grow()
    _, cursor = since(thresher, growing.path, "pages", "start")
    other = Growing(tmp_path / "other", b"o" * 32)
    other.grow()
    ran = thresher("export", other.path, "--since", cursor)
    assert (ran.code, "of another crawl" in ran.err) == (2, True)


@pytest.mark.parametrize("numbers", [(2,), (2, 1)])
def test_a_cursor_of_before_the_crawl_was_divided_anew_is_refused(numbers: tuple[int, ...], growing: Growing, thresher: Command) -> None:
    """With another number of agents, rows have other numbers. Mutation: the cursor does not name the last URL, and the second cursor is
    accepted.
    """
    for _ in range(4):
        growing.grow()
    _, cursor = since(thresher, growing.path, "pages", "start")
    for number in numbers:
        reshard(growing.path, number)
    ran = thresher("export", growing.path, "--since", cursor)
    assert (ran.code, "divided anew" in ran.err) == (2, True)
    rows, cursor = since(thresher, growing.path, "pages", "start")
    assert sorted(rows) == [f"https://a.example/page{n}" for n in (1, 2, 3, 4)]
    assert since(thresher, growing.path, "pages", cursor)[0] == []


def test_the_next_cursor_is_written_where_it_is_wanted(growing: Growing, thresher: Command, tmp_path: Path) -> None:
    growing.grow()
    ran = thresher("export", growing.path, "--since", "start", "--next", tmp_path / "cursor", "-o", tmp_path / "pages.jsonl")
    assert ran.code == 0
    assert since(thresher, growing.path, "pages", (tmp_path / "cursor").read_text().strip())[0] == []
    assert thresher("export", growing.path, "--next", tmp_path / "cursor").code == 2
