"""Walls that come again and again before a site of many links, one of which mints a session on each link: what they cost has a bound.

A wall stands for a fixed number of its host's requests, so that nothing depends on how fast anything is.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path

from little_web import LittleWeb, crawl, settings
from replaying import misremembered
from test_story_tail import TABLES
from test_story_walls_odd import FOR, FROM, OWN, TEMPLATE, Kind, code, lost, number, says, words

from thresher.config.settings import DustSettings, FilterSettings, PolitenessSettings, SoftErrorSettings
from thresher.crawler.analysis.tail_replay import notes, replayed
from thresher.crawler.analysis.tails import classes
from thresher.storage.view import View

N = 60  # pages
LINKS = 30  # of each page
EACH = 70  # requests from one wall to the next
MOST = 20 * N  # requests
TOO_MANY = 25 * N  # from then on every page is gone


def put(web: LittleWeb, place: str, session: str = "") -> None:
    host, at = place.partition("/")[0], number(place)
    links = [f"{host}/{(3 * at + 1 + 7 * i) % N}{session}" for i in range(LINKS)]
    web.page(place, *links, text=f"{TEMPLATE} {words(f'{host[:-5]}q{at}')}", title=OWN)


def own(web: LittleWeb, place: str, _: int) -> None:
    put(web, place)


def minted(web: LittleWeb, place: str, n: int) -> None:
    put(web, place, f"?sid={code(n)}")


def again_and_again(*answers: Kind) -> Kind:
    """A wall stands for thirty requests of each `EACH`, without end; each time another of these."""

    def kind(web: LittleWeb, place: str, n: int) -> None:
        (answers[n // EACH % len(answers)] if FROM <= n % EACH < FROM + FOR else own)(web, place, n)

    return kind


async def test_a_crawl_ends_whose_host_has_walls_that_mint_sessions_without_end(tmp_path: Path) -> None:
    """No page is lost, and what is not fetched is told. Mutation: a wall refunds all that draws have cost and makes every class worth its
    fetches again: more than 4,000 requests in place of 1,049, without an end.
    """
    log_in, back_soon = says("You must log in to see this"), says("We are back soon, after our maintenance")
    of, requests = again_and_again(minted, minted, log_in, back_soon), count(1)
    async with LittleWeb() as web:

        def heard(place: str) -> None:
            if not place.endswith(("/robots.txt", "/sitemap.xml")):
                n = next(requests)
                of(web, place, n) if n < TOO_MANY else web.page(place, text="that was too much", status=404)

        web.on_request = heard
        slow = PolitenessSettings(
            min_delay=0.0, delay_factor=0.0, jitter=0.0, address_delay=0.0, backoff_initial=0.01, backoff_max=0.02, dead_after=10_000
        )
        off = DustSettings(mode="off")  # its studies come when they are done
        filters = FilterSettings(dust=off, soft_error=SoftErrorSettings(max_probes=0))
        found = await crawl(tmp_path / "c", settings(web, ["minted.test/"], politeness=slow, canaries=True, filters=filters))
    assert lost(found, "minted", N) == []
    assert len(web.requests) < MOST
    with View(tmp_path / "c") as view:
        assert sum(of.left for of in classes(view)) > N
        assert misremembered(view, tmp_path / "replayed") == []
        again = replayed(notes(view))
        assert {table: again.rows(table) for table in TABLES} == {table: dict(view.rows(table)) for table in TABLES}
