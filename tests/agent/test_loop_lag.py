"""The loop's lag: the reported time is by how much the loop was late."""

from __future__ import annotations

import asyncio
import time

from thresher.crawler.agent.loop_lag import LoopLag
from thresher.crawler.status import AgentReport, Status, merged, quantile_ms


async def test_a_loop_that_was_held_up_once_is_told_as_the_worst_and_not_as_the_rule() -> None:
    status, lag = Status(), LoopLag()
    for _ in range(6):
        await asyncio.sleep(0.06)
    time.sleep(0.25)  # noqa: ASYNC251 - the loop is held up: that is the case
    await asyncio.sleep(0.12)
    lag.fill(status)
    assert status.loop_lag_ms > 195, "the timer was due within 50 ms; the loop's clock has a grain of one"
    assert sum(n for bound, n in status.loop_lags.items() if int(bound) > 160) >= 1
    assert sum(status.loop_lags.values()) >= 3
    assert quantile_ms(status.loop_lags, 0.5) < quantile_ms(status.loop_lags, 1.0) == status.loop_lag_p99_ms
    lag.fill(status)
    assert status.loop_lag_ms == 0.0, "the worst since it was last told"


def test_a_quantile_is_the_bound_of_its_bin_over_all_agents() -> None:
    one, other = AgentReport(loop_lags={"1": 98, "20": 1}, loop_lag_ms=3.0), AgentReport(loop_lags={"1": 100, "640": 1}, loop_lag_ms=500.0)
    whole = merged([one, other])
    assert (whole.loop_lag_p99_ms, whole.loop_lag_ms) == (1.0, 500.0)
    assert [quantile_ms(whole.loop_lags, share) for share in (0.995, 1.0)] == [20.0, 640.0]
    assert quantile_ms({}, 0.99) == 0.0
