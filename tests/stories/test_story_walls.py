"""Walls (logins, notices …) before hosts for a while, and honest hosts that look like one, each kind on a host of its own, in one crawl.

A wall stands for a fixed number of its host's requests, so that nothing depends on how fast anything is.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from little_web import Crawled, LittleWeb, crawl, settings
from replaying import misremembered

from thresher.config.settings import CanarySettings, FilterSettings, LimitSettings, PolitenessSettings, Settings, SoftErrorSettings
from thresher.crawler.analysis.walls import HostStanding, standings
from thresher.crawler.cli import thresher
from thresher.filters.base import Gate
from thresher.storage.packing import unpack_u64
from thresher.storage.schema import JOURNAL
from thresher.storage.view import View

N = 24  # pages of a host
FROM, FOR = 9, 12  # a wall stands from the request of this number of its host on, for so many requests
FORM = '<form method="post"><input name="user"><input type="password" name="word"></form>'
OWN = "as it is"  # title of pages that no wall stands before
MOST_BESIDE = 15  # requests of an honest host that go to canaries, and to pages that are fetched again
Kind = Callable[[LittleWeb, str, int], None]  # puts the answer, given the web, the place, and the number of the host's request


def own(place: str, n: int = 60) -> str:
    host, _, name = place.partition("/")
    return " ".join(f"{host[:-5]}q{name or 'home'}q{i}" for i in range(n))


def links(place: str) -> list[str]:
    """Return links to the next two pages: if a wall answers for a page, all pages behind it are not found."""
    host, _, name = place.partition("/")
    at = int(name) if name.isdigit() else 0
    return [f"{host}/{i}" for i in (2 * at + 1, 2 * at + 2) if i < N]


def put(web: LittleWeb, place: str, text: str = "") -> None:
    web.page(place, *links(place), text=text or own(place), title=OWN)


def stands(n: int) -> bool:
    return FROM <= n < FROM + FOR


def wall(answer: Kind, when: Callable[[int], bool] = stands) -> Kind:
    def kind(web: LittleWeb, place: str, n: int) -> None:
        if when(n):
            answer(web, place, n)
        elif place.partition("/")[2].isdigit() or place.endswith("/"):
            put(web, place)
        else:
            web.page(place, text="there is nothing here, as there never was", status=404)

    return kind


def says(text: str, status: int = 200, head: str = "") -> Kind:
    return lambda web, place, _: web.page(place, text=text, status=status, head=head)


def to_login(web: LittleWeb, place: str, n: int) -> None:
    host, _, name = place.partition("/")
    if name.startswith("login"):
        web.page(place, text="Log in to see this page. " + FORM)
    else:
        web.redirect(place, f"{host}/login?next={name}", 302)


def in_template(web: LittleWeb, place: str, _: int) -> None:
    """Put a page of the site's own template of words and links, with nothing in it but a notice."""
    web.page(place, text="site menu about contact imprint home search news archive " + "we ask for your consent before you go on " * 3)


COMMON = " ".join(f"our{i}" for i in range(40))  # the words that all pages of a site with a template have


def shifted(text: str) -> str:
    """Return a text in another language, in which numbers are the same."""
    return text.translate(str.maketrans("abcdefghijklmnopqrstuvwxyz", "bcdefghijklmnopqrstuvwxyza"))


def translated(until: int, numbers: int = 0) -> Kind:
    """From the fifteenth request on the site answers for a while in another language: no two of its answers are alike. Numbers stay the
    same.
    """

    def kind(web: LittleWeb, place: str, n: int) -> None:
        text = f"{COMMON} {' '.join(map(str, range(numbers)))} {own(place, 9 if numbers else 60)}"
        is_walled = 15 <= n < until
        web.page(place, *links(place), text=shifted(text) if is_walled else text, title="other" if is_walled else OWN)

    return kind


def of_two_tongues(web: LittleWeb, place: str, n: int) -> None:
    """As `translated`, but later. Two pages of the site are in the other language for good, and its other pages come between them."""
    host, _, name = place.partition("/")
    text, is_walled = own(place) if name in ("3", "5") else f"{COMMON} {own(place)}", 33 <= n < 38
    to = links(place) if name else [*(f"{host}/first{i}" for i in range(20)), *links(place)]
    title = "other" if is_walled else OWN
    web.page(place, *([] if name.startswith("first") else to), text=shifted(text) if is_walled else text, title=title)


