"""Walls that say nothing, nothing that is a page, or something else each time; and honest hosts whose pages show the time, or change while
they are crawled.

A wall stands for a fixed number of its host's requests, so that nothing depends on how fast anything is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

from little_web import Crawled, LittleWeb, crawl, settings
from replaying import misremembered

from thresher.config.settings import PolitenessSettings
from thresher.crawler.analysis.walls import HostStanding, standings
from thresher.storage.view import View

N = 72  # pages of a host
FROM, FOR = 20, 30  # a wall stands from the request of this number of its host on, for so many requests
LATER = N // 2  # pages from this number on are the odd ones of honest hosts
TEMPLATE = "menu about contact imprint search archive news people places things legal help site map terms owner"
OWN = "as it is"  # title of pages that no wall stands before
MOST_BESIDE = 17  # requests of an honest host that are canaries or samples, or fetch a page again
MOST_OF_LISTS = 60  # the same where whole pages are others while they are crawled, since the answers beside such a page are fetched again
Kind = Callable[[LittleWeb, str, int], None]  # puts the answer, given the web, the place, and the number of the host's request


def number(place: str) -> int:
    """Return the number of a page, 0 of the front page."""
    name = place.partition("/")[2].partition("?")[0]
    return int(name) if name.isdigit() else 0


def code(n: int) -> str:
    """Return an identifier of a request, as walls show it."""
    return blake2b(b"%d" % n, digest_size=8).hexdigest()


def words(of: str, n: int = 60) -> str:
    return " ".join(f"{of}q{i}" for i in range(n))


def put(web: LittleWeb, place: str, text: str = "", *, n_pages: int = N) -> None:
    host, at = place.partition("/")[0], number(place)
    links = [f"{host}/{i}" for i in (3 * at + 1, 3 * at + 2, 3 * at + 3) if i < n_pages]
    web.page(place, *links, text=f"{TEMPLATE} {text or words(f'{host[:-5]}q{at}')}", title=OWN)


def own(web: LittleWeb, place: str, _: int, *, n_pages: int = N) -> None:
    if place.endswith("/") or place.partition("/")[2].isdigit():
        put(web, place, n_pages=n_pages)
    else:
        web.page(place, text="there is nothing here, as there never was", status=404)


def wall(answer: Kind, otherwise: Kind = own) -> Kind:
    def kind(web: LittleWeb, place: str, n: int) -> None:
        (answer if FROM <= n < FROM + FOR else otherwise)(web, place, n)

    return kind


def says(text: str, status: int = 200, head: str = "") -> Kind:
    """Answer with a text, in which # is another identifier for each request."""
    return lambda web, place, n: web.page(place, text=text.replace("#", code(n)), status=status, head=head, title="wait")


def of_type(mime_type: str, body: bytes) -> Kind:
    return lambda web, place, _: web.file(place, mime_type, body)


def to_front(web: LittleWeb, place: str, n: int) -> None:
    """The front page answers, all others redirect to it."""
    own(web, place, n) if place.endswith("/") else web.redirect(place, place.partition("/")[0] + "/", 302)


def translated(web: LittleWeb, place: str, _: int) -> None:
    shifted = f"{TEMPLATE} {words(place.partition('/')[2] or 'home')}".translate(str.maketrans("aeiou", "eioua"))
    web.page(place, text=shifted, title="other")


HOSTILE: dict[str, Kind] = {
    "blank": wall(of_type("text/html", b"")),
    "empty": wall(of_type("text/html", b"<html><body></body></html>")),
    "json": wall(of_type("application/json", b'{"message": "rate limit exceeded"}')),
    "binary": wall(of_type("application/octet-stream", bytes(50))),
    "plain": wall(of_type("text/plain", b"rate limit exceeded")),
    "word": wall(says("Wait")),
    "numbered": wall(says("Access is restricted for now, reference #", 403)),
    "framed": wall(says(TEMPLATE + " Something went wrong on our side, try again later, code #")),
    "refresh": wall(says("One moment please", head='<meta http-equiv="refresh" content="3; url=/check">')),
    "tofront": wall(to_front),
    "translated": wall(translated),
}


