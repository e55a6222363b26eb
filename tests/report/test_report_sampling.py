"""A report needs a bounded amount of memory, and its estimates are right."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.report.sampling import Largest, Sample, Timeline, Traces
from thresher.crawler.report.svg import nice_ticks, short


@given(st.lists(st.tuples(st.floats(1e9, 2e9), st.integers(0, 9)), min_size=1, max_size=60), st.integers(2, 40))
def test_a_timeline_has_few_bins_and_loses_nothing(events: list[tuple[float, int]], most: int) -> None:
    line = Timeline(1, most)
    for at, n in events:
        line.add(at, n)
    bins = list(line.bins())
    assert 1 <= len(bins) <= most + 1
    assert sum(sums[0] for _, _, sums in bins) == sum(n for _, n in events)
    assert all(covered > 0 for _, covered, _ in bins)
    assert [at for at, _, _ in bins] == sorted(at for at, _, _ in bins)


def test_a_steady_rate_is_steady_to_both_ends() -> None:
    line = Timeline(1)
    for number in range(5000):
        line.add(1e9 + 0.3 + number * 0.1, 1)
    rates = [sums[0] / covered for _, covered, sums in line.bins()]
    assert all(rate == pytest.approx(10, rel=0.05) for rate in rates[1:-1])
    assert all(5 <= rate <= 11 for rate in rates)


def test_a_sample_is_the_same_in_any_order_and_uniform() -> None:
    keys = [str(n) for n in range(2000)]
    one, other = Sample[str](50), Sample[str](50)
    for key in keys:
        one.offer(key, key)
    for key in reversed(keys):
        other.offer(key, key)
    assert sorted(one.items()) == sorted(other.items())
    assert (len(one.items()), one.n) == (50, 2000)
    assert 700 < sum(int(item) for item in one.items()) / 50 < 1300


@given(st.lists(st.integers(0, 50)), st.integers(1, 8))
def test_the_largest_are_the_largest_the_first_of_equals(values: list[int], size: int) -> None:
    largest = Largest[tuple[int, int]](size)
    for number, value in enumerate(values):
        largest.offer((value,), (value, number))
    assert largest.items() == sorted(((value, number) for number, value in enumerate(values)), key=lambda pair: (-pair[0], pair[1]))[:size]


def test_traces_keep_few_keys_and_stand_for_all() -> None:
    """60,000 keys, each met twice: half of all meetings are first ones."""
    traces, rng = Traces[bool](2000), random.Random(7)
    meetings = [number.to_bytes(8, "big") for number in range(60_000)] * 2
    rng.shuffle(meetings)
    n = first = 0
    for key in meetings:
        if traces.follows(key):
            weight = traces.weight
            n += weight
            first += 0 if traces.get(key) else weight
            traces.put(key, True)
            assert len(traces) <= 2000
    assert n == pytest.approx(120_000, rel=0.1)
    assert first / n == pytest.approx(0.5, abs=0.03)


@given(st.floats(1e-3, 1e12))  # what is plotted: shares, seconds, rates, counts
def test_ticks_are_few_and_round(most: float) -> None:
    ticks = nice_ticks(most)
    assert ticks[0] == 0
    assert 2 <= len(ticks) <= 6
    assert ticks[-1] <= most * (1 + 1e-6)
    assert all(len(short(tick)) <= 6 for tick in ticks)
