"""Soft errors in a real crawl: redirects and pages that hide an error are recorded, good ones pass, and sites are asked little for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from little_web import Crawled, LittleWeb, crawl, settings
from soft_web import caught, crawl_soft_web, only_soft_errors, standing

from config.settings import Filters, Limits, Politeness, Settings
from config.settings import Scope as ScopeSettings
from crawler.core.model import Reason, State
from crawler.explain import Explainer
from filters.soft_error import stream
from filters.soft_error.probe import N_LETTERS
from storage.view import View

LIMITS = Limits(min_free_disk=0, max_wait=1.0)
FILTERS = only_soft_errors()


def probing(web: LittleWeb, *seeds: str, filters: Filters = FILTERS, **sections: Any) -> Settings:
    return settings(web, seeds or ["a.test/"], **{"limits": LIMITS, "filters": filters, **sections})


def soft(web: LittleWeb, crawled: Crawled) -> dict[str, tuple[str, str]]:
    """Return place → (kind, what the probe came to) of what stands as a soft error."""
    found = standing(crawled.path)
    return {web.place(url): (str(evidence["kind"]), str(evidence["probe"])) for url, evidence in found.items()}


def is_probe(place: str) -> bool:
    name = place.rstrip("/").rpartition("/")[2].partition(".")[0].rpartition("=")[2]
    return len(name) == N_LETTERS and name.isalpha()


def probes(web: LittleWeb) -> list[str]:
    """Return the probes that the server saw, each as its directory."""
    return [place.rpartition("/")[0] + "/" for place in web.requests if is_probe(place)]


def explained(crawled: Crawled, url: str) -> Any:
    with View(crawled.path) as view:
        return Explainer(view, view.settings, view.clock).story(url)


NOT_FOUND = "Sorry, the page you asked for could not be found. It may have been removed. Please go to the home page and look for it."


def error_page(web: LittleWeb, place: str, *links: str) -> None:
    web.page(place, *links, text=NOT_FOUND)


def sends(web: LittleWeb, target: str) -> Callable[[str], None]:
    """Return what redirects a place to a target, in which {} is the path that was asked for."""
    return lambda place: web.redirect(place, target.format(quote(place[place.index("/") :], safe="")), status=302)


# -- the log


async def test_every_original_is_counted_though_the_target_is_fetched_once(tmp_path: Path) -> None:
    """Mutation: `RedirectGate.observe` returned before it counted where a verdict stood already."""
    n = 300
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/old/{i}" for i in range(n)])
        web.missing["a.test/old/"] = sends(web, "b.test/404")
        error_page(web, "b.test/404")
        filters = only_soft_errors(give_up_after=2 * n)
        crawled = await crawl(tmp_path / "c", probing(web, filters=filters))
    assert web.requests.count("b.test/404") == 1
    assert len(crawled.pairs) == n
    with View(crawled.path) as view:
        memory, seen = view.memory("soft_error"), view.seen
        target = next(key.key for key, _ in view.all_urls() if key.text == web.url("b.test/404"))
        assert stream.n_to_target(memory, target) == n
        assert seen.row(target) is not None
    assert {place for place in soft(web, crawled) if place.startswith("a.test")} == {f"a.test/old/{i}" for i in range(n)}


# -- redirects


@pytest.mark.parametrize(
    ("target", "kind"),
    [("a.test/404", "soft_404"), ("b.test/sorry", "soft_404"), ("a.test/", "root"), ("a.test/login?next={}", "login")],
)
async def test_a_directory_that_redirects_what_is_missing_is_found_out_by_one_probe(tmp_path: Path, target: str, kind: str) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/good", *[f"a.test/old/{i}" for i in range(3)])
        web.page("a.test/good")
        error_page(web, "a.test/404")
        error_page(web, "b.test/sorry")
        web.missing["a.test/old/"] = sends(web, target)
        web.missing["a.test/login"] = lambda place: web.page(place, text="Log in. User name, password. " + " ".join(map(str, range(20))))
        crawled = await crawl(tmp_path / "c", probing(web))
    assert {place: word for place, word in soft(web, crawled).items() if "/old/" in place} == {
        f"a.test/old/{i}": (kind, soft(web, crawled)[f"a.test/old/{i}"][1]) for i in range(3)
    }
    assert probes(web).count("a.test/old/") == 1
    assert len(set(probes(web))) == len(probes(web))
    assert "a.test/" not in soft(web, crawled)
    assert "a.test/good" not in soft(web, crawled)


async def test_a_target_that_says_it_is_an_error_is_one_although_random_names_are_told_apart(tmp_path: Path) -> None:
    """Known addresses go to a page that says "not found", unknown ones get an honest 404: from the third on the page is believed."""
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/old/{i}" for i in range(5)])
        for i in range(5):
            web.redirect(f"a.test/old/{i}", "a.test/gone/page")
        error_page(web, "a.test/gone/page")
        crawled = await crawl(tmp_path / "c", probing(web))
    found = soft(web, crawled)
    assert {place: found.get(place, ("", ""))[0] for place in (f"a.test/old/{i}" for i in range(5))} == {
        f"a.test/old/{i}": "soft_404" for i in range(5)
    }


def moves(web: LittleWeb) -> list[str]:
    for i in range(12):
        web.redirect(f"a.test/old/{i}", f"b.test/new/{i}")
        web.page(f"b.test/new/{i}")
    return [f"a.test/old/{i}" for i in range(12)]


def www(web: LittleWeb) -> list[str]:
    for i in range(6):
        web.redirect(f"a.test/p/{i}", f"www.a.test/p/{i}")
        web.page(f"www.a.test/p/{i}")
    return [f"a.test/p/{i}" for i in range(6)]


def slashes(web: LittleWeb) -> list[str]:
    for i in range(6):
        web.redirect(f"a.test/p{i}", f"a.test/p{i}/")
        web.page(f"a.test/p{i}/")
    return [f"a.test/p{i}" for i in range(6)]


def shortener(web: LittleWeb) -> list[str]:
    for i in range(12):
        web.redirect(f"a.test/s/{i}", f"h{i % 5}.test/page/{i % 6}")
        web.page(f"h{i % 5}.test/page/{i % 6}")
    return [f"a.test/s/{i}" for i in range(12)]


def directory_of_many_hosts(web: LittleWeb) -> list[str]:
    for i in range(20):
        web.redirect(f"a.test/out?site={i}", f"h{i}.test/")
        web.page(f"h{i}.test/")
    return [f"a.test/out?site={i}" for i in range(20)]


def campaigns(web: LittleWeb) -> list[str]:
    """σ = 2·log10 40 = 3.2: the paper's score alone would call them soft errors."""
    for i in range(40):
        web.redirect(f"a.test/promo/{i}", "a.test/product")
    web.page("a.test/product")
    return [f"a.test/promo/{i}" for i in range(40)]


