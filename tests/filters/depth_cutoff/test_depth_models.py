"""The models of surfers by the paper's values and identities, and by simulated surfers [BC04]."""

from __future__ import annotations

import numpy as np
import pytest

from thresher.filters.depth_cutoff.chains import Action, chain, solve
from thresher.filters.depth_cutoff.models import (
    MODELS,
    Model,
    levels_for,
    levels_for_varying,
    mean_level,
    q_of_mean,
    share,
    stationary,
    transition,
    varying,
)

QS = (0.05, 0.2, 0.4, 0.45)
each_model = pytest.mark.parametrize("model", MODELS)
LEVELS_FOR_90 = {  # q → of B, of C
    0.4: (2, 3),
    0.5: (3, 5),
    0.55: (3, 6),
    0.6: (4, 7),
    0.65: (5, 8),
    0.7: (6, 10),
    0.75: (8, 13),
    0.8: (10, 16),
    0.85: (14, 23),
    0.9: (21, 36),
}


@pytest.mark.parametrize(
    ("model", "q", "shares", "to_third"),
    [
        ("A", 0.4, (1 / 3, 2 / 9, 4 / 27, 8 / 81), 65 / 81),
        ("B", 0.6, (0.4, 0.24, 0.144, 0.0864), 0.8704),
        ("C", 0.5, (0.25, 0.25, 0.1875, 0.125), 0.8125),
    ],
)
def test_shares_of_the_levels_are_the_known_ones(model: Model, q: float, shares: tuple[float, ...], to_third: float) -> None:
    assert stationary(model, q, 4) == pytest.approx(shares, abs=1e-9)
    assert share(model, q, 3) == pytest.approx(to_third, abs=1e-9)


@each_model
@pytest.mark.parametrize("q", QS)
def test_closed_forms_are_what_the_chain_comes_to(model: Model, q: float) -> None:
    """Matrix row 20. Mutation: in model C the current level is left out of the levels to which a visitor goes back."""
    n = 400
    solved = solve(transition(model, q, n))
    assert solved[:100] == pytest.approx(stationary(model, q, 100), abs=1e-9)
    assert np.cumsum(solved)[:100] == pytest.approx(share(model, q, np.arange(100)), abs=1e-9)
    assert solved @ np.arange(n) == pytest.approx(mean_level(model, q), abs=1e-7)


@each_model
@pytest.mark.parametrize("q", QS)
def test_the_atomic_actions_make_the_same_chain_as_the_model(model: Model, q: float) -> None:
    rest = {"A": Action.BACK, "B": Action.START, "C": Action.PREV}[model]
    assert chain({Action.NEXT: q, rest: 1 - q}, 60) == pytest.approx(transition(model, q, 60), abs=1e-12)


@each_model
def test_simulated_surfers_are_where_the_model_says(model: Model) -> None:
    """Matrix row 20: Monte Carlo of 4,000 surfers of 100 steps each, within four standard errors of independent batches."""
    q, rng = {"A": 0.4, "B": 0.6, "C": 0.5}[model], np.random.default_rng(7)
    n, warm_up, steps = 4_000, 60, 100
    at = np.zeros(n, dtype=np.int64)
    seen = np.zeros((20, 40))
    batches = np.arange(n) % 20
    for step in range(warm_up + steps):
        goes_on = rng.random(n) < q
        back = {"A": np.maximum(at - 1, 0), "B": np.zeros_like(at), "C": (rng.random(n) * (at + 1)).astype(np.int64)}[model]
        at = np.where(goes_on, at + 1, back)
        if step >= warm_up:
            np.add.at(seen, (batches, np.minimum(at, 39)), 1)
    cumulative = np.cumsum(seen / seen.sum(axis=1, keepdims=True), axis=1)[:, :8]
    error = cumulative.std(axis=0, ddof=1) / np.sqrt(len(cumulative))
    assert np.all(np.abs(cumulative.mean(axis=0) - share(model, q, np.arange(8))) <= 4 * error)


@pytest.mark.parametrize("q", [0.1, 1 / 3, 0.6, 0.9])
def test_a_and_b_are_one_distribution(q: float) -> None:
    levels = np.arange(30)
    assert share("A", q / (1 + q), levels) == pytest.approx(share("B", q, levels), abs=1e-9)


def test_levels_for_nine_tenths_are_the_known_ones() -> None:
    assert {q: (levels_for("B", q, 0.9), levels_for("C", q, 0.9)) for q in LEVELS_FOR_90} == LEVELS_FOR_90
    assert [levels_for("A", q, 0.9) for q in (0.3, 0.35, 0.4, 0.45)] == [2, 3, 5, 11]