def dated_stubs(web: LittleWeb, place: str, n: int) -> None:
    """Half of the pages say only that they have no entries yet, and when they were made."""
    put(web, place, f"this page has no entries yet, made at 10 {n // 7}" if number(place) >= LATER else "")


def dated_menus(web: LittleWeb, place: str, n: int) -> None:
    """The same with a menu of links on each page, and a time in words."""
    host, at = place.partition("/")[0], number(place)
    text = f"this page has no entries yet made at minute{n // 7}" if at >= LATER else words(f"menu{at}")
    links = [f"{host}/{i}" for i in (1, 2, 3, 4, 5, 6, 3 * at + 1, 3 * at + 2, 3 * at + 3) if i < N]
    web.page(place, *links, text=f"{TEMPLATE} {text}", title=OWN)


def quoting(web: LittleWeb, place: str, n: int) -> None:
    """The same with one of six quotations on each page, another one each time."""
    host, at = place.partition("/")[0], number(place)
    text = "this page has no entries yet" if at >= LATER else words(f"quote{at}")
    links = [f"{host}/{i}" for i in (1, 2, 3, 4, 5, 6, 3 * at + 1, 3 * at + 2, 3 * at + 3) if i < N]
    web.page(place, *links, text=f"{TEMPLATE} {text} {words(f'saying{n % 6}', 14)}", title=OWN)


def dated_errors(web: LittleWeb, place: str, n: int) -> None:
    if number(place) >= LATER:
        web.page(place, text=f"no such page here, the server says at 10 {n // 5}", status=404)
    else:
        own(web, place, n)


def news(web: LittleWeb, place: str, n: int) -> None:
    """The first pages are lists, of which all entries are new after fifteen requests; a closed part makes the filter ask for a canary."""
    if number(place) >= LATER:
        web.page(place, text="this is not for you", status=403)
    else:
        put(web, place, words(f"entry{number(place)}x{n // 15}") if number(place) < 12 else "")


def lists(web: LittleWeb, place: str, n: int) -> None:
    """All pages are such lists, but those of the closed part."""
    if number(place) >= LATER:
        web.page(place, text="this is not for you", status=403)
    else:
        put(web, place, words(f"entry{number(place)}x{n // 15}"))


def rewritten(web: LittleWeb, place: str, n: int) -> None:
    """The two pages that may be canaries, since they are long, are others for good after some requests. The site's pages have no words in
    common.
    """
    host, at = place.partition("/")[0], number(place)
    links = [f"{host}/{i}" for i in (3 * at + 1, 3 * at + 2, 3 * at + 3) if i < N]
    if at >= LATER:
        web.page(place, text="this is not for you", status=403)
    else:
        web.page(place, *links, text=words(f"{'new' if n >= FROM else 'old'}{at}", 60 if at < 2 else 12), title=OWN)


def advertised(web: LittleWeb, place: str, n: int) -> None:
    """Most words of each page are others each time."""
    put(web, place, words(f"page{number(place)}", 30) + " " + words(f"offer{n}", 60)) if number(place) < LATER else says("closed", 403)(
        web, place, n
    )


def closed_later(web: LittleWeb, place: str, n: int) -> None:
    """The first pages are closed for good after some requests, and no others."""
    if n >= FROM and number(place) < 4:
        web.page(place, text="for members only", status=403)
    elif number(place) >= LATER:
        web.page(place, text="there is no such page", status=404)
    else:
        own(web, place, n)


HONEST: dict[str, Kind] = {
    "stubs": dated_stubs,
    "menus": dated_menus,
    "quotes": quoting,
    "errors": dated_errors,
    "news": news,
    "lists": lists,
    "offers": advertised,
    "closed": closed_later,
}


