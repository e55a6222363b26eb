"""How a class compares with the rest of its site."""

from __future__ import annotations

import pytest

from thresher.filters.evidence.standing import LATELY, Standing


def told(*fetches: tuple[int, float], at: int = 0) -> Standing:
    of = Standing()
    for weight, share in fetches:
        of.learn(weight, share, at)
    return of


def test_fetches_of_unequal_weight_say_less_than_as_many_of_equal_weight() -> None:
    """[KIS65]. Mutation: one fetch that stands for sixteen counts as sixteen fetches, and a pattern is compared on that evidence."""
    assert told(*[(1, 1.0)] * 16).size == 16
    assert told((16, 1.0)).size == 1
    assert told((16, 1.0), *[(1, 0.0)] * 16).size == pytest.approx(32**2 / (16**2 + 16))
    assert told((16, 1.0)).lower() < told(*[(1, 1.0)] * 16).lower()
    assert Standing().size == 0


def test_what_ages_weighs_less_than_what_comes_after_it() -> None:
    """Mutation: the sum of squares decays as the other counts do, so that a class's old fetches seem to be fewer than they were."""
    of = told(*[(1, 1.0)] * 20)
    of.age(LATELY)
    assert of.size == pytest.approx(20)
    assert of.s / of.n == pytest.approx(1)
    assert of.n == pytest.approx(20 / 2.718, rel=0.01)
    of.learn(1, 0.0, LATELY)
    assert of.s / of.n < 0.9 < 20 / 21


def test_the_rest_of_a_site_is_the_difference() -> None:
    every, part = told((1, 1.0), (1, 0.0), (4, 0.5)), told((1, 0.0), (4, 0.5))
    rest = every.without(part)
    assert (rest.n, rest.s, rest.squares) == (1, 1, 1)
    assert part.without(every).n == 0, "by rounding a part may be more than the whole"


def test_a_fetch_of_which_more_is_known_counts_otherwise_by_the_weight_that_it_still_has() -> None:
    of = told((1, 1.0), (1, 0.5))
    of.revise(-0.5, of.at, of.at)
    assert (of.n, of.s, of.squares) == (2, 1, 2)
    of.revise(5, of.at, of.at)
    assert (of.n, of.s) == (2, 2), "no more than it is"
    counted_at, n = of.at, of.n
    of.revise(-2.0, counted_at, counted_at + LATELY)
    assert of.n == pytest.approx(n / 2.718, rel=0.01)
    assert of.s == pytest.approx(0, abs=0.01)
