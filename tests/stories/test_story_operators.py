"""What somebody needs who comes from another crawler: credentials, cookies within a chain of redirects, a proxy; judged by what real
servers received.
"""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path
from typing import Any

import msgspec
import pytest
from little_proxy import LittleProxy
from little_web import LittleWeb, crawl, settings
from raw_web import archived, records

from thresher.config.settings import Override, Settings
from thresher.crawler.analysis.seed_outcomes import seed_outcomes
from thresher.crawler.core import outage as outages
from thresher.crawler.core.model import State
from thresher.crawler.core.outage import Outage
from thresher.crawler.report.gather import gather
from thresher.crawler.report.page import render
from thresher.storage.export.kinds import KINDS
from thresher.storage.verify import verify
from thresher.storage.view import View

SECRET = "tru5tno1-Zx"


def fetching(configuration: Settings, **changes: object) -> Settings:
    return msgspec.structs.replace(configuration, fetch=msgspec.structs.replace(configuration.fetch, **changes))


def written_in(folder: Path) -> dict[Path, bytes]:
    """Return every file below a folder, unpacked."""
    contents = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {path: gzip.decompress(content) if path.suffix == ".gz" else content for path, content in contents.items()}


async def test_a_secret_reaches_its_origin_and_stands_nowhere_that_a_crawl_writes(tmp_path: Path) -> None:
    """S12: the secret is not in the store, the archive, or the log of requests."""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1", "b.test/")
        web.redirect("a.test/1", "b.test/2")
        web.page("b.test/")
        web.page("b.test/2")
        secrets = tmp_path / "secrets"
        secrets.write_text(f"{web.url('a.test/').rstrip('/')} bearer {SECRET}\n")
        secrets.chmod(0o600)
        chosen = fetching(settings(web, ["a.test/"]), credentials=str(secrets))
        chosen = msgspec.structs.replace(
            chosen,
            archive=msgspec.structs.replace(chosen.archive, format="warc"),
            log=msgspec.structs.replace(chosen.log, requests=str(tmp_path / "c.log")),
        )
        crawled = await crawl(tmp_path / "c", chosen)
    with_secret = {head.split(b" ")[1] for head in web.heads if SECRET.encode() in head}
    hosts = {line for head in web.heads if SECRET.encode() in head for line in head.split(b"\r\n") if line.lower().startswith(b"host:")}
    assert with_secret == {b"/robots.txt", b"/", b"/1"}
    assert all(b"a.test" in line for line in hosts)
    assert crawled.state(web.url("b.test/2")) is State.DONE
    written = written_in(tmp_path)
    assert [path for path, content in written.items() if SECRET.encode() in content] == [secrets]
    assert any(b"Authorization: [redacted]\r\n" in content for path, content in written.items() if path.suffix == ".gz")


async def test_a_page_that_wants_its_own_cookie_is_fetched_with_chain_and_not_without(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/self", "a.test/round", "a.test/never", "a.test/plain")
        web.page("a.test/plain")
        web.with_cookie("a.test/self", "seen=1", "a.test/self")
        web.with_cookie("a.test/round", "round=1", "a.test/check")
        web.redirect("a.test/check", "a.test/round")
        web.redirect("a.test/never", "a.test/never", status=302)
        without = await crawl(tmp_path / "off", settings(web, ["a.test/"]))
        n_before = len(web.requests)
        crawled = await crawl(tmp_path / "chain", fetching(settings(web, ["a.test/"]), cookies="chain"))
        asked = web.requests[n_before:]
    assert web.url("a.test/self") not in without.pages
    assert crawled.pages[web.url("a.test/self")].status == 200
    assert crawled.pages[web.url("a.test/round")].status == 200
    assert web.url("a.test/never") not in crawled.pages
    assert asked.count("a.test/never") == 1
    assert asked.count("a.test/self") == 2
    assert asked.count("a.test/round") == 2
    assert crawled.edges[web.url("a.test/check")] == web.url("a.test/round")
    assert web.url("a.test/round") not in crawled.edges
    plain = [head for head in web.heads if b"GET /plain " in head]
    assert plain
    assert all(b"cookie" not in head.lower() for head in plain)


async def test_a_crawl_goes_on_when_its_proxy_comes_back_and_no_host_is_held_to_be_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"h{i}.test" for i in range(6)]
    async with LittleWeb() as web:
        for name in names:
            web.page(f"{name}/0", f"{name}/1", f"{name}/2")
            web.page(f"{name}/1")
            web.page(f"{name}/2")
        proxy = LittleProxy(dict.fromkeys(names, web.address))
        await proxy.start()
        await proxy.stop()
        chosen = fetching(settings(web, [f"{name}/0" for name in names]), proxy=proxy.url, allow_addresses=[])
        chosen = msgspec.structs.replace(chosen, dns=msgspec.structs.replace(chosen.dns, static={}))
        down, note = asyncio.Event(), Outage.note_failure

        def noted(outage: Outage, *failure: Any, **more: Any) -> None:
            note(outage, *failure, **more)
            if outage.is_down and outage.what == "proxy":
                down.set()

        monkeypatch.setattr(Outage, "note_failure", noted)
        monkeypatch.setattr(outages, "FIRST_TRIAL_S", 0.1)
        crawling = asyncio.create_task(crawl(tmp_path / "c", chosen))
        try:
            await down.wait()
            await proxy.start()
            crawled = await crawling
        finally:
            crawling.cancel()
            await proxy.stop()
    assert len(crawled.pages) == 18
    assert all(page.status == 200 for page in crawled.pages.values())
    assert crawled.status.causes.get("proxy", 0) > 0
    assert not crawled.status.hosts_parked
    with View(crawled.path) as view:
        assert {view.tables.queues.host(key).failures for key, _ in view.rows("hosts")} == {0}  # type: ignore[union-attr]  # None fails the test
    assert verify(crawled.path) == []


