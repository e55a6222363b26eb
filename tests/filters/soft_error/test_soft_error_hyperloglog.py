"""A cell counts different things: exactly below 512, within 1.6 % from there, in 4,096 bytes at most."""

from __future__ import annotations

import math
import random

import pytest

from thresher.filters.soft_error import hyperloglog
from thresher.filters.soft_error.hyperloglog import EMPTY, ERROR_LOG10, EXACT


def cell_of(things: list[bytes]) -> bytes:
    cell = EMPTY
    for thing in things:
        cell = hyperloglog.add(cell, thing)
    return cell


def things(seed: int, n: int) -> list[bytes]:
    rng = random.Random(seed)
    return [rng.randbytes(8) for _ in range(n)]


@pytest.mark.parametrize("n", [0, 1, 2, 64, EXACT])
def test_few_things_are_counted_exactly(n: int) -> None:
    assert hyperloglog.count(cell_of(things(1, n))) == n


@pytest.mark.parametrize("n", [EXACT, EXACT + 1, 3000])
def test_what_was_added_before_changes_nothing(n: int) -> None:
    """Mutation: with `_has` always false the cell grows."""
    added = things(2, n)
    cell = cell_of(added)
    assert all(hyperloglog.add(cell, thing) is cell for thing in added)


def test_a_thing_that_stands_across_two_others_is_new() -> None:
    cell = cell_of([b"aaaabbbb", b"ccccdddd"])
    assert hyperloglog.count(hyperloglog.add(cell, b"bbbbcccc")) == 3


@pytest.mark.parametrize("n", [512, 700, 2500, 12_000])
def test_many_things_are_counted_within_the_stated_error(n: int) -> None:
    """The mean of 30 cells is off by less than three of its standard errors, and their spread is what is stated.

    Mutation: a rank one too large puts every count 50 % off.
    """
    errors = [math.log10(hyperloglog.count(cell_of(things(seed, n))) / n) for seed in range(30 if n < 3000 else 8)]
    assert abs(sum(errors) / len(errors)) < 3 * ERROR_LOG10 / math.sqrt(len(errors))
    assert math.sqrt(sum(error**2 for error in errors) / len(errors)) < 1.6 * ERROR_LOG10


def test_the_count_never_falls_and_the_cell_never_outgrows_its_bound() -> None:
    cell, before = EMPTY, 0
    for thing in things(4, 1500):
        cell = hyperloglog.add(cell, thing)
        assert len(cell) <= 4096
        assert hyperloglog.count(cell) >= before
        before = hyperloglog.count(cell)


def test_registers_do_not_depend_on_the_order_of_arrival() -> None:
    added = things(5, 2000)
    assert cell_of(added) == cell_of(added[::-1])


def test_the_greatest_hashes_and_the_least_are_counted_too() -> None:
    cell = cell_of(things(6, 600))
    for thing in (bytes(8), b"\xff" * 8, b"\x00\x0f" + b"\xff" * 6):
        cell = hyperloglog.add(cell, thing)
    assert 590 < hyperloglog.count(cell) < 620