def viewed(web: LittleWeb, place: str, n: int) -> None:
    """For a while pages show one of seven views, in another language: the view that a canary shows is shown by some other pages, but not by
    all.
    """
    if 15 <= n < 22:
        view = own(f"viewe.test/{int(place.partition('/')[2] or 0) % 7}")
        web.page(place, text=shifted(f"{COMMON} {view}"), title="other")
    else:
        web.page(place, *links(place), text=f"{COMMON} {own(place)}", title=OWN)


def wall_after_a_closed_part(web: LittleWeb, place: str, n: int) -> None:
    """A part that answers with a login for good has used up the host's canaries when a wall goes up; the wall falls before the next canary
    may be asked for.
    """
    host, _, name = place.partition("/")
    if name.startswith("closed"):
        web.page(place, text="this part of the site is not for you", status=403)
    elif FROM <= n < FROM + 6:
        web.page(place, text="Log in to see this page, please. " + FORM)
    elif name:
        put(web, place)
    else:
        web.page(place, f"{host}/closed1", f"{host}/closed2", *links(place), text=own(place), title=OWN)


HOSTILE: dict[str, Kind] = {
    "translated": translated(22),
    "calendar": translated(30, numbers=400),
    "tongues": of_two_tongues,
    "viewed": viewed,
    "form": wall(says("Log in to see this page, please. " + FORM)),
    "redirect": wall(to_login),
    "consent": wall(says("Before you continue we ask for your consent to store what we like to store on what is yours")),
    "challenge": wall(says("Checking your browser, this takes a few seconds", status=403)),
    "limit": wall(says("You have sent too many requests", status=429)),
    "maintenance": wall(says("We will be back soon", status=503)),
    "back": wall(says("We will be back soon, the site is down for maintenance and we thank you for your patience")),
    "slow": wall(says("Please slow down, you have sent many requests in a short time, wait a moment and then try again")),
    "flapping": wall(says("You must accept this before you may see anything of what others write"), lambda n: n % 14 in (8, 9, 10, 11)),
    "frame": wall(in_template),
    "unseen": wall_after_a_closed_part,
}


def banners(web: LittleWeb, place: str, n: int) -> None:
    put(web, place, own(place) + f" now in a new design, tell us what you think of variant {n % 4} of it")


def catch_all(web: LittleWeb, place: str, _: int) -> None:
    web.page(place, *links(place), text=own(place if place.endswith("/") else "all/"))


def changing(web: LittleWeb, place: str, n: int) -> None:
    put(web, place, " ".join(f"{place[-1]}at{n}word{i}" for i in range(60)))


def news(web: LittleWeb, place: str, n: int) -> None:
    put(web, place, " ".join(f"story{n}x{i}" for i in range(50)) if place.endswith("/") else "")


def down_for_a_moment(web: LittleWeb, place: str, n: int) -> None:
    web.page(place, text="oops", status=500) if n in (8, 9) else put(web, place)


def to_home(web: LittleWeb, place: str, _: int) -> None:
    name = place.partition("/")[2]
    web.redirect(place, place.partition("/")[0] + "/") if name.isdigit() and int(name) >= N // 2 else put(web, place)


def dead_links(web: LittleWeb, place: str, _: int) -> None:
    name = place.partition("/")[2]
    web.page(place, text="no such page", status=404) if name.isdigit() and int(name) >= N // 2 else put(web, place)


def closed_part(web: LittleWeb, place: str, _: int) -> None:
    name = place.partition("/")[2]
    web.page(place, text="not for you", status=403) if name.isdigit() and int(name) >= N // 2 else put(web, place)


def members(web: LittleWeb, place: str, n: int) -> None:
    """Each page links to a login form that leads back to it."""
    host, _, name = place.partition("/")
    if name.startswith("login"):
        web.page(place, text="Log in with your name and word. " + FORM)
    else:
        web.page(place, *links(place), f"{host}/login?return={name}", text=own(place))


def private(web: LittleWeb, place: str, n: int) -> None:
    """Each page links to a folder for members, which always answers with the form."""
    host, _, name = place.partition("/")
    if name.startswith("for"):
        web.page(place, text="Log in with your name and word. " + FORM)
    else:
        web.page(place, *links(place), f"{host}/for{name}/members", text=own(place))


def rebuilt(web: LittleWeb, place: str, n: int) -> None:
    """From the tenth request on the site is another one at other addresses; the old pages are gone."""
    host, _, name = place.partition("/")
    if n < 10:
        put(web, place)
    elif name.startswith("new"):
        at = int(name[3:])
        web.page(place, *[f"{host}/new{i}" for i in (2 * at + 1, 2 * at + 2) if i < N], text=own(place))
    else:
        web.page(place, f"{host}/new0", text=f"moved to a new place, {name} is gone", status=200 if name == "" else 404)


