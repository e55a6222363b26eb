"""Dates in sitemaps, and how far they are believed."""

import pytest

from thresher.crawler.core.lastmod import DAY_S, believed, holds, parse_time

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1970", 0.0), ("1970-02", 31 * DAY_S), ("1970-01-02", DAY_S), (" 1970-01-02T00:00Z ", DAY_S),
        ("1970-01-02T01:00:00.5+01:00", DAY_S),
        ("1970-01-02 00:00:00", DAY_S), ("Fri, 02 Jan 1970 00:00:00 GMT", DAY_S), ("1969-01-01", 0.0), ("", 0.0), ("2024-13-01", 0.0),
        ("tomorrow", 0.0), ("9999-12-31T23:59:59+14:00", 253402250399.0), ("1970-01-02T00:00:60Z", DAY_S + 59), ("x" * 10_000, 0.0),
    ],
)  # fmt: skip
def test_dates_are_read_in_the_forms_that_are_met(text: str, at: float) -> None:
    assert parse_time(text) == at


@pytest.mark.parametrize(
    ("lastmod", "last_modified", "held"),
    [
        (0.0, NOW - 9 * DAY_S, None),  # nothing is said
        (NOW - 9 * DAY_S, 0.0, None),  # the page says nothing
        (NOW - 9 * DAY_S, NOW - 60, None),  # made on demand
        (NOW - 9 * DAY_S, NOW - 9.5 * DAY_S, True),
        (NOW - 9 * DAY_S, NOW - 20 * DAY_S, False),  # a change was announced, but there was none
        (NOW - 20 * DAY_S, NOW - 9 * DAY_S, False),  # a change was not announced
        (NOW + 3 * DAY_S, 0.0, False),  # the future
    ],
)
def test_a_lastmod_holds_as_far_as_the_page_itself_says(lastmod: float, last_modified: float, held: bool | None) -> None:
    assert holds(lastmod, last_modified, NOW) is held


def test_a_site_is_believed_as_far_as_it_has_proven_truthful() -> None:
    assert believed(0, 0) == 0.0
    assert believed(5, 0) == pytest.approx(0.5655, abs=1e-3)
    assert believed(40, 0) == pytest.approx(0.9124, abs=1e-3)
    assert believed(0, 40) == 0.0
    assert believed(20, 20) < 0.4
