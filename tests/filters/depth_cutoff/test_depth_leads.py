"""A place of lists without novelty is worth its fetches if they lead to what is new."""

from __future__ import annotations

from depth_told import DROPPED, HOST, Crawled, day_text, prose

from thresher.crawler.core.effects import Release


def a_list(number: int) -> str:
    return f"{HOST}/sittings/{number}/"


def with_lists() -> Crawled:
    """Return a site with documents, and with lists of sittings that are copies of one another."""
    crawled = Crawled()
    crawled.fetch(HOST + "/", prose(), 0)
    for i in range(20):
        crawled.fetch(f"{HOST}/docs/{i}/", prose(), 1 + i // 10)
    for i in range(30):
        crawled.fetch(a_list(i), day_text(i), 2, DROPPED)
    return crawled


def test_lists_come_back_once_what_they_name_is_new() -> None:
    """Mutations: links decide nothing; nothing is released."""
    crawled = with_lists()
    before = crawled.held(a_list(99), 2)
    assert before
    released: list[str] = []
    for i in range(12):
        for item in range(2):
            effects = crawled.fetch(f"{a_list(i)}{item}", prose(), 3, via=a_list(i))
            released += [effect.holder for effect in effects if isinstance(effect, Release)]
    assert crawled.held(a_list(99), 2) == ""
    assert before in released


def test_lists_that_lead_to_what_is_known_stay_held() -> None:
    crawled = with_lists()
    for i in range(12):
        for item in range(2):
            crawled.fetch(f"{a_list(i)}{item}", day_text(2 * i + item), 3, DROPPED, via=a_list(i))
    assert crawled.held(a_list(99), 2)
