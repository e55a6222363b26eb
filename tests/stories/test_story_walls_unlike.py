"""Walls of which no two answers are alike, in their host's own words: teasers, pages without links, an old state of the site, its pages
under each other's addresses; and a wall that answers some requests and not others.

A wall stands for a fixed number of its host's requests, so that nothing depends on how fast anything is.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from little_web import LittleWeb
from replaying import misremembered
from test_story_walls_odd import FOR, FROM, OWN, TEMPLATE, Kind, crawled, lost, number, says, words
from test_story_walls_odd import own as own_of
from test_story_walls_odd import put as put_of
from test_story_walls_odd import wall as wall_of

from thresher.storage.view import View

N = 120  # pages of a host: of fewer, a wall in its words may take the last ones before a sample is fetched again
LATER = N // 2  # requests after which pages change
MOST_OF_WALL = 2 * N  # requests of a host that was behind a wall, with canaries and what is fetched again
MOST_OF_CHANGE = N + 50  # the same of an honest host of which pages have changed
MOST_WITHOUT_END = 4.5 * N  # the same where a wall stands for thirty of seventy requests, of which each rest takes one
EACH = 70  # requests from one wall to the next, where they come again and again
EVERY = 7  # number of the first page that changes, of eight
put = partial(put_of, n_pages=N)
own: Kind = partial(own_of, n_pages=N)
wall = partial(wall_of, otherwise=own)


def shown(web: LittleWeb, place: str, at: int, *, text: str = "", is_linked: bool = True, title: str = "") -> None:
    """Put the page of a number, under any place of its host."""
    host = place.partition("/")[0]
    links = [f"{host}/{i}" for i in (3 * at + 1, 3 * at + 2, 3 * at + 3) if i < N and is_linked]
    web.page(place, *links, text=f"{TEMPLATE} {text or words(f'{host[:-5]}q{at}')}", title=title or "not as it is")


def teaser(web: LittleWeb, place: str, _: int) -> None:
    start = words(f"{place[: place.index('.')]}q{number(place)}", 15)
    shown(web, place, number(place), text=start + " subscribe now to read on, it costs little", is_linked=False)


def unlinked(web: LittleWeb, place: str, _: int) -> None:
    shown(web, place, number(place), is_linked=False, title=OWN)


def old_state(web: LittleWeb, place: str, _: int) -> None:
    shown(web, place, number(place), text=words(f"oldq{place[: place.index('.')]}q{number(place)}"))


def other_page(web: LittleWeb, place: str, n: int) -> None:
    shown(web, place, (number(place) * 7 + 3 + n) % N)


def every_second(web: LittleWeb, place: str, n: int) -> None:
    (says("Too many requests from your address") if FROM <= n < 100 and n % 2 == 0 else own)(web, place, n)


def every_tenth(web: LittleWeb, place: str, n: int) -> None:
    (says("Too many requests from your address") if n < 200 and n % 10 == 0 else own)(web, place, n)


HOSTILE: dict[str, Kind] = {
    "teasers": wall(teaser),
    "unlinked": wall(unlinked),
    "oldstate": wall(old_state),
    "otherpage": wall(other_page),
    "second": every_second,
    "tenth": every_tenth,
}


def again_and_again(*answers: Kind) -> Kind:
    """A wall stands for thirty of seventy requests, without end; each time another of these."""

    def kind(web: LittleWeb, place: str, n: int) -> None:
        (answers[n // EACH % len(answers)] if FROM <= n % EACH < FROM + FOR else own)(web, place, n)

    return kind


WITHOUT_END: dict[str, Kind] = {
    "links": again_and_again(unlinked),
    "all": again_and_again(teaser, unlinked, old_state, other_page),
}


def one_changes(web: LittleWeb, place: str, n: int) -> None:
    """One page of eight is another one once the first half is crawled."""
    put(web, place, words(f"new{number(place)}") if n >= LATER and number(place) % 8 == EVERY else "")


def all_change(web: LittleWeb, place: str, n: int) -> None:
    """All pages but the first ones are others every thirty requests."""
    put(web, place, words(f"state{n // 30}of{number(place)}") if number(place) > 20 else "")


def two_states(web: LittleWeb, place: str, n: int) -> None:
    """Each request is answered in one of two languages, as it happens."""
    text = words(f"{place[: place.index('.')]}q{number(place)}")
    put(web, place, text.translate(str.maketrans("aeiouq", "eiouaz")) if (n * n * 31 + n) % 7 < 3 else text)


HONEST: dict[str, Kind] = {"one": one_changes, "all": all_change, "states": two_states}


async def test_walls_that_answer_differently_for_each_address_cost_no_page(tmp_path: Path) -> None:
    """Mutations: no samples were fetched again: 30 to 92 pages of four hosts were lost; one answer as before was enough to be honest; each
    answer of a wall that answers some requests asked for a canary; what a canary shows had changed for good, though it was again what it
    had been; what lies between answers of walls that stood together was not fetched again.
    """
    found, n, stands_as = await crawled(tmp_path / "c", HOSTILE)
    assert {kind: missing for kind in HOSTILE if (missing := lost(found, kind, N))} == {}
    assert {kind for kind, one in stands_as.items() if one.state != "well"} == set()
    assert {kind: n[kind] for kind in HOSTILE if n[kind] > MOST_OF_WALL + FOR} == {}
    with View(tmp_path / "c") as view:
        assert misremembered(view, tmp_path / "replayed") == []


async def test_walls_that_come_again_and_again_are_found_while_they_stand(tmp_path: Path) -> None:
    """Mutations: a host was not watched after its first wall; a canary that had been good gave way to a page kept behind a wall."""
    found, n, _ = await crawled(tmp_path / "c", WITHOUT_END)
    assert {kind: missing for kind in WITHOUT_END if (missing := lost(found, kind, N))} == {}
    assert {kind: n[kind] for kind in WITHOUT_END if n[kind] > MOST_WITHOUT_END} == {}
    with View(tmp_path / "c") as view:
        assert misremembered(view, tmp_path / "replayed") == []


async def test_hosts_whose_pages_change_while_they_are_crawled_cost_little_more(tmp_path: Path) -> None:
    """Mutations: a host that answers now this, now that is fetched again without end (1,179 requests); one whose samples are bad once more
    after all was fetched again is sampled on (529).
    """
    found, n, _ = await crawled(tmp_path / "c", HONEST)
    assert {kind: missing for kind in HONEST if (missing := lost(found, kind, N))} == {}
    assert n["one"] <= MOST_OF_CHANGE
    assert n["all"] <= 3.5 * N
    assert n["states"] <= 3.5 * N
    assert OWN in {page.title for page in found.pages.values()}
