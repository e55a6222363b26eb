"""A queued URL that is found again gets the place that the nearest of all its sources gives it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from thresher.crawler.core.found_again import FoundPlace, found_again
from thresher.crawler.core.model import CrawlURL, Purpose, State
from thresher.crawler.core.ports import SeenRow

HERE, OTHER, THIRD = b"h" * 8, b"o" * 8, b"t" * 8
ROW = SeenRow(State.QUEUED, None, site_depth=5, seed_distance=5, hops=2, purpose=Purpose.PAGE, seq=7, visit=0, worth=0)
TEXT = "https://here.example/a/b/c"


def source(site: bytes, **place: Any) -> CrawlURL:
    return CrawlURL("https://source.example/", "source.example", "https://source.example", site + bytes(8), **place)


def nearest(
    of: CrawlURL, row: SeenRow = ROW, *, is_redirect: bool = False, first: bytes = b"", worth: Callable[[int, int], int] | None = None
) -> SeenRow | None:
    found = found_again(
        FoundPlace.of(of, is_redirect=is_redirect), [(HERE + bytes(8), row, TEXT)], State.QUEUED, worth=worth, first_site=lambda _: first
    )
    return next((nearer.nearest for nearer in found), None)


@pytest.mark.parametrize(
    ("of", "is_redirect", "first", "place"),
    [
        (source(HERE, seed_distance=1, site_depth=2), False, b"", (2, 3, 0)),  # from a page of its site: one click further
        (source(HERE, seed_distance=1, site_depth=2, hops=0), True, b"", (1, 0, 1)),  # by the second redirect of a chain
        (source(OTHER, seed_distance=9), False, b"", (5, 2, 0)),  # from the first other site: the depth of its directory
        (source(OTHER, seed_distance=9), False, HERE, (5, 2, 0)),
        (source(OTHER, seed_distance=9), False, OTHER, (5, 2, 0)),  # the same other site again
        (source(OTHER, seed_distance=9), False, THIRD, (5, 0, 0)),  # a second other site
    ],
)
def test_a_waiting_url_is_moved_to_the_nearest_place(of: CrawlURL, is_redirect: bool, first: bytes, place: tuple[int, int, int]) -> None:
    moved = nearest(of, is_redirect=is_redirect, first=first)
    assert moved is not None
    assert (moved.seed_distance, moved.site_depth, moved.hops) == place
    assert moved._replace(seed_distance=5, site_depth=5, hops=2) == ROW


def test_a_link_from_farther_away_moves_nothing() -> None:
    assert nearest(source(HERE, seed_distance=9, site_depth=9), ROW._replace(hops=0)) is None


def test_what_is_in_another_state_is_not_moved_and_gets_no_cash() -> None:
    def worth(_seq: int, _level: int) -> int:
        raise AssertionError("it got cash")

    assert nearest(source(HERE), ROW._replace(state=State.DONE), worth=worth) is None


def test_what_a_sitemap_announced_stands_where_the_first_link_puts_it() -> None:
    row = ROW._replace(purpose=Purpose.ANNOUNCED, seed_distance=0, site_depth=1, hops=0)
    moved = nearest(source(HERE, seed_distance=6, site_depth=3), row)
    assert moved == row._replace(purpose=Purpose.PAGE, seed_distance=7, site_depth=4)


def test_worth_alone_moves_it() -> None:
    row = ROW._replace(hops=0)
    assert nearest(source(HERE, seed_distance=9, site_depth=9), row, worth=lambda _, level: level + 3) == row._replace(worth=3)
