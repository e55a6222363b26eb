"""F14: a request that failed because this process or its machine slept is no fault of the host; other failures stay failures."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pytest
from harness import crawl, demo, merged, options, status, wait_until, write_config
from server_log import refetches, unlabelled

from thresher.crawler.agent.suspension import LONG_S, SuspensionDetector
from thresher.crawler.core.model import Cause, CrawlURL, Failed
from thresher.storage.view import View

WEB: dict[str, Any] = {"n_sites": 3, "hosts_per_site": [2, 2], "pages_per_host": [10, 10], "n_seeds": 2}
OBSERVE = {name: {"mode": "observe"} for name in ("path_trap", "exact_duplicate", "soft_error", "pattern_yield")}
URL = CrawlURL("http://a.example/", "a.example", "http://a.example", bytes(16))


class Clocks:
    """The two clocks of a machine."""

    def __init__(self) -> None:
        self.wall, self.monotonic = 1e9, 100.0

    def run(self, wall_s: float, monotonic_s: float) -> None:
        self.wall += wall_s
        self.monotonic += monotonic_s


def cause_after(wall_s: float, monotonic_s: float, cause: Cause = Cause.TIMEOUT_TOTAL, *, then_s: float = 0.0) -> Cause:
    """Return the cause of a failed request that began before the clocks ran like this.    then_s: it begins so many seconds after that
    instead
    """
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
    """F14: the process was stopped by a signal, or suspended with its machine."""
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


def test_an_agent_that_slept_blames_nobody(tmp_path: Path) -> None:
    """F14: an agent that was stopped for longer than a request may take repeats the requests in flight, and these count as no tries."""
    with demo("kill", tmp_path, **WEB, error_share=0.0, slow_host_share=1.0, slow_delay_s=[0.4, 0.4]) as server:
        store = tmp_path / "store"
        sections = merged(options(server, filters=OBSERVE), {"fetch": {"total_timeout": 3 * LONG_S}, "limits": {"max_pages": 12}})
        with crawl(store, write_config(tmp_path, sections, server.web.seeds())) as life:
            wait_until(lambda: not life.running or status(store)["in_flight"] > 3)
            life.signal_agent(signal.SIGSTOP)
            time.sleep(3 * LONG_S + 0.5)  # the process sleeps: that is what is tested
            life.signal_agent(signal.SIGCONT)
            assert life.end() == 0, life.said
        again = refetches(server.read_log(), unlabelled(server.web).truth()).total()
    with View(store) as view:
        failures = [failure for url, _ in view.all_urls() if (failure := view.tables.failures.get(url.key))]
        assert {failure.attempts for failure in failures} <= {0}
        assert view.counters.all("cause:").keys() <= {"cause:slept"}
        assert again <= view.counters.get("cause:slept") <= 32
