"""The loop's lag: the reported time is by how much the loop was late."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from thresher.crawler.agent.loop_lag import LoopLag
from thresher.crawler.status import AgentReport, Status, merged, quantile_ms


async def test_the_time_by_which_the_loop_was_late_is_told() -> None:
    status, lag = Status(), LoopLag()
    await asyncio.sleep(0)
    time.sleep(0.25)  # noqa: ASYNC251 - the loop is held up: that is the case
    while not status.loop_lags:  # the timer is due now
        await asyncio.sleep(0)
        lag.fill(status)
    assert status.loop_lag_ms > 195, "the timer was due within 50 ms; the loop's clock has a grain of one"


class LateLoop:
    """A loop whose timers fire when the test says, as late as it says."""

    def __init__(self) -> None:
        self._now = 100.0
        self._timer: tuple[float, Callable[..., None], tuple[Any, ...]]

    def time(self) -> float:
        return self._now

    def call_at(self, when: float, call: Callable[..., None], *arguments: Any) -> None:
        self._timer = when, call, arguments

    def fire(self, late_s: float) -> None:
        """Let the timer fire."""
        when, call, arguments = self._timer
        self._now = when + late_s
        call(*arguments)


def test_a_loop_that_was_held_up_once_is_told_as_the_worst_and_not_as_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = LateLoop()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)
    status, lag = Status(), LoopLag()
    for late_s in (0.0005, 0.0005, 0.25, 0.0005, 0.0005):
        loop.fire(late_s)
    lag.fill(status)
    assert status.loop_lag_ms == pytest.approx(250.0)
    assert status.loop_lags == {"1": 4, "320": 1}
    assert quantile_ms(status.loop_lags, 0.5) < quantile_ms(status.loop_lags, 1.0) == status.loop_lag_p99_ms
    lag.fill(status)
    assert status.loop_lag_ms == 0.0, "the worst since it was last told"


def test_a_quantile_is_the_bound_of_its_bin_over_all_agents() -> None:
    one, other = AgentReport(loop_lags={"1": 98, "20": 1}, loop_lag_ms=3.0), AgentReport(loop_lags={"1": 100, "640": 1}, loop_lag_ms=500.0)
    whole = merged([one, other])
    assert (whole.loop_lag_p99_ms, whole.loop_lag_ms) == (1.0, 500.0)
    assert [quantile_ms(whole.loop_lags, share) for share in (0.995, 1.0)] == [20.0, 640.0]
    assert quantile_ms({}, 0.99) == 0.0