async def crawled(path: Path, kinds: dict[str, Kind]) -> tuple[Crawled, Counter[str], dict[str, HostStanding]]:
    """Crawl all kinds together; return the results, the requests by host, and what canaries have shown of each host."""
    n: Counter[str] = Counter()
    async with LittleWeb() as web:

        def heard(place: str) -> None:
            host = place.partition("/")[0]
            if not place.endswith("/robots.txt"):
                n[host[:-5]] += 1
                kinds[host[:-5]](web, place, n[host[:-5]])

        web.on_request = heard
        slow = PolitenessSettings(
            min_delay=0.0, delay_factor=0.0, jitter=0.0, address_delay=0.0, backoff_initial=0.01, backoff_max=0.02, dead_after=10_000
        )
        base = settings(web, [f"{kind}.test/" for kind in kinds], politeness=slow, canaries=True)
        found = await crawl(path, base)
    with View(path) as view:
        return found, n, {one.host.partition(".")[0]: one for one in standings(view)}


def lost(found: Crawled, kind: str, n_pages: int) -> list[int]:
    """Return the numbers of the pages of a host that were not kept as they are."""
    there = {
        number(url.partition("//")[2]) for url, page in found.pages.items() if f"//{kind}.test:" in url and page.keep and page.title == OWN
    }
    return [at for at in range(n_pages) if at not in there]


async def test_walls_that_say_nothing_or_something_else_each_time_cost_no_page(tmp_path: Path) -> None:
    """Mutations: pages of hardly any words were like no other; files were not looked at; numbers and identifiers counted as words; the
    page to which all others redirect was a canary; the site was taken for another one when it answered in another language three times.
    """
    found, _, stands_as = await crawled(tmp_path / "c", HOSTILE)
    assert {kind: missing for kind in HOSTILE if (missing := lost(found, kind, N))} == {}
    assert {kind for kind, one in stands_as.items() if one.state != "well"} == set()
    with View(tmp_path / "c") as view:
        assert misremembered(view, tmp_path / "replayed") == []


async def test_hosts_that_show_the_time_or_change_while_they_are_crawled_are_not_walled(tmp_path: Path) -> None:
    """Mutations: a page of another time of day was another answer; two pages that had changed by themselves were a wall; the third page
    that may be a canary was not asked; a page that shows another quotation each time had been a wall's.

    Where all pages are others after fifteen requests, it is chance which of them are compared: such a host may rest, and loses nothing.
    """
    found, n, stands_as = await crawled(tmp_path / "c", HONEST)
    assert {kind: missing for kind in HONEST if (missing := lost(found, kind, LATER))} == {}
    assert {kind: one.walls for kind, one in stands_as.items() if one.walls and kind != "lists"} == {}
    assert set(stands_as) == set(HONEST), "a canary was asked for on each"
    with View(tmp_path / "c") as view:
        assert misremembered(view, tmp_path / "replayed") == []
    most = {"news": N + MOST_OF_LISTS, "lists": 4 * N}
    assert {kind: n[kind] for kind in HONEST if n[kind] > most.get(kind, N + MOST_BESIDE)} == {}


async def test_a_host_of_which_two_pages_are_others_for_good_rests_three_times_at_most(tmp_path: Path) -> None:
    """Mutation: the first canary, which shows the same when it is fetched once more, was taken for two URLs that show the same, as if all
    did: the host was parked twenty times.
    """
    found, n, stands_as = await crawled(tmp_path / "c", {"rewritten": rewritten})
    assert lost(found, "rewritten", LATER) == []
    assert (stands_as["rewritten"].state, stands_as["rewritten"].walls) == ("another", 1)
    assert n["rewritten"] - stands_as["rewritten"].fetched_again <= N + N // 8 + MOST_BESIDE, "one page of eight is a sample"
