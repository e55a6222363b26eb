"""The test of a pattern's yield: how long it takes, and how often it is wrong when it is looked at after every fetch."""

from __future__ import annotations

from math import comb, exp

import numpy as np
import numpy.typing as npt
import pytest

from thresher.filters.pattern_yield.evidence import AUDITS, EPOCH, Evidence, Rule, interval, log_wealth

RULE = Rule(0.05, 0.05)


def needed(n_worth: int, epoch: int = 1) -> int:
    return next(n for n in range(n_worth, 10_000) if RULE.rejects(n, n_worth, epoch))


def test_how_many_fetches_decide() -> None:
    assert [needed(worth) for worth in (0, 1, 2)] == [63, 164, 206]
    assert [needed(0, epoch) for epoch in (2, 5, 20)] == [121, 166, 223]
    assert needed(0, 60) < EPOCH, "however old a pattern is, a test is long enough to decide"


def called_barren(true_yield: float, n_patterns: int, n_epochs: int) -> list[float]:
    """Return the share of patterns that were called barren within each number of epochs, when looked at after every fetch."""
    rng = np.random.default_rng(7)
    open_ = np.ones(n_patterns, dtype=np.bool_)
    found = []
    for epoch in range(1, n_epochs + 1):
        table = _table(epoch)
        worth = rng.random((n_patterns, EPOCH)) < true_yield
        counts = np.cumsum(worth, axis=1)
        open_ &= ~(table[np.arange(1, EPOCH + 1), counts] & ~worth).any(axis=1)
        found.append(1 - float(open_.mean()))
    return found


def _table(epoch: int) -> npt.NDArray[np.bool_]:
    """Return [n, worth] → whether it decides."""
    table = np.zeros((EPOCH + 1, EPOCH + 1), dtype=np.bool_)
    for n in range(1, EPOCH + 1):
        for worth in range(int(0.05 * n) + 1):
            table[n, worth] = RULE.rejects(n, worth, epoch)
    return table


def test_looking_after_every_fetch_does_not_cut_a_true_five_percent() -> None:
    """20,000 patterns, 1,600 looks each. Mutation: a level of 1 in 5 in place of 1 in 20."""
    shares = called_barren(0.05, 20_000, 4)
    assert shares[0] < 0.045
    assert shares[-1] < 0.05
    assert shares == sorted(shares)


def test_what_yields_more_is_cut_more_seldom_and_what_yields_nothing_always() -> None:
    assert called_barren(0.10, 4_000, 2)[-1] < 0.005
    assert called_barren(0.0, 100, 1) == [1.0]
    assert called_barren(0.01, 2_000, 2)[-1] > 0.95


def test_the_wealth_never_grows_in_expectation_whatever_the_yield_above_the_threshold() -> None:
    """Ville's condition, exactly: over all outcomes of n fetches, at the threshold and above."""
    for true in (0.05, 0.08, 0.3, 0.9):
        for n in (1, 2, 5, 20):
            outcomes = [(comb(n, s) * true**s * (1 - true) ** (n - s), log_wealth(n, s, 0.05)) for s in range(n + 1)]
            assert sum(p * exp(w) for p, w in outcomes) <= 1 + 1e-9


def test_the_tests_of_a_pattern_s_whole_life_share_one_error() -> None:
    assert sum(RULE.error_of(epoch) for epoch in range(1, 10_000)) == pytest.approx(RULE.error, rel=1e-4)


def told(outcomes: list[bool]) -> Evidence:
    evidence = Evidence()
    for worth in outcomes:
        RULE.learn(evidence, worth)
    return evidence


def test_a_barren_pattern_is_released_by_the_first_worthy_audit_among_twenty() -> None:
    assert told([False] * 63).barren
    assert told([False] * (63 + 19) + [True]).barren is False
    assert told([False] * (63 + 30) + [True]).barren, "one in thirty-one is less than one in twenty"


def test_audits_of_long_ago_do_not_keep_it_from_being_released() -> None:
    """Mutation: the window was never halved."""
    assert told([False] * (63 + 1_000) + [True, True]).barren is False
    assert AUDITS == 40


def test_an_archive_whose_end_is_barren_is_found_out_however_much_it_had() -> None:
    """Mutation: no second epoch."""
    evidence = told([True] * 5_000)
    n = 0
    while not evidence.barren:
        RULE.learn(evidence, False)
        n += 1
    assert n < 2 * EPOCH


def test_a_pattern_that_was_released_is_tested_again_more_strictly() -> None:
    evidence = told([False] * 63 + [True])
    assert (evidence.barren, evidence.epoch) == (False, 2)
    n = 0
    while not evidence.barren:
        RULE.learn(evidence, False)
        n += 1
    assert n > 150
    assert evidence.n_barren == 2


def test_the_interval_holds_the_truth_at_every_look() -> None:
    """Robbins' interval: of 2,000 patterns at most one in twenty ever has the truth outside it."""
    rng = np.random.default_rng(3)
    for true in (0.03, 0.5):
        looks = [10, 30, 100, 300]
        counts = np.cumsum(rng.random((500, 300)) < true, axis=1)
        missed = sum(any(not low <= true <= high for low, high in (interval(n, int(row[n - 1])) for n in looks)) for row in counts)
        assert missed <= 25
    assert interval(0, 0) == (0.0, 1.0)
    assert interval(10, 10)[1] == 1.0
