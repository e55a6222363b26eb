"""What a round reports: which differences are changes, pages that are gone or have moved, hosts that lose many pages at once."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from changing_web import HOST, ChangingWeb, again, changes, counts, first, go_on, kinds
from witness import ReceivedRequest, page

from thresher.config.settings import DnsSettings, FetchSettings, StoreSettings
from thresher.crawler.start.rounds import trust
from thresher.crawler.terminal.rounds import round_rows
from thresher.storage.view import View

WORDS = " ".join(f"word{i}" for i in range(300))
N = 24  # pages of a site that loses them all; of so few, 10 losses are enough to park it


async def test_a_clock_at_the_foot_is_no_change_and_a_date_that_moves_is_one(tmp_path: Path) -> None:
    """Each answer differs in its bytes; validators are left out, so every page is sent again."""
    with ChangingWeb() as web:
        web.put("/", WORDS, "/clock", "/random", "/event", "/markup", "/short")

        def clock(_: ReceivedRequest) -> bytes:
            return page(
                f"<p>{WORDS}</p><footer>{datetime.now(UTC):%A, %d %B %Y %H:%M:%S} · generated in 0.{time.monotonic_ns()} s</footer>"
            )

        web.answers["/clock"] = clock
        web.answers["/short"] = lambda _: page(f"<p>Three words only</p>{datetime.now(UTC):%Y-%m-%d %H:%M:%S.%f}")
        web.answers["/random"] = lambda _: page(f'<p>{WORDS}</p><input type="hidden" value="{uuid4()}"> token {uuid4().hex}')
        event = ["The fair is on 14 March 2031 at 10:00 in the town hall"]
        web.answers["/event"] = lambda _: page(event[0])
        style = ["a.css"]
        web.answers["/markup"] = lambda _: page(f'<link rel="stylesheet" href="/{style[0]}"><p>{WORDS}</p>')
        await first(tmp_path / "c", web)
        style[0] = "b.css"
        await again(tmp_path / "c", web)
        assert kinds(tmp_path / "c") == {}
        assert counts(tmp_path / "c") == {"not_modified": 1, "alike": 6, "same": 1}  # one of them was requested a second time
        web.asked()
        event[0] = event[0].replace("14 March", "15 March")
        await again(tmp_path / "c", web)
        assert kinds(tmp_path / "c", "3") == {"/event": "changed"}
        assert web.asked().count("/random") == 1  # by now it is known that it differs at every request


async def test_a_small_change_in_a_long_page_is_found_and_a_counter_is_none(tmp_path: Path) -> None:
    """Two of 300 words differ in both pages: a second request tells which of them has changed."""
    with ChangingWeb() as web:
        web.put("/", WORDS, "/price", "/counter")
        web.put("/price", f"price 19 euro {WORDS}")
        visitors = count(17)
        web.answers["/counter"] = lambda _: page(f"<p>{WORDS}</p> you are visitor {next(visitors)}")
        await first(tmp_path / "c", web)
        web.put("/price", f"price 24 euro {WORDS}")
        web.asked()
        await again(tmp_path / "c", web)
        assert kinds(tmp_path / "c") == {"/price": "changed"}
        assert sorted(web.asked()) == ["/", "/counter", "/counter", "/price", "/price"]
        await again(tmp_path / "c", web)
        assert kinds(tmp_path / "c", "3") == {}
        assert sorted(web.asked()) == ["/", "/counter", "/price"]


async def test_without_stored_bodies_a_sketch_tells_how_much_has_changed(tmp_path: Path) -> None:
    sections: dict[str, Any] = {"store": StoreSettings(bodies=False, versions=2)}
    with ChangingWeb() as web:
        web.put("/", WORDS, "/a")
        web.put("/a", WORDS + " one two three")
        await first(tmp_path / "c", web, **sections)
        web.put("/a", WORDS + " and now for something else")
        await again(tmp_path / "c", web, **sections)
        (row,) = changes(tmp_path / "c")
        assert (row.kind, row.amount) == ("changed", None)  # of the first visit only a fingerprint is stored
        half = " ".join(f"other{i}" for i in range(300))
        web.put("/a", WORDS + " " + half)
        await again(tmp_path / "c", web, **sections)
        (row,) = changes(tmp_path / "c", "3")
        assert row.amount is not None
        assert 0.3 < row.amount < 0.7


async def test_a_page_is_gone_with_410_or_with_404_on_two_days(tmp_path: Path) -> None:
    with ChangingWeb() as web:
        web.put("/", WORDS, *(f"/{i}" for i in range(4)))
        for i in range(4):
            web.put(f"/{i}", f"{i} {WORDS}")
        await first(tmp_path / "c", web)
        web.say("/0", "410 Gone")
        web.take("/1")
        web.take("/2")
        await again(tmp_path / "c", web)
        assert kinds(tmp_path / "c") == {"/0": "gone"}
        await again(tmp_path / "c", web)  # on the same day: a second 404 proves no more than the first
        assert kinds(tmp_path / "c", "3") == {}
        web.put("/2", f"2 {WORDS}")  # it is back, so it was never gone
        web.asked()
        crawled = await again(tmp_path / "c", web, days=1.0)
        assert kinds(tmp_path / "c", "4") == {"/1": "gone"}
        assert "/0" not in web.asked()  # it stays gone
        assert crawled.pages[web.url("a.test", "/1")].status == 404
        await again(tmp_path / "c", web, days=1.0)
        assert sorted(web.asked()) == ["/", "/2", "/3"]
        web.put("/1", "it has come back")
        await again(tmp_path / "c", web, where=("gone=yes",))
        assert kinds(tmp_path / "c", "6") == {"/1": "new"}


async def test_a_page_that_redirects_now_has_moved_and_its_target_is_fetched(tmp_path: Path) -> None:
    with ChangingWeb() as web:
        web.put("/", WORDS, "/a", "/b")
        web.put("/a", "a " + WORDS)
        web.say("/b", "301 Moved", location="/c")
        web.put("/c", "c " + WORDS)
        web.put("/d", "d " + WORDS)
        crawled = await first(tmp_path / "c", web)
        assert web.url("a.test", "/b") in crawled.edges
        web.say("/a", "308 Moved", location="/d")
        web.put("/b", "b is a page now " + WORDS)
        crawled = await again(tmp_path / "c", web)
        rows = {row.url.rpartition("/")[2]: row for row in changes(tmp_path / "c")}
        assert {name: row.kind for name, row in rows.items()} == {"a": "moved", "d": "new", "b": "new"}
        assert rows["a"].to == web.url("a.test", "/d")
        assert crawled.edges == {web.url("a.test", "/a"): web.url("a.test", "/d")}
        web.asked()
        await again(tmp_path / "c", web)
        assert kinds(tmp_path / "c", "3") == {}
        assert sorted(web.asked()) == ["/", "/a", "/b", "/c", "/d"]


async def test_a_sudden_mass_of_404s_parks_the_host_and_asks(tmp_path: Path) -> None:
    with ChangingWeb() as web:
        web.put("/", WORDS, *(f"/{i}" for i in range(N)))
        for i in range(N):
            web.put(f"/{i}", f"{i} {WORDS}")
        await first(tmp_path / "c", web)
        bodies = dict(web.bodies)
        web.bodies = {"/": bodies["/"]}
        web.asked()
        await again(tmp_path / "c", web)
        n_asked = len(web.asked())
        assert n_asked <= 11  # as many losses as it takes, and the home page
        assert kinds(tmp_path / "c") == {}
        with View(tmp_path / "c") as view:
            said = "\n".join(round_rows(view, tmp_path / "c"))
        assert f"{HOST}:{web.port} is parked: 10 of its last {n_asked} answers were losses" in said
        assert "--trust" in said
        await again(tmp_path / "c", web, days=1.0)  # a second day of the same: still nothing is gone
        assert kinds(tmp_path / "c") == {}
        web.bodies = bodies
        await again(tmp_path / "c", web, days=1.0)
        assert kinds(tmp_path / "c") == {}
        assert counts(tmp_path / "c")["same"] >= 10  # requested without conditions, since it was missing
        assert sum(counts(tmp_path / "c").values()) == N + 1


async def test_a_trusted_host_goes_on_and_what_it_lost_is_gone_the_next_day(tmp_path: Path) -> None:
    with ChangingWeb() as web:
        web.put("/", WORDS, *(f"/{i}" for i in range(N)))
        for i in range(N):
            web.put(f"/{i}", f"{i} {WORDS}")
        await first(tmp_path / "c", web)
        web.bodies = {"/": web.bodies["/"]}
        web.asked()
        await again(tmp_path / "c", web)
        trust(tmp_path / "c", [f"{HOST}:{web.port}"])
        await go_on(tmp_path / "c", web)
        assert len(web.asked()) == N + 1
        assert counts(tmp_path / "c") == {"not_modified": 1, "missing": N}
        await again(tmp_path / "c", web, days=1.0)
        trust(tmp_path / "c", [HOST])
        await go_on(tmp_path / "c", web)
        assert set(kinds(tmp_path / "c").values()) == {"gone"}
        assert len(kinds(tmp_path / "c")) == N


async def test_a_host_that_is_gone_loses_no_page(tmp_path: Path) -> None:
    with ChangingWeb() as web:
        web.put("/", WORDS, "/a")
        web.put("/a", "a " + WORDS)
        await first(tmp_path / "c", web)
        nowhere = DnsSettings(static={".test": "127.0.0.1"}, servers=[])
        crawled = await again(tmp_path / "c", web, fetch=FetchSettings(allow_addresses=["10.0.0.0/8"], allow_ports=[web.port]), dns=nowhere)
        assert kinds(tmp_path / "c") == {}
        assert {page.status for page in crawled.pages.values()} == {200}


@pytest.mark.parametrize("how", ["moved to one place", "one text for all"])
async def test_a_host_that_answers_everything_alike_is_parked(tmp_path: Path, how: str) -> None:
    """A login to which every page redirects; a notice of maintenance with status 200. There is no 404, but the host is down all the
    same.
    """
    with ChangingWeb() as web:
        web.put("/", WORDS, *(f"/{i}" for i in range(N)))
        for i in range(N):
            web.put(f"/{i}", f"{i} {WORDS}")
        web.put("/login", "please log in")
        await first(tmp_path / "c", web)
        for i in range(N):
            if how == "moved to one place":
                web.say(f"/{i}", "302 Found", location="/login")
            else:
                web.put(f"/{i}", "We are down for maintenance, back in an hour")
        web.asked()
        crawled = await again(tmp_path / "c", web)
        assert len([path for path in web.asked() if path not in ("/", "/login")]) == 11  # the first of them proves nothing
        assert crawled.status.hosts_parked == {"sudden_loss": 1}


@pytest.mark.parametrize("n_pages", [24, 40])
async def test_a_site_that_moves_page_by_page_is_not_parked(tmp_path: Path, n_pages: int) -> None:
    """Of a site of 24 pages some are fetched again, as if a wall had answered. Mutation: its front page, too, which the round had asked for
    again: `verify` said that a version is not there.
    """
    with ChangingWeb() as web:
        web.put("/", WORDS, *(f"/{i}" for i in range(n_pages)))
        for i in range(n_pages):
            web.put(f"/{i}", f"{i} {WORDS}")
            web.put(f"/new/{i}", f"{i} {WORDS}")
        await first(tmp_path / "c", web)
        for i in range(n_pages):
            web.say(f"/{i}", "301 Moved", location=f"/new/{i}")
        await again(tmp_path / "c", web)
        found = changes(tmp_path / "c")
        assert {row.url: row.to for row in found if row.kind == "moved"} == {
            web.url(HOST, f"/{i}"): web.url(HOST, f"/new/{i}") for i in range(n_pages)
        }
        assert sum(row.kind == "new" for row in found) == n_pages
