"""What `thresher filters` says of a crawl, compared with planted truth, and with crawls that were made with and without a filter."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
from click.testing import CliRunner
from little_web import Crawled, LittleWeb, crawl, settings

from thresher.config.settings import FilterSettings
from thresher.crawler.analysis.filter_worth import JudgedCrawl, judge
from thresher.crawler.analysis.recorded_store import read_graph
from thresher.crawler.cli import thresher
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.storage.view import View

LOGIN = "Log in to see this page. " + " ".join(f"form{i}" for i in range(60))
N = 60
UNLIKE, NEAR = 50, 55  # logins that show a document of their own, and one that differs from a thread in one word


def filters(mode: str = "enforce", tail_yield: float = 1.0) -> FilterSettings:
    """Return pattern yield and exact copies, all others off; no audits."""
    of = FilterSettings(audit_share=0.0, tail_yield=tail_yield)
    modes = {name: getattr(of, name) for name in of.__struct_fields__ if hasattr(getattr(of, name), "mode")}
    on = {"exact_duplicate", "pattern_yield"}
    return msgspec.structs.replace(
        of, **{name: msgspec.structs.replace(one, mode=mode if name in on else "off") for name, one in modes.items()}
    )


def forum(web: LittleWeb) -> None:
    """Put threads, each with the same login form; two of the later forms are documents."""
    web.page("a.test/", *[f"a.test/thread/{i}" for i in range(N)])
    for i in range(N):
        word = _word(i)
        web.page(f"a.test/thread/{i}", f"a.test/login?return={word}", text=_thread(i))
        of_its_own = {UNLIKE: " ".join(f"own{k}" for k in range(60)), NEAR: _thread(3) + " more"}
        web.page(f"a.test/login?return={word}", text=of_its_own.get(i, LOGIN))


def _word(i: int) -> str:
    return "".join(chr(97 + int(digit)) for digit in f"{i:04}")


def _thread(i: int) -> str:
    return " ".join(f"thread{i}word{k}" for k in range(90))


def judged(path: Path, of: FilterSettings) -> JudgedCrawl:
    with View(path) as view:
        wanted = msgspec.structs.replace(view.settings, filters=of)
        space = URLSpace(view.secret, url_rules(wanted))
        return judge(read_graph(view, space, limit=10_000), wanted, space)


async def test_what_is_told_of_a_filter_is_what_crawls_with_and_without_it_come_to(tmp_path: Path) -> None:
    """Mutations: the text of a page with another status is a document; classes are drawn from as soon as their host has nothing else."""
    async with LittleWeb() as web:
        forum(web)
        await crawl(tmp_path / "off", settings(web, ["a.test/"], filters=filters("off")))
        n_plain = len(web.requests)
        await crawl(tmp_path / "on", settings(web, ["a.test/"], filters=filters()))
        n_with = len(web.requests) - n_plain
    both, copies, patterns = judged(tmp_path / "off", filters()).worths()
    assert (both.filter, copies.filter, patterns.filter) == ("all", "exact_duplicate", "pattern_yield")
    assert (both.requests, both.requests_without) == (n_with, n_plain) == (n_with, 2 * N + 1)
    assert patterns.saved == both.saved == n_plain - n_with == patterns.left
    assert (patterns.lost, patterns.near, patterns.unknown) == (1, 1, 0), "the planted ones"
    assert copies.lost == copies.near == 0
    (replayed, *_) = judged(tmp_path / "on", filters()).worths()
    assert replayed.requests == n_with
    assert replayed.unknown == replayed.saved > 0, "what the crawl did not fetch is not known"
    assert replayed.lost == 0, "and so is what was lost"


async def test_with_a_threshold_of_nought_and_all_filters_on_the_documents_are_those_of_a_crawl_without_filters(tmp_path: Path) -> None:
    """Law, for a finite site without limits: the same documents by their text, near copies apart. Mutation: what is held at the end is not
    fetched.
    """
    every = FilterSettings(tail_yield=0.0)
    modes = {name: getattr(every, name) for name in every.__struct_fields__ if hasattr(getattr(every, name), "mode")}
    on = msgspec.structs.replace(every, **{name: msgspec.structs.replace(one, mode="enforce") for name, one in modes.items()})
    async with LittleWeb() as web:
        forum(web)
        for i in range(20):
            web.page(f"a.test/thread/{i}/print", "a.test/", text=_thread(i))
            web.page(f"a.test/calendar?month={i}", f"a.test/calendar?month={i + 1}", "a.test/", text="no events in this month " * 10)
        web.page("a.test/calendar?month=20", text=" ".join(f"event{k}" for k in range(60)))
        web.page("a.test/thread/1", *[f"a.test/thread/{i}/print" for i in range(20)], "a.test/calendar?month=0", text=_thread(1))
        without = await crawl(tmp_path / "off", settings(web, ["a.test/"], filters=filters("off")))
        with_all = await crawl(tmp_path / "on", settings(web, ["a.test/"], filters=on))
    assert with_all.status.held == 0
    found = texts(with_all)
    lost = {web.place(url) for url, page in without.pages.items() if page.fingerprint not in found}
    assert len(found) > N
    assert lost <= {"a.test/thread/1", f"a.test/login?return={_word(NEAR)}"}, "near copies at most: of its print view, and of a thread"


def texts(crawled: Crawled) -> set[bytes]:
    """Return the texts that a crawl has kept."""
    return {page.fingerprint for page in crawled.pages.values() if page.status == 200 and page.keep}


async def test_the_command_says_it_as_a_table_and_as_json_with_what_was_left_alone(tmp_path: Path) -> None:
    """Mutation: `left_alone` read the records of the classes, which do not have the proof that is printed."""
    async with LittleWeb() as web:
        forum(web)
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=filters()))
    said = CliRunner().invoke(thresher, ["filters", str(tmp_path / "c"), "--format", "json"])
    rows = [json.loads(line) for line in said.stdout.splitlines()]
    (closed,) = [row for row in rows if row["kind"] == "closed"]
    assert (closed["n"], closed["at_most"]) == (crawled.status.left_alone, -1)
    assert closed["holders"] == ["pattern_yield " + closed["holders"][0].removeprefix("pattern_yield ")]
    table = CliRunner().invoke(thresher, ["filters", str(tmp_path / "c"), "--answers", "50"])
    assert table.exit_code == said.exit_code == 0
    assert f"left alone on a.test:{web.port}: {crawled.status.left_alone} URLs of 1 classes, not proved" in table.stdout
    assert "replay 4 of 4, without pattern_yield" in table.stderr
    assert "answers past --answers were left out" in table.stderr


async def test_redirects_that_go_round_are_judged_and_have_no_end(tmp_path: Path) -> None:
    """Mutation: a replay followed a loop of redirects for ever."""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/one", "a.test/page")
        web.page("a.test/page")
        web.redirect("a.test/one", "a.test/two")
        web.redirect("a.test/two", "a.test/three")
        web.redirect("a.test/three", "a.test/two")
        await crawl(tmp_path / "c", settings(web, ["a.test/"]))
    result = CliRunner().invoke(thresher, ["filters", str(tmp_path / "c")])
    assert result.exit_code == 0, result.exception