def first_are(answer: Kind) -> Kind:
    """From the tenth request on, the pages that may be canaries have other answers, and a part with a login makes the filter ask for a
    canary.
    """

    def kind(web: LittleWeb, place: str, n: int) -> None:
        name = place.partition("/")[2]
        if n >= 10 and (name == "" or (name.isdigit() and int(name) < 9)):
            answer(web, place, n)
        else:
            closed_part(web, place, n)

    return kind


def moved(web: LittleWeb, place: str, _: int) -> None:
    web.redirect(place, f"{place.partition('/')[0]}/now/{place.partition('/')[2]}")


def unfit(web: LittleWeb, place: str, n: int) -> None:
    """No page has enough words to be a canary."""
    closed_part(web, place, n)
    name = place.partition("/")[2]
    if not name.isdigit() or int(name) < N // 2:
        put(web, place, own(place, 12))


def sessions(web: LittleWeb, place: str, n: int) -> None:
    """Each page writes a new session into its links."""
    name = place.partition("/")[2].partition("?")[0]
    links_of = [f"{link}?sid={n:016x}" for link in links(f"{place.partition('/')[0]}/{name}")] if n <= 2 * N else []
    web.page(place, *links_of, text=own(place.partition("?")[0]), title=OWN)


HONEST: dict[str, Kind] = {
    "gone": first_are(says("this page was deleted", 410)),
    "moved": first_are(moved),
    "unfit": unfit,
    "sessions": sessions,
    "banners": banners,
    "catchall": catch_all,
    "changing": changing,
    "news": news,
    "moment": down_for_a_moment,
    "tohome": to_home,
    "dead": dead_links,
    "closed": closed_part,
    "members": members,
    "private": private,
    "rebuilt": rebuilt,
}


async def crawled(path: Path, kinds: dict[str, Kind], mode: str = "enforce") -> tuple[Crawled, Counter[str], dict[str, HostStanding]]:
    """Crawl all kinds together; return the results, the requests by host, and what canaries have shown of each host."""
    n: Counter[str] = Counter()
    async with LittleWeb() as web:

        def heard(place: str) -> None:
            host = place.partition("/")[0]
            if not place.endswith("/robots.txt"):
                n[host] += 1
                kinds[host[:-5]](web, place, n[host])

        web.on_request = heard
        slow = PolitenessSettings(
            min_delay=0.0, delay_factor=0.0, jitter=0.0, address_delay=0.0, backoff_initial=0.01, backoff_max=0.02, dead_after=10_000
        )
        of = FilterSettings(audit_share=0.0, tail_yield=0.0, soft_error=SoftErrorSettings(max_probes=0), canary=CanarySettings(mode=mode))  # type: ignore[arg-type]  # a word of the three
        found = await crawl(path, settings(web, [f"{kind}.test/" for kind in kinds], filters=of, politeness=slow, canaries=True))
    with View(path) as view:
        return found, n, {one.host.partition(".")[0]: one for one in standings(view)}


def lost(found: Crawled, kind: str) -> list[str]:
    """Return the pages of a host that were not kept as they are."""
    there = {url.rpartition("/")[2] for url, page in found.pages.items() if f"//{kind}.test:" in url and page.keep and page.title == OWN}
    return [name for name in ("", *map(str, range(1, N))) if name not in there]


async def test_fifteen_kinds_of_walls_cost_no_page(tmp_path: Path) -> None:
    """Mutations: nothing was fetched again; answers that were alike asked for no canary; answers unlike the canaries' own were believed;
    a good canary cleared all answers before it; answers in doubt stayed so when the host had nothing else to fetch; strange
    pages were counted that other pages lay between; numbers were of a language; a canary in other words was good if it was like its page.

    The third one lost a page of `viewed`, whose canaries show two texts of which one is also shown by some other page.
    """
    found, n, stands_as = await crawled(tmp_path / "c", HOSTILE)
    assert {kind: missing for kind in HOSTILE if (missing := lost(found, kind))} == {}
    assert {kind for kind, one in stands_as.items() if one.state != "well"} == set()
    assert found.status.walled == 0
    assert found.status.fetched_again >= 7
    assert max(n.values()) <= 3 * (N + FOR)
    assert_replayed(tmp_path / "c")
    assert_told(tmp_path / "c", found, stands_as)


