"""`thresher forget`: what is taken down is gone from store, archive and exports, is not fetched again, and leaves a record of the takedown;
a kill loses nothing.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from pathlib import Path

import forking
import msgspec
import pytest
from harness import ROOT
from injecting import crash_at
from little_web import Crawled, LittleWeb, crawl, no_held_url_is_fetched, settings
from planted import LinkScript

from thresher.config.settings import ArchiveSettings, Settings
from thresher.crawler.cluster.resharding import reshard
from thresher.crawler.core.effects import Hold
from thresher.crawler.core.model import Mode, Reason, State
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.explain.explain import Explainer
from thresher.filters.spec import FilterSpec
from thresher.storage.archive.cdxj import index_lines, warc_files
from thresher.storage.export.kinds import KINDS
from thresher.storage.forget import finish, unfinished
from thresher.storage.partitions import shard_paths
from thresher.storage.tables.journal import ARRIVED, move_of
from thresher.storage.verify import verify
from thresher.storage.view import View

PRIVATE = "unmistakably private words of one person"


def archiving(configuration: Settings) -> Settings:
    return msgspec.structs.replace(configuration, archive=msgspec.structs.replace(configuration.archive, format="warc"))


def put_pages(web: LittleWeb) -> None:
    web.page("a.test/", "a.test/public", "a.test/private", "a.test/moved", "b.test/")
    web.page("a.test/public", "a.test/private")
    web.page("a.test/private", "a.test/beyond", text=f"{PRIVATE} " * 10, title=PRIVATE)
    web.redirect("a.test/moved", "a.test/private")
    web.page("a.test/beyond")
    web.page("b.test/", "b.test/1", text=f"{PRIVATE} of b " * 10)
    web.page("b.test/1")
    web.robots("b.test", f"# {PRIVATE}\nUser-agent: *\nAllow: /\n")


def run(*arguments: str | Path, dies_at: str = "") -> subprocess.CompletedProcess[str]:
    return forking.run(arguments, cwd=ROOT, env={**forking.clean_environment(), **crash_at(dies_at)})


def written(path: Path) -> bytes:
    """Return every byte of a crawl's files, the archive's unpacked."""
    return b"".join(
        gzip.decompress(file.read_bytes()) if file.name.endswith(".gz") else file.read_bytes() for file in path.rglob("*") if file.is_file()
    )


async def crawled_web(tmp_path: Path) -> tuple[LittleWeb, Crawled]:
    async with LittleWeb() as web:
        put_pages(web)
        chosen = msgspec.structs.replace(
            archiving(settings(web, ["a.test/"])), store=msgspec.structs.replace(Settings().store, map_size=1 << 24)
        )
        return web, await crawl(tmp_path / "c", chosen)


def exported(path: Path, what: str) -> list[dict[str, object]]:
    with View(path) as view:
        fields = KINDS[what].choose(())
        return [{field.name: field.of(row) for field in fields} for row in KINDS[what].rows(view, frozenset(f.name for f in fields))]


async def test_a_url_is_gone_everywhere_and_a_resume_does_not_bring_it_back(tmp_path: Path) -> None:
    web, crawled = await crawled_web(tmp_path)
    private, path = web.url("a.test/private"), crawled.path
    assert PRIVATE.encode() in written(path)
    with View(path) as view:
        sizes = [file.n_bytes for file in warc_files(view)]

    done = run("forget", path, private, "--by", "ops", "--why", "asked for", "--json")
    assert done.returncode == 0, done.stderr
    audit = json.loads(done.stdout)
    assert (audit["what"], audit["by"], audit["why"], audit["pages"], audit["records"], audit["state"]) == (
        private, "ops", "asked for", 1, 1, "done",
    )  # fmt: skip
    assert verify(path) == []
    left = re.sub(f"{PRIVATE} of b|# {PRIVATE}".encode(), b"", written(path))
    assert PRIVATE.encode() not in left
    with View(path) as view:
        assert [file.n_bytes for file in warc_files(view)] == sizes
    assert private not in {page["url"] for page in exported(path, "pages")}
    assert web.url("a.test/public") in {page["url"] for page in exported(path, "pages")}
    (known,) = [url for url in exported(path, "urls") if url["url"] == private]
    assert (known["state"], known["reason"]) == ("refused", "forgotten")
    assert [row["what"] for row in exported(path, "forgotten")] == [private]
    with View(path) as view:
        lines = "".join(index_lines(warc_files(view)))
    assert private not in lines
    assert web.url("a.test/public") in lines

    async with web:
        put_pages(web)
        before = len(web.requests)
        web.page("a.test/new", "a.test/private")
        again = await crawl(path, msgspec.structs.replace(archiving(settings(web, ["a.test/", "a.test/private", "a.test/new"]))))
    assert "a.test/private" not in web.requests[before:]
    assert again.rows[private].reason is Reason.FORGOTTEN
    assert private not in again.pages
    with View(path) as view:
        explained = Explainer(view, view.settings, 0.0).story(private)
    assert "Found today, it would be refused: forgotten" in explained.answer
    assert "asked for" in explained.answer


async def test_a_host_is_gone_with_its_robots_txt_and_nothing_of_it_is_asked_again(tmp_path: Path) -> None:
    web, crawled = await crawled_web(tmp_path)
    done = run("forget", crawled.path, f"b.test:{web.port}")
    assert done.returncode == 0, done.stderr
    assert verify(crawled.path) == []
    assert f"{PRIVATE} of b".encode() not in written(crawled.path)
    assert f"# {PRIVATE}".encode() not in written(crawled.path)
    assert b"b.test:%d/1" % web.port in written(crawled.path)  # the tombstones say what was forgotten
    async with web:
        put_pages(web)
        before = len(web.requests) + len(web.robots_requests)
        again = await crawl(crawled.path, archiving(settings(web, ["a.test/", "b.test/", "b.test/2"])))
        assert len(web.requests) + len(web.robots_requests) == before
    assert {url for url, row in again.rows.items() if row.reason is Reason.FORGOTTEN} >= {web.url("b.test/"), web.url("b.test/1")}


async def test_what_moves_wrote_of_a_host_that_is_a_whole_site_is_gone_with_it(tmp_path: Path) -> None:
    """Mutations: the journals kept what filters knew of the site; only the journal of the agent that has the site now was cleaned."""
    web, crawled = await crawled_web(tmp_path)
    with View(crawled.path) as view:
        site = URLSpace(view.secret, url_rules(view.settings)).queue_key(web.url("b.test"))[:8]
    for n in (8, 1, 8):
        reshard(crawled.path, n)
    assert n_moved_rows(crawled.path, site) > 1
    done = run("forget", crawled.path, f"b.test:{web.port}")
    assert done.returncode == 0, done.stderr
    assert n_moved_rows(crawled.path, site) == 0
    assert verify(crawled.path) == []


def n_moved_rows(path: Path, site: bytes) -> int:
    """Return how many of filters' records of a site are in the journals' entries of moves."""
    found = 0
    for shard in shard_paths(path):
        with View(shard) as view:
            entries = [entry for _, entries in view.tables.journal.since(0, 10_000) for entry in entries if entry.gate == ARRIVED]
            found += sum(row[2:10] == site for entry in entries for row, _ in move_of(entry).rows)
    return found


async def test_a_file_that_was_taken_away_is_named_since_nothing_in_it_is_taken_down(tmp_path: Path) -> None:
    """Without a file of the archive the takedown fails; it succeeds once the file is back."""
    web, crawled = await crawled_web(tmp_path)
    (file,) = (crawled.path / "archive").iterdir()
    file.rename(tmp_path / file.name)
    done = run("forget", crawled.path, web.url("a.test/private"))
    assert done.returncode == 6
    assert f"{file.name} is gone. What it held of" in done.stderr
    (tmp_path / file.name).rename(file)
    assert run("forget", crawled.path, web.url("a.test/private")).returncode == 0
    assert PRIVATE.encode() not in re.sub(f"{PRIVATE} of b|# {PRIVATE}".encode(), b"", written(crawled.path))
    assert verify(crawled.path) == []


async def test_what_pages_need_and_sitemaps_of_a_host_are_gone_with_it(tmp_path: Path) -> None:
    """The host has no page in the crawl, but a picture and a sitemap. Another picture of it, found afterwards, is not requested."""
    async with LittleWeb() as web:
        web.page("a.test/", head=f"<img src='{web.url('cdn.test/1.png')}'>")
        web.page("a.test/new", head=f"<img src='{web.url('cdn.test/2.png')}'>")
        web.page("a.test/told")
        web.robots("a.test", f"Sitemap: {web.url('cdn.test/map.txt')}\n")
        web.robots("cdn.test", f"# {PRIVATE}\n")
        web.file("cdn.test/1.png", f"image/png; {PRIVATE}", f"{PRIVATE} of b".encode())
        web.file("cdn.test/2.png", "image/png", b"2")
        web.file("cdn.test/map.txt", "text/plain", f"{web.url('a.test/told')}\n".encode())
        archive = ArchiveSettings(format="warc", requisites=True)
        chosen = msgspec.structs.replace(settings(web, ["a.test/"], archive=archive), sitemaps="robots")
        crawled = await crawl(tmp_path / "c", chosen)
        assert {"cdn.test/1.png", "cdn.test/map.txt", "a.test/told"} <= set(web.requests)
        told = web.url("a.test/told")
        for target in (f"cdn.test:{web.port}", told):
            assert run("forget", crawled.path, target).returncode == 0
            assert verify(crawled.path) == []
        assert PRIVATE.encode() not in written(crawled.path)
        assert [(row["state"], row["why"], row["type"]) for row in exported(crawled.path, "requisites") if "cdn" in str(row["url"])] == [
            ("refused", "forgotten forget", None)
        ]
        assert [(row["state"], row["notes"]) for row in exported(crawled.path, "sitemaps")] == [
            ("failed", ["not requested: forgotten (forget)"])
        ]
        assert exported(crawled.path, "announced") == []
        before = len(web.requests)
        again = await crawl(crawled.path, msgspec.structs.replace(chosen, seeds=[web.url("a.test/new")]))
    assert [place for place in web.requests[before:] if place.startswith("cdn")] == []
    assert web.url("a.test/new") in again.pages
    assert verify(crawled.path) == []


async def test_what_waits_is_taken_from_its_queue(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", *(f"a.test/{i}" for i in range(5)), "c.test/1")
        chosen = settings(web, ["a.test/"])
        crawled = await crawl(tmp_path / "c", msgspec.structs.replace(chosen, limits=msgspec.structs.replace(chosen.limits, max_pages=1)))
        assert crawled.state(web.url("a.test/1")) is State.QUEUED
        for target in (web.url("a.test/1"), f"c.test:{web.port}", web.url("a.test/unmet")):
            assert run("forget", crawled.path, target).returncode == 0
            assert verify(crawled.path) == []
        web.page("c.test/1")
        web.page("a.test/2", "a.test/unmet")
        web.page("a.test/unmet")
        again = await crawl(crawled.path, chosen)
    assert "a.test/1" not in web.requests
    assert "c.test/1" not in web.requests
    assert "a.test/unmet" not in web.requests
    assert {again.rows[web.url(place)].reason for place in ("a.test/1", "c.test/1")} == {Reason.FORGOTTEN}
    assert "a.test/2" in web.requests


POINTS = ["forgetting:1", "forgotten:1", "blanking:1", "compacted:1"]


@pytest.mark.parametrize("point", POINTS)
async def test_a_kill_at_any_step_leaves_a_takedown_that_is_ended_by_the_next_command(tmp_path: Path, point: str) -> None:
    web, crawled = await crawled_web(tmp_path)
    private = web.url("a.test/private")
    assert run("forget", crawled.path, private, dies_at=point).returncode == -9
    assert unfinished(crawled.path)
    finish(crawled.path)
    assert not unfinished(crawled.path)
    assert exported(crawled.path, "forgotten")[0]["pages"] == 1
    assert verify(crawled.path) == []
    left = re.sub(f"{PRIVATE} of b|# {PRIVATE}".encode(), b"", written(crawled.path))
    assert PRIVATE.encode() not in left


async def test_bad_input_is_said_and_changes_nothing(tmp_path: Path) -> None:
    web, crawled = await crawled_web(tmp_path)
    for arguments, said in (
        ((crawled.path, "http://"), "expected a URL or the name of a host"),
        ((crawled.path, "not a host"), "expected a URL or the name of a host"),
        ((tmp_path / "gone", web.url("a.test/")), "no crawl here"),
    ):
        done = run("forget", *arguments)
        assert done.returncode in (2, 6), done
        assert said in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
    done = run("forget", crawled.path, web.url("a.test/never-met"))
    assert done.returncode == 0, done.stderr
    assert verify(crawled.path) == []


async def test_a_takedown_of_what_filters_held_leaves_the_rest_of_its_class(tmp_path: Path) -> None:
    """Mutation: a class that counts more URLs than it has is drawn from for ever, or never again."""
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/list/{i}" for i in range(12)])
        for i in range(12):
            web.page(f"a.test/list/{i}")
        holder = FilterSpec("judge", Mode.ENFORCE, learned=LinkScript("judge", asks=lambda url: [Hold(url, "judge rule")]))
        await crawl(tmp_path / "c", no_held_url_is_fetched(settings(web, ["a.test/"])), [holder])
        assert len(web.requests) == 1
        for i in (2, 7, 8):
            assert run("forget", tmp_path / "c", web.url(f"a.test/list/{i}")).returncode == 0
        assert verify(tmp_path / "c") == []
        configuration = settings(web, ["a.test/"])
        freely = msgspec.structs.replace(configuration, filters=msgspec.structs.replace(configuration.filters, tail_yield=0.0))
        await crawl(tmp_path / "c", freely, [holder])
    assert sorted(web.requests[1:]) == sorted(f"a.test/list/{i}" for i in range(12) if i not in (2, 7, 8))
