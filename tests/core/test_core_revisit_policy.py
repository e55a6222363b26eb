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


def mean_chance(policy: Policy, shares: list[Share], m: float) -> float:
    """Return the geometric mean of the chances that visits find a change, without pages that change between any two allowed visits."""
    found = [(share.n, share.rate, interval_s(policy, share.rate, share.weight, m, BOUNDS)) for share in shares]
    counted = [(n / t, chance) for n, rate, t in found if (chance := -math.expm1(-rate * t)) < NEEDLESS or t > BOUNDS.least_s]
    return math.exp(sum(visits * math.log(chance) for visits, chance in counted) / max(1e-99, sum(visits for visits, _ in counted)))


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=10)
@given(shares=SHARES, fill=st.floats(0.01, 3))
def test_pages_need_what_their_host_gives_and_every_one_has_its_turn(policy: Policy, shares: list[Share], fill: float) -> None:
    n = sum(share.n for share in shares)
    least, most = n / BOUNDS.most_s, visits(policy, shares, 0.0)
    given_ = least + fill * (most - least)
    m = multiplier(policy, shares, given_, BOUNDS)
    needed = visits(policy, shares, m)
    is_bound = policy != "uniform" and mean_chance(policy, shares, 0.99 * m) < NEEDLESS
    assert needed == pytest.approx(min(given_, most), rel=0.02) or (is_bound and needed <= given_)
    assert policy == "uniform" or mean_chance(policy, shares, m) >= 0.99 * NEEDLESS or needed == pytest.approx(least)
    for share in shares:
        assert BOUNDS.least_s <= interval_s(policy, share.rate, share.weight, m, BOUNDS) <= BOUNDS.most_s


def test_harmonic_makes_one_more_visit_worth_the_same_at_every_page() -> None:
    """The derivative of weight · ln(1 + c / r) by r is the multiplier wherever no bound holds [KPLH19]. Mutation: 4 made 2."""
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
    """The derivative of weight · r / (r + c) by r is the multiplier [AHLPS18]; a page that changes too fast only gets its regular turn.

    Mutation: a square root is left out.
    """
    shares = [Share(50, rate / DAY_S, weight) for rate in (0.1, 0.5, 1) for weight in (1.0, 3.0)]
    m = multiplier("fresh", [*shares, Share(5, 1.0, 1.0)], 200 / DAY_S, BOUNDS)
    for share in shares:
        r = 1 / interval_s("fresh", share.rate, share.weight, m, BOUNDS)
        assert share.weight * share.rate / (r + share.rate) ** 2 == pytest.approx(m, rel=1e-6)
    assert interval_s("fresh", 1.0, 1.0, m, BOUNDS) == BOUNDS.most_s


def test_what_changes_with_every_request_does_not_take_the_visits_of_the_others() -> None:
    """One such page among a hundred gets no more than a few times the share of another page; by its rate it would get all visits."""
    shares = [Share(99, 1 / DAY_S, 1.0), Share(1, 10.0, 1.0)]
    m = multiplier("harmonic", shares, 50 / DAY_S, BOUNDS)
    often, seldom = (interval_s("harmonic", share.rate, 1.0, m, BOUNDS) for share in reversed(shares))
    assert often > seldom / 4


def test_a_host_with_time_to_spare_is_not_asked_more_than_is_of_use() -> None:
    """One visit in a hundred must find a change. Mutation: there is no such bound."""
    for policy in POLICIES:
        rate = 0.1 / DAY_S
        m = multiplier(policy, [Share(50, rate, 1.0)], 50 / HOUR_S, BOUNDS)
        least_s = HOUR_S if policy == "uniform" else -math.log1p(-NEEDLESS) / rate
        assert interval_s(policy, rate, 1.0, m, BOUNDS) == pytest.approx(least_s, rel=1e-3)
        m = multiplier(policy, [Share(50, 1e-12, 1.0)], 50 / HOUR_S, BOUNDS)
        assert policy == "uniform" or interval_s(policy, 1e-12, 1.0, m, BOUNDS) == pytest.approx(BOUNDS.most_s)


def test_what_is_not_of_use_is_left_out_as_the_policy_shares_and_not_page_by_page() -> None:
    """A page that changes a hundredth as often has a tenth of the visits. Mutation: a bound for each page: it has a hundredth."""
    shares = [Share(50, rate / DAY_S, 1.0) for rate in (0.0001, 0.01)]
    m = multiplier("harmonic", shares, 100 / HOUR_S, BOUNDS)
    seldom, often = (interval_s("harmonic", share.rate, 1.0, m, BOUNDS) for share in shares)
    assert 9 < seldom / often < 11
    assert visits("harmonic", shares, m) < 10 / HOUR_S


def test_a_page_that_always_differs_does_not_let_the_others_be_asked_in_vain() -> None:
    """One page of ten always differs: the others get nearly as few visits as without it."""
    quiet = [Share(9, 0.05 / DAY_S, 1.0)]
    alone, beside = (multiplier("harmonic", shares, 10 / HOUR_S, BOUNDS) for shares in (quiet, [*quiet, Share(1, 1 / HOUR_S, 1.0)]))
    before, after = (interval_s("harmonic", quiet[0].rate, 1.0, m, BOUNDS) for m in (alone, beside))
    assert after > before / 3