async def test_a_page_that_needs_a_browser_is_listed_and_called_healthy_by_nobody(tmp_path: Path) -> None:
    shell = b'<body><div id="root"></div><script src="/main.js"></script>'
    challenge = b"<title>Just a moment...</title><script>window._cf_chl_opt={}</script>"
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/shell", "a.test/page")
        web.page("a.test/page")
        web.file("a.test/shell", "text/html", shell)
        web.file("b.test/", "text/html\r\nCF-Mitigated: challenge", challenge, status=403)
        web.file("c.test/", "text/html", challenge, status=500)
        crawled = await crawl(tmp_path / "c", archived(web, ["a.test/", "a.test/shell", "b.test/", "c.test/"]))
    assert crawled.status.needs_browser == {"empty_shell": 1, "challenge": 2}
    with View(crawled.path) as view:
        fields = KINDS["browser"].choose(("url", "reason"))
        listed = {tuple(field.of(row) for field in fields) for row in KINDS["browser"].rows(view, frozenset())}
        seeds = {web.place(one.seed): one for one in seed_outcomes(view)}
        report = render(gather(view, with_order=False), "done")
    assert listed == {
        (web.url("a.test/shell"), "empty_shell"),
        (web.url("b.test/"), "challenge"),
        (web.url("c.test/"), "challenge"),
    }
    assert {place: one.outcome for place, one in seeds.items()} == {
        "a.test/": "fetched",
        "a.test/shell": "needs_browser",
        "b.test/": "needs_browser",
        "c.test/": "needs_browser",
    }
    assert seeds["b.test/"].why == "the seed itself can be read by a browser alone"
    assert (seeds["a.test/"].pages, seeds["a.test/"].kept) == (3, 2)
    assert b"empty_shell" in report
    told = [record for record in records(crawled.path) if record.kind == "metadata" and "flag" in record.fields]
    flags = {(web.place(record.url), *record.fields["flag"]) for record in told}
    assert flags == {("a.test/shell", "empty_shell"), ("b.test/", "challenge")}


async def test_what_an_override_sets_holds_below_its_prefix_alone(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/big/1", "a.test/small/1", "a.test/big/hop", "a.test/small/hop")
        for part in ("big", "small"):
            web.file(f"a.test/{part}/1", "text/html", b"<meta name=robots content=nofollow><a href=found>x</a>" + b"word " * 2_000)
            web.page(f"a.test/{part}/found")
            web.redirect(f"a.test/{part}/hop", f"a.test/{part}/hop1")
            web.redirect(f"a.test/{part}/hop1", f"a.test/{part}/end")
            web.page(f"a.test/{part}/end")
        chosen = settings(web, ["a.test/"])
        prefix = f"test,a:{web.port})/small/"
        chosen = msgspec.structs.replace(
            chosen, overrides=[Override(match=prefix, options={"fetch.max_body": 1_000, "limits.max_redirects": 1, "robots.meta": False})]
        )
        crawled = await crawl(tmp_path / "c", chosen)
    assert crawled.pages[web.url("a.test/big/1")].n_bytes > 10_000
    assert crawled.pages[web.url("a.test/small/1")].n_bytes == 1_000
    assert "truncated_size" in crawled.pages[web.url("a.test/small/1")].flags
    assert web.url("a.test/small/found") in crawled.pages
    assert web.url("a.test/big/found") not in crawled.pages
    assert web.url("a.test/big/end") in crawled.pages
    assert web.url("a.test/small/end") not in crawled.pages
