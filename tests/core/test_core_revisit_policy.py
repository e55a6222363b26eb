"""How a host's visits are shared among its pages [KPLH19, CG03]."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.core.revisit_policy import NEEDLESS, Intervals, Policy, Share, interval_s, multiplier

HOUR_S, DAY_S = 3_600.0, 86_400.0
BOUNDS = Intervals(HOUR_S, 60 * DAY_S)
POLICIES: list[Policy] = ["harmonic", "uniform", "age_optimal", "fresh"]
SHARES = st.lists(st.builds(Share, st.integers(1, 1000), st.floats(-19, 0).map(math.exp), st.floats(1, 10)), min_size=1, max_size=8)


def visits(policy: Policy, shares: list[Share], m: float) -> float:
    return sum(share.n / interval_s(policy, share.rate, share.weight, m, BOUNDS) for share in shares)


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=10)
@given(shares=SHARES, fill=st.floats(0.01, 3))
def test_pages_need_what_their_host_gives_and_every_one_has_its_turn(policy: Policy, shares: list[Share], fill: float) -> None:
    n = sum(share.n for share in shares)
    least, most = n / BOUNDS.most_s, visits(policy, shares, 0.0)
    given_ = least + fill * (most - least)
    m = multiplier(policy, shares, given_, BOUNDS)
    assert visits(policy, shares, m) == pytest.approx(min(given_, most), rel=0.02)
    for share in shares:
        assert BOUNDS.least_s <= interval_s(policy, share.rate, share.weight, m, BOUNDS) <= BOUNDS.most_s


def test_harmonic_makes_one_more_visit_worth_the_same_at_every_page() -> None:
    """The derivative of weight · ln(1 + c / r) by r is the multiplier wherever no bound holds [KPLH19]. Broken once (4 made 2): fails."""
    shares = [Share(50, rate / DAY_S, weight) for rate in (0.05, 0.3, 1, 20, 1000) for weight in (1.0, 5.0)]
    m = multiplier("harmonic", shares, 300 / DAY_S, BOUNDS)
    for share in shares:
        r = 1 / interval_s("harmonic", share.rate, share.weight, m, BOUNDS)
        assert share.weight * share.rate / (r * (r + share.rate)) == pytest.approx(m, rel=1e-6)


def test_age_optimal_lessens_age_by_the_same_with_one_more_visit_of_any_page() -> None:
    """By differences of the mean age, t/2 - 1/c + (1 - exp(-ct)) / (c²t) [CG03, 4.3]."""
    shares = [Share(50, rate / DAY_S, 1.0) for rate in (0.1, 1, 20)]
    m = multiplier("age_optimal", shares, 100 / DAY_S, BOUNDS)

    def age(c: float, visits_per_s: float) -> float:
        t = 1 / visits_per_s
        return t / 2 - 1 / c - math.expm1(-c * t) / (c * c * t)

    for share in shares:
        f = 1 / interval_s("age_optimal", share.rate, 1.0, m, BOUNDS)
        assert (age(share.rate, f * 0.999) - age(share.rate, f * 1.001)) / (0.002 * f) == pytest.approx(m, rel=1e-3)


def test_fresh_makes_one_more_visit_worth_the_same_at_every_page_that_it_can_keep_up_with() -> None:
    """The derivative of weight · r / (r + c) by r is the multiplier [AHLPS18]; one that it cannot has its turn alone.

    Broken once (a root left out): fails.
    """
    shares = [Share(50, rate / DAY_S, weight) for rate in (0.1, 0.5, 1) for weight in (1.0, 3.0)]
    m = multiplier("fresh", [*shares, Share(5, 1.0, 1.0)], 200 / DAY_S, BOUNDS)
    for share in shares:
        r = 1 / interval_s("fresh", share.rate, share.weight, m, BOUNDS)
        assert share.weight * share.rate / (r + share.rate) ** 2 == pytest.approx(m, rel=1e-6)
    assert interval_s("fresh", 1.0, 1.0, m, BOUNDS) == BOUNDS.most_s


def test_what_changes_with_every_request_does_not_take_the_visits_of_the_others() -> None:
    """One such page among a hundred gets no more than some shares of the others; by its rate it would get all."""
    shares = [Share(99, 1 / DAY_S, 1.0), Share(1, 10.0, 1.0)]
    m = multiplier("harmonic", shares, 50 / DAY_S, BOUNDS)
    often, seldom = (interval_s("harmonic", share.rate, 1.0, m, BOUNDS) for share in reversed(shares))
    assert often > seldom / 4


def test_a_host_with_time_to_spare_is_not_asked_more_than_is_of_use() -> None:
    rate = 0.1 / DAY_S
    assert interval_s("harmonic", rate, 1.0, 0.0, BOUNDS) == pytest.approx(-math.log1p(-NEEDLESS) / rate)
    assert interval_s("harmonic", 1e-12, 1.0, 0.0, BOUNDS) == BOUNDS.most_s
