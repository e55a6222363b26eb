"""What counts as a change of a page: clocks do not, dates that move do; and how much has changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.core.change import PageContent, compare, compare_with_sketch, sketch_of, text_of, without_clocks

AT = datetime(2026, 3, 3, 12, 31, 7, tzinfo=UTC).timestamp()
LATER = datetime(2026, 3, 11, 9, 4, 59, tzinfo=UTC).timestamp()
WORDS = " ".join(f"word{i}" for i in range(200))
PLAIN = (False, False)

CLOCKS = (
    "{:%Y-%m-%d %H:%M:%S}",
    "{:%Y-%m-%dT%H:%M:%SZ}",
    "{:%d.%m.%Y, %H:%M}",
    "{:%m/%d/%Y %I:%M %p}",
    "{:%A, %d %B %Y}",
    "{:%a, %d %b %Y %H:%M:%S} GMT",
    "{:%a %b %d %H:%M:%S %Y}",
    "{:%B %d, %Y}",
    "{:%H:%M}",
    "Page generated in {:0.%f} seconds",
    "rendered in {:%f} ms at {:%H:%M:%S}",
)
HONEST = (  # what readers would call a change, in a page of ten words
    ("The fair is on 14 March 2031 at ten", "The fair is on 15 March 2031 at ten"),
    ("Price 19.99 euro", "Price 24.99 euro"),
    ("Version 2.1.3 is out", "Version 2.1.4 is out"),
    ("Kick-off 20:45", "Kick-off 18:30"),
    ("Bake for 30 minutes", "Bake for 45 minutes"),
    ("Score 3:1", "Score 3:2"),
    ("Founded in 1998", "Founded in 1999"),
    ("Call 0511 123456", "Call 0511 123457"),
    ("Order number 1234567890", "Order number 1234567891"),
    ("Flight LH 400 departs 2026-07-01", "Flight LH 400 departs 2026-07-02"),
)


def of(shown: str, at: float = AT, title: str = "t") -> PageContent:
    return text_of(shown, title, PLAIN, at)


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_clock_is_no_change(clock: str) -> None:
    """Mutation: times of day are not left out. In a page of so few words each of them is a change."""
    before, after = (datetime.fromtimestamp(at, UTC) for at in (AT, LATER))
    made = compare(of(f"few words {clock.format(before, before)}"), of(f"few words {clock.format(after, after)}", LATER), min_change=0.0)
    assert made[:2] == (False, 0.0)


@pytest.mark.parametrize("zone_minutes", [-720, -210, 0, 330, 345, 840])
def test_a_clock_of_any_time_zone_is_none(zone_minutes: int) -> None:
    before, after = (f"it is {datetime.fromtimestamp(at, UTC) + timedelta(minutes=zone_minutes):%Y-%m-%d %H:%M}" for at in (AT, LATER))
    assert not compare(of(before), of(after, LATER), min_change=0.0).is_change


@pytest.mark.parametrize(("before", "after"), HONEST)
def test_what_readers_call_a_change_is_one(before: str, after: str) -> None:
    """Mutation: all digits are left out: none of them is a change."""
    assert compare(of(before), of(after, LATER), min_change=0.02).is_change


def test_a_title_and_a_noindex_count_and_a_clock_in_the_title_does_not() -> None:
    assert compare(of(WORDS, title="old"), of(WORDS, title="new"), min_change=0.5)[:2] == (True, 0.0)
    assert compare(text_of(WORDS, "", PLAIN, AT), text_of(WORDS, "", (True, False), AT), min_change=0.5)[:2] == (True, 0.0)
    assert compare(of(WORDS, title="news of 12:31"), of(WORDS, LATER, title="news of 09:04"), min_change=0.0)[:2] == (False, 0.0)


def test_how_much_is_the_share_of_what_only_one_of_them_shows() -> None:
    half = " ".join(f"word{i}" for i in range(100)) + " " + " ".join(f"other{i}" for i in range(100))
    made = compare(of(WORDS), of(half), min_change=0.02)
    assert made.is_change
    assert made.amount == pytest.approx(2 / 3, abs=0.02)  # 98 of 298 shingles are common
    small = compare(of(WORDS), of(WORDS + " visitor 12345"), min_change=0.02)
    assert (small.is_change, small.is_small, small.amount) == (False, True, 0.01)
    assert compare(of(WORDS), of("entirely something else"), min_change=0.02).amount == 1.0


def test_a_sketch_stands_for_a_text_that_is_gone() -> None:
    assert compare_with_sketch(sketch_of(of(WORDS)), of(WORDS), min_change=0.02)[:2] == (False, 0.0)
    assert compare_with_sketch(sketch_of(of(WORDS)), of("quite another page"), min_change=0.02).is_change
    assert compare_with_sketch(b"", of(WORDS), min_change=0.02)[:2] == (True, None)
    assert sketch_of(of("")) == b""


def test_pages_without_words_are_told_apart_by_their_bytes() -> None:
    assert compare(of(""), of(""), min_change=0.02)[:2] == (True, None)
    assert compare(of(""), of(WORDS), min_change=0.02)[:2] == (True, 1.0)


@given(st.text(max_size=300))
def test_no_text_is_too_odd_and_what_is_no_clock_stays(text: str) -> None:
    without_clocks(text, AT)
    letters = "".join(c for c in text if not c.isdigit())
    assert without_clocks(letters, AT) == letters


@pytest.mark.parametrize(
    "text", ["1" * 200_000, "12:" * 60_000, "generated " * 30_000, "jan 1" * 60_000, "2026-03-" * 40_000, "took" + " " * 300_000]
)
def test_hostile_texts_cost_no_more_than_their_length(text: str) -> None:
    """A regular expression that starts again at every character would take minutes, and the suite's time limit would end it."""
    without_clocks(text, AT)
