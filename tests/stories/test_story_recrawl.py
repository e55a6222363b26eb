"""Rounds of revisits from outside: what is requested again, with which conditions, and what is reported; judged by the server's log."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from email.utils import formatdate
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import pytest
from changing_web import DAY_S, HOST, LONG_AGO, ChangingWeb, again, changes, counts, first, go_on, kinds, response, settings
from planted import LinkScript
from witness import page

from thresher.config.settings import ArchiveSettings, FetchSettings, LimitSettings, RecrawlSettings, StoreSettings
from thresher.crawler.cli import thresher
from thresher.crawler.core.effects import Hold, Rewrite
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import Mode, State
from thresher.crawler.settlement import collecting
from thresher.crawler.start.rounds import begin_round
from thresher.filters.spec import FilterSpec
from thresher.running import Crawl
from thresher.storage.export.pages import current_pages
from thresher.storage.schema import MEMORY
from thresher.storage.view import View

WORDS = " ".join(f"word{i}" for i in range(300))


@pytest.mark.parametrize("client", ["lean", "aiohttp"])
async def test_a_round_asks_for_every_page_once_and_finds_every_change(tmp_path: Path, client: Literal["lean", "aiohttp"]) -> None:
    """P39: a page that has not changed is answered by a 304 without a body. Mutation: conditions are never sent."""
    with ChangingWeb() as web:
        web.put("/", WORDS, *(f"/{i}" for i in range(10)))
        for i in range(10):
            web.put(f"/{i}", f"page {i} " + WORDS[i:])
        fetch = FetchSettings(client=client, allow_addresses=["127.0.0.0/8"], allow_ports=[web.port], concurrency=8)
        await first(tmp_path / "c", web, fetch=fetch)
        assert len(web.asked()) == 11
        web.put("/3", "something else altogether " + WORDS[1000:], "/new")
        web.put("/new", "a new page that only the third one names")
        await again(tmp_path / "c", web, fetch=fetch)
        asked = web.asked()
        assert sorted(asked) == sorted(["/", *(f"/{i}" for i in range(10)), "/new"])
        assert kinds(tmp_path / "c") == {"/3": "changed", "/new": "new"}
        assert counts(tmp_path / "c") == {"not_modified": 10, "changed": 1}
        assert all(web.last(f"/{i}").header("if-none-match") for i in range(10))
        assert [row.kind for row in changes(tmp_path / "c", "0")].count("new") == 12


async def test_a_host_whose_304_lies_is_asked_without_conditions_from_then_on(tmp_path: Path) -> None:
    """Every 304 is checked by a second request here; a page that truly changes between the two is no lie."""
    sections: dict[str, Any] = {"recrawl": RecrawlSettings(audit_share=1.0)}
    with ChangingWeb() as web:
        web.put("/", WORDS, "/a", "/clock")
        web.headers["/a"] = {"etag": '"always"'}
        web.put("/a", "a " + WORDS)
        web.answers["/clock"] = lambda request: (
            response("304 Not Modified", b"", {"etag": '"c"'})
            if request.header("if-none-match")
            else page(f"{WORDS} {datetime.now(UTC):%H:%M:%S.%f}", "200 OK", 'etag: "c"')
        )
        await first(tmp_path / "c", web, **sections)
        web.asked()
        await again(tmp_path / "c", web, **sections)
        assert sorted(web.asked()) == ["/", "/", "/a", "/a", "/clock", "/clock"]
        assert kinds(tmp_path / "c") == {}
        web.put("/a", "quite another page " + WORDS[900:])
        await again(tmp_path / "c", web, **sections)
        assert kinds(tmp_path / "c", "3") == {"/a": "changed"}
        web.asked()
        await again(tmp_path / "c", web, **sections)
        assert sorted(web.asked()) == ["/", "/a", "/clock"]
        assert not any(web.last(path).header("if-none-match") for path in ("/", "/a", "/clock"))


async def test_what_is_no_validator_is_not_sent_back(tmp_path: Path) -> None:
    tomorrow = formatdate(time.time() + 86_400, usegmt=True)
    odd = {
        "/huge": {"etag": f'"{"x" * 20_000}"'},
        "/bare": {"etag": "no-quotes"},
        "/weak": {"etag": 'W/"1"'},
        "/future": {"last-modified": tomorrow},
        "/now": {"date": formatdate(time.time(), usegmt=True), "last-modified": formatdate(time.time(), usegmt=True)},
        "/nonsense": {"last-modified": "yesterday"},
        "/both": {"etag": '"b"', "last-modified": formatdate(LONG_AGO, usegmt=True)},
    }
    with ChangingWeb() as web:
        web.put("/", WORDS, *odd)
        for path, headers in odd.items():
            web.headers[path] = headers
            web.put(path, f"{path} {WORDS}")
        await first(tmp_path / "c", web)
        await again(tmp_path / "c", web)
        sent = {path: (web.last(path).header("if-none-match"), web.last(path).header("if-modified-since")) for path in odd}
        nothing = dict.fromkeys(("/huge", "/bare", "/future", "/now", "/nonsense"), ("", ""))
        assert sent == {**nothing, "/weak": ('W/"1"', ""), "/both": ('"b"', formatdate(LONG_AGO, usegmt=True))}
        assert kinds(tmp_path / "c") == {}


async def test_an_etag_of_a_megabyte_and_a_304_that_nobody_asked_for_change_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """F47: a header line beyond the limit makes its own page fail and no other, at the first visit and at a later one, and `explain` says
    why.
    """
    huge = f'"{"x" * 1_000_000}"'
    with ChangingWeb() as web:
        web.put("/", WORDS, "/a", "/b", "/c")
        for path in ("/a", "/b"):
            web.headers[path] = {"cache-control": "no-store"}
            web.put(path, f"{path} {WORDS}")
        web.say("/c", "200 OK", b"whatever", etag=huge)
        crawled = await first(tmp_path / "c", web)
        assert {url.rpartition("/")[2] for url in crawled.pages} == {"", "a", "b"}
        web.say("/a", "304 Not Modified")
        web.say("/b", "200 OK", b"whatever", etag=huge)
        crawled = await again(tmp_path / "c", web)
        assert kinds(tmp_path / "c") == {}
        assert counts(tmp_path / "c") == {"not_modified": 1, "failed": 3}
        assert crawled.pages[web.url("a.test", "/a")].status == 200
        a, b, c = (told(capsys, "explain", tmp_path / "c", web.url(HOST, path)) for path in ("/a", "/b", "/c"))
        assert "status 304 that nobody asked for" in a
        assert "(protocol_headers: a header line of more than 32768 bytes); it has not changed" in b
        assert "It could not be fetched, at the first try: protocol_headers (a header line of more than 32768 bytes)" in c


async def test_robots_txt_is_read_anew_and_a_page_it_forbids_now_is_not_asked(tmp_path: Path) -> None:
    with ChangingWeb() as web:
        web.put("/", WORDS, "/a", "/b")
        web.put("/a", "a " + WORDS)
        web.put("/b", "b " + WORDS)
        crawled = await first(tmp_path / "c", web)
        web.say("/robots.txt", "200 OK", b"User-agent: *\nDisallow: /a\n", content_type="text/plain")
        web.asked()
        crawled = await again(tmp_path / "c", web)
        assert sorted(web.asked()) == ["/", "/b"]
        assert counts(tmp_path / "c") == {"not_modified": 2, "refused": 1}
        assert crawled.state(web.url("a.test", "/a")) is State.DONE
        assert sum(request.path == "/robots.txt" for request in web.requests) == 2


async def test_only_so_many_versions_are_kept_and_the_newest_is_exported(tmp_path: Path) -> None:
    versions: tuple[tuple[int | Literal["all"], int], ...] = ((1, 1), (2, 2), ("all", 4))
    for kept, n in versions:
        path = tmp_path / str(kept)
        sections: dict[str, Any] = {"store": StoreSettings(versions=kept)}
        with ChangingWeb() as web:
            web.put("/", WORDS, "/a")
            web.put("/a", "first of all " + WORDS)
            await first(path, web, **sections)
            for version in ("second", "third", "fourth"):
                web.put("/a", f"{version} " * 50)
                await again(path, web, **sections)
            await again(path, web, **sections)  # outdated versions are deleted with a later commit
            with View(path) as view:
                bodies = [view.tables.bodies.get(visit) or b"" for visit, page in view.all_pages() if page.url == web.url("a.test", "/a")]
                (newest,) = [page for _, page in current_pages(view) if page.url == web.url("a.test", "/a")]
            assert len(bodies) == n
            assert b"fourth" in bodies[-1]
            assert newest.sha256 == sha256(bodies[-1]).digest()


async def test_a_round_asks_only_what_is_old_enough_and_selected(tmp_path: Path) -> None:
    with ChangingWeb() as web:
        web.put("/", WORDS, "/a", "/b/c")
        web.put("/a", "a " + WORDS)
        web.put("/b/c", "b " + WORDS)
        await first(tmp_path / "c", web)
        web.asked()
        await again(tmp_path / "c", web, older_than_s=DAY_S)
        assert web.asked() == []
        await again(tmp_path / "c", web, where=("url=*/b/*",))
        assert web.asked() == ["/b/c"]
        await again(tmp_path / "c", web, days=2.0, older_than_s=DAY_S, where=("status=2xx,3xx", "depth=0"))
        assert web.asked() == ["/"]


async def test_limits_count_for_a_round(tmp_path: Path) -> None:
    with ChangingWeb() as web:
        web.put("/", WORDS, *(f"/{i}" for i in range(10)))
        for i in range(10):
            web.put(f"/{i}", f"{i} {WORDS}")
        await first(tmp_path / "c", web)
        web.asked()
        limits = LimitSettings(min_free_disk=0, max_wait=5.0, max_pages=4)
        crawled = await again(tmp_path / "c", web, limits=limits)
        assert crawled.ending.why == "limits.max_pages reached"
        assert len(web.asked()) == 4
        await again(tmp_path / "c", web)  # the next round fetches what still waits, and the other pages too
        assert len(web.asked()) == 11
        per_host = LimitSettings(min_free_disk=0, max_wait=5.0, max_pages_per_host=11)
        await again(tmp_path / "c", web, limits=per_host)
        assert len(web.asked()) == 11


async def test_filters_learn_nothing_from_a_revisit(tmp_path: Path) -> None:
    with ChangingWeb() as web:
        web.put("/", WORDS, "/a")
        web.put("/a", "a " + WORDS)
        await first(tmp_path / "c", web)
        before = memories(tmp_path / "c")
        assert before
        web.put("/a", "something else " * 40)
        await again(tmp_path / "c", web)
        assert kinds(tmp_path / "c") == {"/a": "changed"}
        assert memories(tmp_path / "c") == before


async def test_the_stream_of_changes_goes_on_behind_a_cursor(tmp_path: Path) -> None:
    with ChangingWeb() as web:
        web.put("/", WORDS, *(f"/{i}" for i in range(5)))
        for i in range(5):
            web.put(f"/{i}", f"{i} {WORDS}")
        await first(tmp_path / "c", web)
        for i in range(5):
            web.put(f"/{i}", f"{i} other words " * 50)
        await again(tmp_path / "c", web)
        rows = changes(tmp_path / "c", "0")
        for n, row in enumerate(rows, 1):
            assert [other.url for other in changes(tmp_path / "c", row.cursor)] == [other.url for other in rows[n:]]
        assert changes(tmp_path / "c", "2") == [row for row in rows if row.round == 2]
        assert changes(tmp_path / "c", "2020-01-01") == rows
        assert changes(tmp_path / "c", "2999-01-01") == []
        for text in ("9", "yesterday", "c1.x"):
            with pytest.raises(UsageError, match="--since"):
                changes(tmp_path / "c", text)


def memories(path: Path) -> list[tuple[bytes, bytes]]:
    """Return what the filters have learned."""
    with View(path) as view:
        return list(view.rows(MEMORY))


async def test_explain_status_and_export_know_rounds_and_versions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "c"
    with ChangingWeb() as web:
        web.put("/", WORDS, "/a", "/b")
        web.put("/a", "a " + WORDS)
        web.put("/b", "b " + WORDS)
        await first(store, web)
        assert "visited again" not in told(capsys, "explain", store, web.url(HOST, "/a"))
        web.put("/a", "other words " * 40)
        web.take("/b")
        await again(store, web)
        await again(store, web)
        said = told(capsys, "explain", store, web.url(HOST, "/a"))
        assert "visited again 2 times, last in round 3" in said
        assert "it changed 1 time(s)" in said
        assert "conditionally; 2 version(s) kept" in said
        said = told(capsys, "explain", store, web.url(HOST, "/b"))
        assert "It has been missing since" in said
        assert "round 3: 3 of 3 visited again; not modified 2, missing 1" in told(capsys, "status", store)
        rows = [json.loads(line) for line in told(capsys, "export", store, "--what", "versions").splitlines()]
        assert [(row["round"], row["kind"], row["newest"]) for row in rows if row["url"].endswith("/a")] == [
            (1, "new", False),
            (2, "changed", True),
        ]
        rows = [json.loads(line) for line in told(capsys, "changes", store, "--since", "2").splitlines()]
        assert [(row["kind"], row["url"], row["round"]) for row in rows] == [("changed", web.url(HOST, "/a"), 2)]
        assert rows[0]["amount"] > 0.9
        assert told(capsys, "changes", store, "--since", rows[0]["cursor"]) == ""


def told(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """Return what a command prints."""
    capsys.readouterr()
    thresher.main([*map(str, arguments)], standalone_mode=False)
    return " ".join(capsys.readouterr().out.split(" "))


async def test_what_is_held_or_refused_stays_so(tmp_path: Path) -> None:
    with ChangingWeb() as web:
        web.put("/", WORDS, "/a", "/a?x", "/refused", "/held")
        web.put("/a", "a " + WORDS)
        script = LinkScript(
            "script",
            refuses=lambda url: url.endswith("refused"),
            asks=lambda url: (
                [Hold(url, "rule")] if url.endswith("held") else [Rewrite(url, url[:-2], "same")] if url.endswith("?x") else []
            ),
        )
        plugged = [FilterSpec("script", Mode.ENFORCE, learned=script)]
        limits = LimitSettings(min_free_disk=0, max_wait=5.0, max_pages=2)  # with a larger share, held URLs are fetched at the end
        before = await first(tmp_path / "c", web, plugged, limits=limits)
        states = {row.state for row in before.rows.values()}
        assert states == {State.DONE, State.HELD, State.REFUSED, State.ALIAS}
        web.asked()
        after = await again(tmp_path / "c", web, plugged=plugged, limits=limits)
        assert sorted(web.asked()) == ["/", "/a"]
        assert {url: row.state for url, row in after.rows.items()} == {url: row.state for url, row in before.rows.items()}


async def test_a_round_writes_an_archive_like_the_first_crawl(tmp_path: Path) -> None:
    pytest.importorskip("fastwarc")
    sections: dict[str, Any] = {"archive": ArchiveSettings(format="warc")}
    with ChangingWeb() as web:
        web.put("/", WORDS, "/a", "/b", "/c")
        for path in ("/a", "/b", "/c"):
            web.put(path, f"{path} {WORDS}")
        await first(tmp_path / "c", web, **sections)
        web.put("/a", "something else " * 30)
        web.say("/b", "410 Gone", b"gone")
        web.say("/c", "301 Moved", location="/a")
        await again(tmp_path / "c", web, **sections)  # `verify` checks the archive, too
        assert kinds(tmp_path / "c") == {"/a": "changed", "/b": "gone", "/c": "moved"}


async def test_a_round_that_is_stopped_while_it_is_queued_is_queued_to_its_end_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process queues one group of pages and is then stopped. No URL is left out, and none is requested twice. Mutation: the position
    in the list is not saved.
    """
    monkeypatch.setattr(collecting, "_GROUP", 3)
    with ChangingWeb() as web:
        web.put("/", WORDS, *(f"/{i}" for i in range(10)))
        for i in range(10):
            web.put(f"/{i}", f"{i} {WORDS}")
        await first(tmp_path / "c", web)
        web.asked()
        begin_round(tmp_path / "c", older_than_s=0.0, where=())
        for _ in range(3):
            life = Crawl(tmp_path / "c", settings=settings(web))
            life.stop()
            assert (await life.run()).code == 3
        with View(tmp_path / "c") as view:
            record = view.tables.rounds.last()
        assert record is not None
        assert (record.stage, 0 < record.n_queued < 11) == ("urls", True)
        await go_on(tmp_path / "c", web)
        assert sorted(web.asked()) == sorted(["/", *(f"/{i}" for i in range(10))])
        assert counts(tmp_path / "c") == {"not_modified": 11}
