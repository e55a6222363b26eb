"""A weak belief: when it holds URLs, when it no longer does, when it was wrong."""

from __future__ import annotations

import random

import msgspec
from hypothesis import example, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from thresher.filters.evidence.opinion import Belief, Opinion

BELIEF = Belief()


def told(outcomes: list[bool], of: Opinion | None = None) -> tuple[Opinion, int]:
    """Return the opinion after these fetches, and how often it was wrong."""
    of = of or Opinion()
    return of, sum(BELIEF.learn(of, is_good) for is_good in outcomes)


def test_eight_barren_fetches_in_a_row_hold_and_seven_do_not() -> None:
    """Cause 6: to prove it would take 63 fetches."""
    assert told([False] * 8)[0].is_held
    assert not told([False] * 7)[0].is_held
    assert not told(([False] * 7 + [True]) * 50)[0].is_held


def test_one_good_draw_of_many_releases_nothing_and_holds_on() -> None:
    """Cause 6: otherwise 4,295 URLs were fetched for 15 documents. Mutation: `right` is ignored."""
    assert told([False] * 8 + [True])[0].is_held
    of, n_wrong = told([False] * 8 + ([False] * 19 + [True]) * 40)
    assert (of.is_held, of.waits, n_wrong) == (True, True, 0)


def test_where_a_fifth_of_the_draws_is_good_what_is_met_now_is_fetched_and_nothing_is_released() -> None:
    of, n_wrong = told([False] * 8 + ([False] * 4 + [True]) * 2)
    assert (of.is_held, of.waits, n_wrong) == (False, True, 0)


def test_an_opinion_is_wrong_when_most_draws_are_good_and_the_next_takes_twice_as_many() -> None:
    """Mutation: `n_wrong` has no effect, so that a class is held and released again and again, for ever."""
    of, n_wrong = told([False] * 8 + [True, True])
    assert (of.is_held, of.waits, n_wrong) == (False, False, 1)
    assert not told([False] * 15, of)[0].is_held
    assert told([False], of)[0].is_held


def test_an_archive_that_comes_to_yield_late_is_released() -> None:
    """Mutation: all draws since the class was held count for ever."""
    of, n_wrong = told([False] * 2_000)
    assert n_wrong == 0
    assert told([True] * 60, of)[1] == 1


def test_of_classes_that_yield_nothing_all_are_held_and_of_good_ones_hardly_any() -> None:
    rng = random.Random(1)
    share = {}
    for true in (0.0, 0.02, 0.5, 0.8):
        share[true] = sum(told([rng.random() < true for _ in range(200)])[0].is_held for _ in range(200)) / 200
    assert share[0.0] == 1.0
    assert share[0.02] > 0.9
    assert share[0.5] < 0.05
    assert share[0.8] == 0.0


@examples(max_examples=60, deadline=None, derandomize=True)
@example(["barren"] * 8 + ["credit"])
@given(st.lists(st.sampled_from(("good", "credit", *["barren"] * 9)), max_size=200))
def test_counts_stay_sound_and_the_record_comes_back_from_bytes(story: list[str]) -> None:
    """Mutation: `credit` raises `s` above `n`."""
    of = Opinion()
    for each in story:
        if each == "credit":
            BELIEF.credit(of)
        else:
            BELIEF.learn(of, each == "good")
        assert 0 <= of.s <= of.n
        assert of.recent.s <= of.recent.n + 1e-9
        assert of.waits or not of.is_held
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(of), type=Opinion) == of