def test_five_levels_hold_nine_tenths_up_to_a_q_of_two_thirds_less_a_bit() -> None:
    limit = 0.1**0.2
    assert limit == pytest.approx(0.631, abs=5e-4)
    assert levels_for("B", limit, 0.9) == 4
    assert levels_for("B", limit + 1e-6, 0.9) == 5


def test_shares_of_five_levels_are_the_known_ones() -> None:
    b = {0.5: 0.9688, 0.55: 0.9497, 0.6: 0.9222, 0.65: 0.8840, 0.7: 0.8319, 0.8: 0.6723}
    c = {0.4: 0.959, 0.5: 0.8906, 0.6: 0.7667}
    assert [float(share("B", q, 4)) for q in b] == pytest.approx(list(b.values()), abs=6e-5)
    assert [float(share("C", q, 4)) for q in c] == pytest.approx(list(c.values()), abs=6e-5)


def test_mean_depth_gives_q_and_sessions_their_length() -> None:
    mean = float(np.mean([0, 0, 1, 2, 0, 1]))
    assert [q_of_mean(model, mean) for model in MODELS] == pytest.approx([2 / 7, 0.4, 0.25], abs=1e-9)
    assert [1 + mean_level("B", q) for q in (0.5, 0.55, 0.6, 0.75)] == pytest.approx([2, 20 / 9, 2.5, 4], abs=1e-9)


@each_model
@pytest.mark.parametrize("q", QS)
def test_q_of_the_mean_level_is_q(model: Model, q: float) -> None:
    assert q_of_mean(model, mean_level(model, q)) == pytest.approx(q, abs=1e-12)


def test_levels_that_differ_stop_where_the_known_example_does() -> None:
    deeper = (0.6, 0.5, 0.4, 0.3, 0.3, 0.3)
    shares, beyond = varying(deeper, goes_on=False)
    assert shares == pytest.approx((0.48308, 0.28985, 0.14492, 0.05797, 0.01739, 0.00522, 0.00157), abs=5e-6)
    assert beyond == 0
    assert np.cumsum(shares)[2] == pytest.approx(0.91786, abs=5e-6)
    assert levels_for_varying(deeper, 0.9, goes_on=False) == 2


@pytest.mark.parametrize(("novelty", "level"), [(1.0, 6), (0.5, 3), (0.1, 2)])
def test_a_trap_is_cut_the_sooner_the_less_is_new_in_it(novelty: float, level: int) -> None:
    assert levels_for_varying((0.7, 0.7, 0.7 * novelty), 0.9) == level


@pytest.mark.parametrize("q", [0.3, 0.6, 0.85])
def test_equal_levels_are_model_b(q: float) -> None:
    shares, beyond = varying([q] * 9)
    assert shares == pytest.approx(stationary("B", q, 10), abs=1e-12)
    assert beyond == pytest.approx(1 - float(share("B", q, 9)), abs=1e-12)
    assert levels_for_varying([q], 0.9) == levels_for("B", q, 0.9)
    assert levels_for_varying([q], 0.999, most=7) == min(7, levels_for("B", q, 0.999))


def test_model_a_drifts_away_from_one_half_on() -> None:
    with pytest.raises(ValueError, match="drifts away"):
        share("A", 0.5, 3)


def test_actions_that_differ_by_level_are_solved() -> None:
    """Two levels, 0 ⇄ 1 with stays: the long run by hand."""
    solved = solve(chain([{Action.NEXT: 0.5, Action.STAY: 0.5}, {Action.EXIT: 0.25, Action.STAY: 0.75}], 2))
    assert solved == pytest.approx([1 / 3, 2 / 3], abs=1e-12)


def test_going_forward_leads_down_by_two() -> None:
    moves = chain({Action.FWD: 1, Action.JUMP: 3}, 4)
    assert moves.tolist() == [[0.75, 0, 0.25, 0], [0.75, 0, 0, 0.25], [0.75, 0, 0, 0.25], [0.75, 0, 0, 0.25]]


@pytest.mark.parametrize("moves", [np.eye(2), np.array([[0.5, 0.4], [0.5, 0.5]]), np.ones((2, 3)) / 3])
def test_what_is_no_chain_with_one_long_run_is_refused(moves: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    with pytest.raises(ValueError, match=r"expected|parts"):
        solve(moves)
