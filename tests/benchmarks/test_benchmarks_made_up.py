"""The short form of `python -m benchmarks.quality.made_up`: three of its kinds on which the defaults are nowhere below a plain crawl."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.living.curve import Curve
from benchmarks.quality.made_up.__main__ import KINDS, judge, measure
from benchmarks.quality.made_up.web import MadeUpSite, graph_of
from thresher.crawler.core.url import URLRules, URLSpace


@cache
def measured(kind: str) -> Curve:
    """Measure a kind once: two tests look at the town."""
    return measure(kind)


@pytest.mark.parametrize("kind", ["timetable", "town", "status"])
def test_the_defaults_lose_nothing_and_are_nowhere_below_a_plain_crawl(kind: str) -> None:
    """Mutation: what is held is fetched worst class first: timetable and status are below."""
    curve = measured(kind)
    assert curve.lost == 0
    assert not curve.below


def test_half_of_the_oracles_gain_is_had_on_a_town_of_which_half_is_translated() -> None:
    ours, oracles = measured("town").gains
    assert ours > 0.5 * oracles > 0


def test_what_is_held_and_never_fetched_is_told_as_lost(capsys: pytest.CaptureFixture[str]) -> None:
    curve = measure("status", sets=["filters.tail_yield=1"])
    assert curve.lost
    assert judge([curve]) == 1
    assert f"lost {curve.lost} of {curve.documents} documents" in capsys.readouterr().out


@pytest.mark.parametrize("kind", KINDS)
def test_every_planted_document_of_a_made_up_site_is_reached(kind: str) -> None:
    site = MadeUpSite(kind)
    KINDS[kind](site)
    made = graph_of(site, URLSpace(bytes(16), URLRules(ports=None)))
    assert set(made.documents) - {""} == {page.document for page in site.pages.values()} - {""}
