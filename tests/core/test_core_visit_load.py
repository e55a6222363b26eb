"""When visits are due: nobody waits long for its turn, whatever times are wanted."""

from __future__ import annotations

import random
from collections.abc import Callable
from heapq import heappop, heappush

import pytest

from thresher.crawler.core.visit_load import SLICES, WAITING, VisitLoad

MOST_S = 1_000_000.0
NOW = 1_700_000_000.0
N = 40
LAST = 0.95 - 2 / SLICES  # of the longest interval


def together(_: random.Random, now: float) -> float:
    """All pages at the same moments."""
    return (now // (MOST_S / 3) + 1) * MOST_S / 3


def often(_: random.Random, now: float) -> float:
    """Every page again at once."""
    return now


def anyhow(rng: random.Random, now: float) -> float:
    """Some soon, some late."""
    return now + MOST_S * rng.choice((0.0, 0.01, 0.3, rng.random(), 2.0))


@pytest.mark.parametrize("wanted", [together, often, anyhow])
@pytest.mark.parametrize("round_share", [0.05, 0.5, 0.9])
def test_no_visit_waits_for_longer_than_a_share_of_a_round_and_each_is_made_in_time(
    wanted: Callable[[random.Random, float], float], round_share: float
) -> None:
    """Forty pages, one visit at a time, what is due first goes first. Mutation: the wanted time is given wherever it is."""
    rng, load, gap_s = random.Random(1), VisitLoad(MOST_S / SLICES), round_share * MOST_S / N
    n_waiting, waits, intervals = 1.0 + WAITING * N, [0.0], [0.0]
    queue = [(NOW + i * gap_s, i, NOW) for i in range(N)]
    for due, _, _ in queue:
        load.move(0.0, due)
    for turn in range(20 * N):
        now = NOW + turn * gap_s
        if queue[0][0] > now:
            continue
        due, number, before = heappop(queue)
        load.move(due, 0.0)
        if before > NOW:
            waits.append(now - due)
            intervals.append(now - before)
        last = now + LAST * MOST_S - WAITING * N * gap_s
        at = load.place(wanted(rng, now), last, now, load.room(now, gap_s, n_waiting))
        assert at <= last
        load.move(0.0, at)
        heappush(queue, (at, number, now))
    assert max(waits) <= (n_waiting + 1) * gap_s + 2 * load.slice_s
    assert max(intervals) <= MOST_S
    assert sum(load.due.values()) == N


def test_a_time_is_given_as_it_is_wanted_where_there_is_room_and_else_the_nearest_that_has_some() -> None:
    load, slice_s, gap_s = VisitLoad(10.0), 10.0, 5.0  # two visits a slice
    assert load.place(1_003.0, 1_200.0, 1_000.0, load.room(1_000.0, gap_s, 1.0)) == 1_003.0
    for due in (1_021.0, 1_022.0, 1_023.0, 1_031.0, 1_032.0):
        load.move(0.0, due)
    room = load.room(1_000.0, gap_s, 1.0)
    assert load.place(1_025.0, 1_200.0, 1_000.0, room) == 1_040.0  # one waits at the end of both, as many as may
    assert load.place(1_025.0, 1_035.0, 1_000.0, room) == 1_000.0 + slice_s
    load.move(1_031.0, 1_090.0)
    load.move(1_032.0, 0.0)
    assert load.due == {102: 3, 109: 1}
    assert load.place(1_033.0, 1_200.0, 1_000.0, load.room(1_000.0, gap_s, 1.0)) == 1_033.0
