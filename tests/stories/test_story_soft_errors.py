"""Soft errors in a real crawl: redirects and pages that hide an error are recorded, good ones pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from little_web import LittleWeb, crawl
from soft_stories import NOT_FOUND, error_page, explained, probes, probing, sends, soft
from soft_web import only_soft_errors

from thresher.crawler.core.model import State
from thresher.filters.soft_error import stream
from thresher.storage.view import View

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
        memory, seen = view.tables.memory("soft_error"), view.tables.seen
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
    """Addresses that the site once had redirect to a page that says "not found"; made-up ones get an honest 404. From the third such
    redirect on, the words of the target are believed.
    """
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
    """Put redirects whose score is σ = 2·log10 40 = 3.2: by the paper's score alone they would be soft errors."""
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
    """The probe is answered late, since its host is slow. Until then the score has passed the threshold."""
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
    assert redirect.redirect["at"] <= redirect.verdicts[-1]["revised_at"]
    assert redirect.redirect["at"] in redirect.answer
    assert f"At {redirect.verdicts[-1]['revised_at']} it was judged soft_error, soft_404 by soft_error." in redirect.answer
    assert page.page["fetched_at"] <= page.verdicts[-1]["revised_at"]
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
    """A page's own text is a few of hundreds of words; so is that of the error page."""
    template = " ".join(f"menu{i}" for i in range(150))
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/x/{i}" for i in range(6)], *[f"a.test/x/missing{i}" for i in range(3)])
        for i in range(6):
            web.page(f"a.test/x/{i}", text=f"{template} Not found in any other shop: number {i * 7919 % 1000} of our offers")
        web.missing["a.test/x/"] = lambda place: web.page(place, text=f"{template} {place} was not found, sorry")
        crawled = await crawl(tmp_path / "c", probing(web))
    assert soft(web, crawled).keys() == {f"a.test/x/missing{i}" for i in range(3)}
    assert len(probes(web)) <= 2


async def test_a_site_that_shows_its_home_page_for_whatever_is_missing_has_copies_and_no_errors(tmp_path: Path) -> None:
    """Equal texts are left to exact_duplicate. Likeness to a probe's answer does not count where that answer is the home page."""
    home = "Welcome. Not found what you need? " + " ".join(f"word{i}" for i in range(30))
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/x/1", "a.test/x/2", text=home)
        web.missing["a.test/"] = lambda place: web.page(place, "a.test/x/1", "a.test/x/2", text=home)
        crawled = await crawl(tmp_path / "c", probing(web))
    assert soft(web, crawled) == {}


async def test_a_wiki_that_names_what_is_missing_once_is_found_out_for_every_name(tmp_path: Path) -> None:
    """As DokuWiki does: the id of the missing page stands once among the words of a template. Mutation: all words of the query had to stand
    there in a row.
    """
    names = ["collation", "catalog", "wiki:rowtypes", "operators", "lock_table", "install:short"]
    menu = " ".join(f"menu{i}" for i in range(40))
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/doku.php?id={name}" for name in ("start", *names)])
        web.page("a.test/doku.php?id=start", text=" ".join(f"word{i}" for i in range(90)))

        def missing(place: str) -> None:
            path = place.rpartition("=")[2].split(":")
            here = " » ".join(path)
            web.page(place, text=f"{menu} Trace: {path[-1]} You are here: {here} This topic does not exist yet. A link led to nothing.")

        web.page("a.test/doku.php", text=" ".join(f"word{i}" for i in range(90)))
        web.missing["a.test/doku.php"] = missing
        crawled = await crawl(tmp_path / "c", probing(web))
    assert soft(web, crawled).keys() == {f"a.test/doku.php?id={name}" for name in names}
    assert len(probes(web)) <= 2


async def test_a_script_that_shows_its_home_whatever_it_is_asked_says_nothing_about_what_is_missing(tmp_path: Path) -> None:
    """As cgit does for orders of sorting. Mutation: pages were suspects because they are like each other."""
    home, title = "Repositories. " + " ".join(f"word{i}" for i in range(30)), "Repositories"
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/?s=name", "a.test/?s=idle", "a.test/?q=nobody", text=home, title=title)
        web.missing["a.test/?"] = lambda place: web.page(place, text=home, title=title)
        crawled = await crawl(tmp_path / "c", probing(web))
    assert probes(web) == []
    assert soft(web, crawled) == {}
