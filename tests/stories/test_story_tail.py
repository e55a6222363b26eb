"""URLs that filters hold, in whole crawls: which of them are fetched, and in which order; judged by the requests that the server
received.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from click.testing import CliRunner
from little_web import Crawled, LittleWeb, crawl, settings

from thresher.config.settings import ExactDuplicateSettings, FilterSettings, LimitSettings, NearReplicaSettings, PatternYieldSettings
from thresher.crawler.analysis.tail_replay import notes, replayed
from thresher.crawler.analysis.tails import classes
from thresher.crawler.cli import thresher
from thresher.crawler.core.model import State
from thresher.crawler.explain.explain import Explainer
from thresher.crawler.explain.wording import recorded
from thresher.filters.tail.history import SettledStep
from thresher.storage.schema import TAIL_CLASSES, TAIL_DRAWS, TAIL_HOSTS, TAIL_MEMBERS, TAIL_PLACES
from thresher.storage.view import View

LOGIN = "Log in to see this page. " + " ".join(f"form{i}" for i in range(30))
N = 120
SAME = " ".join(f"shared{i}" for i in range(200))
TABLES = (TAIL_HOSTS, TAIL_CLASSES, TAIL_MEMBERS, TAIL_PLACES, TAIL_DRAWS)
KEPT = {"media", "exact_duplicate", "pattern_yield"}


def filters(mode: Any = "enforce", **of: Any) -> FilterSettings:
    """Return pattern yield, the type gate and exact copies; no audits."""
    default = FilterSettings(audit_share=0.0, pattern_yield=PatternYieldSettings(mode=mode), **of)
    others = {name for name in default.__struct_fields__ if hasattr(getattr(default, name), "mode")} - KEPT
    return msgspec.structs.replace(default, **{name: msgspec.structs.replace(getattr(default, name), mode="off") for name in others})


def forum(web: LittleWeb, n: int = N) -> None:
    """Put threads, each with a login form that returns to it; all forms show the same text."""
    web.page("a.test/", *[f"a.test/thread/{i}" for i in range(n)])
    for i in range(n):
        web.page(f"a.test/thread/{i}", f"a.test/login?return={_word(i)}")
        web.page(f"a.test/login?return={_word(i)}", text=LOGIN)


def _word(i: int) -> str:
    return "".join(chr(97 + int(digit)) for digit in f"{i:04}")


def no_links_of_copies() -> FilterSettings:
    """Links of copies are followed last, whatever their budget."""
    return msgspec.structs.replace(filters("off", tail_yield=0.0), exact_duplicate=ExactDuplicateSettings(max_links=0))


def is_login(place: str) -> bool:
    return place.startswith("a.test/login")


def held(crawled: Crawled) -> set[str]:
    return {url for url, row in crawled.rows.items() if row.state is State.HELD}


async def test_with_a_threshold_of_nought_all_of_a_finite_site_is_fetched_and_what_was_held_comes_last(tmp_path: Path) -> None:
    """The threads link to the forms. Once the pattern has proved to show nothing new, the other forms wait until all else is fetched.
    Mutation: no held URL is ever fetched.
    """
    async with LittleWeb() as web:
        forum(web)
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=filters(tail_yield=0.0)))
    assert len(web.requests) == len(set(web.requests)) == 2 * N + 1
    assert held(crawled) == set()
    assert (crawled.status.held, crawled.status.held_by) == (0, {})
    assert crawled.status.saved.keys() == {"exact_duplicate"}, "a URL that was held for a while is not saved"
    with View(tmp_path / "c") as view:
        assert sum(of.known for of in classes(view)) > N / 3, "they had been held"


async def test_with_a_threshold_of_one_nothing_that_was_held_is_fetched(tmp_path: Path) -> None:
    """Mutation: the threshold is ignored."""
    async with LittleWeb() as web:
        forum(web)
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=filters(tail_yield=1.0)))
    logins = [place for place in web.requests if is_login(place)]
    assert len(held(crawled)) == N - len(logins) == crawled.status.held_by["pattern_yield"] > 0
    assert crawled.status.left_alone == len(held(crawled))


async def test_a_budget_of_the_whole_crawl_is_spent_on_other_hosts_before_a_tail_is_served(tmp_path: Path) -> None:
    """The first host is finished long before the second, which is a chain of pages. Mutation: a host's held URLs are fetched as soon as its
    queue is empty.
    """
    n_chain = 110
    async with LittleWeb() as web:
        forum(web)
        for i in range(n_chain):
            web.page(f"b.test/{i}", f"b.test/{i + 1}")
        limits = LimitSettings(min_free_disk=0, max_wait=5.0, max_pages=10_000)
        seeds = ["a.test/", "b.test/0"]
        await crawl(tmp_path / "c", settings(web, seeds, filters=filters(tail_yield=0.0), limits=limits))
    last_of_chain = web.requests.index(f"b.test/{n_chain - 1}")
    after = [place for place in web.requests[last_of_chain:] if is_login(place)]
    assert len(set(web.requests)) == 2 * N + 1 + n_chain + 1
    assert len(after) > N / 4, "the tail waited for the other host"


async def test_a_resume_with_another_threshold_goes_on_with_what_was_left_alone(tmp_path: Path) -> None:
    """The journal of both runs shows it.

    Mutations: a closed class stays closed; a class that is opened again is not written to the journal.
    """
    async with LittleWeb() as web:
        forum(web)
        await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=filters(tail_yield=1.0)))
        n = len(web.requests)
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=filters(tail_yield=0.0)))
    assert n < 2 * N + 1 == len(web.requests)
    assert held(crawled) == set()
    assert crawled.status.left_alone == 0
    with View(tmp_path / "c") as view:
        last = next(url for url in crawled.rows if url.endswith(web.requests[-1].removeprefix("a.test")))
        told = Explainer(view, view.settings, 0.0).story(last).history
        again = replayed(notes(view))
        assert {table: again.rows(table) for table in TABLES} == {table: dict(view.rows(table)) for table in TABLES}
    assert [event.what.partition(" ")[0] for event in told] == ["waits", "left", "judged", "drawn,", "fetched:"]


async def test_what_only_a_copy_names_comes_last_and_what_a_new_page_names_too_does_not(tmp_path: Path) -> None:
    """Mutation: links of copies were dropped, or treated as others; a link of a new page released nothing."""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/original", "a.test/copy", "a.test/1")
        web.page("a.test/original", "a.test/1", "a.test/2", text=SAME)
        web.page("a.test/copy", "a.test/only-here", "a.test/freed", text=SAME)
        for i in range(1, 30):
            web.page(f"a.test/{i}", f"a.test/{i + 1}", *(["a.test/freed"] if i == 10 else []))
        web.page("a.test/30")
        web.page("a.test/only-here", "a.test/of-its-kind")
        web.page("a.test/freed")
        web.page("a.test/of-its-kind")
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=no_links_of_copies()))
    order = web.requests
    assert order[-2:] == ["a.test/only-here", "a.test/of-its-kind"]
    assert order.index("a.test/freed") < order.index("a.test/30")
    assert held(crawled) == set()


async def test_a_drawn_page_that_resembles_a_kept_one_is_told_from_one_that_nothing_resembles(tmp_path: Path) -> None:
    """The journal has the result of each draw, and its replay gives the same. Mutations: likeness is not looked for, or gets lost on the
    way to the journal.
    """
    of = filters("off", tail_yield=0.0)
    of = msgspec.structs.replace(of, exact_duplicate=ExactDuplicateSettings(max_links=0), near_replica=NearReplicaSettings(max_links=0))
    changed = " ".join(f"shared{i}" if i % 60 else f"own{i}" for i in range(200))
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/original", "a.test/copy")
        web.page("a.test/original", text=SAME)
        web.page("a.test/copy", "a.test/alike", "a.test/unlike", text=SAME)
        web.page("a.test/alike", text=changed)
        web.page("a.test/unlike", text=" ".join(f"other{i}" for i in range(200)))
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=of))
    with View(tmp_path / "c") as view:
        steps = {step.key: step for note in notes(view) for step in note.steps if isinstance(step, SettledStep)}
        again = replayed(notes(view))
        assert {table: again.rows(table) for table in TABLES} == {table: dict(view.rows(table)) for table in TABLES}
    drawn = {web.place(url): steps[page.key] for url, page in crawled.pages.items() if page.key in steps}
    told = {place: (step.is_good, step.is_alike) for place, step in drawn.items()}
    assert told == {"a.test/alike": (True, True), "a.test/unlike": (True, False)}


async def test_what_is_left_alone_is_told_with_its_proof_and_how_to_fetch_it(tmp_path: Path) -> None:
    """Mutation: `stats --by class` read the records of the classes, which do not have the proof."""
    async with LittleWeb() as web:
        forum(web)
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=filters(tail_yield=0.5)))
    alone = crawled.status.left_alone
    assert f"{alone:,} of them left alone, see `stats --by class`" in crawled.ending.why
    asked = ["stats", str(tmp_path / "c"), "--by", "class"]
    (row,) = map(json.loads, CliRunner().invoke(thresher, [*asked, "--json"]).stdout.splitlines())
    assert row["left_alone"] == alone > 1
    assert 0 <= row["new_at_most"] < alone
    assert "thresher resume DIR --set filters.tail_yield=0" in CliRunner().invoke(thresher, asked).stderr


async def test_the_classes_and_what_became_of_them_are_told(tmp_path: Path) -> None:
    """By `stats --by class`, by `explain`, and in the summary. Mutation: a class that is closed was called waiting."""
    async with LittleWeb() as web:
        forum(web)
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=filters(tail_yield=1.0)))
    left = held(crawled)
    assert f"held by filters: {len(left)} URLs, {len(left)} of them left alone" in crawled.ending.why
    with View(tmp_path / "c") as view:
        (of,) = classes(view)
        story = Explainer(view, view.settings, 0.0).story(min(left))
    assert (of.left, of.left_alone, of.drawn, of.new) == (len(left), len(left), 0, 0)
    assert of.holder.startswith("pattern_yield ")
    assert "left alone" in recorded(story)
    assert "filters.tail_yield=0" in recorded(story)
    assert [event.what for event in story.history] == [
        f"waits in the class {of.holder}: held by it",
        f"left alone with {len(left) - 1} others of its host",
    ]
