"""F14: what failed over a sleep of this process or its machine is nobody's fault; what failed otherwise stays as it is."""

from __future__ import annotations

import pytest

from thresher.crawler.agent.suspension import LONG_S, SuspensionDetector
from thresher.crawler.core.model import Cause, CrawlURL, Failed

URL = CrawlURL("http://a.example/", "a.example", "http://a.example", bytes(16))


class Clocks:
    """A machine's two clocks."""

    def __init__(self) -> None:
        self.wall, self.monotonic = 1e9, 100.0

    def run(self, wall_s: float, monotonic_s: float) -> None:
        self.wall += wall_s
        self.monotonic += monotonic_s


def cause_after(wall_s: float, monotonic_s: float, cause: Cause = Cause.TIMEOUT_TOTAL, *, then_s: float = 0.0) -> Cause:
    """Return the cause of a failed request that began before the clocks ran like this; then_s: it begins so long after that instead."""
    clocks = Clocks()
    suspensions = SuspensionDetector(lambda: clocks.wall, lambda: clocks.monotonic)
    began = suspensions.now()
    clocks.run(wall_s, monotonic_s)
    if then_s:
        suspensions.look()
        clocks.run(then_s, then_s)
        began = suspensions.now()
    outcome = suspensions.excuse(Failed(URL, cause, ""), began)
    assert isinstance(outcome, Failed)
    return outcome.cause


@pytest.mark.parametrize(("wall_s", "monotonic_s"), [(60.0, 60.0), (28_800.0, 0.2), (LONG_S + 0.1, LONG_S + 0.1)])
def test_a_time_out_over_a_sleep_is_no_fault_of_the_host(wall_s: float, monotonic_s: float) -> None:
    """F14: stopped by a signal; suspended with the machine."""
    assert cause_after(wall_s, monotonic_s) is Cause.SLEPT


@pytest.mark.parametrize(("wall_s", "monotonic_s"), [(0.5, 0.5), (LONG_S - 0.1, LONG_S - 0.1), (-3600.0, 0.5)])
def test_a_time_out_without_a_sleep_stays_one(wall_s: float, monotonic_s: float) -> None:
    """F14, F93: a wall clock that was set back is no sleep."""
    assert cause_after(wall_s, monotonic_s) is Cause.TIMEOUT_TOTAL


def test_a_request_that_began_after_the_sleep_is_not_excused() -> None:
    assert cause_after(60.0, 60.0, then_s=1.0) is Cause.TIMEOUT_TOTAL


@pytest.mark.parametrize("cause", [Cause.HTTP_5XX, Cause.TLS_CERT, Cause.BOMB, Cause.INTERNAL_ERROR])
def test_an_answer_is_no_matter_of_sleep(cause: Cause) -> None:
    assert cause_after(60.0, 60.0, cause) is cause