def to_an_honest_404(web: LittleWeb) -> list[str]:
    for i in range(6):
        web.redirect(f"a.test/x/{i}", "a.test/404.html")
    web.page("a.test/404.html", status=404, text=NOT_FOUND)
    return [f"a.test/x/{i}" for i in range(6)]


@pytest.mark.parametrize("build", [moves, www, slashes, shortener, directory_of_many_hosts, campaigns, to_an_honest_404])
async def test_good_redirects_pass(tmp_path: Path, build: Callable[[LittleWeb], list[str]]) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", *build(web))
        crawled = await crawl(tmp_path / "c", probing(web))
    assert soft(web, crawled) == {}
    assert all(row.state is State.DONE for row in crawled.rows.values())
    assert len(probes(web)) <= 1


async def test_an_honest_answer_takes_back_what_the_score_had_said(tmp_path: Path) -> None:
    """The probe is late: its host is slow. By then the score has passed the threshold."""
    async with LittleWeb() as web:
        places = campaigns(web)
        web.page("a.test/", *places)
        filters = only_soft_errors(threshold=0.1)
        crawled = await crawl(tmp_path / "c", probing(web, filters=filters))
        told = explained(crawled, web.url(places[0]))
    assert soft(web, crawled) == {}
    words = [(verdict["keep"], verdict["evidence"]["probe"]) for verdict in told.verdicts]
    assert words in ([], [(False, "none"), (True, "honest_404")], [(False, "asked"), (True, "honest_404")])


