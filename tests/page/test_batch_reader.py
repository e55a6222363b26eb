"""The batch reader gives each page of a batch the same result as if it had come alone; a fault of one page does not affect others."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import pytest
from msgspec.structs import replace

from thresher.config.settings import Settings
from thresher.crawler.children.crash_suspects import Suspects
from thresher.crawler.core import html
from thresher.crawler.core.model import Fetched, Flag, Head, Mode, Purpose, Reason, State
from thresher.crawler.core.parsed import Parsed
from thresher.crawler.core.sketch import token_hashes
from thresher.crawler.core.url import URLRules, URLSpace
from thresher.crawler.gates.link_gate import LinkGate
from thresher.crawler.page.batch_reader import BatchReader, PageReading
from thresher.crawler.page.parser import Parser
from thresher.filters.base import LinkColumns
from thresher.filters.panel import Panel
from thresher.filters.spec import FilterSpec
from thresher.storage.store import Store
from thresher.storage.tables.bodies import digests

URLS = URLSpace(bytes(32), URLRules())


def fetched(name: str, body: bytes, mime_type: str = "text/html") -> Fetched:
    url = URLS.url(f"http://a.test/{name}/")
    return Fetched(url, Head(url, 200, ((b"Content-Type", mime_type.encode()),), "", 0.0), body, len(body), 0.0)


def page(i: int) -> Fetched:
    return fetched(f"p{i}", f"<title>{i}</title><a href=x>words of page {i}</a><a href='mailto:a@b'>".encode())


@asynccontextmanager
async def batch_reader(
    path: Path, clock: Callable[[], float] = lambda: 7.0, filters: Sequence[FilterSpec] = ()
) -> AsyncIterator[BatchReader]:
    settings = Settings()
    parser = Parser(settings.parse, "thresher")
    with Store.create(path / "crawl", settings, 0.0) as store:
        suspects = Suspects(path / "crawl", store.tables)
        try:
            panel = Panel(filters, store.tables.memory, audit_share=0.0)
            links = LinkGate(URLS, store.tables.seen, panel, settings)
            yield BatchReader(parser, suspects, links, panel, urls=URLS, settings=settings, clock=clock)
            assert not any((path / "crawl" / "working").read_bytes())  # no page is suspected
        finally:
            suspects.close()
            await parser.close()


def is_right(found: PageReading, i: int) -> bool:
    page, link = found.page, f"http://a.test/p{i}/x"
    words = page.tokens.tolist() == token_hashes(f"words of page {i}").tolist()
    return words and (page.title, page.links, found.links.texts, len(found.skips)) == (str(i), (link,), [link], 1)


async def test_pages_that_arrive_together_are_read_as_if_alone(tmp_path: Path) -> None:
    async with batch_reader(tmp_path) as table:
        found = await asyncio.gather(*(table.read(page(i)) for i in range(50)))
    assert all(is_right(reading, i) for i, reading in enumerate(found))
    assert [reading.sha256 for reading in found] == (digests([page(i).body for i in range(50)]) or [b""] * 50)


async def test_no_page_is_read_and_no_journey_goes_on_while_others_need_the_round(tmp_path: Path) -> None:
    """Mutations: only reading paused, or only the journeys did."""
    async with batch_reader(tmp_path) as table:
        table.must_pause = lambda: True
        journey = asyncio.create_task(table.read(page(1)))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not journey.done()
        (ticket,) = table._batch
        assert ticket.parsed is None
        table.must_pause = lambda: ticket.parsed is not None
        for _ in range(50):
            await asyncio.sleep(0)
        assert ticket.parsed is not None
        assert not journey.done()
        table.must_pause = lambda: False
        assert is_right(await journey, 1)


class Asked:
    """A static filter that refuses whatever ends with an x, and notes what it is asked about."""

    name = "asked"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def refuses(self, links: LinkColumns, /) -> Mapping[int, Reason]:
        self.texts += links.texts
        return {i: Reason.OUT_OF_SCOPE for i, text in enumerate(links.texts) if text.endswith("x")}


def test_the_static_gate_remembers_what_is_known_or_refused(tmp_path: Path) -> None:
    """What a page names for the first time is mostly never named again: it would only push out what every page names."""
    asked = Asked()
    known, new, refused = (f"http://a.test/{name}" for name in ("known", "new", "x"))
    with Store.create(tmp_path / "crawl", Settings(), 0.0) as store:
        panel = Panel([FilterSpec("asked", Mode.ENFORCE, static=asked)], store.tables.memory, audit_share=0.0)
        gate = LinkGate(URLS, store.tables.seen, panel, Settings())
        store.tables.seen.add(URLS.url(known), State.QUEUED, None, 1.0)
        found = [
            gate.gate([known, new, refused]) for _ in range(3) if gate.sift(URLS.url("http://a.test/"), gate.gate([known, new, refused]))
        ]
        assert found[0] == found[1] == found[2]
        assert (found[0].texts, [skip.text for skip in found[0].skips]) == ([known, new], [refused])
    assert Counter(asked.texts) == {known: 1, refused: 1, new: 6}


async def test_filters_compute_beforehand_for_the_batch_but_not_of_their_own_requests(tmp_path: Path) -> None:
    """Mutations: no stage of the reader asked them; pages of canaries were theirs, too."""
    seen: list[tuple[str, bytes]] = []
    spec = FilterSpec("ahead", Mode.ENFORCE, foresee=lambda page, queue, _memory: seen.append((page.url.text, queue)))
    own = page(3)
    own = replace(own, url=replace(own.url, purpose=Purpose.CANARY))
    async with batch_reader(tmp_path, filters=[spec]) as table:
        await asyncio.gather(*(table.read(each) for each in (page(1), page(2), own)))
    queue = URLS.queue_key("http://a.test")
    assert seen == [("http://a.test/p1/", queue), ("http://a.test/p2/", queue)]


class Rounds:
    """The number of the loop's round, and a clock that moves only when a step says how long it took."""

    def __init__(self) -> None:
        self.n, self.now = 0, 0.0

    async def __aenter__(self) -> Self:
        self._turning = asyncio.create_task(self._turn())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._turning.cancel()

    async def _turn(self) -> None:
        while True:
            self.n += 1
            await asyncio.sleep(0)


