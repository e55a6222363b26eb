"""Crawls and URLs that give no page: what the output says about them."""

from __future__ import annotations

from pathlib import Path

import msgspec
from little_web import LittleWeb, crawl, settings

from thresher.crawler.analysis.seed_outcomes import seed_outcomes
from thresher.crawler.explain.explain import Explainer
from thresher.storage.export.reading import reading
from thresher.storage.view import View


async def test_a_site_that_wants_its_cookie_back_is_told_as_a_loop_with_the_option_for_it(tmp_path: Path) -> None:
    """The site redirects requests without its cookie in a circle. Seen to fail: the crawl ended with 0, and said nothing of
    `fetch.cookies`.
    """
    async with LittleWeb() as web:
        web.with_cookie("a.test/", "seen=1", "a.test/enter")
        web.redirect("a.test/enter", "a.test/")
        configuration = settings(web, seeds=["a.test/"])
        found = await crawl(tmp_path / "off", configuration)
        seed = web.url("a.test/")
        with View(tmp_path / "off") as view:
            story = Explainer(view, view.settings, 0.0).story(seed)
        with reading(tmp_path / "off") as view:
            (outcome,) = seed_outcomes(view)
        brings = msgspec.structs.replace(configuration, fetch=msgspec.structs.replace(configuration.fetch, cookies="chain"))
        then = await crawl(tmp_path / "chain", brings)
    assert found.ending.code == 4
    assert "no page was fetched" in found.ending.why
    assert outcome.why == "the seed itself failed: its redirects are a loop (fetch.cookies)"
    assert story.option == "fetch.cookies"
    assert "(fetch.cookies)" in story.answer
    assert (then.ending.code, then.pages[seed].status) == (0, 200)


async def test_a_loop_of_redirects_is_not_laid_to_cookies_that_are_sent(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.redirect("a.test/", "a.test/enter")
        web.redirect("a.test/enter", "a.test/")
        plain = settings(web, seeds=["a.test/"])
        await crawl(tmp_path / "c", msgspec.structs.replace(plain, fetch=msgspec.structs.replace(plain.fetch, cookies="chain")))
        with View(tmp_path / "c") as view:
            story = Explainer(view, view.settings, 0.0).story(web.url("a.test/"))
    assert "that is a loop" in story.answer
    assert "fetch.cookies" not in story.answer


async def test_an_answer_whose_body_could_not_be_read_is_not_kept(tmp_path: Path) -> None:
    """Such a body is not stored; that of an error page is. Mutation: `keep` of an answer that failed was always true."""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/broken", "a.test/busy")
        web.file("a.test/broken", "text/html\r\nContent-Encoding: gzip", b"\x1f\x8b\x08\x00" + b"no deflate " * 30)
        web.page("a.test/busy", status=500)
        found = await crawl(tmp_path / "c", settings(web, seeds=["a.test/"]))
    broken, busy = found.pages[web.url("a.test/broken")], found.pages[web.url("a.test/busy")]
    assert (broken.failed_cause, broken.n_bytes, broken.keep) == ("bad_encoding", 0, False)
    assert (busy.failed_cause, busy.keep) == ("http_5xx", True)
