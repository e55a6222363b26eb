"""How many requests may be in flight: fewer while the loop is late or pages wait to be read, else more."""

from __future__ import annotations

import pytest

from thresher.crawler.agent.throttle import Throttle


@pytest.mark.parametrize(("lag_s", "is_behind"), [(0.2, False), (0.0, True)])
def test_fewer_requests_are_in_flight_while_the_cpu_is_behind_and_more_again_after_that(lag_s: float, is_behind: bool) -> None:
    throttle = Throttle(256)
    for _ in range(20):
        throttle.note(0.0)
    assert throttle.allowed == 256
    for _ in range(20):
        throttle.note(lag_s, is_behind=is_behind)
    assert throttle.allowed == 8
    throttle.note(0.0)
    assert throttle.allowed > 8