async def test_both_times_are_told_of_a_redirect_and_of_a_page_that_was_judged_late(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/old/{i}" for i in range(3)])
        web.missing["a.test/old/"] = web.missing["b.test/"] = sends(web, "b.test/sorry")
        error_page(web, "b.test/sorry")
        crawled = await crawl(tmp_path / "c", probing(web))
        redirect, page = explained(crawled, web.url("a.test/old/0")), explained(crawled, web.url("b.test/sorry"))
    assert redirect.redirect["at"] < redirect.verdicts[-1]["revised_at"]
    assert redirect.redirect["at"] in redirect.answer
    assert f"At {redirect.verdicts[-1]['revised_at']} it was judged soft_error, soft_404 by soft_error." in redirect.answer
    assert page.page["fetched_at"] < page.verdicts[-1]["revised_at"]
    assert page.verdicts[-1]["evidence"]["kind"] == "soft_404"
    assert page.page["keep"] is False


# -- pages


async def test_pages_that_say_not_found_with_status_200_are_told_by_one_probe(tmp_path: Path) -> None:
    about = "The status 404 Not Found says that a page could not be found. " + " ".join(f"word{i}" for i in range(60))
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/x/{i}" for i in range(4)], "a.test/x/about")
        web.page("a.test/x/about", text=about)
        web.missing["a.test/x/"] = lambda place: error_page(web, place)
        crawled = await crawl(tmp_path / "c", probing(web))
        first = explained(crawled, web.url("a.test/x/0"))
    assert soft(web, crawled) == {f"a.test/x/{i}": ("soft_404", "same_text") for i in range(4)}
    assert probes(web) == ["a.test/x/"]
    assert "and not kept" in first.answer
    assert "judged soft_error, soft_404 by soft_error" in first.answer


async def test_a_page_like_what_the_host_answers_with_404_needs_no_probe(tmp_path: Path) -> None:
    text = " ".join(f"nothing{i}" for i in range(20))
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/gone", "a.test/soft", "a.test/good")
        web.page("a.test/gone", status=404, text=text)
        web.page("a.test/soft", text=text)
        web.page("a.test/good", text=" ".join(f"something{i}" for i in range(20)))
        crawled = await crawl(tmp_path / "c", probing(web))
    assert soft(web, crawled) == {"a.test/soft": ("soft_404", "same_text")}
    assert probes(web) == []


async def test_honest_pages_of_a_thin_template_are_not_taken_for_its_error_page(tmp_path: Path) -> None:
    """Their own text is a few words in hundreds; the error's too."""
    template = " ".join(f"menu{i}" for i in range(200))
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/x/{i}" for i in range(6)], *[f"a.test/x/missing{i}" for i in range(3)])
        for i in range(6):
            web.page(f"a.test/x/{i}", text=f"{template} Not found in any other shop: number {i * 7919 % 1000} of our offers")
        web.missing["a.test/x/"] = lambda place: web.page(place, text=f"{template} {place} was not found, sorry")
        crawled = await crawl(tmp_path / "c", probing(web))
    assert soft(web, crawled).keys() == {f"a.test/x/missing{i}" for i in range(3)}
    assert len(probes(web)) <= 2


async def test_a_site_that_shows_its_home_page_for_whatever_is_missing_keeps_its_home_page(tmp_path: Path) -> None:
    home = "Welcome. Not found what you need? " + " ".join(f"word{i}" for i in range(30))
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/x/1", "a.test/x/2", text=home)
        web.missing["a.test/"] = lambda place: web.page(place, "a.test/x/1", "a.test/x/2", text=home)
        crawled = await crawl(tmp_path / "c", probing(web))
    assert soft(web, crawled).keys() == {"a.test/x/1", "a.test/x/2"}


# -- walls


CHALLENGE = "<title>Just a moment...</title>"
WALLS = {
    "challenge": lambda web: (
        lambda place: web.file(
            place, "text/html", f"<html><head>{CHALLENGE}</head><body>Checking your browser: {place}</body></html>".encode()
        )
    ),
    "js_shell": lambda web: (
        lambda place: web.file(
            place,
            "text/html",
            b'<html><head><title>App</title></head><body><div id="root"></div><script src="/x.js"></script></body></html>',
        )
    ),
}


@pytest.mark.parametrize("kind", WALLS)
async def test_a_host_that_shows_nothing_but_a_wall_is_parked_and_teaches_nothing(tmp_path: Path, kind: str) -> None:
    """P49: recognised, not solved."""
    async with LittleWeb() as web:
        web.page("b.test/", *[f"a.test/{i}" for i in range(50)])
        web.missing["a.test/"] = WALLS[kind](web)
        crawled = await crawl(tmp_path / "c", probing(web, "b.test/"))
    assert len([place for place in web.requests if place.startswith("a.test")]) <= 5
    assert {word[0] for word in soft(web, crawled).values()} == {kind}
    assert crawled.status.hosts_parked == {"walled": 1}
    assert "walled: 1 host" in crawled.ending.why
    assert {web.url(f"a.test/{i}") for i in range(50)} <= caught(crawled.path, crawled, standing(crawled.path))


async def test_one_wall_among_good_pages_parks_nobody(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/good/{i}" for i in range(5)], *[f"a.test/private/{i}" for i in range(5)])
        for i in range(5):
            web.page(f"a.test/good/{i}")
        web.missing["a.test/private/"] = WALLS["challenge"](web)
        crawled = await crawl(tmp_path / "c", probing(web))
    assert soft(web, crawled) == {f"a.test/private/{i}": ("challenge", "none") for i in range(5)}
    assert crawled.status.hosts_parked == {}


# -- what is saved, and what it costs


@pytest.mark.parametrize("how", ["page", "redirect"])
async def test_a_directory_that_answers_everything_costs_a_bounded_number_of_fetches(tmp_path: Path, how: str) -> None:
    """Many are queued before it is known, and each answer links to ever new ones.

    Mutation: `visit` did not ask the dispatch gate: all 60 were fetched.
    """
    most = 10
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/x/{i}" for i in range(60)], "a.test/good")
        web.page("a.test/good", *[f"a.test/x/{i}" for i in range(1000, 1050)])
        error_page(web, "a.test/404")

        def endless(place: str) -> None:
            n = int(place.rpartition("/")[2]) if place[-1].isdigit() else 10**9
            error_page(web, place, *[f"a.test/x/{3 * n + i}" for i in (1, 2, 3)])

        web.missing["a.test/x/"] = endless if how == "page" else sends(web, "a.test/404")
        filters = only_soft_errors(give_up_after=most)
        crawled = await crawl(tmp_path / "c", probing(web, filters=filters))
    assert len([place for place in web.requests if place.startswith("a.test/x/")]) <= most + 3
    assert crawled.state(web.url("a.test/good")) is State.DONE
    assert {crawled.rows[url].reason for url in crawled.rows if crawled.state(url) is State.REFUSED} == {Reason.SOFT_ERROR}
    assert crawled.status.saved["soft_error"] >= 60 - most


async def test_links_to_a_login_form_of_every_page_are_not_followed_once_it_is_known(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/members/{i}" for i in range(4)], *[f"a.test/page/{i}" for i in range(30)])
        for i in range(30):
            web.page(f"a.test/page/{i}", f"a.test/login?next=%2Fpage%2F{i}")
        web.missing["a.test/members/"] = sends(web, "a.test/login?next={}")
        web.missing["a.test/login"] = lambda place: web.page(place, text="Log in. User name, password. " + " ".join(map(str, range(20))))
        crawled = await crawl(tmp_path / "c", probing(web))
    assert len([place for place in web.requests if place.startswith("a.test/login")]) <= 5
    assert crawled.status.saved["soft_error"] >= 26


async def test_observing_asks_for_nothing_and_changes_nothing(tmp_path: Path) -> None:
    async def of(mode: Any) -> tuple[LittleWeb, Crawled]:
        async with LittleWeb() as web:
            web.page("a.test/", *[f"a.test/old/{i}" for i in range(40)], *[f"a.test/x/{i}" for i in range(3)])
            web.missing["a.test/old/"] = sends(web, "a.test/404")
            error_page(web, "a.test/404")
            web.missing["a.test/x/"] = lambda place: error_page(web, place)
            filters = only_soft_errors(mode=mode)
            return web, await crawl(tmp_path / mode, probing(web, filters=filters))

    watched, seen = await of("observe")
    plain, untouched = await of("off")
    assert sorted(watched.requests) == sorted(plain.requests)
    assert [page.keep for page in seen.pages.values()] == [page.keep for page in untouched.pages.values()]
    assert len([place for place in soft(watched, seen) if "/old/" in place]) >= 8, "what the score alone tells is on record"


@pytest.mark.parametrize("how", ["exclude", "robots"])
async def test_probes_keep_to_scope_and_robots(tmp_path: Path, how: str) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/old/{i}" for i in range(5)])
        web.missing["a.test/old/"] = sends(web, "a.test/404")
        error_page(web, "a.test/404")
        scope = ScopeSettings(type="any", exclude=[r"/[a-z]{25}"] if how == "exclude" else [])
        if how == "robots":
            web.robots("a.test", "User-agent: *\nDisallow: /\nAllow: /old/0\nAllow: /old/1\nAllow: /old/2\nAllow: /404\nAllow: /$")
        crawled = await crawl(tmp_path / "c", probing(web, scope=scope))
    assert probes(web) == []
    assert "a.test/old/0" in web.requests
    assert crawled.state(web.url("a.test/404")) is State.DONE


async def test_probes_keep_their_host_s_delay(tmp_path: Path) -> None:
    delay_s = 0.05
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/old/{i}" for i in range(3)])
        web.missing["a.test/old/"] = sends(web, "b.test/404")
        error_page(web, "b.test/404")
        politeness = Politeness(min_delay=delay_s, delay_factor=0.0, jitter=0.0, address_delay=0.0)
        await crawl(tmp_path / "c", probing(web, politeness=politeness))
    assert probes(web).count("a.test/old/") == 1
    assert min(web.gaps("a.test")) >= delay_s


# -- the labelled web


async def test_most_soft_errors_of_the_labelled_web_are_caught_and_nothing_else(tmp_path: Path) -> None:
    """The short form of benchmarks/soft_errors_crawl.py: 24 URLs a host in place of 300."""
    outcome = await crawl_soft_web(tmp_path, part_pages=24, limits=LIMITS, filters=FILTERS)
    share, alone, asked = outcome.share(), outcome.share(outcome.by_score_alone()), outcome.probes()
    assert share.recall >= 0.9
    assert share.precision >= 0.95
    assert all(n_caught >= 0.7 * n for (kind, _), (n_caught, n) in outcome.by_kind().items() if kind.startswith("soft"))
    assert max(asked.values()) <= 2
    assert sum(n > 1 for n in asked.values()) <= 0.05 * len(asked)
    assert sum(asked.values()) <= 0.1 * len(outcome.log)
    assert alone.recall < 0.5 * share.recall