@pytest.mark.parametrize(("took_s", "most"), [(0.0, 64), (0.002, 3), (0.006, 1)])
async def test_a_round_of_the_loop_begins_no_step_after_5_ms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, took_s: float, most: int
) -> None:
    """The loop is not blocked until all pages are read, however many or slow. Mutation: a batch passes a stage in one round."""
    parsed_in: list[int] = []

    def parse(*args: Any, **options: Any) -> Parsed:
        parsed_in.append(rounds.n)
        rounds.now += took_s
        return finished(*args, **options)

    finished = html.finished
    monkeypatch.setattr(html, "finished", parse)
    async with Rounds() as rounds, batch_reader(tmp_path, clock=lambda: rounds.now) as table:
        await asyncio.gather(*(table.read(page(i)) for i in range(150)))
    assert max(Counter(parsed_in).values()) == most


async def test_large_pages_make_small_batches(tmp_path: Path) -> None:
    went_on_in: list[int] = []

    async def journey(table: BatchReader) -> None:
        await table.read(fetched("large", b"word " * 1_000 + b" " * 1_500_000))
        went_on_in.append(rounds.n)

    async with Rounds() as rounds, batch_reader(tmp_path, clock=lambda: 7.0) as table:
        await asyncio.gather(*(journey(table) for _ in range(4)))
    assert len(set(went_on_in)) == 4


@pytest.mark.parametrize(("took_s", "most"), [(0.0, 8), (0.002, 2), (0.006, 1)])
async def test_as_many_journeys_are_woken_as_a_round_has_time_for(tmp_path: Path, took_s: float, most: int) -> None:
    """The times of earlier ones show how long they take. Mutation: the same number is woken in each round."""
    went_on_in: list[int] = []

    async def journey(table: BatchReader, i: int) -> None:
        await table.read(page(i))
        went_on_in.append(rounds.n)
        rounds.now += took_s

    async with Rounds() as rounds, batch_reader(tmp_path, clock=lambda: rounds.now) as table:
        await asyncio.gather(*(journey(table, i) for i in range(40)))
    woken = list(Counter(went_on_in).values())
    assert woken[0] == 1, "nobody knows yet"
    assert max(woken) == woken[1] == most


async def test_journeys_go_on_with_the_first_page_of_each_site_then_the_second(tmp_path: Path) -> None:
    """Pages of several sites can be learned from together, two of a site cannot. Mutation: they go on as they came."""
    went_on: list[str] = []

    async def journey(table: BatchReader, name: str) -> None:
        url = URLS.url(f"http://{name}/")
        await table.read(replace(page(1), url=url, head=replace(page(1).head, url=url)))
        went_on.append(name)

    async with batch_reader(tmp_path) as table:
        await asyncio.gather(*(journey(table, name) for name in ("a.test", "www.a.test", "b.test", "www.b.test", "c.test")))
    assert went_on == ["a.test", "b.test", "c.test", "www.a.test", "www.b.test"]


async def test_a_fault_of_our_own_in_one_page_is_that_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(source: html.DecodedBody, **options: Any) -> Parsed:
        if b"page 2" in source.body_utf8:
            raise ZeroDivisionError("a bug")
        return finished(source, **options)

    finished = html.finished
    monkeypatch.setattr(html, "finished", parse)
    async with batch_reader(tmp_path) as table:
        found = await asyncio.gather(*(table.read(page(i)) for i in range(5)), return_exceptions=True)
    assert [i for i, reading in enumerate(found) if isinstance(reading, ZeroDivisionError)] == [2]
    assert all(is_right(reading, i) for i, reading in enumerate(found) if isinstance(reading, PageReading))


async def test_who_is_gone_is_not_read_for(tmp_path: Path) -> None:
    async with batch_reader(tmp_path) as table:
        tasks = [asyncio.create_task(table.read(page(i))) for i in range(4)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(reading, PageReading) for reading in found] == [True, False, True, True]


async def test_a_page_that_must_be_isolated_delays_no_other(tmp_path: Path) -> None:
    async with batch_reader(tmp_path) as table:
        bomb = asyncio.create_task(table.read(fetched("bomb", b"<title>b</title>" + b"<div>" * 10_000 + b"<a href=y>")))
        others = await asyncio.gather(*(table.read(page(i)) for i in range(5)))
        assert not bomb.done()
        assert all(is_right(reading, i) for i, reading in enumerate(others))
        found = await bomb
    assert (found.page.title, found.page.links) == ("b", ("http://a.test/bomb/y",))


async def test_what_is_no_text_says_nothing(tmp_path: Path) -> None:
    async with batch_reader(tmp_path) as table:
        picture = await table.read(fetched("picture", b"<a href=x>", "image/png"))
        disguised = await table.read(fetched("disguised", b"\0" * 100))
    assert (picture.page.flags, picture.page.text, picture.page.links, picture.page.at) == (frozenset(), "", (), 7.0)
    assert (disguised.page.flags, disguised.page.tokens.size) == (frozenset({Flag.NOT_HTML}), 0)