def assert_told(path: Path, found: Crawled, stands_as: dict[str, HostStanding]) -> None:
    """Check that `thresher filters` has no row for canaries, since a replay has one answer of each page, but prints what they found."""
    told = CliRunner().invoke(thresher, ["filters", str(path), "--answers", "1", "--format", "json"])
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    assert "canary" not in [row.get("filter") for row in rows]
    (walls,) = [row for row in rows if row["kind"] == "walls"]
    assert (walls["hosts"], walls["walled"], walls["another"]) == (len(stands_as), 0, 0)
    assert walls["fetched_again"] == found.status.fetched_again
    assert walls["walls"] == sum(one.walls for one in stands_as.values()) > 0
    table = CliRunner().invoke(thresher, ["filters", str(path), "--answers", "1"])
    assert f"hosts of which a page was fetched again: {len(stands_as)}; walls: {walls['walls']}, behind" in table.stdout


def assert_replayed(path: Path) -> None:
    """Check that a replay of the journal with empty memories gives what the filters remember; voids and canaries are in the journal,
    too.
    """
    with View(path) as view:
        entries = [entry for key, _ in view.rows(JOURNAL) for entry in view.tables.journal.read(unpack_u64(key))]
        assert misremembered(view, path.with_name("replayed")) == []
        assert any(entry.gate == Gate.VOID for entry in entries)


async def test_fifteen_kinds_of_honest_hosts_are_not_called_walled_for_ever(tmp_path: Path) -> None:
    """No page is lost that a crawl without canaries keeps, and few requests are canaries. Mutation: one failed canary was enough to call a
    host walled; a host's new answers were never taken for its own.
    """
    found, n, stands_as = await crawled(tmp_path / "c", HONEST)
    plain, n_plain, _ = await crawled(tmp_path / "plain", HONEST, mode="off")
    kept = {url for url, page in found.pages.items() if page.keep}
    assert {url for url, page in plain.pages.items() if page.keep} - kept == set()
    assert {kind: one.state for kind, one in stands_as.items() if one.state == "walled"} == {}
    assert found.status.walled == 0
    assert {host: n[host] - n_plain[host] for host in n if n[host] - n_plain[host] > MOST_BESIDE} == {}


async def test_a_host_is_walled_still_when_its_crawl_is_resumed_and_nothing_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The first process ends while the host is parked. The next begins with a canary, which finds the wall gone. Mutation: URLs for which
    the wall had answered were not queued again.
    """
    stands_still = [True]
    answer = says("Log in to see this page, please. " + FORM)
    async with LittleWeb() as web:
        n: Counter[str] = Counter()

        def heard(place: str) -> None:
            host = place.partition("/")[0]
            n[host] += not place.endswith("/robots.txt")
            if not place.endswith("/robots.txt"):
                (answer if stands_still[0] and n[host] >= FROM else put_at)(web, place, n[host])

        web.on_request = heard
        with caplog.at_level(logging.INFO):
            first = await crawl(tmp_path / "c", _resting(web, max_wait=1.0))
        with View(tmp_path / "c") as view:
            (standing,) = standings(view)
        n_asked, stands_still[0] = len(web.requests), False
        then = await crawl(tmp_path / "c", _resting(web, max_wait=600.0))
    assert (standing.state, first.status.walled) == ("walled", 1)
    assert web.requests[n_asked] in web.requests[: FROM - 1], "a page that was kept before"
    assert lost(then, "a") == []
    assert then.status.walled == 0
    assert f"a wall answers for {web.requests[0].partition('/')[0]}:{web.port}: it is parked" in caplog.messages, "the host by its name"
    assert_replayed(tmp_path / "c")


def put_at(web: LittleWeb, place: str, _: int) -> None:
    put(web, place)


def _resting(web: LittleWeb, *, max_wait: float) -> Settings:
    """Return a configuration in which a walled host is parked for longer than the first process runs."""
    slow = PolitenessSettings(
        min_delay=0.0, delay_factor=0.0, jitter=0.0, address_delay=0.0, backoff_initial=4.0, backoff_max=4.0, dead_after=10_000
    )
    of = FilterSettings(audit_share=0.0, tail_yield=0.0, soft_error=SoftErrorSettings(max_probes=0))
    limits = LimitSettings(min_free_disk=0, max_wait=max_wait)
    return settings(web, ["a.test/"], filters=of, politeness=slow, limits=limits, canaries=True)
