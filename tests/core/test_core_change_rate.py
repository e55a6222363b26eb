"""The rate at which a page changes, estimated from visits [CGM03]."""

from __future__ import annotations

import math
import random

from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.core.change_rate import ChangeEvidence, Prior, estimate, freshness, inherited

DAY_S = 86_400.0
NOTHING = Prior(1.0, 1e-12)  # a prior that hardly counts
VISITS = st.lists(st.tuples(st.floats(1.0, 1e8), st.booleans()), max_size=40)


def evidence(visits: list[tuple[float, bool]]) -> ChangeEvidence:
    made = ChangeEvidence()
    for interval_s, is_changed in visits:
        made.on_visit(interval_s, is_changed=is_changed)
    return made


@given(n=st.integers(1, 60), share=st.floats(0, 1), interval_s=st.floats(1.0, 1e7))
def test_visits_at_regular_intervals_give_the_improved_estimator(n: int, share: float, interval_s: float) -> None:
    """[CGM03, 4.2]: -ln((n - x + .5) / (n + .5)) / t. Mutation: half a visit left out."""
    x = max(1, round(n * share))
    found = estimate(evidence([(interval_s, i < x) for i in range(n)]), NOTHING)
    assert math.isclose(found, -math.log((n - x + 0.5) / (n + 0.5)) / interval_s, rel_tol=1e-4)


def test_visits_at_irregular_intervals_find_the_rate_of_a_poisson_process() -> None:
    """Dividing seen changes by time would find .55 of it, since a visit sees one change where there were several."""
    rng, rate = random.Random(3), 1 / DAY_S
    visits = [(t := rng.uniform(0.1, 4) * DAY_S, rng.random() < -math.expm1(-rate * t)) for _ in range(2000)]
    assert 0.93 < estimate(evidence(visits), NOTHING) / rate < 1.07


@given(visits=VISITS, interval_s=st.floats(1.0, 1e8), prior=st.floats(1e-9, 1.0))
def test_a_rate_is_positive_whatever_was_seen_and_rises_with_a_change_alone(
    visits: list[tuple[float, bool]], interval_s: float, prior: float
) -> None:
    without = evidence(visits)
    rate, half_s = estimate(without, Prior(prior)), 0.5 * sum(t for t, _ in visits) / max(1, len(visits))
    assert 0 < rate < math.inf
    quiet, loud = (evidence([*visits, (interval_s, is_changed)]) for is_changed in (False, True))
    assert estimate(quiet, Prior(prior)) < estimate(loud, Prior(prior))
    if interval_s > half_s:  # a short interval also makes the mean shorter, and half of the mean is the correction
        assert estimate(quiet, Prior(prior)) < rate * (1 + 1e-9)


def test_a_change_seen_after_an_hour_says_more_than_one_seen_after_a_month() -> None:
    prior = Prior(1 / DAY_S)
    soon, late = (estimate(evidence([(interval_s, True)]), prior) for interval_s in (3600.0, 30 * DAY_S))
    assert soon > 1.5 * late


def test_a_date_of_the_last_change_is_one_change_in_the_time_since() -> None:
    dated = ChangeEvidence()
    dated.on_date(10 * DAY_S)
    assert math.isclose(estimate(dated, NOTHING), 1 / (10 * DAY_S), rel_tol=1e-6)
    doubted = ChangeEvidence()
    doubted.on_date(10 * DAY_S, 0.1)
    assert estimate(doubted, Prior(1 / DAY_S)) > estimate(dated, Prior(1 / DAY_S))


def test_a_page_inherits_the_rate_of_its_nearest_siblings() -> None:
    """Mutation: the most general pattern last."""
    host = evidence([(DAY_S, i % 2 == 0) for i in range(200)])
    archive = evidence([(DAY_S, False)] * 100)
    assert inherited([host, archive], 1 / DAY_S) < inherited([host], 1 / DAY_S) / 20


def test_old_visits_weigh_less() -> None:
    page = evidence([(DAY_S, False)] * 20)
    before = estimate(page, Prior(1 / DAY_S))
    page.fade(0.1)
    assert before < estimate(page, Prior(1 / DAY_S)) < 1 / DAY_S


def test_a_copy_is_fresh_for_less_time_the_rarer_the_visits() -> None:
    assert freshness(0.0, 1e9) == 1.0
    assert math.isclose(freshness(1.0, 1.0), 1 - 1 / math.e)
    assert freshness(1.0, 100.0) < 0.0101
