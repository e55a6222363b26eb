"""What sites say about the use of their pages for AI, seen from outside: what is recorded, what is requested, and what `obey` stores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from little_web import LittleWeb, crawl, settings

from thresher.config.settings import PolitenessSettings, RobotsSettings
from thresher.crawler.core.ai_preferences import WELL_KNOWN, reserves
from thresher.storage.view import View

ROBOTS = "User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /art\n\nUser-agent: *\nContent-Signal: search=yes, ai-train=yes\nDisallow: /no\n"
BODY = b"<title>t</title><p>words of the page that say something"


def say(web: LittleWeb, place: str, *headers: str, head: str = "") -> None:
    web.file(place, "\r\n".join(["text/html; charset=utf-8", *headers]), head.encode() + BODY + place.encode())


def put(web: LittleWeb) -> None:
    web.robots("a.test", ROBOTS)
    web.page("a.test/", "a.test/art", "a.test/header", "a.test/meta", "a.test/ai", "a.test/plain", "b.test/")
    say(web, "a.test/art")
    say(web, "a.test/header", "TDM-Reservation: 1", "Content-Usage: train-ai=y")
    say(web, "a.test/meta", head='<meta name="tdm-reservation" content="1">')
    say(web, "a.test/ai", head='<meta name="robots" content="noai, noimageai">')
    say(web, "a.test/plain")
    web.page("b.test/", "b.test/kept/x", "b.test/x", "b.test/own")
    web.page("b.test/kept/x")
    web.page("b.test/x")
    say(web, "b.test/own", "tdm-reservation: 0")
    rules = [{"location": "/kept/*", "tdm-reservation": 0}, {"location": "/*", "tdm-reservation": 1, "tdm-policy": "https://b.test/p"}]
    web.file(f"b.test{WELL_KNOWN}", "application/json", json.dumps(rules).encode())


async def test_what_is_said_is_written_beside_each_page(tmp_path: Path) -> None:
    """No request more is made, and the same bodies are stored. Mutation: signals of robots.txt left out."""
    async with LittleWeb() as web:
        put(web)
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"]))
        assert not any(WELL_KNOWN in place for place in web.requests)
        said = {web.place(url): {(source, says) for source, says, _ in page.ai} for url, page in crawled.pages.items()}
        signal = ("robots.txt", "signal: search=yes, ai-train=yes")
        assert said["a.test/art"] == {("robots.txt", "disallow: CCBot, GPTBot"), signal}
        assert said["a.test/header"] == {signal, ("header", "tdm-reservation: 1"), ("header", "content-usage: train-ai=y")}
        assert said["a.test/meta"] == {signal, ("page", "tdm-reservation: 1")}
        assert said["a.test/ai"] == {signal, ("page", "noai"), ("page", "noimageai")}
        assert said["a.test/plain"] == {signal}
        assert said["b.test/"] == set()
        assert all(page.has_body for page in crawled.pages.values())
        assert all(at > 0 for page in crawled.pages.values() for source, _, at in page.ai if source == "robots.txt")


async def test_obey_keeps_no_body_of_what_is_not_for_training(tmp_path: Path) -> None:
    """The page's record and its links are stored. Mutations: the body is stored; the links are dropped; the statement of robots.txt wins
    over that of the page.
    """
    async with LittleWeb() as web:
        put(web)
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], ai_preferences="obey"))
        kept = {web.place(url) for url, page in crawled.pages.items() if page.has_body}
        assert kept == {"a.test/", "a.test/plain", "b.test/kept/x", "b.test/own"}
        assert len(crawled.pages) == 10
        assert {web.place(url) for url, page in crawled.pages.items() if reserves(page.ai)} == {
            web.place(url) for url, page in crawled.pages.items() if not page.has_body
        }
        said = next(page.ai for url, page in crawled.pages.items() if web.place(url) == "b.test/x")
        assert [(source, says) for source, says, _ in said] == [
            ("tdmrep.json", "tdm-reservation: 1"),
            ("tdmrep.json", "tdm-policy: https://b.test/p"),
        ]


async def test_tdmrep_is_asked_for_once_for_each_origin_and_before_its_pages(tmp_path: Path) -> None:
    """Mutation: the answer forgotten, the file asked for where robots.txt forbids it."""
    async with LittleWeb() as web:
        put(web)
        web.robots("c.test", f"User-agent: *\nDisallow: {WELL_KNOWN}\n")
        web.page("c.test/")
        await crawl(tmp_path / "c", settings(web, ["a.test/", "c.test/"], ai_preferences="obey"))
        for host in ("a.test", "b.test"):
            own = [place for place in web.requests if place.startswith(f"{host}/")]
            assert own[0] == f"{host}{WELL_KNOWN}"
            assert own.count(own[0]) == 1
        assert [place for place in web.requests if place.startswith("c.test/")] == ["c.test/"]


async def test_tdmrep_keeps_the_pace_of_its_host(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        put(web)
        pace = PolitenessSettings(min_delay=0.1, delay_factor=0.0, jitter=0.0, address_delay=0.0, address_connections=100)
        await crawl(tmp_path / "c", settings(web, ["b.test/"], ai_preferences="obey", politeness=pace))
        assert min(web.gaps("b.test")) >= 0.09
        assert f"b.test{WELL_KNOWN}" in web.requests


HUGE = b"[" + b'{"location": "/*a*a*a*a*a*a*b", "tdm-reservation": 1},' * 4000 + b"{}]"
ANSWERS: dict[str, Callable[[LittleWeb, str], None]] = {
    "nothing": lambda web, place: None,
    "html": lambda web, place: web.page(place),
    "broken": lambda web, place: web.file(place, "application/json", b'[{"location": "/", "tdm-res'),
    "odd": lambda web, place: web.file(
        place, "application/json", b'[1, null, {"location": 3, "tdm-reservation": 1}, {"tdm-reservation": {}}]'
    ),
    "deep": lambda web, place: web.file(place, "application/json", b"[" * 100_000),
    "error": lambda web, place: web.file(place, "text/plain", b"x", status=403),
    "redirect": lambda web, place: web.redirect(place, "b.test/"),
    "huge": lambda web, place: web.file(
        place, "application/json", b'[{"location": "/*a*a*a*a*a*a*b", "tdm-reservation": 1},' * 8000 + b"{}]"
    ),
}


@pytest.mark.parametrize("answer", ANSWERS)
async def test_no_answer_for_tdmrep_stops_a_crawl(answer: str, tmp_path: Path) -> None:
    async with LittleWeb() as web:
        ANSWERS[answer](web, f"a.test{WELL_KNOWN}")
        web.page("a.test/", "a.test/1")
        web.page("a.test/1")
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], ai_preferences="obey", robots=RobotsSettings(error_ttl=60.0)))
        kept = {web.place(url) for url, page in crawled.pages.items() if page.has_body}
        assert {"a.test/", "a.test/1"} <= kept
        assert web.requests.count(f"a.test{WELL_KNOWN}") == 1


async def test_what_tdmrep_says_is_recorded_and_lives_as_long_as_the_store(tmp_path: Path) -> None:
    """With `record` the store still keeps all bodies. Mutations: bodies are left out as with `obey`; the file's statements are not
    recorded.
    """
    async with LittleWeb() as web:
        put(web)
        crawled = await crawl(tmp_path / "c", settings(web, ["b.test/"], ai_preferences="record"))
        assert all(page.has_body for page in crawled.pages.values())
        stated = {web.place(url): page.ai for url, page in crawled.pages.items()}
        said = {place: [says for source, says, at in ai if source == "tdmrep.json" and at > 0] for place, ai in stated.items()}
        assert said["b.test/kept/x"] == ["tdm-reservation: 0"]
        assert said["b.test/x"] == ["tdm-reservation: 1", "tdm-policy: https://b.test/p"]
        with View(crawled.path) as view:
            bodies: list[Any] = [value for _, value in view.rows("policies")]
        assert len(bodies) == 1
